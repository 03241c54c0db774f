"""Evaluate assignments: find the place, the value, and an overloaded operator."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import PYTHON
from lanescope.reader.code.findings import make_uninitialised
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.symbolic_integers import UNKNOWN, SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import (
    PLACES,
    FunctionSet,
    ObjectPart,
    ObjectValue,
    OpaqueValue,
    RecordType,
    ReferredPlace,
    ResolvedType,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def evaluate_assignment(ev: Evaluator, assignment: tree.Assignment, scope: NameScope) -> Any:
    """Evaluate an assignment; return the assigned value."""
    if ev.python:
        return _run_python_assignment(ev, assignment, scope)
    result = assign_place(ev, assignment, scope)
    return ev.load_place(result, assignment) if isinstance(result, PLACES) else result


def assign_place(ev: Evaluator, assignment: tree.Assignment, scope: NameScope) -> Any:
    """Assign as C++ does, right side first; return the written place."""
    if isinstance(assignment.value, tree.ItemList) and assignment.value.type is None:
        return _assign_items(ev, assignment, assignment.value, scope)
    argument = ev.evaluate_argument(assignment.value, scope) if not assignment.op else None
    value = _evaluate_right_side(ev, assignment, scope, argument)
    return _assign(ev, assignment, scope, _find_target(ev, assignment.target, scope), (value, argument))


def _assign_items(ev: Evaluator, assignment: tree.Assignment, node: tree.ItemList, scope: NameScope) -> Any:
    """Assign `{…}`, which initializes a value of the left side's type; return the written place."""
    place = _find_target(ev, assignment.target, scope)
    if isinstance(place, ObjectPart) and place.field.inner is not None:
        return _assign_braced_fields(ev, place, place.field.inner, node, scope)
    value: Any = ev.evaluate_initializer(node, _find_place_type(place), scope, getattr(place, "name", ""))
    argument = ev.make_argument(value) if isinstance(value, ObjectValue) else None
    return _assign(ev, assignment, scope, place, (value, argument))


def _assign(ev: Evaluator, assignment: tree.Assignment, scope: NameScope, place: Any, right: tuple[Any, Any]) -> Any:
    """Write a place, with an overloaded operator if there is one; return the written place.

    right: the right side as (value, argument of an operator).
    """
    value, argument = right
    place = place.place if isinstance(place, ReferredPlace) else place
    if assignment.op:
        result, value = _apply_compound_operator(ev, assignment, place, value)
    elif isinstance(place, PLACES) and _has_assignment_operator(place):
        result = ev.evaluate_operator("=", ev.load_place(place, assignment.target), argument or value, assignment)
    else:
        result = place if _assign_by_operator(ev, place, argument) else None
    if result is not None:
        return result.place if isinstance(result, ReferredPlace) else result
    value = value.place if isinstance(value, ReferredPlace) else value
    if not isinstance(place, PLACES):  # object.*member = …
        _assign_unknown(ev, assignment, place, scope)
        return place if isinstance(place, OpaqueValue) else value
    ev.wraps = bool(assignment.op)
    ev.store_value(
        place,
        value,
        assignment.span if assignment.op or not isinstance(place, ObjectPart) else assignment.value.span,
        assignment.span,
    )
    ev.wraps = False
    return place


def _apply_compound_operator(ev: Evaluator, assignment: tree.Assignment, place: Any, value: Any) -> tuple[Any, Any]:
    """Evaluate `place op= value`: return (result of an overloaded operator or None, new value)."""
    old = ev.load_place(place, assignment.target) if isinstance(place, PLACES) else place
    if isinstance(place, Cell) and isinstance(old, OpaqueValue) and old.head == "uninitialised":
        old = make_uninitialised(ev, place, assignment.span)
    sign = assignment.op * 2 if assignment.step else f"{assignment.op}="
    left = place if isinstance(place, PLACES) and not isinstance(old, ObjectValue) else old
    result = ev.evaluate_operator(sign, left, None if assignment.step else value, assignment)
    if result is not None:
        return result, None
    declared = (
        tree.OpaqueExpression("", span=place.span) if isinstance(place, Cell) and assignment.op in "|+^" else None
    )
    return None, ev.apply_operator(assignment.op, old, value, assignment, left_at=declared, right_at=assignment.value)


def _assign_unknown(ev: Evaluator, assignment: tree.Assignment, place: Any, scope: NameScope) -> None:
    """Make unknown what an assignment to an unknown place may write."""
    ev.forget_names(ev.text[slice(*assignment.target.span)], scope)
    hidden = isinstance(place, OpaqueValue) and "::" in place.text
    enclosing = ev.frames[-1].scope
    if hidden and enclosing is not None and isinstance(assignment.target, tree.Unary):  # a pointer to any member
        ev.forget_all(enclosing)
    if isinstance(assignment.target, tree.Member):
        inner = ev.find_place(assignment.target.value, scope)
        ev.forget_same_class(ev.load_place(inner, assignment) if isinstance(inner, PLACES) else inner, None)
    ev.forget_globals()


def _evaluate_right_side(ev: Evaluator, assignment: tree.Assignment, scope: NameScope, argument: Any) -> Any:
    """Return the value of the right side; argument: the right side if it is already evaluated."""
    if argument is None:
        return ev.evaluate_expression(assignment.value, scope)
    value = argument.value
    plain = isinstance(value, ObjectValue) and value.stored and not value.record.copies and not value.record.assigns
    plain = plain and not value.record.converts  # its conversion function may write it
    return ev.copy_assigned(value, 1) if plain else value


def _assign_by_operator(ev: Evaluator, place: Any, argument: Any) -> bool:
    """Assign an object with the operator= of its members and bases; return whether one applies."""
    if not isinstance(place, Cell) or argument is None:
        return False
    old, value = place.value, argument.value
    if not isinstance(old, ObjectValue) or not isinstance(value, ObjectValue) or not old.record.assigns:
        return False
    if not value.record.is_derived_from(old.record) or value.record.hidden:
        return False
    ev.assign_into(old, old.record, argument)
    return True


def _has_assignment_operator(place: Any) -> bool:
    """Return whether a place holds an object whose class defines operator=."""
    value = place.value if isinstance(place, Cell) else None
    overloads = value.record.methods.get("operator=") if isinstance(value, ObjectValue) else None
    return overloads is not None and any(not f.defaulted for f in overloads.functions)


def _find_place_type(place: Any) -> ResolvedType | None:
    """Return the type of a variable that an assignment writes."""
    if isinstance(place, Cell):
        if place.kind is None and isinstance(place.value, ObjectValue):
            return ResolvedType(place.value.record.name, record=place.value.record)
        return place.kind
    return None


def _run_python_assignment(ev: Evaluator, assignment: tree.Assignment, scope: NameScope) -> Any:
    """Assign as Python does; return the value."""
    if isinstance(assignment.target, tree.ItemList):
        value = ev.evaluate_expression(assignment.value, scope)
        for n, (_, target) in enumerate(assignment.target.items):
            ev.store_value(_find_target(ev, target, scope), ev.get_item(value, n, assignment.span), assignment.span)
        return value
    place = _find_target(ev, assignment.target, scope)
    if assignment.op:
        old = ev.load_place(place, assignment.target)
        if old is None:
            old = SymbolicInt(0, PYTHON)
        right = ev.evaluate_expression(assignment.value, scope)
        declared = (
            tree.OpaqueExpression("", span=place.span) if isinstance(place, Cell) and assignment.op in "|+^" else None
        )
        value = ev.apply_operator(assignment.op, old, right, assignment, left_at=declared, right_at=assignment.value)
    else:
        value = ev.evaluate_expression(assignment.value, scope)
    ev.store_value(
        place,
        value,
        assignment.span if assignment.op or not isinstance(place, ObjectPart) else assignment.value.span,
        assignment.span,
    )
    return value


def _assign_braced_fields(
    ev: Evaluator, place: ObjectPart, inner: RecordType, node: tree.ItemList, scope: NameScope
) -> Any:
    """Assign `{…}` to the members of a struct of bit fields, by name or in order; other members become 0."""
    zero = SymbolicInt(0, UNKNOWN)
    ev.store_value(ObjectPart(place.of, replace(place.field, inner=None)), zero, node.span)
    for member, (key, value) in zip(inner.members, node.items, strict=False):
        ev.store_value(
            ev.find_member(place, key or member, value.span), ev.evaluate_expression(value, scope), value.span
        )
    return place


def _find_target(ev: Evaluator, target: tree.Expression, scope: NameScope) -> Any:
    """Find the place that an assignment writes to.

    Python, and C snippets without declarations, may create a variable.
    """
    if isinstance(target, tree.Name) and len(target.path) == 1:
        binding = ev.resolve_name(target.path, scope, target.span[0])
        outer = ev.python and isinstance(binding, Cell) and target.last not in find_local_scope(scope).names
        if isinstance(binding, PLACES) and not outer:
            if isinstance(binding, Cell) and isinstance(binding.value, PLACES):
                return binding.value
            return binding
        if not ev.python and isinstance(binding, FunctionSet | ResolvedType | OpaqueValue):
            return binding
        home = find_local_scope(scope)
        start = OpaqueValue("", head="uninitialised") if not ev.python else None
        cell = home.names[target.last] = Cell(start, None, target.last, target.span, len(ev.frames))
        cell.outlive_block()
        if outer and isinstance(binding, Cell):
            cell.value = binding.value
        return cell
    return ev.find_place(target, scope)


def find_local_scope(scope: NameScope) -> NameScope:
    """Return the scope for new Python names: that of the function."""
    for enclosing in scope.iterate_outward():
        if enclosing.owner in ("function", "namespace") or enclosing.parent is None:
            return enclosing
    return scope
