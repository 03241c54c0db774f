"""Tensor maps in im2col mode: the rules of cuTensorMapEncodeIm2col, and the pixels that a load copies.

Sources: PTX ISA 9.1, 5.5.4; CUDA driver API 13.0, cuTensorMapEncodeIm2col. Corners are innermost first, W H D, as
CUTLASS (include/cute/atom/copy_traits_sm90_im2col.hpp) and Triton pass them to the driver. Loads,
also with strides, and a store equal those of an H100 and an H200 bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
RANKS = (3, 4, 5)
MOST_CHANNELS, MOST_PIXELS = 256, 1024
GRAIN = 16  # the bytes of a pixel are a multiple of this
CORNER_BITS = {3: 16, 4: 8, 5: 5}  # of a signed corner, by the tensor's rank; offsets are unsigned


@dataclass(frozen=True, slots=True)
class PixelBox:
    """The bounding box of a filter's base positions.

    lower, upper: offsets from the first and the last pixel of an image, along W, H and D. channels: elements per pixel
    of a load; pixels: their number.
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int


def find_pixel_refusals(
    box: PixelBox, dims: Sequence[int], element_bits: int, span: int, packed: bool
) -> Iterator[tuple[str, str, str]]:
    """Yield (code, sentence, launch field) for every rule of the driver that a map breaks.

    dims: of the tensor, innermost first; span: bytes of the swizzle's span, 0 for none; packed: whether elements have 4
    or 6 bits with padding.
    """
    rank = len(dims)
    if rank not in RANKS:
        yield "tma_rank", f"The tensor has {rank} dimensions; in im2col mode it must have 3 to 5.", "dims"
        return
    half = 1 << CORNER_BITS[rank] - 1
    for name, corner in (("lower", box.lower), ("upper", box.upper)):
        for n, value in enumerate(corner):
            if not -half <= value < half:
                yield (
                    "tma_corner",
                    f"pixel_{name}[{n}] is {value}; for {rank} dimensions it must be from {-half} to {half - 1}.",
                    f"pixel_{name}",
                )
    for n, (size, low, high) in enumerate(zip(dims[1:], box.lower, box.upper, strict=False)):
        if size + high - low < 1:
            yield (
                "tma_corner",
                f"The box is empty along {'WHD'[n]}: from {low} to {size - 1 + high}.",
                "pixel_upper",
            )
    if not 1 <= box.channels <= MOST_CHANNELS:
        yield "tma_channels", f"channels is {box.channels}; it must be 1 to {MOST_CHANNELS}.", "channels"
    if packed and box.channels != 128:
        yield "tma_channels", f"channels is {box.channels}; for this type it must be 128.", "channels"
    if not 1 <= box.pixels <= MOST_PIXELS:
        yield "tma_pixels", f"pixels is {box.pixels}; it must be 1 to {MOST_PIXELS}.", "pixels"
    width = box.channels * element_bits // 8
    if box.channels * element_bits % (8 * GRAIN):
        yield "tma_channels", f"A pixel is {width} bytes; it must be a multiple of {GRAIN}.", "channels"
    if span and width > span:
        yield (
            "tma_inner_over_swizzle",
            f"A pixel is {width} bytes; with this swizzle it can be at most {span}.",
            "channels",
        )


class OutsideBoxError(Exception):
    """Coordinates or offsets that im2col mode does not define, or whose result is unknown."""


def locate_pixels(
    box: PixelBox, dims: Sequence[int], steps: Sequence[int], base: Sequence[int], offsets: Sequence[int]
) -> Numbers:
    """Return the tensor indices of each pixel of a load: [pixels, W H D and N]; some lie outside the tensor.

    steps: traversal strides along W, H, D and N. base: coordinates of the first filter along the same. offsets: of the
    pixel within the filter, along W, H and D. The base advances along W from the lower to the upper corner, then to the
    next row, slice and image.
    """
    low = box.lower
    high = [size - 1 + corner for size, corner in zip(dims[1:-1], box.upper, strict=True)]
    for name, at, first, last, step in zip("WHD", base, low, high, steps, strict=False):
        if not first <= at <= last:
            raise OutsideBoxError(f"the coordinate {at} along {name} is not in the pixel box, {first} to {last}")
        if (at - first) % step:
            raise OutsideBoxError(f"the coordinate {at} along {name} is not {first} plus a multiple of {step}")
    if steps[-1] != 1:
        raise OutsideBoxError(f"the element stride along N is {steps[-1]}")
    most = (1 << CORNER_BITS[len(dims)]) - 1
    for name, offset in zip("WHD", offsets, strict=False):
        if not 0 <= offset <= most:
            raise OutsideBoxError(f"the offset {offset} along {name} is not in 0 to {most}")
    counts = [(last - first) // step + 1 for first, last, step in zip(low, high, steps, strict=False)]
    starts = [(at - first) // step for at, first, step in zip(base, low, steps, strict=False)]
    index: Numbers = np.arange(box.pixels, dtype=np.int64)
    index += sum(start * prod(counts[:n]) for n, start in enumerate(starts))
    columns: list[Any] = []
    for n, count in enumerate(counts):
        columns.append(index % count * steps[n] + low[n] + offsets[n])
        index = index // count
    return np.stack([*columns, index + base[-1]], axis=1)
