"""Assignments: which place one writes, with which value, and by which operator of the text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import PYTHON
from lanescope.reader.code import tree
from lanescope.reader.code.values import (
    PLACES,
    Cell,
    Closure,
    Kind,
    Object,
    Part,
    Record,
    Referred,
    Scope,
    Term,
)
from lanescope.reader.code.word import UNKNOWN, Int

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def evaluate_assignment(ev: Evaluator, one: tree.Assign, scope: Scope) -> Any:
    """Assign; return the value that was assigned."""
    if ev.python:
        return _python_assign(ev, one, scope)
    made = ev.assign_place(one, scope)
    return ev.load(made, one) if isinstance(made, PLACES) else made


def assign_place(ev: Evaluator, one: tree.Assign, scope: Scope) -> Any:
    """Assign as C++ does, the right side first; return the place that was written."""
    if isinstance(one.value, tree.Items) and one.value.type is None:
        return _assign_items(ev, one, one.value, scope)
    argument = ev.evaluate_argument(one.value, scope) if not one.op else None
    value = _right_side(ev, one, scope, argument)
    return _assign(ev, one, scope, _target(ev, one.target, scope), (value, argument))


def _assign_items(ev: Evaluator, one: tree.Assign, given: tree.Items, scope: Scope) -> Any:
    """Assign `{…}`, which begins a value of the left side's type; return the place that was written."""
    place = _target(ev, one.target, scope)
    if isinstance(place, Part) and place.field.inner is not None:
        return _braced(ev, place, place.field.inner, given, scope)
    value: Any = ev.initial(given, _kind_of_place(ev, place), scope, getattr(place, "name", ""))
    argument = ev.argument_of(value) if isinstance(value, Object) else None
    return _assign(ev, one, scope, place, (value, argument))


def _assign(ev: Evaluator, one: tree.Assign, scope: Scope, place: Any, right: tuple[Any, Any]) -> Any:
    """Write a place, by an operator of the text where there is one; return what was written. right: the right side's
    value, and as an argument of such an operator.
    """
    value, argument = right
    place = place.place if isinstance(place, Referred) else place
    if one.op:
        own, value = _operated(ev, one, place, value)
    elif isinstance(place, PLACES) and _assigns_itself(ev, place):
        own = ev.operator("=", ev.load(place, one.target), argument or value, one)
    else:
        own = place if _assigned(ev, place, argument) else None
    if own is not None:
        return own.place if isinstance(own, Referred) else own
    value = value.place if isinstance(value, Referred) else value
    if not isinstance(place, PLACES):  # object.*member = …
        _assign_unknown(ev, one, place, scope)
        return place if isinstance(place, Term) else value
    ev.wraps = bool(one.op)
    ev.store(place, value, one.span if one.op or not isinstance(place, Part) else one.value.span, one.span)
    ev.wraps = False
    return place


def _operated(ev: Evaluator, one: tree.Assign, place: Any, value: Any) -> tuple[Any, Any]:
    """Return (what an operator of the text gives for `place op= value`, else None; the new value)."""
    old = ev.load(place, one.target) if isinstance(place, PLACES) else place
    if isinstance(place, Cell) and isinstance(old, Term) and old.head == "uninitialised":
        old = ev.uninitialised(place, one.span)
    sign = one.op * 2 if one.step else f"{one.op}="
    left = place if isinstance(place, PLACES) and not isinstance(old, Object) else old
    own = ev.operator(sign, left, None if one.step else value, one)
    if own is not None:
        return own, None
    declared = tree.Other("", span=place.span) if isinstance(place, Cell) and one.op in "|+^" else None
    return None, ev.operate(one.op, old, value, one, left_at=declared, right_at=one.value)


def _assign_unknown(ev: Evaluator, one: tree.Assign, place: Any, scope: Scope) -> None:
    """Forget what an assignment may write whose left side names no place that is known."""
    ev.forget_names(ev.text[slice(*one.target.span)], scope)
    hidden = isinstance(place, Term) and "::" in place.text
    around = ev.frames[-1].scope
    if hidden and around is not None and isinstance(one.target, tree.Unary):  # it may point to any member
        ev.forget_all(around)
    if isinstance(one.target, tree.Member):
        inner = ev.place(one.target.value, scope)
        ev.forget_alike(ev.load(inner, one) if isinstance(inner, PLACES) else inner, None)
    ev.forget_globals()


def _right_side(ev: Evaluator, one: tree.Assign, scope: Scope, argument: Any) -> Any:
    """Return the value of an assignment's right side. argument: the same, where it has been evaluated."""
    if argument is None:
        return ev.value(one.value, scope)
    value = argument.value
    plain = isinstance(value, Object) and value.held and not value.record.copies and not value.record.assigns
    return ev.copied(value, 1) if plain else value


def _assigned(ev: Evaluator, place: Any, argument: Any) -> bool:
    """Assign an object where a member or a base has an operator= of its own; whether that was done."""
    if not isinstance(place, Cell) or argument is None:
        return False
    old, value = place.value, argument.value
    if not isinstance(old, Object) or not isinstance(value, Object) or not old.record.assigns:
        return False
    if not value.record.descends(old.record) or value.record.hidden:
        return False
    ev.assign_into(old, old.record, argument)
    return True


def _assigns_itself(ev: Evaluator, place: Any) -> bool:
    """Whether a place holds an object whose class defines operator=."""
    value = place.value if isinstance(place, Cell) else None
    own = value.record.methods.get("operator=") if isinstance(value, Object) else None
    return own is not None and any(not f.defaulted for f in own.functions)


def _kind_of_place(ev: Evaluator, place: Any) -> Kind | None:
    """Return the type of a variable that an assignment writes."""
    if isinstance(place, Cell):
        if place.kind is None and isinstance(place.value, Object):
            return Kind(place.value.record.name, record=place.value.record)
        return place.kind
    return None


def _python_assign(ev: Evaluator, one: tree.Assign, scope: Scope) -> Any:
    """Assign as Python does; return the value."""
    if isinstance(one.target, tree.Items):
        value = ev.value(one.value, scope)
        for n, (_, target) in enumerate(one.target.items):
            ev.store(_target(ev, target, scope), ev.item(value, n, one.span), one.span)
        return value
    place = _target(ev, one.target, scope)
    if one.op:
        old = ev.load(place, one.target)
        if old is None:
            old = Int(0, PYTHON)
        right = ev.value(one.value, scope)
        declared = tree.Other("", span=place.span) if isinstance(place, Cell) and one.op in "|+^" else None
        value = ev.operate(one.op, old, right, one, left_at=declared, right_at=one.value)
    else:
        value = ev.value(one.value, scope)
    ev.store(place, value, one.span if one.op or not isinstance(place, Part) else one.value.span, one.span)
    return value


def _braced(ev: Evaluator, place: Part, inner: Record, given: tree.Items, scope: Scope) -> Any:
    """Members of a struct of bit fields by `{…}`: by their names, else in order; the others are 0."""
    whole = Int(0, UNKNOWN)
    ev.store(Part(place.of, replace(place.field, inner=None)), whole, given.span)
    for member, (key, value) in zip(inner.members, given.items, strict=False):
        ev.store(ev.member(place, key or member, value.span), ev.value(value, scope), value.span)
    return place


def _target(ev: Evaluator, target: tree.Expression, scope: Scope) -> Any:
    """The place an assignment writes to; a new variable in Python, and in a C snippet without its declaration."""
    if isinstance(target, tree.Name) and len(target.path) == 1:
        found = ev.resolve(target.path, scope, target.span[0])
        outer = ev.python and isinstance(found, Cell) and target.last not in ev.local(scope).names
        if isinstance(found, PLACES) and not outer:
            if isinstance(found, Cell) and isinstance(found.value, PLACES):
                return found.value
            return found
        if not ev.python and isinstance(found, Closure | Kind | Term):
            return found
        home = ev.local(scope)
        start = Term("", head="uninitialised") if not ev.python else None
        cell = home.names[target.last] = Cell(start, None, target.last, target.span, len(ev.frames), born=0)
        if outer and isinstance(found, Cell):
            cell.value = found.value
        return cell
    return ev.place(target, scope)


def local(ev: Evaluator, scope: Scope) -> Scope:
    """The scope new names of Python go to: the function's."""
    for one in scope.chain():
        if one.owner in ("function", "namespace") or one.parent is None:
            return one
    return scope
