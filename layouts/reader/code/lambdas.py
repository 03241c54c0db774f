"""Lambdas with copies of what they capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lanescope.reader.code import tree
from lanescope.reader.code.lookup import find_name, this_of
from lanescope.reader.code.values import PLACES, Cell, Closure, Object, Scope
from lanescope.reader.code.writes import used_names

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def evaluate_lambda(ev: Evaluator, one: tree.Lambda, scope: Scope) -> Closure:
    """A lambda with copies of what it captures by value, as it is made."""
    if ev.python:
        return Closure((one.function,), scope)
    inner = Scope(scope, "lambda")
    inner.consts.add("(new)")
    if one.default == "=":
        _capture_all(ev, one, scope, inner)
    for capture in one.captures:
        if capture.name == "*this":
            this = this_of(scope)
            if isinstance(this, Object):
                inner.names.update(ev.this_scope(scope, ev.copied(this), None).names)
        elif capture.value is not None:
            inner.names[capture.name] = _capture_value(ev, capture, capture.value, scope)
        elif capture.name != "this" and not capture.by_reference:
            found = find_name(scope, capture.name)[0]
            if isinstance(found, PLACES):
                value = _captured(ev, ev.load(found, one))
                kind = found.kind if isinstance(found, Cell) else None
                inner.names[capture.name] = Cell(value, kind, capture.name, capture.span, -1)
    return Closure((one.function,), scope, captured=inner)


def _capture_all(ev: Evaluator, one: tree.Lambda, scope: Scope, inner: Scope) -> None:
    """Copy the variables that a lambda with [=] uses and does not list."""
    listed = {capture.name for capture in one.captures} | {"this"}
    for name in used_names(one.function):
        found, home = find_name(scope, name)
        member = "this" in home.names  # [=] captures `this`, not what it points to
        if isinstance(found, PLACES) and home.owner != "namespace" and name not in listed and not member:
            value = _captured(ev, ev.load(found, one))
            inner.names[name] = Cell(value, None, name, one.span, -1)


def _capture_value(ev: Evaluator, one: tree.Capture, value: tree.Expression, scope: Scope) -> Any:
    """Return what `[name = value]` names: a variable of the lambda, the place itself by reference."""
    place = ev.place(value, scope) if one.by_reference else None
    if isinstance(place, PLACES):
        return place
    return Cell(_captured(ev, ev.value(value, scope)), None, one.name, one.span, -1)


def _captured(ev: Evaluator, value: Any) -> Any:
    """A copy that a lambda keeps. Where it is destroyed is not followed."""
    if isinstance(value, Object) and value.record.ends and ev.haunting is not None:
        ev.haunting.append(value)
    if isinstance(value, Object) and value.held and value.record.copies:
        return ev.copied(value)
    return ev.copied(value, 1 if not isinstance(value, Object) or value.held else 0)
