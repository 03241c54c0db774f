"""CuTe's constructors by name: tuples, swizzles, pointers and layouts.

Used for texts (layouts/cute/grammar.py) and for evaluated code (layouts/reader/code/cute/cute_values.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import Nested, Symbol, explain_incongruence, has_symbol, is_congruent, list_leaves
from lanescope.cute.words import SWIZZLES, TUPLES
from lanescope.inputs import shorten_value
from lanescope.shared.swizzle import Swizzle

Value = Any  # an int, None, a tuple of Values, a CuteLayout, a Swizzle, a PointerUnit, or "left" and "right"

UNITS = (1, 2, 4, 8, 16, 32, 64, 128)  # bits


@dataclass(frozen=True, slots=True)
class PointerUnit:
    """smem_ptr[16b] and smem_ptr_flag_bits<16>: the bits of the units that a layout behind a pointer counts."""

    bits: int


class UnmadeValueError(Exception):
    """A constructor was given invalid values.

    why: a clause to follow the quoted text; wrong: whether CuTe would not compile them if all are known.
    """

    def __init__(self, why: str, hint: str = "", wrong: bool = False) -> None:
        super().__init__(why)
        self.why, self.hint, self.wrong = why, hint, wrong


def require_ints(value: Value) -> Nested:
    """Return the value if it is an int, a symbol or nested ones; else raise UnmadeValueError."""
    if isinstance(value, Symbol):
        return value
    if isinstance(value, bool) or not isinstance(value, int | tuple) or value == ():
        what = "an underscore" if value is None else f"'{value}'"
        raise UnmadeValueError(f"has {what} where a number or a tuple of numbers is expected")
    return value if isinstance(value, int) else tuple(require_ints(item) for item in value)


def make_strided_layout(shape: Value, stride: Value) -> CuteLayout:
    """Return shape:stride; the strides "left" and "right" are compact, and None for a shape with symbols."""
    shape = require_ints(shape)
    if isinstance(stride, str) and not isinstance(stride, Symbol):
        if has_symbol(shape):
            return CuteLayout(shape, None)
        return algebra.make_layout(shape) if stride == "left" else algebra.make_row_major(shape)
    stride = require_ints(stride)
    if not is_congruent(shape, stride) and not has_symbol((shape, stride)):
        mismatch = shorten_value(explain_incongruence(shape, stride), 80)
        why = f"has a shape and a stride that are not congruent, that is not nested alike: {mismatch}"
        raise UnmadeValueError(why, wrong=True)
    if 0 in list_leaves(shape):
        raise UnmadeValueError("has a size of 0", wrong=True)
    return CuteLayout(shape, stride)


def make_compact_layout(value: Value) -> CuteLayout:
    """Return a layout unchanged, or a shape with compact column-major strides."""
    return value if isinstance(value, CuteLayout) else make_strided_layout(value, "left")


def compose_layout(parts: Sequence[Value]) -> CuteLayout:
    """Return swizzle ∘ pointer ∘ offset ∘ layout; all but the layout are optional."""
    *front, last = parts
    layout = make_compact_layout(last)
    swizzle, unit, offset = _split_front(front, layout)
    if unit and (offset or layout.offset):
        raise UnmadeValueError(f"has the offset {offset or layout.offset}", "Give it as the base, in bytes.")
    layout = replace(layout, offset=offset or layout.offset, unit_bits=unit.bits if unit else layout.unit_bits)
    return replace(layout, swizzle=swizzle) if swizzle else layout


def _split_front(front: list[Value], layout: CuteLayout) -> tuple[Swizzle | None, PointerUnit | None, int | None]:
    """Return (swizzle, pointer, offset) in front of a layout, None for each that is missing."""
    stacked = bool(front) and (layout.swizzle or layout.unit_bits)
    swizzle, unit, offset = (
        front.pop(0) if front and isinstance(front[0], kind) else None for kind in (Swizzle, PointerUnit, int)
    )
    if front or stacked or (layout.offset and offset is not None):
        raise UnmadeValueError(
            "composes values that CuTe does not print in a layout", "Allowed: Sw<B,M,S> o offset o shape:stride."
        )
    return swizzle, unit, offset


def make_swizzle(bits: int, base: int, shift: int) -> Swizzle:
    """Return a swizzle; UnmadeValueError if it is not one of 32-bit indices."""
    if bits > abs(shift) or bits + base + abs(shift) > 32:
        why = f"has Sw<{bits},{base},{shift}>, which is not a swizzle of 32-bit indices"
        raise UnmadeValueError(why, "Sw<B,M,S> needs |S| ≥ B and B + M + |S| ≤ 32.", wrong=True)
    return Swizzle(bits, base, shift)


def _make_tuple(values: list[Value], words: Mapping[str, Value]) -> tuple[Value, ...]:
    """Return the tuple of `Shape<_4,_8>` and of `make_shape(4, 8)`."""
    return tuple(values)


def _make_swizzle(values: list[Value], words: Mapping[str, Value]) -> Swizzle:
    """Return the swizzle of `make_swizzle(3, 4, 3)`."""
    if len(values) != 3 or not all(isinstance(value, int) for value in values):
        raise UnmadeValueError("has a swizzle that is not three numbers", "Sw<B,M,S>, e.g. Sw<3,4,3>.")
    return make_swizzle(*values)


def _make_pointer_unit(values: list[Value], words: Mapping[str, Value]) -> PointerUnit:
    """Return the unit of `smem_ptr_flag_bits<16>`."""
    if len(values) != 1 or values[0] not in UNITS:
        allowed = f"Allowed: {', '.join(map(str, UNITS))}."
        raise UnmadeValueError("has a smem_ptr_flag_bits of another number of bits", allowed)
    return PointerUnit(values[0])


def _make_ordered_layout(values: list[Value], words: Mapping[str, Value]) -> CuteLayout:
    """Return the layout of `make_ordered_layout(shape, order)`."""
    shape, order = (*values, *words.values(), None, None)[:2]
    if order in ("left", "right") and not has_symbol(order):
        return make_strided_layout(shape, order)
    order = require_ints(order)
    if has_symbol((require_ints(shape), order)):
        return CuteLayout(shape, None)
    if isinstance(order, int) or any(isinstance(item, tuple) for item in order):
        raise UnmadeValueError("orders modes that are nested")
    return algebra.make_ordered_layout(require_ints(shape), order)


def _make_composed_layout(values: list[Value], words: Mapping[str, Value]) -> CuteLayout:
    """Return the layout of `make_composed_layout(inner, offset, outer)` and `ComposedLayout<…>`."""
    parts = [words.get("inner"), words.get("offset", 0), words.get("outer")] if words else values
    if not parts or not isinstance(parts[0], Swizzle):
        raise UnmadeValueError("composes values of which the first is not a swizzle", "Swizzle, offset, layout.")
    return drop_empty_swizzle(compose_layout(parts))


def _make_composition(values: list[Value], words: Mapping[str, Value]) -> CuteLayout:
    """Return the layout of `composition(…)`, of a swizzle or of two layouts."""
    if values and isinstance(values[0], Swizzle):
        return _make_composed_layout(values, {})
    if len(values) != 2:
        raise UnmadeValueError("has a composition that is not of two values", "composition(layout, layout or tiler).")
    return algebra.composition(make_compact_layout(values[0]), values[1])


def drop_empty_swizzle(layout: CuteLayout) -> CuteLayout:
    """Return the layout without its swizzle if that has no bits."""
    return replace(layout, swizzle=None) if layout.swizzle and not layout.swizzle.bits else layout


def make_layout(values: list[Value], words: Mapping[str, Value]) -> CuteLayout:
    """Return the layout of `make_layout(shape, stride)`, or of several layouts as its modes."""
    parts = list(values) or [words.get("shape")]
    if "stride" in words:
        parts.append(words["stride"])
    if all(isinstance(value, CuteLayout) for value in parts):
        return parts[0] if len(parts) == 1 else algebra.concatenate(*parts)
    if len(parts) > 2:
        raise UnmadeValueError("has a layout of more than a shape and a stride")
    return make_strided_layout(parts[0], parts[1] if len(parts) == 2 else "left")


MAKERS: dict[str, Callable[[list[Value], Mapping[str, Value]], Value]] = {
    **dict.fromkeys(TUPLES, _make_tuple),
    **dict.fromkeys(SWIZZLES, _make_swizzle),
    **dict.fromkeys(("Layout", "make_layout"), make_layout),
    **dict.fromkeys(("ComposedLayout", "make_composed_layout"), _make_composed_layout),
    "smem_ptr_flag_bits": _make_pointer_unit,
    "make_ordered_layout": _make_ordered_layout,
    "composition": _make_composition,
}
