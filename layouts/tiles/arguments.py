"""Parse AtomLayoutMNK and PermutationMNK of make_tiled_mma."""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.cute import algebra
from lanescope.cute.algebra import Tiler
from lanescope.cute.layout import CuteLayout
from lanescope.cute.text import parse_cute_layout, parse_tiler
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value


def parse_atom_layout(spec: str | Sequence[int] | CuteLayout) -> CuteLayout:
    """Return AtomLayoutMNK with three modes; CuTe appends a 1 in K."""
    if isinstance(spec, CuteLayout):
        layout = spec
    else:
        layout = parse_cute_layout(spec if isinstance(spec, str) else algebra.format_tiler(tuple(spec)), "atom_layout")
    if layout.swizzle or layout.offset or layout.rank not in (2, 3) or isinstance(layout.shape, int):
        raise LayoutError(
            "bad_atom_layout",
            f"atom_layout is '{shorten_value(str(layout), 80)}': it does not have the three modes M, N and K.",
            "Try (2,2,1) or (2,2,1):(2,1,0).",
            "atom_layout",
        )
    return algebra.concatenate(*layout.modes, *[algebra.ONE] * (3 - layout.rank))


def parse_permutation(
    spec: str | tuple[Tiler, ...] | None, atom_sizes: tuple[int, ...]
) -> tuple[tuple[Tiler, Tiler, Tiler], CuteLayout | None]:
    """Return (PermutationMNK, value layout of older CuTe or None).

    A missing mode is the atoms' size. In older CuTe a layout of three modes gave the repetitions of the atoms.
    """
    permutation = parse_tiler(spec, "permutation") if isinstance(spec, str) else spec
    if isinstance(permutation, CuteLayout) and permutation.rank == 3 and not permutation.swizzle:
        m, n, k = (size * mode.size for size, mode in zip(atom_sizes, permutation.modes, strict=True))
        return (m, n, k), permutation
    full = _complete_tilers((None, None, None) if permutation is None else permutation)
    first, second, third = (size if tiler is None else tiler for tiler, size in zip(full, atom_sizes, strict=True))
    return (first, second, third), None


def _complete_tilers(read: Tiler) -> tuple[Tiler, ...]:
    """Return the modes for M, N and K, None for a missing one; LayoutError for another tiler."""
    if not isinstance(read, tuple) or len(read) > 3 or not read:
        raise LayoutError(
            "bad_permutation",
            (
                f"permutation is '{shorten_value(algebra.format_tiler(read), 80)}': it does not have a mode each for"
                f" M, N and K."
            ),
            "Try Tile<_32,_32,_16>, (32,32,16), or (_,(4,2):(1,8),_).",
            "permutation",
        )
    full = (*read, *[None] * (3 - len(read)))
    if any(isinstance(tiler, CuteLayout) and (tiler.swizzle or tiler.offset) for tiler in full):
        raise LayoutError("bad_permutation", "A permutation has a swizzle.", "Give plain layouts.", "permutation")
    return full


def get_least_size(tiler: Tiler) -> int:
    """Return the number of elements that a permutation of one dimension spans, including its gaps."""
    if isinstance(tiler, int):
        return tiler
    if isinstance(tiler, tuple):
        raise LayoutError(
            "bad_permutation",
            f"'{algebra.format_tiler(tiler)}' is not a permutation of one dimension.",
            "A size or a layout.",
            "permutation",
        )
    try:
        return algebra.get_covered_size(tiler)
    except LayoutError as error:
        raise error.move_to_field("permutation", "bad_permutation") from None
