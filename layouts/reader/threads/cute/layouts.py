"""Layouts of device code: shapes and strides with open numbers, and layouts behind a swizzle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError
from lanescope.reader.threads.cute.open_strides import OPEN_EXTENT
from lanescope.reader.threads.numbers import LONG, Number, ThreadNumber, make_number, multiply_numbers
from lanescope.shared.swizzle import Swizzle

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner


@dataclass(frozen=True, slots=True)
class SwizzledLayout:
    """A ComposedLayout: swizzle ∘ offset + layout."""

    swizzle: Swizzle
    layout: CuteLayout
    offset: int = 0

    @staticmethod
    def take(layout: CuteLayout) -> SwizzledLayout | CuteLayout:
        """Return a layout whose swizzle is in it; that of a pointer's bits is rescaled to elements."""
        plain = CuteLayout(layout.shape, layout.stride)
        if layout.swizzle is None:
            return plain
        unit = layout.unit_bits or 0
        swizzle = layout.swizzle
        if unit:
            base = swizzle.base - ((unit // 8).bit_length() - 1)
            swizzle = Swizzle(swizzle.bits + min(base, 0), max(base, 0), swizzle.shift)
        return SwizzledLayout(swizzle, plain, layout.offset)

    @property
    def shape(self) -> Any:
        return self.layout.shape

    @property
    def size(self) -> int:
        return self.layout.size

    @property
    def cosize(self) -> int:
        return self.layout.cosize

    def apply(self, act: Callable[[CuteLayout], CuteLayout]) -> SwizzledLayout:
        return SwizzledLayout(self.swizzle, act(self.layout), self.offset)


AnyLayout = CuteLayout | SwizzledLayout


def make_composed(swizzle: Any, offset: Any, layout: Any) -> AnyLayout | None:
    """Return composition(swizzle, layout) or ComposedLayout<swizzle, offset, layout>."""
    if not isinstance(swizzle, Swizzle) or not isinstance(offset, int) or not isinstance(layout, CuteLayout):
        return None
    return SwizzledLayout(swizzle, layout, offset) if swizzle.bits else layout


def behind_swizzle(layout: AnyLayout, act: Callable[[CuteLayout], CuteLayout]) -> AnyLayout:
    """Return a layout with a function applied behind its swizzle."""
    return layout.apply(act) if isinstance(layout, SwizzledLayout) else act(layout)


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
        made, start = _make_compact(item, start, last_first)
        out.append(made)
    return tuple(reversed(out) if last_first else out), start


def tile_to_shape(block: AnyLayout, shape: Any, order: Any = None) -> AnyLayout | None:
    """Return tile_to_shape(block, shape, order)."""
    if not is_complete(shape) or not isinstance(shape, tuple):
        return None
    sizes = _map(shape, get_extent)
    return behind_swizzle(block, lambda layout: algebra.tile_to_shape(layout, sizes, order))


def require_plain(value: Any) -> CuteLayout:
    """Return a layout without a swizzle, or the compact layout of a shape; LayoutError for other values."""
    if isinstance(value, CuteLayout):
        return value
    if isinstance(value, int):
        return algebra.make_layout(value)
    if isinstance(value, tuple) and value and all(isinstance(item, CuteLayout) for item in value):
        return algebra.concatenate(*value)
    if isinstance(value, tuple) and is_complete(value) and all(isinstance(item, int | tuple) for item in value):
        return algebra.make_layout(value)
    raise LayoutError("open_layout", "A layout is not known.")
