"""Evaluate memcpy and memset: the bytes of a pointer's target as one integer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import IntegerType
from lanescope.reader.code.calling.overloads import CallArgument
from lanescope.reader.code.expression.integer_values import get_integer, make_size
from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.objects.views import view_bits
from lanescope.reader.code.symbolic_integers import SymbolicInt, make_free
from lanescope.reader.code.syntax import tree
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
    view = _VIEWS.get(type(value))
    place = view(ev, value, kind) if view is not None else None
    return ev.evaluate_dereference(value, expression) if place is None else place


def _view_part(ev: Evaluator, part: ObjectPart, kind: ResolvedType) -> Any:
    """View the first items of an array member that is kept as bits; None for another member."""
    if not part.field.count:
        return None
    if kind.bits is None or kind.bits > part.field.width:
        return BlurredPlace(part)
    return ObjectPart(part.of, RecordField(part.field.low, kind.bits, kind.integer))


def _view_target(ev: Evaluator, address: Address, kind: ResolvedType) -> Any:
    """View the variable at an address, or an item behind it; None if its distance or its size is unknown."""
    at = address.at.known
    if at is None or (at and address.element is None):
        return None
    return _view_item(ev, address.place, kind, at, _get_type_size(address.element) if at else 0)


def _view_array_item(ev: Evaluator, pointer: Pointer, kind: ResolvedType) -> Any:
    """View the item that a pointer into an array points to; None if the array or the index is unknown."""
    at = pointer.at.known if pointer.at is not None else None
    if at is None or pointer.array is None:
        return None
    size = _get_type_size(pointer.element or pointer.array.element)
    return _view_item(ev, Cell(pointer.array), kind, at, size or None)


_VIEWS: dict[type, Callable[[Evaluator, Any, ResolvedType], Any]] = {
    ObjectPart: _view_part,
    Address: _view_target,
    Pointer: _view_array_item,
}


def _view_item(ev: Evaluator, place: Any, kind: ResolvedType, at: int, size: int | None) -> Any:
    """Return item `at` of a place as an integer place; an unknown part if the size in bytes is unknown."""
    return view_bits(ev, place, kind, at * size * 8) if size is not None else BlurredPlace(place)


def _get_type_size(kind: ResolvedType | None) -> int | None:
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
