"""Layouts of device code: shapes and strides with open numbers, and layouts with a swizzle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lanescope.cute import algebra
from lanescope.cute.calls.functions import OpenCuteValueError, call_function
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import is_congruent, list_leaves, make_compact_strides, make_row_major_strides, map_leaves
from lanescope.errors import LayoutError
from lanescope.reader.threads.cute.open_strides import OPEN_EXTENT
from lanescope.reader.threads.language.numbers import LONG, Number, ThreadNumber, make_number, multiply_numbers

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner


def is_complete(value: Any) -> bool:
    """Return whether a shape or stride has only numbers."""
    return all(isinstance(leaf, int | ThreadNumber) for leaf in list_leaves(value))


def make_strided(run: KernelRunner, shape: Any, stride: Any) -> CuteLayout | None:
    """Return shape:stride, in which numbers may be open; strides "left" and "right" are compact."""
    if not is_complete(shape):
        return None
    if stride == "left" or stride == "right":
        make_strides = make_compact_strides if stride == "left" else make_row_major_strides
        stride = make_strides(shape, make_number(1, LONG), _multiply)
    elif run.sizes is not None:
        stride = _close_pitch(shape, stride)
    encoded, sizes = map_leaves(run.strides.encode, stride), get_extents(shape)
    if not is_congruent(sizes, encoded):
        return None
    layout = CuteLayout(sizes, encoded)
    if (found := _find_line(shape, stride)) is not None and all(isinstance(one, ThreadNumber) for one in found):
        run.strides.lines[id(layout)] = layout, found
    return layout


def _find_line(shape: Any, stride: Any) -> tuple[Any, Any] | None:
    """Return (the pitch, the elements of a line) of a matrix one of whose strides is 1; None for other tensors."""
    if not isinstance(shape, tuple) or not isinstance(stride, tuple) or not len(shape) == len(stride) == 2:
        return None
    steps = [_simplify(step) for step in stride]
    return (steps[1 - steps.index(1)], _simplify(shape[steps.index(1)])) if 1 in steps else None


def _close_pitch(shape: Any, stride: Any) -> Any:
    """Return the strides of a matrix; an open pitch is taken for the size of its contiguous dimension."""
    pitch, line = _find_line(shape, stride) or (None, None)
    if not isinstance(pitch, ThreadNumber) or not pitch.uniform or not isinstance(line, int):
        return stride
    return tuple(1 if _simplify(step) == 1 else line for step in stride)


def _simplify(number: Any) -> Any:
    known = number.known if isinstance(number, ThreadNumber) else None
    return number if known is None else known


def _multiply(stride: Number, size: Any) -> Number:
    return multiply_numbers(stride, make_number(size, LONG) if isinstance(size, int) else size)


def get_extents(shape: Any) -> Any:
    """Return a shape, with numbers that stand for open ones."""
    return map_leaves(lambda size: OPEN_EXTENT if isinstance(size, ThreadNumber) else size, shape)


def require_plain(value: Any) -> CuteLayout:
    """Return a layout without a swizzle, or the compact layout of a shape; LayoutError for other values."""
    modes = value if isinstance(value, tuple) and all(isinstance(item, CuteLayout) for item in value) else (value,)
    try:
        return algebra.require_plain(call_function("make_layout", modes), "A function")
    except OpenCuteValueError:
        raise LayoutError("open_layout", "A layout is not known.") from None
