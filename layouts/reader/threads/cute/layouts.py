"""Layouts of device code: shapes and strides with open numbers, and layouts with a swizzle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError
from lanescope.reader.threads.cute.open_strides import OPEN_EXTENT
from lanescope.reader.threads.language.numbers import LONG, Number, ThreadNumber, make_number, multiply_numbers
from lanescope.shared.swizzle import Swizzle

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner


def make_composed(swizzle: Any, offset: Any, layout: Any) -> CuteLayout | None:
    """Return composition(swizzle, layout) or ComposedLayout<swizzle, offset, layout>."""
    if not isinstance(swizzle, Swizzle) or not isinstance(offset, int) or not isinstance(layout, CuteLayout):
        return None
    plain = algebra.require_plain(layout, "ComposedLayout")
    return replace(plain, swizzle=swizzle, offset=offset) if swizzle.bits else plain


def is_complete(value: Any) -> bool:
    """Return whether a shape or stride has only numbers."""
    return all(map(is_complete, value)) if isinstance(value, tuple) else isinstance(value, int | ThreadNumber)


def make_strided(run: KernelRunner, shape: Any, stride: Any) -> CuteLayout | None:
    """Return shape:stride, in which numbers may be open; strides "left" and "right" are compact."""
    if not is_complete(shape):
        return None
    if stride == "left" or stride == "right":
        stride, _ = _make_compact(shape, make_number(1, LONG), stride == "right")
    encoded = _map(stride, run.strides.encode)
    if encoded is None or not is_complete(encoded):
        return None
    sizes = _map(shape, get_extent)
    if not _is_alike(sizes, encoded):
        return None
    return CuteLayout(sizes, encoded)


def get_extent(size: Any) -> int:
    """Return a size, or the number that stands for an open one."""
    return size if isinstance(size, int) else OPEN_EXTENT


def _map(value: Any, act: Callable[[Any], Any]) -> Any:
    return tuple(_map(item, act) for item in value) if isinstance(value, tuple) else act(value)


def _is_alike(shape: Any, stride: Any) -> bool:
    if isinstance(shape, tuple) != isinstance(stride, tuple):
        return False
    return not isinstance(shape, tuple) or (len(shape) == len(stride) and all(map(_is_alike, shape, stride)))


def _make_compact(shape: Any, start: Number, last_first: bool) -> tuple[Any, Number]:
    """Return the compact strides of a shape from `start` on, and the next stride."""
    if not isinstance(shape, tuple):
        size = make_number(shape, LONG) if isinstance(shape, int) else shape
        return start, multiply_numbers(start, size)
    out = []
    for item in reversed(shape) if last_first else shape:
        stride, start = _make_compact(item, start, last_first)
        out.append(stride)
    return tuple(reversed(out) if last_first else out), start


def tile_to_shape(block: CuteLayout, shape: Any, order: Any = None) -> CuteLayout | None:
    """Return tile_to_shape(block, shape, order)."""
    if not is_complete(shape) or not isinstance(shape, tuple):
        return None
    return algebra.tile_to_shape(block, _map(shape, get_extent), order)


def require_plain(value: Any) -> CuteLayout:
    """Return a layout without a swizzle, or the compact layout of a shape; LayoutError for other values."""
    if isinstance(value, CuteLayout):
        return algebra.require_plain(value, "A function")
    if isinstance(value, int):
        return algebra.make_layout(value)
    if isinstance(value, tuple) and value and all(isinstance(item, CuteLayout) for item in value):
        return algebra.concatenate(*value)
    if isinstance(value, tuple) and is_complete(value) and all(isinstance(item, int | tuple) for item in value):
        return algebra.make_layout(value)
    raise LayoutError("open_layout", "A layout is not known.")
