"""Recast a layout to elements of another width, give it another shape, or slice it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import gcd

from lanescope.cute.algebra.functions import ONE, composition, make_layout, make_refusal, strip_swizzle
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import Nested, coordinate_to_index, depth, format_tuple, list_leaves, map_leaves, rank, size
from lanescope.errors import LayoutError
from lanescope.shared.swizzle import Swizzle


def _map_modes(layout: CuteLayout, act: Callable[[int, int], tuple[int, int]]) -> CuteLayout:
    """Return a layout with a function applied to every (size, stride)."""
    shape = map_leaves(lambda n, d: act(n, d)[0], layout.shape, layout.stride)
    return CuteLayout(shape, map_leaves(lambda n, d: act(n, d)[1], layout.shape, layout.stride))


def upcast(layout: CuteLayout, count: int) -> CuteLayout:
    """Return the layout of elements `count` times as wide."""

    def cast(n: int, d: int) -> tuple[int, int]:
        if d == 0:
            return n, d
        if d % count and count % d:
            raise make_refusal(
                f"upcast<{count}> of {layout}: neither of {d} and {count} divides the other (CuTe:"
                " Divisibility condition).",
                f"Give strides that divide {count} or are multiples of it.",
            )
        return -(-n // -(-count // d)), -(-d // count)

    result = _map_modes(strip_swizzle(layout), cast)
    if layout.offset % count:
        raise make_refusal(
            f"upcast<{count}> of {layout}: {count} does not divide the offset.", "Give a multiple as offset."
        )
    return replace(result, swizzle=_rescale_swizzle(layout.swizzle, count, -1), offset=layout.offset // count)


def downcast(layout: CuteLayout, count: int) -> CuteLayout:
    """Return the layout of `count` times as many elements, each as much narrower."""
    if 1 not in list_leaves(layout.stride) and count > 1:
        raise make_refusal(
            f"downcast<{count}> of {layout}: no mode has stride 1.", "Downcast requires adjacent elements."
        )
    result = _map_modes(strip_swizzle(layout), lambda n, d: (n * count, d) if d == 1 else (n, d * count))
    return replace(result, swizzle=_rescale_swizzle(layout.swizzle, count, 1), offset=layout.offset * count)


def _rescale_swizzle(swizzle: Swizzle | None, count: int, direction: int) -> Swizzle | None:
    """Return a swizzle for units `count` times as large (direction −1) or as small (1)."""
    if swizzle is None or count == 1:
        return swizzle
    if count & (count - 1):
        raise make_refusal(f"{swizzle} cannot count in units of {count}.", "A power of two.")
    base = swizzle.base + direction * (count.bit_length() - 1)
    return Swizzle(max(swizzle.bits + min(base, 0), 0), max(base, 0), swizzle.shift)


def swizzle_elements(layout: CuteLayout) -> CuteLayout:
    """Return a layout whose swizzle applies to its indices instead of the byte addresses that smem_ptr gives."""
    bits = layout.unit_bits
    if not bits:
        return layout
    swizzle = _rescale_swizzle(layout.swizzle, max(bits // 8, 8 // bits), -1 if bits >= 8 else 1)
    return replace(layout, swizzle=swizzle, unit_bits=None)


def swizzle_addresses(layout: CuteLayout, bits: int) -> CuteLayout:
    """Return a layout whose swizzle applies to the byte addresses that smem_ptr gives instead of its indices. bits: of
    an element.
    """
    swizzle = _rescale_swizzle(layout.swizzle, max(bits // 8, 8 // bits), 1 if bits >= 8 else -1)
    return replace(layout, swizzle=swizzle, unit_bits=bits)


def recast(layout: CuteLayout, old_bits: int, new_bits: int) -> CuteLayout:
    """Return the layout of the same storage in elements of another width."""
    common = gcd(old_bits, new_bits)
    up, down = new_bits // common, old_bits // common
    result = upcast(layout, up) if up > 1 else layout
    return downcast(result, down) if down > 1 else result


def with_shape(layout: CuteLayout, shape: Nested) -> CuteLayout:
    """Return the layout with the same indices and another shape: layout ∘ (shape)."""
    return composition(layout, make_layout(shape))


def slice_and_offset(layout: CuteLayout, coord: Nested) -> tuple[CuteLayout, int]:
    """Return (layout of the modes at underscores, index of the others); coord: None at the underscores.

    If the layout has a swizzle, the index becomes the result's offset, and 0 is returned.
    """

    def pick(c: Nested, nested: Nested) -> tuple[Nested, ...]:
        if c is None:
            return (nested,)
        if isinstance(c, tuple):
            if rank(nested) != len(c) or isinstance(nested, int):
                raise make_refusal(
                    (
                        f"The coordinate {format_coordinate(coord)} does not fit {layout}: {format_coordinate(c)}"
                        f" represents {format_tuple(nested)}."
                    ),
                    f"Give a coordinate nested as {format_tuple(layout.shape)}, or an int for a complete mode.",
                )
            return tuple(item_ for part, item in zip(c, nested, strict=True) for item_ in pick(part, item))
        return ()

    shape, stride = pick(coord, layout.shape), pick(coord, layout.stride)
    at = coordinate_to_index(map_leaves(lambda at: at or 0, coord), layout.shape, layout.stride)
    rest = CuteLayout(shape, stride) if shape else ONE
    if coord is None:
        rest = strip_swizzle(layout)
    if layout.swizzle:
        return replace(rest, swizzle=layout.swizzle, offset=layout.offset + at, unit_bits=layout.unit_bits), 0
    return rest, layout.offset + at


def require_inside(coord: Nested, shape: Nested) -> None:
    """Raise LayoutError for a coordinate outside the shape; CuTe does not check it."""
    if isinstance(coord, tuple):
        if isinstance(shape, int) or len(coord) != len(shape):
            raise LayoutError(
                "bad_coordinate",
                f"{format_coordinate(coord)} is not a coordinate of the shape {format_tuple(shape)}.",
                f"One nested as {format_tuple(shape)}, an int for a complete mode, _ for a mode that is kept.",
                "coord",
            )
        for part, mode in zip(coord, shape, strict=True):
            require_inside(part, mode)
    elif coord is not None and coord >= size(shape):
        raise LayoutError(
            "bad_coordinate",
            f"{coord} is past the end of a mode of size {size(shape)}.",
            f"From 0 to {size(shape) - 1}, or _ for the complete mode.",
            "coord",
        )


def format_coordinate(coord: Nested) -> str:
    """Format a coordinate like CuTe: `(3,_)`."""
    return (
        f"({','.join(map(format_coordinate, coord))})"
        if isinstance(coord, tuple)
        else "_"
        if coord is None
        else str(coord)
    )


def flatten(layout: CuteLayout) -> CuteLayout:
    """Return the layout without nesting."""
    if depth(layout.shape) < 2:
        return layout
    return replace(layout, shape=tuple(list_leaves(layout.shape)), stride=tuple(list_leaves(layout.stride)))
