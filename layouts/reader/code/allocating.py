"""new: objects and arrays that no variable is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.reader.code import tree
from lanescope.reader.code.lookup import find_name
from lanescope.reader.code.values import Address, Array, Cell, Kind, Object, Overlay, Pointer, Record, Scope
from lanescope.reader.code.word import symbol

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def evaluate_new(ev: Evaluator, one: tree.New, scope: Scope) -> Any:
    """Return the pointer that `new T(arguments)` gives."""
    kind = ev.kind(one.type, scope)
    places = [ev.pointee_of(ev.value(where, scope), one) for where in one.placement]
    for place in places:  # what stood there is no more
        ev.forget(place)
    if ev.allocates("new", kind.record):
        ev.forget_all(scope)
    if kind.dims:
        return _new_array(ev, one, kind, scope)
    value = _new_value(ev, one, kind, scope)
    if isinstance(value, Object):
        value.held = True
        for place in places:
            if _put_object(ev, place, value):
                return Address(place)
    return Address(Cell(value, kind, "new", one.span, born=0))


def _new_value(ev: Evaluator, one: tree.New, kind: Kind, scope: Scope) -> Any:
    """Return what a new object or number begins with."""
    if one.braced:
        return ev.initial(tree.Items(tuple(("", a) for a in one.arguments)), kind, scope, "")
    if one.bare:
        return ev.default(kind, ev.fresh("new"))
    given = ev.arguments(tree.Call(tree.Other(""), one.arguments), scope)
    if kind.record is not None and not kind.pointers:
        return ev.constructed(ev.instance(kind.record, ""), given)
    return ev.construct(kind, [argument.value for argument in given], one, scope)


def _put_object(ev: Evaluator, place: Any, value: Object) -> bool:
    """Put a new object where one of its class stood; return whether that was so."""
    inner = place.place if isinstance(place, Overlay) else place
    old = inner.value if isinstance(inner, Cell) else None
    if not isinstance(inner, Cell) or not isinstance(old, Object) or old.record is not value.record:
        return False
    ev.put(inner, value)
    return True


def allocates(ev: Evaluator, word: str, record: Record | None) -> bool:
    """Whether the text has an operator new or delete of its own for a class."""
    own = record.methods if record is not None else {}
    return f"operator{word}" in own or find_name(ev.globals, f"operator{word}")[0] is not None


def _new_array(ev: Evaluator, one: tree.New, kind: Kind, scope: Scope) -> Any:
    """Return the pointer that new T[n] gives."""
    name = ev.fresh("new")
    if one.bare:
        value = ev.default(kind, name)
    else:
        value = ev.initial(tree.Items(tuple(("", a) for a in one.arguments)), kind, scope, name)
    element = replace(kind, dims=kind.dims[1:])
    if isinstance(value, Array):
        value.name = name
        return ev.decayed(value)
    if element.record is not None and element.record.begins:
        ev.forget_all(scope)  # so many constructors
    return Pointer(symbol(name), element)
