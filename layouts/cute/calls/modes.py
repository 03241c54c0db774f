"""Functions of CuTe on integers, tuples and layouts that choose or measure modes: get, size, shape_div, append, take.

Leaves of tuples may be values of any evaluator: open numbers, names, underscores.

CUTLASS 4.7: cute/int_tuple.hpp, cute/algorithm/tuple_algorithms.hpp, cute/layout.hpp (append, prepend and take of
layouts).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cute.making import UnmadeValueError, Value
from lanescope.cute.tuples import depth, find_size


def _follow_modes(value: Value, places: Sequence[int]) -> Value:
    """Return the mode of a tuple or a layout at a path of indices; mode 0 of a number is itself.

    UnmadeValueError without such a mode.
    """
    for place in places:
        if isinstance(value, int) and place == 0:
            continue
        modes = value if isinstance(value, tuple) else value.modes if isinstance(value, CuteLayout) else ()
        plain = not isinstance(value, CuteLayout) or not (value.swizzle or value.offset)
        if not plain or not 0 <= place < len(modes):
            raise UnmadeValueError(f"has no mode {place}")
        value = modes[place]
    return value


def _get_shape(value: Value) -> Value:
    """Return the shape of a layout; other values are shapes."""
    return value.shape if isinstance(value, CuteLayout) else value


def _get_mode(values: Sequence[Value], places: Sequence[int]) -> Value:
    if len(values) != 1 or not places:
        raise UnmadeValueError("has no path of modes")
    return _follow_modes(values[0], places)


def _select_modes(values: Sequence[Value], places: Sequence[int]) -> Value:
    """Return select<0, 2>(a): some modes, in a tuple or a layout of their own."""
    if len(values) != 1 or not places or not isinstance(values[0], tuple | CuteLayout):
        return None
    chosen = tuple(_follow_modes(values[0], (place,)) for place in places)
    return chosen if isinstance(values[0], tuple) else algebra.concatenate(*chosen)


def _divide_shape(a: Value, b: Value) -> Value:
    """Return shape_div(a, b): the rest of shape a after its first b elements."""
    if isinstance(a, int) and isinstance(b, int):
        if min(a, b) < 1:
            return None
        return a // b if not a % b else 1 if not b % a else None
    if isinstance(a, int) and isinstance(b, tuple):
        size = find_size(b)
        return None if size is None else _divide_shape(a, size)
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return _map_pairs(_divide_shape, a, b)
    return None


def _extend_divisor(function: Callable[[int, int], int]) -> Callable[[Value, Value], Value]:
    """Make a function of two shapes of one of two integers, the second positive.

    Modes of the first shape that the second lacks stay.
    """

    def apply(a: Value, b: Value) -> Value:
        if isinstance(a, int) and isinstance(b, int):
            return function(a, b) if a >= 0 < b else None
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) >= len(b):
            return _map_pairs(apply, a, (*b, *(1,) * (len(a) - len(b))))
        return None

    return apply


def _map_pairs(function: Callable[[Value, Value], Value], a: Sequence[Value], b: Sequence[Value]) -> Value:
    parts = tuple(function(left, right) for left, right in zip(a, b, strict=True))
    return None if None in parts else parts


def _multiply_modes(value: Value) -> Value:
    parts = tuple(map(find_size, value)) if isinstance(value, tuple) else (None,)
    return None if None in parts else parts


def _extend(values: Sequence[Value], places: Sequence[int], before: bool) -> Value:
    """Return append(a, x) or prepend(a, x): one mode more, or, with <N>, so many that there are N."""
    if len(values) not in (1, 2):
        return None
    a, x = values[0], values[1] if len(values) > 1 else 1
    if isinstance(a, CuteLayout) and isinstance(x, int) and len(values) < 2:
        x = algebra.make_layout(1, 0)
    if isinstance(a, CuteLayout) != isinstance(x, CuteLayout) or len(places) > 1:
        return None
    if not isinstance(a, CuteLayout):
        return _add_modes(a if isinstance(a, tuple) else (a,), x, places, before)
    if a.swizzle or a.offset:
        return None
    return algebra.concatenate(*_add_modes(a.modes, x, places, before))


def _add_modes(modes: tuple[Any, ...], added: Any, places: Sequence[int], before: bool) -> tuple[Any, ...]:
    count = places[0] - len(modes) if places else 1
    return (added,) * count + modes if before else modes + (added,) * count


def _take(values: Sequence[Value], places: Sequence[int]) -> Value:
    """Return take<B, E>(a): modes B to E - 1, in a tuple of their own."""
    if len(places) != 2 or len(values) != 1 or not isinstance(values[0], tuple | CuteLayout):
        return None
    value = values[0]
    if isinstance(value, CuteLayout):
        parts = value.modes[slice(*places)] if not (value.swizzle or value.offset) else ()
        return algebra.concatenate(*parts) if parts else None
    return value[slice(*places)] or None


def _wrap_binary(function: Callable[[Value, Value], Value]) -> Callable[[Sequence[Value], Sequence[int]], Value]:
    return lambda values, places: function(*values) if len(values) == 2 and not places else None


def _wrap_unary(function: Callable[[Value], Value]) -> Callable[[Sequence[Value], Sequence[int]], Value]:
    return lambda values, places: function(values[0]) if len(values) == 1 and not places else None


def _wrap_modal(function: Callable[[Value], Value]) -> Callable[[Sequence[Value], Sequence[int]], Value]:
    """Make a function of the mode that template arguments choose of one value."""
    return lambda values, places: function(_follow_modes(values[0], places)) if len(values) == 1 else None


MODE_FUNCTIONS: dict[str, Callable[[Sequence[Value], Sequence[int]], Value]] = {
    "get": _get_mode,
    "select": _select_modes,
    "size": _wrap_modal(lambda value: find_size(_get_shape(value))),
    "shape": _wrap_modal(_get_shape),
    "stride": _wrap_modal(lambda value: value.stride if isinstance(value, CuteLayout) else None),
    "rank": _wrap_modal(lambda value: len(shape) if isinstance(shape := _get_shape(value), tuple) else 1),
    "depth": _wrap_modal(lambda value: depth(_get_shape(value))),
    "cosize": _wrap_modal(lambda value: value.cosize if isinstance(value, CuteLayout) else None),
    "shape_div": _wrap_binary(_divide_shape),
    "ceil_div": _wrap_binary(_extend_divisor(lambda a, b: -(-a // b))),
    "round_up": _wrap_binary(_extend_divisor(lambda a, b: -(-a // b) * b)),
    "round_down": _wrap_binary(_extend_divisor(lambda a, b: a // b * b)),
    "product": _wrap_unary(find_size),
    "product_each": _wrap_unary(_multiply_modes),
    "append": lambda values, places: _extend(values, places, before=False),
    "prepend": lambda values, places: _extend(values, places, before=True),
    "take": _take,
}
