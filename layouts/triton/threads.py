"""Layouts of threads: blocked, nvidia_mma, dot_op, slice and linear; those of AMD are in amd.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.triton.amd import AMD, MAKE_OPERANDS, drop_operand_axis
from lanescope.triton.linear import LinearLayout, combine_cluster, log2, make_block, make_copies, make_identity
from lanescope.triton.parameters import (
    DISTRIBUTED,
    INDICES,
    LANES,
    WARP_LANES,
    WAVE_LANES,
    LayoutParameters,
    Maker,
    get_reached_sizes,
    make_error,
    make_layout,
)


def _join_indices(*parts: LinearLayout) -> LinearLayout:
    """Return the product of layouts, from left to right."""
    layout = parts[0]
    for part in parts[1:]:
        layout = layout * part
    return layout


def _make_blocked(parameters: LayoutParameters, shape: tuple[int, ...], _: int) -> LinearLayout:
    rank = len(shape)
    order = parameters.read_order("order", rank)
    sizes = [parameters.read_sizes(name, rank) for name in ("sizePerThread", "threadsPerWarp", "warpsPerCTA")]
    _require_warp_lanes(parameters, sizes[1])
    layout = _join_indices(*(make_block(name, size, order) for name, size in zip(INDICES, sizes, strict=False)))
    return combine_cluster(layout, parameters.make_cga_layout(rank), shape, True)


def _require_warp_lanes(parameters: LayoutParameters, threads: Sequence[int]) -> None:
    if prod(threads) not in WARP_LANES:
        raise make_error(
            f"{parameters.kind}: threadsPerWarp {list(threads)} has {prod(threads)} lanes.",
            f"Their product is {LANES}, or {WAVE_LANES} for a wave of AMD's CDNA GPUs.",
        )


def _make_mma_tile(tile: Sequence[int], width: int, order: Sequence[int], grows: Sequence[int]) -> LinearLayout:
    """Return the fragment of one mma.

    Along the fast axis: `width` registers, four lanes, then repetitions; along the other: eight lanes, then
    repetitions.
    """
    rank = len(order)
    inner, outer = order[0], order[1]
    if tile[outer] % 8 or tile[inner] % (4 * width):
        raise make_error(
            f"The instruction's tile {list(tile)} is not a multiple of 8 × {4 * width}.", "Give instrShape [16, 8]."
        )
    parts = (
        ("register", width, inner),
        ("lane", 4, inner),
        ("lane", 8, outer),
        ("register", tile[outer] // 8, outer),
        ("register", tile[inner] // (4 * width), inner),
    )
    layout = make_copies("register", 1, rank, grows)
    for name, count, axis in parts:
        layout = layout * make_identity(name, count, axis, rank, grows)
    return layout


def _get_mma_shape(parameters: LayoutParameters, rank: int) -> tuple[int, tuple[int, int]]:
    """Return (versionMajor, (rows, columns) of one warp's instruction)."""
    version = parameters.read_number("versionMajor", 1, 9)
    if version not in (2, 3):
        raise LayoutError(
            "unsupported_layout",
            f"nvidia_mma of versionMajor {version} has no maps here.",
            "versionMajor 2 is mma.sync, 3 is wgmma.",
            "text",
        )
    value = parameters.params.get("instrShape") or [1] * (rank - 2) + [16, 8]
    shape = [1 if n == 0 else n for n in value] if isinstance(value, list | tuple) else []
    if not all(type(n) is int and 0 < n <= 256 for n in shape) or len(shape) < 2:
        raise make_error(
            f"nvidia_mma: instrShape is {shorten_value(str(value), 60)}.", "[16, 8], or [16, N, K] of version 3."
        )
    rows, cols = (shape[0], shape[1]) if version == 3 else (shape[-2], shape[-1])
    return version, (rows, cols)


def _make_mma(parameters: LayoutParameters, shape: tuple[int, ...], _: int) -> LinearLayout:
    rank = len(shape)
    if rank < 2:
        raise make_error("nvidia_mma lays out matrices.", "Give a shape of two sizes or more.", "shape")
    version, (rows, cols) = _get_mma_shape(parameters, rank)
    order = tuple(reversed(range(rank)))
    tile = _make_mma_tile([1] * (rank - 2) + [rows, cols], 2, order, order)
    warps = parameters.read_sizes("warpsPerCTA", rank)
    tile = tile * make_block("warp", warps, _get_warp_order(rank, version), order)
    return combine_cluster(tile, parameters.make_cga_layout(rank), shape)


def _get_warp_order(rank: int, version: int) -> tuple[int, ...]:
    """Return the order of warps: mma.sync numbers them along n first, wgmma along m."""
    order = list(reversed(range(rank)))
    if version == 3:
        order[0], order[1] = order[1], order[0]
    return tuple(order)


def _get_parent(parameters: LayoutParameters) -> LayoutParameters:
    parent = parameters.params.get("parent")
    if not isinstance(parent, Mapping) or "attribute" not in parent:
        raise make_error(
            f"{parameters.kind}: parent is {shorten_value(str(parent), 60)}.", "Paste the line that defines it, too."
        )
    return LayoutParameters(str(parent["attribute"]), parent["params"])


def _make_dot(parameters: LayoutParameters, shape: tuple[int, ...], element_bits: int) -> LinearLayout:
    parent, rank = _get_parent(parameters), len(shape)
    operand = parameters.read_number("opIdx", 0, 1)
    if rank < 2:
        raise make_error("dot_op lays out matrices.", "Give a shape of two sizes or more.", "shape")
    k = rank - 1 if operand == 0 else rank - 2
    order = tuple(reversed(range(rank)))
    if operand:  # k first, then n, then the batch
        order = (order[1], order[0], *order[2:])
    if parent.kind == "blocked":
        return _make_blocked_dot(parent, shape, k)
    if make_operand := MAKE_OPERANDS.get(parent.kind):
        return make_operand(parameters, parent, shape)
    if parent.kind != "nvidia_mma":
        raise LayoutError(
            "unsupported_layout",
            f"dot_op of '{shorten_value(parent.kind)}' has no maps here.",
            f"A parent of blocked, nvidia_mma, {' or '.join(MAKE_OPERANDS)}.",
            "text",
        )
    version, _ = _get_mma_shape(parent, rank)
    if version == 3 and operand:
        raise make_error("dot_op: B of wgmma is in shared memory.", "opIdx = 0, or a parent of versionMajor 2.")
    width = log2(parameters.read_number("kWidth", 1, 32, max(1, 32 // element_bits)))
    tile = [1] * (rank - 2) + ([16, 8 << width] if operand == 0 else [8 << width, 8])
    warps, warp_order = parent.read_sizes("warpsPerCTA", rank), _get_warp_order(rank, version)
    layout = _make_mma_tile(tile, 1 << width, order, order)
    layout = layout * _make_broadcast("warp", warps, warp_order, k, order)
    return combine_cluster(layout, drop_operand_axis(parent.make_cga_layout(rank), k), shape)


def _make_broadcast(
    name: str, sizes: Sequence[int], order: Sequence[int], k: int, grows: Sequence[int]
) -> LinearLayout:
    """Return the layout of an index over a shape, with copies along k."""
    rank = len(sizes)
    layout = LinearLayout({name: ()}, (1,) * rank, tuple(grows))
    for axis in order:
        layout = layout * (
            make_copies(name, sizes[axis], rank, grows)
            if axis == k
            else make_identity(name, sizes[axis], axis, rank, grows)
        )
    return layout


def _make_blocked_dot(parent: LayoutParameters, shape: tuple[int, ...], k: int) -> LinearLayout:
    rank = len(shape)
    order = parent.read_order("order", rank)
    sizes = list(parent.read_sizes("sizePerThread", rank))
    lanes, warps = parent.read_sizes("threadsPerWarp", rank), parent.read_sizes("warpsPerCTA", rank)
    _require_warp_lanes(parent, lanes)
    sizes[k] = shape[k]
    block = make_block("register", sizes, order)
    block = block * _make_broadcast("lane", lanes, order, k, order) * _make_broadcast("warp", warps, order, k, order)
    return combine_cluster(block, drop_operand_axis(parent.make_cga_layout(rank), k), shape)


def _make_slice(parameters: LayoutParameters, shape: tuple[int, ...], element_bits: int) -> LinearLayout:
    axis = parameters.read_number("dim", 0, len(shape))
    parent = _get_parent(parameters)
    if parent.kind not in DISTRIBUTED:
        raise make_error(f"slice: its parent is '{shorten_value(parent.kind)}'.", "A layout of threads.")
    parent_layout = make_layout(THREADS, parent.kind, parent.params, (*shape[:axis], 1, *shape[axis:]), element_bits)
    return parent_layout.drop_axis(axis)


def _make_linear(parameters: LayoutParameters, shape: tuple[int, ...], _: int) -> LinearLayout:
    rank = len(shape)
    bases = {name: parameters.read_bases(name, rank) for name in INDICES}
    if 1 << len(bases["lane"]) not in WARP_LANES:
        raise make_error(
            f"{parameters.kind}: lane has {len(bases['lane'])} bases.",
            f"Five: a warp has {LANES} lanes; six for a wave of AMD's CDNA GPUs.",
        )
    for basis in (basis for vectors in bases.values() for basis in vectors if parameters.kind == "linear"):
        if sum(v > 0 for v in basis) > 1 or any(v & (v - 1) for v in basis):
            raise make_error(
                f"linear: the basis {list(basis)} moves in more than one axis or bit.",
                "Each basis is a power of two in one axis, or zeros.",
            )
    sizes = get_reached_sizes(bases, rank, parameters.kind)
    firsts = [next((axis for axis, v in enumerate(basis) if v), None) for basis in bases["register"]]
    order = tuple(dict.fromkeys([*(axis for axis in firsts if axis is not None), *reversed(range(rank))]))
    layout = LinearLayout(bases, sizes, order)
    return layout.grow_to(shape).cut_to(shape, True)


THREADS: dict[str, Maker] = {
    "blocked": _make_blocked,
    "nvidia_mma": _make_mma,
    "dot_op": _make_dot,
    "slice": _make_slice,
    "linear": _make_linear,
    "generic_linear": _make_linear,
    **AMD,
}
