"""TMA boxes: the storage of a box in shared memory, the rules of a tensor map, and the boxes that write a tile.

Source: CUDA driver API 13.0, cuTensorMapEncodeTiled; both were tested on hardware ("boxes" in the evidence files): the
storage byte for byte, the rules against the driver's results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from lanescope.descriptor.matrix import SM_BYTES
from lanescope.shared.swizzle import MODES
from lanescope.shared.tiling import Tile

MOST_BOX = 256  # elements of a box along one dimension
MOST_RANK = 5
MOST_STEP = 8  # element stride
ALIGNMENT = 16  # bytes: of the inner box, strides, and the innermost coordinate's offset
MOST_BOX_BYTES = SM_BYTES  # of a whole box, without the padding of its rows
BOX_ALIGNMENT = 128  # bytes: of a box in shared memory
WIDTHS = {mode.name: mode.width_bytes for mode in MODES}
BrokenRule = tuple[str, str]  # code and sentence of a rule that a tensor map breaks


def get_pitch_bytes(inner_bytes: int, swizzle: str) -> int:
    """Return the bytes from one row of a box to the next: the inner box, or the swizzle's width if that is larger.

    >>> get_pitch_bytes(64, "none"), get_pitch_bytes(64, "128B")
    (64, 128)
    """
    return max(inner_bytes, WIDTHS[swizzle])


def make_box_storage(
    box: Sequence[int],
    element_bits: int,
    swizzle: str,
    strides: Sequence[int | None] = (),
    base: int | None = None,
    inner: str | None = None,
) -> dict[str, Any]:
    """Return the storage of a box in shared memory.

    box: innermost first; strides: bytes, without the innermost. Usually kind "rows", in the order of the box's outer
    dimensions. If the dimension after the lines continues the innermost one (its stride is the inner box), the box
    consists of panels: kind "atoms". Dimensions of which the box has one element do not count.
    """
    width = box[0] * element_bits // 8
    pitch = get_pitch_bytes(width, swizzle)
    outer = [(size, stride) for size, stride in zip(box[1:], strides, strict=False) if size > 1]
    if len(outer) > 1 and outer[1][1] == width:
        return make_panel_storage(width, outer[0][0], swizzle, base, inner)
    return {
        "kind": "rows",
        "inner": inner,
        "pitch_bytes": pitch,
        "swizzle": swizzle,
        "swizzle_by": "address",
        "base": base,
    }


def make_panel_storage(
    width: int, lines: int, swizzle: str | None, base: int | None = None, inner: str | None = None
) -> dict[str, Any]:
    """Return a storage of kind "atoms": consecutive panels of `lines` rows, each `width` bytes wide."""
    pitch = get_pitch_bytes(width, swizzle or "none")
    return {
        "kind": "atoms",
        "inner": inner,
        "width_bytes": width,
        "outer8_stride": 8 * pitch,
        "inner_stride": pitch * lines,
        "line_stride": pitch,
        "swizzle": swizzle,
        "swizzle_by": "address",
        "base": base,
    }


def find_broken_rules(
    element_bits: int | None,
    dims: Sequence[int | None],
    strides: Sequence[int | None],
    *,
    box: Sequence[int | None],
    steps: Sequence[int | None] = (),
    swizzle: str | None = "none",
    interleave: int | None = 0,
) -> Iterator[BrokenRule]:
    """Yield (code, sentence) for every rule of cuTensorMapEncodeTiled that a tensor map breaks.

    dims, box and steps in elements, innermost first; strides in bytes, without the innermost. None is unknown.
    """
    if len(box) > MOST_RANK:
        yield "tma_rank", f"A tensor map has 1 to {MOST_RANK} dimensions, not {len(box)}."
    yield from _check_range(box, MOST_BOX, "tma_box", "boxDim", f"{MOST_BOX}")
    if element_bits and box and box[0] is not None:
        width = box[0] * element_bits // 8
        if width % ALIGNMENT:
            yield "tma_inner_box", f"The inner box is {width} bytes wide; it must be a multiple of {ALIGNMENT}."
        if not interleave:  # with interleave, the driver accepts any width (H100)
            yield from _check_swizzle_width(width, swizzle, element_bits)
        yield from _check_box_bytes(box, element_bits)
    yield from _check_strides(dims, strides)
    yield from _check_range(dims, 1 << 32, "tma_dim", "globalDim", "2^32")
    yield from _check_range(steps, MOST_STEP, "tma_element_stride", "elementStrides", f"{MOST_STEP}")


def _check_range(values: Sequence[int | None], most: int, code: str, name: str, limit: str) -> Iterator[BrokenRule]:
    """Yield a broken rule for each value that is not from 1 to a limit."""
    for n, value in enumerate(values):
        if value is not None and not 1 <= value <= most:
            yield code, f"{name}[{n}] is {value}; it must be 1 to {limit}."


def _check_swizzle_width(width: int, swizzle: str | None, element_bits: int) -> Iterator[BrokenRule]:
    """Yield a broken rule if the inner box is wider than the swizzle."""
    limit = WIDTHS.get(swizzle or "", 0) if swizzle != "none" else 0
    if limit and width > limit:
        yield (
            "tma_inner_over_swizzle",
            f"The inner box is {width} bytes wide, but a swizzle of {swizzle} allows at most {limit}: boxDim[0] may"
            f" be {limit * 8 // element_bits}.",
        )


def _check_box_bytes(box: Sequence[int | None], element_bits: int) -> Iterator[BrokenRule]:
    """Yield a broken rule if all sizes of a box are known and it is larger than shared memory."""
    sizes = [size for size in box if size is not None]
    box_bytes = prod(sizes) * element_bits // 8
    if len(sizes) == len(box) and box_bytes > MOST_BOX_BYTES:
        yield "tma_box_bytes", f"The box is {box_bytes:,} bytes; it must be at most {MOST_BOX_BYTES:,}."


def _check_strides(dims: Sequence[int | None], strides: Sequence[int | None]) -> Iterator[BrokenRule]:
    """Yield a broken rule for each stride that is misaligned or too large; 0 over one element is allowed."""
    for n, stride in enumerate(strides):
        outer = dims[n + 1] if n + 1 < len(dims) else None
        if stride is None or (stride == 0 and outer in (0, 1)):
            continue
        if stride % ALIGNMENT:
            yield "tma_stride", f"globalStrides[{n}] is {stride} bytes; it must be a multiple of {ALIGNMENT}."
        if not 0 <= stride < 1 << 40:
            yield "tma_stride", f"globalStrides[{n}] is {stride} bytes; it must be from 0 to less than 2^40."


@dataclass(frozen=True, slots=True)
class BoxSeries:
    """`count` equal boxes, consecutive in shared memory, in the order of the tile's atoms.

    inner: the contiguous dimension, "K" or "MN"; wide, tall: the box's elements along it and across it (for b1: bytes
    of eight); note: a remark for the user, or "".
    """

    inner: str
    wide: int
    tall: int
    count: int
    note: str


def make_box_series(tile: Tile) -> BoxSeries:
    """Return the boxes that write a tile: each is one atom wide.

    A column of atoms taller than the limit takes several.
    """
    inner = 1 if tile.major == "K" else 0
    wide, lines, columns = tile.atom[inner], (tile.mn, tile.k)[1 - inner], tile.atoms[inner]
    notes = []
    if tile.mode.chunks == 1:
        notes.append("Mode none: a box 16 bytes wide for each column of core matrices.")
    tall = max(rows for rows in range(8, min(lines, MOST_BOX) + 1, 8) if not lines % rows)
    if columns > 1 and tile.order != ("mn" if tile.major == "K" else "k"):
        notes = [
            "The atoms are placed along the other dimension first. This needs one box per row of atoms (8 rows high)."
        ]
        tall = 8
    if tile.element_bits < 8:
        wide = wide * tile.element_bits // 8
        notes.append(f"The box counts bytes of packed {tile.element_bits}-bit elements.")
    return BoxSeries(tile.major, wide, tall, columns * (lines // tall), " ".join(notes))
