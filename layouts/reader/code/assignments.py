"""Assignments: which place one writes, with which value, and by which operator of the text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import PYTHON
from lanescope.reader.code import tree
from lanescope.reader.code.symbolic_integers import UNKNOWN, SymbolicInt
from lanescope.reader.code.values import (
    PLACES,
    Cell,
    FunctionSet,
    NameScope,
    ObjectPart,
    ObjectValue,
    OpaqueValue,
    RecordType,
    ReferredPlace,
    ResolvedType,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def evaluate_assignment(ev: Evaluator, one: tree.Assignment, scope: NameScope) -> Any:
    """Assign; return the value that was assigned."""
    if ev.python:
        return _run_python_assignment(ev, one, scope)
    made = ev.assign_place(one, scope)
    return ev.load_place(made, one) if isinstance(made, PLACES) else made


def assign_place(ev: Evaluator, one: tree.Assignment, scope: NameScope) -> Any:
    """Assign as C++ does, the right side first; return the place that was written."""
    if isinstance(one.value, tree.ItemList) and one.value.type is None:
        return _assign_items(ev, one, one.value, scope)
    argument = ev.evaluate_argument(one.value, scope) if not one.op else None
    value = _evaluate_right_side(ev, one, scope, argument)
    return _assign(ev, one, scope, _find_target(ev, one.target, scope), (value, argument))


def _assign_items(ev: Evaluator, one: tree.Assignment, given: tree.ItemList, scope: NameScope) -> Any:
    """Assign `{…}`, which begins a value of the left side's type; return the place that was written."""
    place = _find_target(ev, one.target, scope)
    if isinstance(place, ObjectPart) and place.field.inner is not None:
        return _assign_braced_fields(ev, place, place.field.inner, given, scope)
    value: Any = ev.evaluate_initializer(given, _find_place_type(ev, place), scope, getattr(place, "name", ""))
    argument = ev.make_argument(value) if isinstance(value, ObjectValue) else None
    return _assign(ev, one, scope, place, (value, argument))


def _assign(ev: Evaluator, one: tree.Assignment, scope: NameScope, place: Any, right: tuple[Any, Any]) -> Any:
    """Write a place, by an operator of the text where there is one; return what was written. right: the right side's
    value, and as an argument of such an operator.
    """
    value, argument = right
    place = place.place if isinstance(place, ReferredPlace) else place
    if one.op:
        own, value = _operated(ev, one, place, value)
    elif isinstance(place, PLACES) and _has_assignment_operator(ev, place):
        own = ev.evaluate_operator("=", ev.load_place(place, one.target), argument or value, one)
    else:
        own = place if _assign_by_operator(ev, place, argument) else None
    if own is not None:
        return own.place if isinstance(own, ReferredPlace) else own
    value = value.place if isinstance(value, ReferredPlace) else value
    if not isinstance(place, PLACES):  # object.*member = …
        _assign_unknown(ev, one, place, scope)
        return place if isinstance(place, OpaqueValue) else value
    ev.wraps = bool(one.op)
    ev.store_value(place, value, one.span if one.op or not isinstance(place, ObjectPart) else one.value.span, one.span)
    ev.wraps = False
    return place


def _operated(ev: Evaluator, one: tree.Assignment, place: Any, value: Any) -> tuple[Any, Any]:
    """Return (what an operator of the text gives for `place op= value`, else None; the new value)."""
    old = ev.load_place(place, one.target) if isinstance(place, PLACES) else place
    if isinstance(place, Cell) and isinstance(old, OpaqueValue) and old.head == "uninitialised":
        old = ev.make_uninitialised(place, one.span)
    sign = one.op * 2 if one.step else f"{one.op}="
    left = place if isinstance(place, PLACES) and not isinstance(old, ObjectValue) else old
    own = ev.evaluate_operator(sign, left, None if one.step else value, one)
    if own is not None:
        return own, None
    declared = tree.OpaqueExpression("", span=place.span) if isinstance(place, Cell) and one.op in "|+^" else None
    return None, ev.apply_operator(one.op, old, value, one, left_at=declared, right_at=one.value)


def _assign_unknown(ev: Evaluator, one: tree.Assignment, place: Any, scope: NameScope) -> None:
    """Forget what an assignment may write whose left side names no place that is known."""
    ev.forget_names(ev.text[slice(*one.target.span)], scope)
    hidden = isinstance(place, OpaqueValue) and "::" in place.text
    around = ev.frames[-1].scope
    if hidden and around is not None and isinstance(one.target, tree.Unary):  # it may point to any member
        ev.forget_all(around)
    if isinstance(one.target, tree.Member):
        inner = ev.find_place(one.target.value, scope)
        ev.forget_same_class(ev.load_place(inner, one) if isinstance(inner, PLACES) else inner, None)
    ev.forget_globals()


def _evaluate_right_side(ev: Evaluator, one: tree.Assignment, scope: NameScope, argument: Any) -> Any:
    """Return the value of an assignment's right side. argument: the same, where it has been evaluated."""
    if argument is None:
        return ev.evaluate_expression(one.value, scope)
    value = argument.value
    plain = isinstance(value, ObjectValue) and value.held and not value.record.copies and not value.record.assigns
    return ev.copy_assigned(value, 1) if plain else value


def _assign_by_operator(ev: Evaluator, place: Any, argument: Any) -> bool:
    """Assign an object where a member or a base has an operator= of its own; whether that was done."""
    if not isinstance(place, Cell) or argument is None:
        return False
    old, value = place.value, argument.value
    if not isinstance(old, ObjectValue) or not isinstance(value, ObjectValue) or not old.record.assigns:
        return False
    if not value.record.is_derived_from(old.record) or value.record.hidden:
        return False
    ev.assign_into(old, old.record, argument)
    return True


def _has_assignment_operator(ev: Evaluator, place: Any) -> bool:
    """Whether a place holds an object whose class defines operator=."""
    value = place.value if isinstance(place, Cell) else None
    own = value.record.methods.get("operator=") if isinstance(value, ObjectValue) else None
    return own is not None and any(not f.defaulted for f in own.functions)


def _find_place_type(ev: Evaluator, place: Any) -> ResolvedType | None:
    """Return the type of a variable that an assignment writes."""
    if isinstance(place, Cell):
        if place.kind is None and isinstance(place.value, ObjectValue):
            return ResolvedType(place.value.record.name, record=place.value.record)
        return place.kind
    return None


def _run_python_assignment(ev: Evaluator, one: tree.Assignment, scope: NameScope) -> Any:
    """Assign as Python does; return the value."""
    if isinstance(one.target, tree.ItemList):
        value = ev.evaluate_expression(one.value, scope)
        for n, (_, target) in enumerate(one.target.items):
            ev.store_value(_find_target(ev, target, scope), ev.get_item(value, n, one.span), one.span)
        return value
    place = _find_target(ev, one.target, scope)
    if one.op:
        old = ev.load_place(place, one.target)
        if old is None:
            old = SymbolicInt(0, PYTHON)
        right = ev.evaluate_expression(one.value, scope)
        declared = tree.OpaqueExpression("", span=place.span) if isinstance(place, Cell) and one.op in "|+^" else None
        value = ev.apply_operator(one.op, old, right, one, left_at=declared, right_at=one.value)
    else:
        value = ev.evaluate_expression(one.value, scope)
    ev.store_value(place, value, one.span if one.op or not isinstance(place, ObjectPart) else one.value.span, one.span)
    return value


def _assign_braced_fields(
    ev: Evaluator, place: ObjectPart, inner: RecordType, given: tree.ItemList, scope: NameScope
) -> Any:
    """Members of a struct of bit fields by `{…}`: by their names, else in order; the others are 0."""
    whole = SymbolicInt(0, UNKNOWN)
    ev.store_value(ObjectPart(place.of, replace(place.field, inner=None)), whole, given.span)
    for member, (key, value) in zip(inner.members, given.items, strict=False):
        ev.store_value(ev.member(place, key or member, value.span), ev.evaluate_expression(value, scope), value.span)
    return place


def _find_target(ev: Evaluator, target: tree.Expression, scope: NameScope) -> Any:
    """The place an assignment writes to; a new variable in Python, and in a C snippet without its declaration."""
    if isinstance(target, tree.Name) and len(target.path) == 1:
        found = ev.resolve_name(target.path, scope, target.span[0])
        outer = ev.python and isinstance(found, Cell) and target.last not in ev.find_local_scope(scope).names
        if isinstance(found, PLACES) and not outer:
            if isinstance(found, Cell) and isinstance(found.value, PLACES):
                return found.value
            return found
        if not ev.python and isinstance(found, FunctionSet | ResolvedType | OpaqueValue):
            return found
        home = ev.find_local_scope(scope)
        start = OpaqueValue("", head="uninitialised") if not ev.python else None
        cell = home.names[target.last] = Cell(start, None, target.last, target.span, len(ev.frames))
        cell.outlive_block()
        if outer and isinstance(found, Cell):
            cell.value = found.value
        return cell
    return ev.find_place(target, scope)


def find_local_scope(ev: Evaluator, scope: NameScope) -> NameScope:
    """The scope new names of Python go to: the function's."""
    for one in scope.iterate_outward():
        if one.owner in ("function", "namespace") or one.parent is None:
            return one
    return scope
