"""What CuTe's constructors make of their values: tuples, swizzles, layouts, and what stands in front of a layout.

Readers of texts (layouts/cute/grammar.py) and of evaluated code (layouts/reader/code/cute_values.py) call them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cute.tuples import Nested, explain_incongruence, is_congruent, list_leaves
from lanescope.cute.words import SWIZZLES, TUPLES
from lanescope.inputs import shorten_value
from lanescope.shared.swizzle import Swizzle

Value = Any  # an int, None, a tuple of Values, a CuteLayout, a Swizzle, a PointerUnit, or "left" and "right"

UNITS = (1, 2, 4, 8, 16, 32, 64, 128)  # bits


@dataclass(frozen=True, slots=True)
class PointerUnit:
    """smem_ptr[16b] and smem_ptr_flag_bits<16>: the bits of what a layout behind a pointer counts."""

    bits: int


class UnmadeValueError(Exception):
    """Values that make nothing. why: goes on after the text that they stand in; wrong: whether CuTe would not compile
    them, where they are all known.
    """

    def __init__(self, why: str, hint: str = "", wrong: bool = False) -> None:
        super().__init__(why)
        self.why, self.hint, self.wrong = why, hint, wrong


def require_ints(value: Value) -> Nested:
    """Return an int or nested ints as they are."""
    if isinstance(value, bool) or not isinstance(value, int | tuple) or value == ():
        what = "an underscore" if value is None else f"'{value}'"
        raise UnmadeValueError(f"has {what} where a number or a tuple of numbers is expected")
    return value if isinstance(value, int) else tuple(require_ints(item) for item in value)


def make_strided_layout(shape: Value, stride: Value) -> CuteLayout:
    """Return shape:stride; "left" and "right" are compact strides."""
    shape = require_ints(shape)
    if stride == "left" or stride == "right":
        return algebra.make_layout(shape) if stride == "left" else algebra.make_row_major(shape)
    stride = require_ints(stride)
    if not is_congruent(shape, stride):
        where = shorten_value(explain_incongruence(shape, stride), 80)
        why = f"has a shape and a stride that are not congruent, that is not nested alike: {where}"
        raise UnmadeValueError(why, wrong=True)
    if 0 in list_leaves(shape):
        raise UnmadeValueError("has a size of 0", wrong=True)
    return CuteLayout(shape, stride)


def make_compact_layout(value: Value) -> CuteLayout:
    """Return a layout; a shape becomes one with compact column-major strides."""
    return value if isinstance(value, CuteLayout) else make_strided_layout(value, "left")


def compose_layout(parts: Sequence[Value]) -> CuteLayout:
    """Return swizzle ∘ pointer ∘ offset ∘ layout; all but the layout may be missing."""
    *front, last = parts
    made = make_compact_layout(last)
    swizzle, unit, offset = _split_front(front, made)
    if unit and (offset or made.offset):
        raise UnmadeValueError(f"has the offset {offset or made.offset}", "Give it as the base, in bytes.")
    made = replace(made, offset=offset or made.offset, unit_bits=unit.bits if unit else made.unit_bits)
    return replace(made, swizzle=swizzle) if swizzle else made


def _split_front(front: list[Value], made: CuteLayout) -> tuple[Swizzle | None, PointerUnit | None, int | None]:
    """Return the swizzle, the pointer and the offset before a layout, None for one that is missing."""
    stacked = bool(front) and (made.swizzle or made.unit_bits)
    swizzle, unit, offset = (
        front.pop(0) if front and isinstance(front[0], kind) else None for kind in (Swizzle, PointerUnit, int)
    )
    if front or stacked or (made.offset and offset is not None):
        raise UnmadeValueError(
            "composes values that CuTe does not print in a layout", "Allowed: Sw<B,M,S> o offset o shape:stride."
        )
    return swizzle, unit, offset


def make_swizzle(bits: int, base: int, shift: int) -> Swizzle:
    """Return a swizzle of 32-bit indices."""
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
    order = require_ints(order)
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


def drop_empty_swizzle(made: CuteLayout) -> CuteLayout:
    """Return a layout without a swizzle of no bits, which is none in the algebra."""
    return replace(made, swizzle=None) if made.swizzle and not made.swizzle.bits else made


def make_layout(values: list[Value], words: Mapping[str, Value]) -> CuteLayout:
    """Return the layout of `make_layout(shape, stride)`, and that of several layouts side by side."""
    given = list(values) or [words.get("shape")]
    if "stride" in words:
        given.append(words["stride"])
    if all(isinstance(value, CuteLayout) for value in given):
        return given[0] if len(given) == 1 else algebra.concatenate(*given)
    if len(given) > 2:
        raise UnmadeValueError("has a layout of more than a shape and a stride")
    return make_strided_layout(given[0], given[1] if len(given) == 2 else "left")


MAKERS: dict[str, Callable[[list[Value], Mapping[str, Value]], Value]] = {
    **dict.fromkeys(TUPLES, _make_tuple),
    **dict.fromkeys(SWIZZLES, _make_swizzle),
    **dict.fromkeys(("Layout", "make_layout"), make_layout),
    **dict.fromkeys(("ComposedLayout", "make_composed_layout"), _make_composed_layout),
    "smem_ptr_flag_bits": _make_pointer_unit,
    "make_ordered_layout": _make_ordered_layout,
    "composition": _make_composition,
}
