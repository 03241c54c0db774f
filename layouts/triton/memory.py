"""Layouts of shared memory: swizzled, nvmma, padded and linear."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from lanescope.inputs import shorten_value
from lanescope.shared.tma import MOST_BOX
from lanescope.triton.linear import Basis, LinearLayout, log2, make_block, make_identity
from lanescope.triton.parameters import (
    MOST_SIZE,
    SHARED,
    TENSOR,
    LayoutParameters,
    Maker,
    Params,
    get_reached_sizes,
    make_error,
)


def _make_swizzled(parameters: LayoutParameters, shape: tuple[int, ...], _: int) -> LinearLayout:
    rank = len(shape)
    order = parameters.read_order("order", rank)
    vec, per, phases = (1 << log2(parameters.read_number(name, 1)) for name in ("vec", "perPhase", "maxPhase"))
    cluster, part = _split_blocks(parameters, shape)
    if rank == 1:
        return make_identity("offset", part[0], 0, 1, (0,)) * cluster
    col, row = order[0], order[1]
    bases = [_make_basis(rank, {col: 1 << bit}) for bit in range(log2(part[col]))]
    for bit in range(log2(part[row])):
        bases.append(_make_basis(rank, {row: 1 << bit, col: vec * (((1 << bit) // per) % phases) % part[col]}))
    layout = LinearLayout(
        {"offset": tuple(bases)}, tuple(part[a] if a in (col, row) else 1 for a in range(rank)), order
    )
    for axis in order[2:]:
        layout = layout * make_identity("offset", part[axis], axis, rank, order)
    return layout * cluster


def _split_blocks(parameters: LayoutParameters, shape: tuple[int, ...]) -> tuple[LinearLayout, list[int]]:
    """Return the layout of the blocks of a cluster, and the part of a shape that each of them has."""
    cluster = parameters.make_cga_layout(len(shape)).cut_to(shape)
    return cluster, [max(1, size // blocks) for size, blocks in zip(shape, cluster.sizes, strict=True)]


def _make_basis(rank: int, values: Mapping[int, int]) -> Basis:
    return tuple(values.get(axis, 0) for axis in range(rank))


def _upgrade_shared(parameters: LayoutParameters, rank: int) -> LayoutParameters:
    """Return the parameters of nvmma_shared for `shared` with hasLeadingOffset, of older releases of Triton."""
    widths = {(4, 2): 32, (2, 4): 64, (1, 8): 128}
    per, phases, vec = (parameters.read_number(name, 1) for name in ("perPhase", "maxPhase", "vec"))
    if (per, phases) not in widths or 128 % vec:
        raise make_error(
            f"shared with hasLeadingOffset has perPhase {per}, maxPhase {phases} and vec {vec}.",
            "Allowed: (4, 2) for 32 bytes, (2, 4) for 64 and (1, 8) for 128, with 16 bytes as vec.",
        )
    order = parameters.read_order("order", rank)
    cluster_params = {k: v for k, v in parameters.params.items() if k.startswith(("CTA", "CGA"))}
    params = {"swizzlingByteWidth": widths[per, phases], "elementBitWidth": 128 // vec, "transposed": order[0] == 0}
    return LayoutParameters(parameters.kind, params | cluster_params)


def _make_nvmma(parameters: LayoutParameters, shape: tuple[int, ...], element_bits: int) -> LinearLayout:
    """Return the box of one TMA copy, repeated to fill the shape (nvmmaSharedToLinearLayout)."""
    rank = len(shape)
    if parameters.params.get("hasLeadingOffset"):
        parameters = _upgrade_shared(parameters, rank)
    width = parameters.read_number("swizzlingByteWidth", 0, 128)
    bits = parameters.read_number("elementBitWidth", 4, 64, element_bits)
    turned, padded = bool(parameters.params.get("transposed")), bool(parameters.params.get("fp4Padded"))
    if width not in (0, 32, 64, 128):
        raise make_error(f"nvmma_shared: swizzlingByteWidth is {width}.", "Allowed: 0, 32, 64, 128.")
    if padded and (width, bits) != (128, 8):
        raise make_error(
            f"nvmma_shared: fp4Padded with swizzlingByteWidth {width} and elementBitWidth {bits}.",
            "fp4Padded needs swizzlingByteWidth = 128 and elementBitWidth = 8.",
        )
    cluster, part = _split_blocks(parameters, shape)
    inner = 0 if turned else rank - 1
    box = [min(size, MOST_BOX) for size in part]
    if not width:
        return _make_plain_box(box, turned).grow_to(part).cut_to(part) * cluster
    if rank < 2:
        raise make_error(
            "nvmma_shared swizzles matrices.", "Give a shape of two sizes or more, or swizzlingByteWidth = 0.", "shape"
        )
    wide = 8 * width // bits // (2 if padded else 1)
    box[inner] = min(box[inner], wide)
    rows, cols = (box[-1], prod(box[:-1])) if turned else (prod(box[:-1]), box[-1])
    if box[inner] < wide or rows < 8:
        raise make_error(
            f"nvmma_shared: {width} bytes of {bits}-bit elements need a tile of 8 × {wide}; a block has {rows} ×"
            f" {part[inner]}.",
            "Give a larger shape or a narrower swizzle.",
            "shape",
        )
    tile = _make_swizzled_rows(width, bits, padded).grow_to((rows, cols))
    axes = [*range(1, rank), 0] if turned else list(range(rank))  # slowest first, as the box has them
    return _unfold_tile(tile, axes, box).grow_to(part) * cluster


def _make_plain_box(box: list[int], turned: bool) -> LinearLayout:
    """Return a box without a swizzle, its last axis fastest.

    In a transposed box of more than two axes the axes are rotated by one instead of reversed, as in Triton 3.9.
    """
    rank = len(box)
    order = tuple(reversed(range(rank)))
    if not turned:
        return make_block("offset", box, order)
    layout = LinearLayout({"offset": ()}, (1,) * rank, order)
    for place, size in zip(order, (box[0], *reversed(box[1:])), strict=True):
        layout = layout * make_identity("offset", size, (place - 1) % rank, rank, order)
    return layout


def _make_swizzled_rows(width: int, bits: int, padded: bool) -> LinearLayout:
    """Return eight rows of the swizzle's width (getCoreMatrixLinearLayout)."""
    vec, per, phases = 128 // bits // (2 if padded else 1), 128 // width, width // 16
    bases = []
    for bit in range(log2(8 * width // bits)):
        value = 1 << bit
        if padded:  # sixteen 4-bit elements fill 8 of 16 bytes: the upper 8 are padding
            half = 64 // bits
            value = 0 if value == half else value if value < half else value // 2
        bases.append((0, value))
    bases += [(row, vec * ((row // per) % phases)) for row in (1, 2, 4)]
    return LinearLayout({"offset": tuple(bases)}, (8, 8 * width // bits // (2 if padded else 1)), (0, 1))


def _unfold_tile(tile: LinearLayout, axes: list[int], box: list[int]) -> LinearLayout:
    """Return a tile of rows × columns as a box of more axes, the last of `axes` fastest."""
    cols = tile.sizes[1]
    bases = []
    for row, col in tile.bases["offset"]:
        index, at = row * cols + col, [0] * len(box)
        for axis in reversed(axes):
            at[axis], index = index % box[axis], index // box[axis]
        bases.append(tuple(at))
    return LinearLayout({"offset": tuple(bases)}, tuple(box), tuple(range(len(box))))


def _make_shared_linear(parameters: LayoutParameters, shape: tuple[int, ...], _: int) -> LinearLayout:
    rank = len(shape)
    bases = {name: parameters.read_bases(name, rank) for name in ("offset", "block")}
    return LinearLayout(bases, get_reached_sizes(bases, rank, parameters.kind), tuple(reversed(range(rank))))


def _make_padded(parameters: LayoutParameters, shape: tuple[int, ...], element_bits: int) -> LinearLayout:
    rank = len(shape)
    list_paddings(parameters.params)
    if "offset" in parameters.params:
        return _make_shared_linear(parameters, shape, element_bits)
    order = parameters.read_order("order", rank, tuple(reversed(range(rank))))
    cluster, part = _split_blocks(parameters, shape)
    return make_block("offset", part, order) * cluster


def get_rank(kind: str, params: Params) -> int | None:
    """Return the rank that a layout of memory determines, else None; a memdesc of one more rank has several buffers."""
    if kind in TENSOR:
        return 2
    if kind not in SHARED:
        return None
    for name in ("order", "offset", "CGALayout"):
        value = params.get(name)
        if isinstance(value, list) and value:
            return len(value) if name == "order" else len(value[0]) if isinstance(value[0], list) else None
    rank = params.get("rank", 2)
    return rank if kind == "nvmma_shared" and type(rank) is int else None


def list_paddings(params: Params) -> tuple[tuple[int, int], ...]:
    """Return (interval, padding) pairs of a padded_shared, in elements; () for another layout."""
    intervals = params.get("intervals", [])
    is_valid = isinstance(intervals, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(type(n) is int and 0 < n <= MOST_SIZE for n in pair)
        for pair in intervals
    )
    if not is_valid:
        raise make_error(f"padded_shared: its intervals are {shorten_value(str(intervals), 60)}.", "Pairs as [64:+8].")
    for interval, more in intervals:
        log2(interval), log2(more)
    return tuple((interval, more) for interval, more in intervals)


MEMORY: dict[str, Maker] = {
    "swizzled_shared": _make_swizzled,
    "nvmma_shared": _make_nvmma,
    "padded_shared": _make_padded,
    "shared_linear": _make_shared_linear,
}
