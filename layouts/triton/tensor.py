"""Layouts of tensor memory: the lane (row) and column of each element (tensorMemoryToLinearLayout of Triton 3.9).

Columns are in elements: `32 / element bits` of them per 32-bit column of tcgen05. A zero basis in rows 32 and 64
repeats the tensor in the lanes of other warps; any other zero basis marks cells without an element.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lanescope.triton.linear import Basis, LinearLayout, log2, make_copies, make_identity
from lanescope.triton.parameters import LayoutParameters, Maker, make_error

COLUMNS, COLUMN_BITS = 512, 32
ORDER = (0, 1)


def _make_axis_identity(name: str, count: int, axis: int) -> LinearLayout:
    return make_identity(name, count, axis, 2, ORDER)


def _make_cluster_part(parameters: LayoutParameters, shape: tuple[int, ...]) -> tuple[LinearLayout, tuple[int, int]]:
    """Return (layout of the cluster's blocks, (rows, columns) of one block)."""
    if len(shape) != 2:
        raise make_error(
            f"{parameters.kind} lays out matrices; the shape has {len(shape)} sizes.", "Give two sizes.", "shape"
        )
    cluster = parameters.make_cga_layout(2)
    rows, cols = (
        max(1, size // cluster_size) for size, cluster_size in zip(shape, cluster.cut_to(shape).sizes, strict=True)
    )
    return cluster, (rows, cols)


def _make_matrix(parameters: LayoutParameters, shape: tuple[int, ...], element_bits: int) -> LinearLayout:
    cluster, (rows, cols) = _make_cluster_part(parameters, shape)
    wide, two = _get_column_stride(parameters, element_bits), bool(parameters.params.get("twoCTAs"))
    high, least = parameters.read_number("blockM", 1, 512), min(parameters.read_number("blockN", 1, 512), cols)
    if high not in (64, 128):
        raise make_error(f"{parameters.kind}: blockM is {high}.", "64 or 128.")
    log2(parameters.read_number("blockN", 1, 512))
    _check_cluster(parameters, cluster)
    across = make_copies("col", 2 if parameters.params.get("fp4Padded") else 1, 2, ORDER) * _make_axis_identity(
        "col", least, 1
    )
    tile = make_copies("col", wide, 2, ORDER)
    if high == 128 or two:
        tile = tile * _make_axis_identity("row", high, 0) * across
        if high == 64:
            if least * wide == 1:
                raise make_error(
                    f"{parameters.kind}: a pair with blockM 64 halves blockN, which is 1 here.", "blockN of 2 or more."
                )
            tile = _move_last_columns(tile)
    else:  # 16 lanes of each warp; the other 16 hold the rest of the block
        tile = tile * _make_axis_identity("row", 16, 0) * across
        more = (64, 0) if rows > 64 else (0, least) if cols > least else (0, 0)
        sizes = 64 * (2 if more[0] else 1), least * (2 if more[1] else 1)
        tile = LinearLayout({**tile.bases, "row": (*tile.bases["row"], more, (16, 0), (32, 0))}, sizes, ORDER)
    _check_block(parameters, tile, (rows, cols))
    more_rows, more_cols = rows // tile.sizes[0], cols // tile.sizes[1]
    return tile * _make_axis_identity("col", more_rows, 0) * _make_axis_identity("col", more_cols, 1) * cluster


def _check_cluster(parameters: LayoutParameters, cluster: LinearLayout) -> None:
    """Raise LayoutError for the CTA mode of other releases, and for a pair whose first basis is not [1, 0]."""
    mode = parameters.params.get("ctaMode")
    if mode not in (None, "DEFAULT", "default"):
        raise make_error(f"{parameters.kind}: ctaMode is {mode}.", "Triton 3.9 has no such parameter: leave it out.")
    if parameters.params.get("twoCTAs") and cluster.bases["block"][:1] != ((1, 0),):
        raise make_error(
            f"{parameters.kind}: twoCTAs with the CGALayout {[list(b) for b in cluster.bases['block']]}.",
            "The first basis of a pair is [1, 0]: CGALayout = [[1, 0]].",
        )


def _move_last_columns(tile: LinearLayout) -> LinearLayout:
    """Return a tile whose last columns are in lanes 64 to 127: PTX's layout B."""
    bases = tile.bases
    return LinearLayout({"row": (*bases["row"], bases["col"][-1]), "col": bases["col"][:-1]}, tile.sizes, ORDER)


def _check_block(parameters: LayoutParameters, tile: LinearLayout, block: tuple[int, int]) -> None:
    """Raise LayoutError for a block whose rows or columns are not a multiple of the tile's."""
    for axis, name, size in ((0, "blockM", block[0]), (1, "blockN", block[1])):
        if size % tile.sizes[axis]:
            raise make_error(
                f"{parameters.kind}: {name} needs {tile.sizes[axis]} {('rows', 'columns')[axis]}; a block has {size}.",
                "Give a larger shape or a smaller block.",
                "shape",
            )


def _get_column_stride(parameters: LayoutParameters, element_bits: int) -> int:
    """Return colStride, the distance of adjacent columns in elements; older Triton has `unpacked` instead."""
    if "colStride" not in parameters.params and isinstance(unpacked := parameters.params.get("unpacked"), bool):
        return max(1, COLUMN_BITS // element_bits) if unpacked else 1
    stride = parameters.read_number("colStride", 1, 4)
    if stride not in (1, 2, 4):
        raise make_error(f"{parameters.kind}: colStride is {stride}.", "1, 2 or 4.")
    if parameters.params.get("fp4Padded") and stride != 1:
        raise make_error(f"{parameters.kind}: fp4Padded with colStride {stride}.", "fp4Padded needs colStride = 1.")
    return stride


def _make_scales(parameters: LayoutParameters, shape: tuple[int, ...], _: int) -> LinearLayout:
    """Return the layout of scale factors: 32 lanes, repeated in each warp; four factors along K per 32-bit column."""
    cluster, (rows, cols) = _make_cluster_part(parameters, shape)
    words = parameters.params.get("blockRepOrder", "mnThenK")
    if words not in ("mnThenK", "kThenMn"):
        raise make_error(f"{parameters.kind}: blockRepOrder is {words}.", "mnThenK or kThenMn.")
    tile = (
        _make_axis_identity("row", 32, 0)
        * make_copies("row", 4, 2, ORDER)
        * _make_axis_identity("col", 4, 1)
        * _make_axis_identity("col", 2, 0)
    )
    along, deep = -(-rows // 64), -(-cols // 4)
    if along > 1:
        tile, along = tile * _make_axis_identity("col", 2, 0), along // 2
    reps = (_make_axis_identity("col", along, 0), _make_axis_identity("col", deep, 1))
    tile = tile * reps[words == "kThenMn"] * reps[words != "kThenMn"]
    tile = LinearLayout({"row": tile.bases["row"], "col": tile.bases["col"]}, tile.sizes, ORDER)
    return tile.cut_to((rows, cols)) * cluster


def mask_occupied(layout: LinearLayout) -> NDArray[np.bool_]:
    """Return whether each cell holds an element: bool [lane][column of elements]."""
    lane = layout.bases["row"]
    return _mask_full((*lane[:5], *[(1, 0)] * (len(lane) - 5)))[:, None] & _mask_full(layout.bases["col"])


def _mask_full(bases: Sequence[Basis]) -> NDArray[np.bool_]:
    """Return, for each index, whether none of its set bits has a zero basis."""
    mask = np.ones(1, dtype=np.bool_)
    for basis in bases:
        mask = np.concatenate([mask, mask & any(basis)])
    return mask


TENSORS: dict[str, Maker] = {"tensor_memory_encoding": _make_matrix, "tensor_memory_scales_encoding": _make_scales}
