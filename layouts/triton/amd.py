"""Layouts of threads for AMD's matrix instructions: amd_mfma and amd_wmma, and dot_op of both.

The maps follow Triton 3.9 (lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp; TritonGPUAttrDefs.td), which the tests
execute; not executed on AMD hardware. A wave of MFMA has 64 lanes, one of WMMA 32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import starmap
from math import prod
from typing import Any, TypeGuard

from lanescope.inputs import shorten_value
from lanescope.triton.linear import LinearLayout, combine_cluster, make_block, make_copies, make_identity
from lanescope.triton.parameters import WAVE_LANES, LayoutParameters, Maker, get_reached_sizes, make_error

OperandMaker = Callable[[LayoutParameters, LayoutParameters, tuple[int, ...]], LinearLayout]
NOTICE = "This layout follows Triton's code and has not run on hardware; AMD's matrix instructions are not covered."
MFMA_SHAPES = ((32, 32), (16, 16), (64, 4), (4, 64))  # M, N
WMMA_SHAPES = {  # version → (M, N, K); 1 is RDNA3, 2 RDNA4, 3 gfx1250
    1: ((16, 16, 16),),
    2: ((16, 16, 16), (16, 16, 32)),
    3: ((16, 16, 4), (16, 16, 32), (16, 16, 64), (16, 16, 128), (32, 16, 64), (32, 16, 128)),
}
WMMA_WIDTHS = {1: (8, 16), 2: (4, 8, 16)}  # kWidth; of version 3 any power of two
_MOST_WIDTH = 1 << 10


def _require_matrix(parameters: LayoutParameters, rank: int) -> None:
    if rank not in (2, 3):
        raise make_error(
            f"{parameters.kind} lays out matrices.", "Give a shape of two sizes, or of three with a batch.", "shape"
        )


def _join_parts(rank: int, grows: Sequence[int], parts: Sequence[tuple[str, int, int]]) -> LinearLayout:
    """Return the product of identities (index, count, axis), skipping counts of 0."""
    layout = LinearLayout({"register": (), "lane": (), "warp": ()}, (1,) * rank, tuple(grows))
    for name, count, axis in parts:
        if count:
            layout = layout * make_identity(name, count, axis, rank, grows)
    return layout


# MFMA -----------------------------------------------------------------------------------------------------------------


def _get_mfma_shape(parameters: LayoutParameters) -> tuple[int, int]:
    """Return (M, N) of the instruction; since Triton 3.6 instrShape also has K."""
    parameters.read_number("versionMajor" if "versionMajor" in parameters.params else "version", 0, 4, 0)
    value = parameters.params.get("instrShape")
    listed = isinstance(value, list | tuple) and len(value) in (2, 3) and all(type(n) is int and n >= 0 for n in value)
    shape = tuple(value[:2]) if listed and value is not None else ()
    if shape not in MFMA_SHAPES:
        allowed = ", ".join(starmap("{} × {}".format, MFMA_SHAPES))
        raise make_error(
            f"amd_mfma: instrShape is {shorten_value(str(value), 60)}.", f"[M, N, K], where M × N is one of {allowed}."
        )
    if shape == (64, 4) and not parameters.read_flag("isTransposed"):
        raise make_error("amd_mfma: 64 × 4 with isTransposed = false.", "64 × 4 needs isTransposed = true.")
    return shape[0], shape[1]


def _get_element_bits(parameters: LayoutParameters) -> int:
    bits = parameters.read_number("elementBitWidth", 1, WAVE_LANES, 32)
    if bits not in (32, 64):
        raise make_error(f"amd_mfma: elementBitWidth is {bits}.", "32 or 64, the bits of an element of the result.")
    return bits


def _get_tiles(parameters: LayoutParameters, rank: int) -> tuple[int, ...]:
    """Return tilesPerWarp, one per axis; further ones are unused, as in Triton."""
    tiles = parameters.read_sizes("tilesPerWarp", None, (1,) * rank)
    if not rank <= len(tiles) <= 3:
        raise make_error(
            f"{parameters.kind}: tilesPerWarp is {list(tiles)}, and the tensor's rank is {rank}.",
            f"A list of {rank} numbers.",
        )
    return tiles


def _make_mfma(parameters: LayoutParameters, shape: tuple[int, ...], _: int) -> LinearLayout:
    """Return D of MFMA: each lane holds four elements of a column (one of 64 bits), of a row if transposed."""
    rank = len(shape)
    _require_matrix(parameters, rank)
    rows, cols = _get_mfma_shape(parameters)
    m, n = rank - 2, rank - 1
    along, across, lanes = (n, m, rows) if parameters.read_flag("isTransposed") else (m, n, cols)
    height = 4 if _get_element_bits(parameters) == 32 else 1
    tiles, warps = _get_tiles(parameters, rank), parameters.read_sizes("warpsPerCTA", rank)
    parts = [
        ("register", height, along),
        ("lane", lanes, across),
        ("lane", WAVE_LANES // lanes, along),
        ("register", rows * cols // (WAVE_LANES * height), along),
        ("register", tiles[n], n),
        ("warp", warps[n], n),
        ("register", shape[n] // (cols * warps[n] * tiles[n]), n),  # all of a row before the next row of tiles
        ("register", tiles[m], m),
        ("warp", warps[m], m),
    ]
    parts += [("warp", warps[0], 0)] * (rank - 2)
    return combine_cluster(
        _join_parts(rank, tuple(reversed(range(rank))), parts), parameters.make_cga_layout(rank), shape
    )


def _get_operand_axes(parameters: LayoutParameters, rank: int) -> tuple[int, int, tuple[int, ...]]:
    """Return (axis of K, the other axis of the matrix, axes from fastest to slowest) of A or B."""
    axes = (rank - 1, rank - 2) if parameters.read_number("opIdx", 0, 1) == 0 else (rank - 2, rank - 1)
    return *axes, (*axes, *range(rank - 2))


def _make_mfma_operand(parameters: LayoutParameters, parent: LayoutParameters, shape: tuple[int, ...]) -> LinearLayout:
    """Return A or B of MFMA: kWidth elements of K in a lane, then lanes along M or N, then along K."""
    rank = len(shape)
    _require_matrix(parameters, rank)
    mn = _get_mfma_shape(parent)
    _get_element_bits(parent)
    k, other_axis, grows = _get_operand_axes(parameters, rank)
    width, operand = _get_width(parameters, parent), parameters.read_number("opIdx", 0, 1)
    tiles, warps = _get_tiles(parent, rank), parent.read_sizes("warpsPerCTA", rank)
    depth = WAVE_LANES // mn[operand]
    repeats = 16 if mn[operand] == 64 else 1  # the operand of 64 × 64 of a product of 64 × 4
    tile = depth * width * repeats
    parts = [
        ("register", width, k),
        ("lane", mn[operand], other_axis),
        ("lane", depth, k),
        ("register", repeats, k),
        ("register", shape[k] // tile if shape[k] > tile else 0, k),
        ("register", tiles[other_axis], other_axis),
    ]
    layout = _join_parts(rank, grows, parts) * make_block("warp", warps, tuple(reversed(range(rank))), grows)
    return combine_cluster(layout, parent.make_cga_layout(rank), shape)


def _get_width(parameters: LayoutParameters, parent: LayoutParameters) -> int:
    """Return kWidth, which operands of AMD's layouts require."""
    if parent.kind == "amd_wmma" and (allowed := WMMA_WIDTHS.get(parent.read_number("version", 1, 3))):
        width = parameters.params.get("kWidth", 0)
        if width not in allowed:
            raise make_error(
                f"dot_op: kWidth is {shorten_value(str(width), 40)}.",
                f"{', '.join(map(str, allowed[:-1]))} or {allowed[-1]} of amd_wmma version {parent.params['version']}.",
            )
        return int(width)
    width = parameters.read_number("kWidth", 0, _MOST_WIDTH, 0)
    if not width or width & (width - 1):
        raise make_error(
            f"dot_op: kWidth is {width}.",
            f"A power of two, the elements of K that a lane of {parent.kind} holds in a row.",
        )
    return width


# WMMA -----------------------------------------------------------------------------------------------------------------


def _get_wmma_shape(parameters: LayoutParameters) -> tuple[int, tuple[int, int, int]]:
    """Return (version, (M, N, K) of the instruction)."""
    version = parameters.read_number("version", 1, 3)
    value = parameters.params.get("instrShape", [16, 16, 16])
    known = WMMA_SHAPES[version]
    shape = next((row for row in known if list(row) == list(value)), None) if _is_listed(value) else None
    if shape is None:
        allowed = ", ".join(str(list(row)) for row in known)
        raise make_error(
            f"amd_wmma of version {version}: instrShape is {shorten_value(str(value), 60)}.", f"Allowed: {allowed}."
        )
    return version, shape


def _is_listed(value: Any) -> TypeGuard[Sequence[int]]:
    return isinstance(value, list | tuple) and all(type(n) is int for n in value)


def _make_cta_layout(parameters: LayoutParameters, rank: int, cols: int = 0) -> LinearLayout:
    """Return the layout of registers and warps over the instruction's tiles.

    ctaLayout has their bases. Up to Triton 3.6, warpsPerCTA and tilesPerWarp determined them, and registers covered all
    `cols` tiles of a row before the next row of tiles.
    """
    grows = tuple(reversed(range(rank)))
    parameters.read_number("rank", rank, rank, rank)
    if "ctaLayout" not in parameters.params:
        warps, tiles = parameters.read_sizes("warpsPerCTA", rank), _get_tiles(parameters, rank)
        m, n = rank - 2, rank - 1
        parts = [("register", tiles[n], n), ("warp", warps[n], n), ("register", cols // (tiles[n] * warps[n]), n)]
        parts += [("register", tiles[m], m), ("warp", warps[m], m), *[("warp", warps[0], 0)] * (rank - 2)]
        return _join_parts(rank, grows, parts)
    value = parameters.params["ctaLayout"]
    if not isinstance(value, Mapping) or not set(value) <= {"register", "warp"}:
        raise make_error(
            f"amd_wmma: ctaLayout is {shorten_value(str(value), 60)}.",
            "{warp = [[0, 1], [1, 0]]}, and register = … for several tiles of a warp.",
        )
    of_tiles = LayoutParameters("amd_wmma: ctaLayout", value)
    bases = {name: of_tiles.read_bases(name, rank) for name in ("register", "warp")}
    return LinearLayout(bases, get_reached_sizes(bases, rank, of_tiles.kind), grows)


def _make_wmma(parameters: LayoutParameters, shape: tuple[int, ...], _: int) -> LinearLayout:
    """Return D of WMMA: 16 lanes along N, or along M if transposed; version 1 alternates rows between half waves."""
    rank = len(shape)
    _require_matrix(parameters, rank)
    version, (rows, cols, _) = _get_wmma_shape(parameters)
    along, across = (rank - 1, rank - 2) if parameters.read_flag("isTranspose") else (rank - 2, rank - 1)
    halves, registers = ("lane", 2, along), ("register", 8, along)
    parts = [("lane", 16, across), *((halves, registers) if version == 1 else (registers, halves))]
    parts.append(("register", rows // 16, along))
    tile = _join_parts(rank, tuple(reversed(range(rank))), parts)
    over_tiles = _make_cta_layout(parameters, rank, shape[-1] // cols)
    return _cover_tensor(tile * over_tiles, parameters.make_cga_layout(rank), shape)


def _make_wmma_operand(parameters: LayoutParameters, parent: LayoutParameters, shape: tuple[int, ...]) -> LinearLayout:
    """Return A or B of WMMA: kWidth elements of K per lane, 16 lanes along M or N, two along K.

    In version 1 both half waves hold the same elements.
    """
    rank = len(shape)
    _require_matrix(parameters, rank)
    version, (rows, cols, deep) = _get_wmma_shape(parent)
    k, other_axis, grows = _get_operand_axes(parameters, rank)
    width, swapped = _get_width(parameters, parent), parent.read_flag("isTranspose")
    size = (rows, cols)[parameters.read_number("opIdx", 0, 1) ^ swapped]
    tile = _join_parts(rank, grows, [("register", width, k), ("lane", 16, other_axis)])
    tile = tile * (make_copies("lane", 2, rank, grows) if version == 1 else make_identity("lane", 2, k, rank, grows))
    repeats = deep // (2 * width)
    tile = tile * _join_parts(rank, grows, [("register", repeats, k), ("register", size // 16, other_axis)])
    cluster = parent.make_cga_layout(rank)
    if "ctaLayout" in parent.params:
        cluster = drop_operand_axis(cluster, k)
    elif _get_tiles(parent, rank)[other_axis] > 1:  # as in Triton 3.6: all of K before the next tile
        tile = tile * _join_parts(rank, grows, [("register", shape[k] // (2 * width * max(1, repeats)), k)])
    bases = {name: _drop_axis_bases(vectors, k) for name, vectors in _make_cta_layout(parent, rank).bases.items()}
    bases["register"] = tuple(basis for basis in bases["register"] if any(basis))
    over_tiles = LinearLayout(bases, get_reached_sizes(bases, rank, parent.kind), grows)
    return _cover_tensor(tile * over_tiles, cluster, shape)


def _cover_tensor(layout: LinearLayout, cluster: LinearLayout, shape: tuple[int, ...]) -> LinearLayout:
    """Return one block's layout over a tensor; LayoutError if elements are missing after ctaLayout is cut to it."""
    tensor_layout = combine_cluster(layout, cluster, shape)
    get_reached_sizes(tensor_layout.bases, len(shape), "amd_wmma")
    return tensor_layout


def _drop_axis_bases(vectors: Sequence[tuple[int, ...]], axis: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(0 if at == axis else v for at, v in enumerate(basis)) for basis in vectors)


def drop_operand_axis(cluster: LinearLayout, k: int) -> LinearLayout:
    """Return the layout of a cluster's blocks for an operand: every block has all of K."""
    sizes = tuple(1 if axis == k else size for axis, size in enumerate(cluster.sizes))
    return LinearLayout({"block": _drop_axis_bases(cluster.bases["block"], k)}, sizes, cluster.order)


def is_amd(kind: str, params: Mapping[str, Any]) -> bool:
    """Return whether a layout or its parent is of AMD's matrix instructions or has 64 lanes."""
    parent, lane, threads = params.get("parent"), params.get("lane"), params.get("threadsPerWarp")
    if isinstance(parent, Mapping) and "attribute" in parent and is_amd(parent["attribute"], parent["params"]):
        return True
    of_wave = _is_listed(threads) and prod(threads) == WAVE_LANES
    return kind in AMD or of_wave or (isinstance(lane, list) and 1 << len(lane) == WAVE_LANES)


AMD: dict[str, Maker] = {"amd_mfma": _make_mfma, "amd_wmma": _make_wmma}
MAKE_OPERANDS: dict[str, OperandMaker] = {"amd_mfma": _make_mfma_operand, "amd_wmma": _make_wmma_operand}
