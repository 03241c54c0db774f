"""The thread-value layout and tiler of a TiledCopy, like make_tiled_copy and related functions.

CUTLASS 4.7, include/cute/atom/copy_atom.hpp.
"""

from __future__ import annotations

from lanescope.cute import algebra, copy_atom
from lanescope.cute.algebra import Tiler
from lanescope.cute.layout import CuteLayout
from lanescope.cute.text import parse_cute_layout, parse_tiler
from lanescope.errors import LayoutError
from lanescope.inputs import quote_value, shorten_value
from lanescope.ptx.threads import MOST_THREADS
from lanescope.tiles.arguments import get_least_size
from lanescope.tiles.mma import MOST_VALUES, TiledMMA

CopyMap = tuple[CuteLayout, tuple[Tiler, Tiler]]  # (thread, value) → element of the tiler; the tiler per dimension
OPERANDS = ("a", "b", "c", "c_atom")  # make_tiled_copy_A, _B, _C and _C_atom


def copy_from_layouts(threads: str | CuteLayout | None, values: str | CuteLayout | None) -> CopyMap:
    """Return the map of make_tiled_copy(atom, thr_layout, val_layout): values raked inside threads."""
    return _rake_layouts(
        _parse_coordinate_layout(threads, "thr_layout"), _parse_coordinate_layout(values or "(1,1)", "val_layout")
    )


def copy_from_map(layout_text: str | CuteLayout, tiler: object) -> CopyMap:
    """Return the map of make_tiled_copy_impl(atom, layout_tv, tiler), which is make_tiled_copy of the DSL."""
    layout = layout_text if isinstance(layout_text, CuteLayout) else parse_cute_layout(layout_text, "layout_tv")
    if layout.rank != 2 or isinstance(layout.shape, int) or layout.swizzle or layout.offset:
        raise LayoutError(
            "bad_layout",
            f"layout_tv is '{shorten_value(str(layout), 80)}': it does not have two modes, (thread, value).",
            "Try ((8,16),8):((128,1),16).",
            "layout_tv",
        )
    tilers = parse_tiler(tiler, "tiler_mn") if isinstance(tiler, str) else tiler
    if (
        not isinstance(tilers, tuple)
        or len(tilers) != 2
        or any(not isinstance(mode, int | CuteLayout) for mode in tilers)
    ):
        raise LayoutError(
            "bad_layout",
            f"tiler_mn is {quote_value(tiler, 80)}.",
            "A size or a layout for rows and one for columns: (32,16), or ((8,2,2):(1,16,8),16:1).",
            "tiler_mn",
        )
    if layout.modes[0].size > MOST_THREADS or layout.size > MOST_VALUES:
        raise LayoutError(
            "bad_layout",
            f"layout_tv has {layout.modes[0].size} threads and {layout.size} values.",
            f"At most {MOST_THREADS} threads and {MOST_VALUES} values.",
            "layout_tv",
        )
    elements = get_tiler_sizes((tilers[0], tilers[1]))
    if layout.size and layout.cosize > elements[0] * elements[1]:
        raise LayoutError(
            "bad_layout",
            f"layout_tv {layout} reaches element {layout.cosize - 1}, outside the {elements[0]}×{elements[1]} of"
            " tiler_mn.",
            f"Give a tiler of at least {layout.cosize} elements.",
            "tiler_mn",
        )
    return layout, (tilers[0], tilers[1])


def copy_from_operand(tiled_mma: TiledMMA, operand: str, values: int) -> CopyMap:
    """Return the map of make_tiled_copy_A, _B (over (n, k)), _C, or _C_atom; values: of one copy atom, for _C_atom."""
    tiled_mma.require_registers("tiled_mma")
    op = tiled_mma.operand(operand.removesuffix("_atom"))
    if op.shared:
        raise LayoutError(
            "bad_operand",
            f"Operand {op.name} of {tiled_mma.atom.instruction.ptx} is read from shared memory by a descriptor.",
            "No TiledCopy loads it into registers: fill the tile by TMA or cp.async.",
            "operand",
        )
    if op.layout is None or tiled_mma.idle:
        raise LayoutError(
            "bad_operand",
            f"The threads of {tiled_mma.thread_layout} have gaps: no thread-value layout numbers them.",
            "Give an atom layout that uses every thread, as (2,2,1) of quad pairs.",
            "tiled_mma",
        )
    m, n, k = tiled_mma.shape
    first, second = {"a": (m, k), "b": (n, k), "c": (m, n)}[op.name]
    if op.layout.cosize > first * second:
        reach = " × ".join(
            str(n * mode.size) for n, mode in zip(tiled_mma.atom.shape, tiled_mma.atom_layout.modes, strict=True)
        )
        raise LayoutError(
            "bad_operand",
            f"The permutation covers {m} × {n} × {k}, the atoms of all threads {reach}: the TiledCopy of"
            f" {op.name.upper()} would leave its {first}×{second} tile.",
            f"Give a permutation of {reach} or more, or none.",
            "tiled_mma",
        )
    if operand == "c_atom":
        return _restrict_to_atom(op.layout, (first, second), values)
    return op.layout, (first, second)


def _restrict_to_atom(tv: CuteLayout, tile: tuple[int, int], values: int) -> CopyMap:
    """Return the map of each thread's first `values` values over the elements they reach (make_tiled_copy_C_atom)."""
    if values > tv.modes[1].size:
        raise LayoutError(
            "bad_atom",
            f"The copy atom has {values} values, C of the TiledMMA {tv.modes[1].size} per thread.",
            f"Give an atom of at most {tv.modes[1].size} values.",
            "atom",
        )
    try:
        first_values = algebra.composition(tv, algebra.make_layout((tv.modes[0].size, values)))
        fitted, (down, across) = copy_atom.fit_tiler(first_values, tile)
        return fitted, (down, across)
    except LayoutError as error:
        raise error.move_to_field("operand", "bad_operand") from None


def get_tiler_sizes(tilers: tuple[Tiler, Tiler]) -> tuple[int, int]:
    """Return the number of rows and columns of a tiler, without gaps."""
    rows, cols = (tiler if isinstance(tiler, int) else tiler.size for tiler in tilers)
    return rows, cols


def get_tiler_steps(tilers: tuple[Tiler, Tiler]) -> tuple[int, int]:
    """Return the rows and columns that a tiler spans including its gaps; a tile is a multiple of them."""
    rows, cols = (get_least_size(tiler) for tiler in tilers)
    return rows, cols


def _parse_coordinate_layout(spec: str | CuteLayout | None, field: str) -> CuteLayout:
    """Parse a layout of coordinates (row, column) → number."""
    if spec is None:
        raise LayoutError(
            "bad_layout", f"{field} is missing.", "Give thr_layout and val_layout, or tiled_mma and operand.", field
        )
    layout = spec if isinstance(spec, CuteLayout) else parse_cute_layout(spec, field)
    if layout.rank > 2 or layout.swizzle or layout.offset:
        raise LayoutError(
            "bad_layout", f"'{shorten_value(str(layout), 80)}' does not have two modes.", "Try (32,4):(4,1).", field
        )
    return algebra.concatenate(*layout.modes, *[algebra.ONE] * (2 - layout.rank))


def _rake_layouts(threads: CuteLayout, values: CuteLayout) -> CopyMap:
    """Return the map of raked layouts of threads and values."""
    if threads.size > MOST_THREADS:
        raise LayoutError(
            "bad_layout", f"thr_layout has {threads.size} threads.", f"At most {MOST_THREADS}.", "thr_layout"
        )
    for field, layout in (("thr_layout", threads), ("val_layout", values)):
        if layout.size < 1:
            raise LayoutError("bad_layout", f"{field} {layout} has no element.", "Sizes from 1.", field)
        if max(layout.size, layout.cosize) > MOST_VALUES or sorted(layout.list_indices().tolist()) != list(
            range(layout.size)
        ):
            raise LayoutError(
                "bad_layout",
                f"{field} {layout} does not number its {layout.size} coordinates 0 to {layout.size - 1}, each once.",
                "Give a compact layout, e.g. (32,4):(4,1).",
                field,
            )
    try:
        raked = algebra.raked_product(threads, values)
        tv = algebra.with_shape(algebra.right_inverse(raked), (threads.size, values.size))
    except LayoutError as error:
        raise error.move_to_field("val_layout", "bad_layout") from None
    return tv, (raked.modes[0].size, raked.modes[1].size)
