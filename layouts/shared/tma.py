"""TMA boxes: where a box of a tensor map lies in shared memory, what the driver refuses, which boxes write a tile.

Source: CUDA driver API 13.0, cuTensorMapEncodeTiled; the part "boxes" of the evidence files executed both, the storage
byte for byte and the rules against the driver's answer.
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
GRAIN = 16  # bytes: inner box, strides, and the place of the innermost coordinate are multiples of it
MOST_BOX_BYTES = SM_BYTES  # of a whole box, rows without their padding
ALIGNED = 128  # bytes: the box begins at a multiple of it in shared memory
WIDTHS = {mode.name: mode.width_bytes for mode in MODES}
Broken = tuple[str, str]  # code and sentence of a rule that a tensor map breaks


def get_pitch_bytes(inner_bytes: int, swizzle: str) -> int:
    """Return the bytes from one row of a box to the next: the inner box, or with a swizzle its width if that is larger.

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
    """Return what a box leaves in shared memory, as a storage of the contract.

    box: innermost first; strides: bytes, without the innermost.

    Rows in the order of the box's outer dimensions, one `pitch_bytes` after the other. Where the third dimension
    goes on along the innermost (its stride is the inner box), the box is panels side by side: kind "atoms".
    """
    width = box[0] * element_bits // 8
    pitch = get_pitch_bytes(width, swizzle)
    if len(box) > 2 and len(strides) > 1 and strides[1] == width and box[1] > 1 and box[2] > 1:
        return make_panel_storage(width, box[1], swizzle, base, inner)
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
    """Return panels of `lines` rows, `width` bytes wide, one after the other: a storage of kind "atoms"."""
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


def find_refusals(
    element_bits: int | None,
    dims: Sequence[int | None],
    strides: Sequence[int | None],
    *,
    box: Sequence[int | None],
    steps: Sequence[int | None] = (),
    swizzle: str | None = "none",
    interleave: int | None = 0,
) -> Iterator[tuple[str, str]]:
    """Yield (code, sentence) for every rule that a tensor map breaks, so that the driver refuses it.

    dims, box and steps in elements, innermost first; strides in bytes, without the innermost. None is left open.
    """
    if len(box) > MOST_RANK:
        yield "tma_rank", f"A tensor map has 1 to {MOST_RANK} dimensions, not {len(box)}."
    yield from _check_range(box, MOST_BOX, "tma_box", "boxDim", f"{MOST_BOX}")
    if element_bits and box and box[0] is not None:
        width = box[0] * element_bits // 8
        if width % GRAIN:
            yield "tma_inner_box", f"The inner box is {width} bytes wide; it must be a multiple of {GRAIN}."
        if not interleave:  # of slices, an H100’s driver takes any width
            yield from _check_swizzle_width(width, swizzle, element_bits)
        yield from _check_box_bytes(box, element_bits)
    yield from _check_strides(dims, strides)
    yield from _check_range(dims, 1 << 32, "tma_dim", "globalDim", "2^32")
    yield from _check_range(steps, MOST_STEP, "tma_element_stride", "elementStrides", f"{MOST_STEP}")


def _check_range(values: Sequence[int | None], most: int, code: str, name: str, limit: str) -> Iterator[Broken]:
    """Yield the values that are not from 1 to a limit."""
    for n, value in enumerate(values):
        if value is not None and not 1 <= value <= most:
            yield code, f"{name}[{n}] is {value}; it must be 1 to {limit}."


def _check_swizzle_width(width: int, swizzle: str | None, element_bits: int) -> Iterator[Broken]:
    """Yield an inner box that is wider than its swizzle."""
    limit = WIDTHS.get(swizzle or "", 0) if swizzle != "none" else 0
    if limit and width > limit:
        yield (
            "tma_inner_over_swizzle",
            f"The inner box is {width} bytes wide, but a swizzle of {swizzle} takes at most {limit}:"
            f" boxDim[0] may be {limit * 8 // element_bits}.",
        )


def _check_box_bytes(box: Sequence[int | None], element_bits: int) -> Iterator[Broken]:
    """Yield a box that is larger than shared memory, where all its sizes are known."""
    sizes = [size for size in box if size is not None]
    box_bytes = prod(sizes) * element_bits // 8
    if len(sizes) == len(box) and box_bytes > MOST_BOX_BYTES:
        yield "tma_box_bytes", f"The box is {box_bytes:,} bytes; it must be at most {MOST_BOX_BYTES:,}."


def _check_strides(dims: Sequence[int | None], strides: Sequence[int | None]) -> Iterator[Broken]:
    """Yield strides that are misaligned or too large; a stride of 0 over one element is not looked at."""
    for n, stride in enumerate(strides):
        outer = dims[n + 1] if n + 1 < len(dims) else None
        if stride is None or (stride == 0 and outer in (0, 1)):
            continue
        if stride % GRAIN:
            yield "tma_stride", f"globalStrides[{n}] is {stride} bytes; it must be a multiple of {GRAIN}."
        if not 0 <= stride < 1 << 40:
            yield "tma_stride", f"globalStrides[{n}] is {stride} bytes; it must be from 0 to less than 2^40."


@dataclass(frozen=True, slots=True)
class BoxSeries:
    """`count` equal boxes, one after the other in shared memory, in the order of the tile's atoms.

    inner: the contiguous dimension, "K" or "MN". wide, tall: elements of a box along it and across it (b1: eight a
    byte, so bytes). note: what a reader must know beside these numbers, or "".
    """

    inner: str
    wide: int
    tall: int
    count: int
    note: str


def make_box_series(tile: Tile) -> BoxSeries:
    """Return the boxes that write a tile: the inner box is one atom wide, one box per column of atoms.

    A column that is taller than a box may be takes several.
    """
    inner = 1 if tile.major == "K" else 0
    wide, lines, columns = tile.atom[inner], (tile.mn, tile.k)[1 - inner], tile.atoms[inner]
    notes = []
    if tile.mode.chunks == 1:
        notes.append("Mode none: a box 16 bytes wide for each column of core matrices.")
    tall = max(rows for rows in range(8, min(lines, MOST_BOX) + 1, 8) if not lines % rows)
    if columns > 1 and tile.order != ("mn" if tile.major == "K" else "k"):
        notes = [
            "The atoms are placed along the other dimension first. This takes one box per row of atoms (8 rows high)."
        ]
        tall = 8
    if tile.element_bits < 8:
        wide = wide * tile.element_bits // 8
        notes.append(f"The box counts bytes of packed {tile.element_bits}-bit elements.")
    return BoxSeries(tile.major, wide, tall, columns * (lines // tall), " ".join(notes))
