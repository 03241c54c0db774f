"""Convert a layout of Triton to CuTe, or explain why CuTe has no equivalent.

A linear layout XORs its bases; CuTe adds strides. Both agree if no two bases change the same bit of a coordinate. In
shared memory a swizzle can express the XOR.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from lanescope import triton
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import unwrap_single
from lanescope.shared.swizzle import Swizzle
from lanescope.triton.gluon import TritonLayout
from lanescope.triton.linear import LinearLayout

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CuteEquivalent:
    """The CuTe layout, or None with the reason. maps: a description of its domain and range."""

    layout: CuteLayout | None
    maps: str
    why: str = ""


def find_cute_equivalent(layout: TritonLayout) -> CuteEquivalent:
    """Return the CuTe layout of a layout of Triton.

    Threads: (thread, value) → element, first axis fastest; shared memory: coordinates → offset in elements; tensor
    memory: (lane, column) → element.
    """
    if layout.tensor_memory:
        reason = f"{describe_shared_bit(layout.linear)} Triton XORs them; CuTe adds strides."
        return CuteEquivalent(
            layout.cute,
            f"(lane, column of {layout.element_bits}-bit elements) → element of"
            f" {format_tile(layout.shape[-2:])}, the first axis fastest",
            "" if layout.cute else reason,
        )
    if layout.shared:
        cute_layout = layout_from_offsets(layout.offset)
        axes = ", ".join(
            ("row", "column") if len(layout.shape) == 2 else (f"axis {n}" for n in range(len(layout.shape)))
        )
        return CuteEquivalent(
            cute_layout, f"({axes}) → offset in elements", "" if cute_layout else _explain_missing_layout(layout)
        )
    cute_layout = layout.cute
    maps = f"(thread, value) → element of {format_tile(layout.shape)}, the first axis fastest"
    return CuteEquivalent(
        cute_layout,
        maps,
        "" if cute_layout else f"{describe_shared_bit(layout.linear)} Triton XORs them; CuTe adds strides.",
    )


def format_tile(shape: tuple[int, ...]) -> str:
    """Format sizes like a tile of CuTe: (64,32)."""
    return f"({','.join(map(str, shape))})"


def describe_shared_bit(layout: LinearLayout) -> str:
    """Return a sentence about two bases that change the same bit of a coordinate; "" if there are none."""
    mover: dict[tuple[int, int], str] = {}
    for name, bases in layout.bases.items():
        for number, basis in enumerate(bases):
            place = f"{name} bit {number} ({','.join(map(str, basis))})"
            for axis, value in enumerate(basis):
                for bit in range(value.bit_length()):
                    if value >> bit & 1 and (before := mover.setdefault((axis, bit), place)) != place:
                        return f"{before[0].upper()}{before[1:]} and {place} both change bit {bit} of axis {axis}."
    return ""


def _explain_missing_layout(layout: TritonLayout) -> str:
    if triton.list_paddings(layout.params):
        return "Its padding is inside a row, which strides cannot express."
    return "No Swizzle<B,M,S> in front of strides gives these offsets."


def layout_from_offsets(offset: Longs) -> CuteLayout | None:
    """Return the CuTe layout of an array of offsets: strides, or the smallest swizzle of strides; None if there is
    none.

    Only for sizes that are powers of two.
    """
    shape = offset.shape
    if any(size & (size - 1) for size in shape) or int(offset[(0,) * offset.ndim]):
        return None
    units = _list_bit_offsets(offset)
    if np.array_equal(_sum_offsets(shape, units), offset):
        return CuteLayout(*_merge_digits(shape, units))
    for xor in _list_swizzles(max(value for _, value in units).bit_length()):
        plain = [(axis, int(xor(value))) for axis, value in units]
        if _is_one_bit_each(plain) and np.array_equal(xor(_sum_offsets(shape, plain)), offset):
            shape_, stride = _merge_digits(shape, plain)
            return CuteLayout(shape_, stride, xor)
    return None


def _list_bit_offsets(offset: Longs) -> list[tuple[int, int]]:
    """Return (axis, offset) of every bit of every coordinate."""
    units = []
    for axis, size in enumerate(offset.shape):
        for bit in range(size.bit_length() - 1):
            at = [0] * offset.ndim
            at[axis] = 1 << bit
            units.append((axis, int(offset[tuple(at)])))
    return units


def _list_swizzles(top: int) -> Iterator[Swizzle]:
    """Yield the swizzles that change only bits below `top`, fewest bits first."""
    for bits, base, shift in product(range(1, 6), range(top), range(1, top)):
        if bits <= shift <= top - base - bits:
            yield Swizzle(bits, base, shift)


def _is_one_bit_each(units: list[tuple[int, int]]) -> bool:
    """Return whether every offset is 0 or a power of two, and no power occurs twice."""
    values = [value for _, value in units if value]
    return not any(value & (value - 1) for value in values) and len(set(values)) == len(values)


def _sum_offsets(shape: tuple[int, ...], units: list[tuple[int, int]]) -> Longs:
    offsets = np.zeros(shape, dtype=np.int64)
    bits_done = [0] * len(shape)
    for axis, value in units:
        digit = np.arange(shape[axis], dtype=np.int64) >> bits_done[axis] & 1
        offsets = offsets + (digit * value).reshape([-1 if a == axis else 1 for a in range(len(shape))])
        bits_done[axis] += 1
    return offsets


def _merge_digits(shape: tuple[int, ...], units: list[tuple[int, int]]) -> tuple[object, object]:
    """Return (shape, stride) with one mode per axis; contiguous digits are merged."""
    shapes, strides = [], []
    for axis in range(len(shape)):
        digits: list[list[int]] = []
        for value in (v for a, v in units if a == axis):
            if digits and digits[-1][0] * digits[-1][1] == value:
                digits[-1][0] *= 2
            else:
                digits.append([2, value])
        digits = digits or [[1, 0]]
        shapes.append(unwrap_single(n for n, _ in digits))
        strides.append(unwrap_single(d for _, d in digits))
    return unwrap_single(shapes), unwrap_single(strides)
