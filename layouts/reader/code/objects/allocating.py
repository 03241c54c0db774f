"""Evaluate new: objects and arrays without a variable."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.naming.lookup import find_name
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.symbolic_integers import make_symbol
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import (
    Address,
    ArrayValue,
    ObjectValue,
    OverlayPlace,
    Pointer,
    RecordType,
    ResolvedType,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def evaluate_new(ev: Evaluator, node: tree.New, scope: NameScope) -> Any:
    """Evaluate `new T(arguments)`: return the pointer."""
    kind = ev.resolve_type(node.type, scope)
    places = [ev.evaluate_dereference(ev.evaluate_expression(where, scope), node) for where in node.placement]
    for place in places:  # placement new overwrites them
        ev.forget_place(place)
    if has_own_allocation(ev, "new", kind.record):
        ev.forget_all(scope)
    if kind.dims:
        return _evaluate_new_array(ev, node, kind, scope)
    value = _make_new_value(ev, node, kind, scope)
    if isinstance(value, ObjectValue):
        value.stored = True
        for place in places:
            if _put_object(ev, place, value):
                return Address(place)
    cell = Cell(value, kind, "new", node.span)
    cell.outlive_block()
    return Address(cell)


def _make_new_value(ev: Evaluator, node: tree.New, kind: ResolvedType, scope: NameScope) -> Any:
    """Return the initial value of a new object."""
    if node.braced:
        return ev.evaluate_initializer(tree.ItemList(tuple(("", a) for a in node.arguments)), kind, scope, "")
    if node.bare:
        return ev.make_default(kind, ev.make_fresh_name("new"))
    typed_arguments = ev.evaluate_typed_arguments(tree.Call(tree.OpaqueExpression(""), node.arguments), scope)
    if kind.record is not None and not kind.pointers:
        return ev.construct_object(ev.make_instance(kind.record, ""), typed_arguments)
    return ev.construct_value(kind, [argument.value for argument in typed_arguments], node)


def _put_object(ev: Evaluator, place: Any, value: ObjectValue) -> bool:
    """Replace an object of the same class in a place; return whether the place has one."""
    inner = place.place if isinstance(place, OverlayPlace) else place
    old = inner.value if isinstance(inner, Cell) else None
    if not isinstance(inner, Cell) or not isinstance(old, ObjectValue) or old.record is not value.record:
        return False
    ev.write_cell(inner, value)
    return True


def has_own_allocation(ev: Evaluator, word: str, record: RecordType | None) -> bool:
    """Return whether the text defines its own operator new or delete for a class."""
    methods = record.methods if record is not None else {}
    return f"operator{word}" in methods or find_name(ev.globals, f"operator{word}")[0] is not None


def _evaluate_new_array(ev: Evaluator, node: tree.New, kind: ResolvedType, scope: NameScope) -> Any:
    """Evaluate new T[n]: return the pointer."""
    name = ev.make_fresh_name("new")
    if node.bare:
        value = ev.make_default(kind, name)
    else:
        value = ev.evaluate_initializer(tree.ItemList(tuple(("", a) for a in node.arguments)), kind, scope, name)
    element = replace(kind, dims=kind.dims[1:])
    if isinstance(value, ArrayValue):
        value.name = name
        return ev.decay_array(value)
    if element.record is not None and element.record.begins:
        ev.forget_all(scope)  # the constructors of an unknown number of items run
    return Pointer(make_symbol(name), element)
