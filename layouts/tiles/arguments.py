"""AtomLayoutMNK and PermutationMNK as make_tiled_mma is given them."""

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
        read = spec
    else:
        read = parse_cute_layout(spec if isinstance(spec, str) else algebra.format_tiler(tuple(spec)), "atom_layout")
    if read.swizzle or read.offset or read.rank not in (2, 3) or isinstance(read.shape, int):
        raise LayoutError(
            "bad_atom_layout",
            f"atom_layout is '{shorten_value(str(read), 80)}': it does not have the three modes M, N and K.",
            "e.g. (2,2,1) or (2,2,1):(2,1,0).",
            "atom_layout",
        )
    return algebra.concatenate(*read.modes, *[algebra.ONE] * (3 - read.rank))


def parse_permutation(
    spec: str | tuple[Tiler, ...] | None, atom_sizes: tuple[int, ...]
) -> tuple[tuple[Tiler, Tiler, Tiler], CuteLayout | None]:
    """Return PermutationMNK, with the atoms' own size where it is left out, and the value layout of older CuTe, None
    where that is not given: a layout of three modes instead of a Tile says how often the atoms are repeated.
    """
    read = parse_tiler(spec, "permutation") if isinstance(spec, str) else spec
    if isinstance(read, CuteLayout) and read.rank == 3 and not read.swizzle:
        m, n, k = (size * mode.size for size, mode in zip(atom_sizes, read.modes, strict=True))
        return (m, n, k), read
    full = _complete_tilers((None, None, None) if read is None else read)
    first, second, third = (size if tiler is None else tiler for tiler, size in zip(full, atom_sizes, strict=True))
    return (first, second, third), None


def _complete_tilers(read: Tiler) -> tuple[Tiler, ...]:
    """Return a mode each for M, N and K, None if one is left out; LayoutError for another tiler."""
    if not isinstance(read, tuple) or len(read) > 3 or not read:
        raise LayoutError(
            "bad_permutation",
            (
                f"permutation is '{shorten_value(algebra.format_tiler(read), 80)}': it does not have a mode each for"
                f" M, N and K."
            ),
            "e.g. Tile<_32,_32,_16>, (32,32,16), or (_,(4,2):(1,8),_).",
            "permutation",
        )
    full = (*read, *[None] * (3 - len(read)))
    if any(isinstance(tiler, CuteLayout) and (tiler.swizzle or tiler.offset) for tiler in full):
        raise LayoutError("bad_permutation", "A permutation has a swizzle.", "Give plain layouts.", "permutation")
    return full


def get_least_size(tiler: Tiler) -> int:
    """Return the smallest size that a permutation of one dimension maps onto itself, with the gaps that its complement
    fills.
    """
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
