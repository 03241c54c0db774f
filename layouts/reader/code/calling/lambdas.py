"""Evaluate lambdas, with copies of their captures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lanescope.reader.code.naming.lookup import find_name, get_this
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import PLACES, FunctionSet, ObjectValue

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def evaluate_lambda(ev: Evaluator, node: tree.Lambda, scope: NameScope) -> FunctionSet:
    """Evaluate a lambda, with copies of the variables that it captures by value."""
    if ev.python:
        return FunctionSet((node.function,), scope)
    inner = NameScope(scope, "lambda")
    inner.consts.add("(new)")
    if node.default == "=":
        _capture_all(ev, node, scope, inner)
    for capture in node.captures:
        if capture.name == "*this":
            this = get_this(scope)
            if isinstance(this, ObjectValue):
                inner.names.update(ev.make_this_scope(scope, ev.copy_assigned(this), None).names)
        elif capture.value is not None:
            inner.names[capture.name] = _capture_value(ev, capture, capture.value, scope)
        elif capture.name != "this" and not capture.by_reference:
            entity = find_name(scope, capture.name)[0]
            if isinstance(entity, PLACES):
                value = _copy_captured(ev, ev.load_place(entity, node))
                kind = entity.kind if isinstance(entity, Cell) else None
                inner.names[capture.name] = Cell(value, kind, capture.name, capture.span, -1)
    return FunctionSet((node.function,), scope, captured=inner)


def _capture_all(ev: Evaluator, node: tree.Lambda, scope: NameScope, inner: NameScope) -> None:
    """Copy the variables that a lambda with [=] uses without listing them."""
    listed_names = {capture.name for capture in node.captures} | {"this"}
    for name in ev.summaries.list_used_names(node.function):
        entity, home = find_name(scope, name)
        member = "this" in home.names  # [=] captures `this`, not what it points to
        if isinstance(entity, PLACES) and home.owner != "namespace" and name not in listed_names and not member:
            value = _copy_captured(ev, ev.load_place(entity, node))
            inner.names[name] = Cell(value, None, name, node.span, -1)


def _capture_value(ev: Evaluator, capture: tree.LambdaCapture, value: tree.Expression, scope: NameScope) -> Any:
    """Evaluate `[name = value]`: a variable of the lambda, or the place if it is captured by reference."""
    place = ev.find_place(value, scope) if capture.by_reference else None
    if isinstance(place, PLACES):
        return place
    return Cell(_copy_captured(ev, ev.evaluate_expression(value, scope)), None, capture.name, capture.span, -1)


def _copy_captured(ev: Evaluator, value: Any) -> Any:
    """Copy a captured value; when it is destroyed is unknown."""
    if isinstance(value, ObjectValue) and value.record.ends and ev.pending_objects is not None:
        ev.pending_objects.append(value)
    if isinstance(value, ObjectValue) and value.stored and value.record.copies:
        return ev.copy_assigned(value)
    return ev.copy_assigned(value, 1 if not isinstance(value, ObjectValue) or value.stored else 0)
