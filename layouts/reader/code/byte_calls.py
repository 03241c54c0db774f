"""Evaluate memcpy and memset: the bytes of a pointer's target as one integer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import IntegerType
from lanescope.reader.code import tree
from lanescope.reader.code.integer_values import get_integer, make_size
from lanescope.reader.code.overloads import CallArgument
from lanescope.reader.code.scopes import Cell
from lanescope.reader.code.symbolic_integers import SymbolicInt, make_free
from lanescope.reader.code.values import (
    PLACES,
    Address,
    ArrayValue,
    BlurredPlace,
    ObjectPart,
    PointedPlace,
    Pointer,
    RecordField,
    ResolvedType,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def copy_bytes(ev: Evaluator, arguments: list[CallArgument], call: tree.Call) -> Any:
    """Evaluate memcpy(to, from, bytes)."""
    count = get_integer(arguments[2].value)
    bytes_ = count.known if count is not None else None
    bits = IntegerType("bits", 8 * (bytes_ or 0), False)
    if not bytes_ or bytes_ > 512:
        ev.forget_place(ev.evaluate_dereference(arguments[0].value, call))
        return arguments[0].value
    kind = ResolvedType("bits", bits, bits.bits)
    to = ev.evaluate_dereference(arguments[0].value, call)
    target, origin = (_load_bytes(ev, a.value, kind, call) for a in arguments[:2])
    if isinstance(target, PLACES) and not isinstance(target, PointedPlace):
        copied = (
            ev.load_place(origin, call) if isinstance(origin, PLACES) else make_free(ev.make_fresh_name("memcpy"), bits)
        )
        ev.store_value(target, copied, call.span)
    else:
        ev.forget_place(to)
    return arguments[0].value


def _load_bytes(ev: Evaluator, value: Any, kind: ResolvedType, expression: tree.Expression) -> Any:
    """Return the target of a pointer as an integer place of type `kind`."""
    if isinstance(value, ArrayValue) and value.typed is None:
        value = ev.decay_array(value)
    if isinstance(value, ObjectPart) and value.field.count:
        inside = kind.bits is not None and kind.bits <= value.field.width
        field = RecordField(value.field.low, kind.bits or 0, kind.integer)
        return ObjectPart(value.of, field) if inside else BlurredPlace(value)
    at = value.at.known if isinstance(value, Address | Pointer) and value.at is not None else None
    if isinstance(value, Address) and at is not None and (at == 0 or value.element is not None):
        return _view_item(ev, value.place, kind, at, _get_type_size(ev, value.element) if at else 0)
    if isinstance(value, Pointer) and value.array is not None and at is not None:
        size = _get_type_size(ev, value.element or value.array.element)
        return _view_item(ev, Cell(value.array), kind, at, size or None)
    return ev.evaluate_dereference(value, expression)


def _view_item(ev: Evaluator, place: Any, kind: ResolvedType, at: int, size: int | None) -> Any:
    """Return item `at` of a place as an integer place; an unknown part if the size in bytes is unknown."""
    return ev.view_bits(place, kind, at * size * 8) if size is not None else BlurredPlace(place)


def _get_type_size(ev: Evaluator, kind: ResolvedType | None) -> int | None:
    """Return the size of a type in bytes; None if unknown."""
    return make_size(kind).known if kind is not None else None


def set_bytes(ev: Evaluator, arguments: list[CallArgument], call: tree.Call) -> Any:
    """Evaluate memset(to, byte, bytes)."""
    count, byte = get_integer(arguments[2].value), get_integer(arguments[1].value)
    to = ev.evaluate_dereference(arguments[0].value, call)
    size = count.known if count is not None else None
    if (
        not isinstance(to, PLACES)
        or isinstance(to, PointedPlace)
        or not size
        or size > 512
        or byte is None
        or byte.known is None
    ):
        ev.forget_place(to)
        return arguments[0].value
    bits = IntegerType("bits", 8 * size, False)
    target = _load_bytes(ev, arguments[0].value, ResolvedType("bits", bits, bits.bits), call)
    ev.store_value(target, SymbolicInt(int.from_bytes(bytes([byte.known & 255]) * size, "little"), bits), call.span)
    return arguments[0].value
