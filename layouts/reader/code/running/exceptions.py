"""Throw exceptions, and run the handlers that may catch them. ISO C++17: [except]."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.running.paths import EarlyExit, EscapedPath
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.tree_statements import Throw, Try
from lanescope.reader.code.types.templates import is_same_type
from lanescope.reader.code.values import ObjectValue, OpaqueValue, RecordType, ResolvedType

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def execute_throw(ev: Evaluator, statement: Throw, scope: NameScope) -> EarlyExit:
    """Throw an exception, or rethrow the one being handled."""
    if statement.value is None:
        return EarlyExit("throw", ev.caught.value if ev.caught is not None else None)
    return EarlyExit("throw", _make_exception(ev, statement.value, scope))


def _make_exception(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> Any:
    """Make an exception, a copy of the operand; whether it is copied or moved is unknown."""
    value = ev.evaluate_expression(expression, scope)
    if isinstance(value, ObjectValue) and value.stored and value.record.copies:
        value = ev.copy_construct(value, replace(ev.make_place_argument(value), const=None, loose=True))
    return ev.copy_assigned(value)


def execute_try(ev: Evaluator, node: Try, scope: NameScope) -> EarlyExit | None:
    """Run a try block, and the handlers that may catch its exceptions."""
    thrown: list[EscapedPath] = []
    ev.try_blocks.append((thrown, len(ev.branches)))
    try:
        early_exit = ev.execute_statement(node.body, scope)
    finally:
        ev.try_blocks.pop()
    if early_exit is not None and early_exit.word == "throw":
        if thrown:
            ev.rejoin_paths(thrown)
            return ev.follow_alternatives(
                [(f"caught {n}", _make_handler_branch(ev, h, None, scope)) for n, h in enumerate(node.handlers)]
            )
        return _execute_catch(ev, node, early_exit, scope)
    if thrown:
        ev.rejoin_paths(thrown)
        runs = [
            (f"caught {n}", _make_handler_branch(ev, handler, None, scope)) for n, handler in enumerate(node.handlers)
        ]
        if early_exit is not None:
            ev.keep_escape("not thrown", early_exit, {})
            return ev.follow_alternatives(runs)
        return ev.follow_alternatives([*runs, ("not thrown", lambda: None)])
    return early_exit


def _execute_catch(ev: Evaluator, node: Try, early_exit: EarlyExit, scope: NameScope) -> EarlyExit | None:
    """Run the handler of an exception; every possible handler if its type does not decide."""
    kind = (
        ev.get_value_type(early_exit.value)
        if not isinstance(early_exit.value, OpaqueValue) or early_exit.value.kind
        else None
    )
    unsure: list[tuple[tree.Parameter | None, tree.Statement]] = []
    for handler in node.handlers:
        parameter = handler[0]
        if parameter is None or parameter.type is None or parameter.type.name in ("", "..."):
            fits: bool | None = True
        else:
            handler_type = ev.resolve_type(parameter.type, scope)
            fits = None if kind is None else _matches_handler(kind, handler_type, ev.text)
        if fits and not unsure:
            return _make_handler_branch(ev, handler, early_exit.value, scope)()
        if fits is not False:
            unsure.append(handler)
    if not unsure:
        return early_exit
    return ev.follow_alternatives(
        [(f"caught {n}", _make_handler_branch(ev, h, None, scope)) for n, h in enumerate(unsure)]
    )


def _make_handler_branch(
    ev: Evaluator, handler: tuple[tree.Parameter | None, tree.Statement], value: Any, scope: NameScope
) -> Callable[[], EarlyExit | None]:
    """Return a function that runs a handler. value: the exception, None if unknown."""

    def run() -> EarlyExit | None:
        inner, before = NameScope(scope), ev.caught
        parameter = handler[0]
        ev.caught = Cell(value if value is not None else OpaqueValue(ev.make_fresh_name("exception")))
        if parameter is not None and parameter.name:
            kind = ev.resolve_type(parameter.type, scope) if parameter.type else None
            if value is None:
                ev.caught.value = ev.make_symbolic_value(kind, ev.make_fresh_name(parameter.name))
            value_type = replace(kind, reference="") if kind is not None else None
            inner.names[parameter.name] = _make_caught_variable(ev, ev.caught, kind, value_type, parameter.name)
            if kind is not None and kind.const and not kind.pointers:
                inner.consts.add(parameter.name)
        elif value is None:
            ev.caught.value = None
        thrown = ev.caught.value
        try:
            early_exit = ev.execute_statement(handler[1], inner)
            ev.leave_block(inner, early_exit)
            if isinstance(thrown, ObjectValue) and thrown.record.ends:
                ev.run_perhaps(lambda: ev.destroy_object(thrown, (0, 0)))
            return early_exit
        finally:
            ev.caught = before

    return run


def _make_caught_variable(
    ev: Evaluator, caught: Cell, kind: ResolvedType | None, value_type: ResolvedType | None, name: str
) -> Cell:
    """Make the variable of a handler: the exception as its declared class, a copy unless it is a reference."""
    value = caught.value
    if (
        isinstance(value, ObjectValue)
        and value_type is not None
        and value_type.record is not None
        and value.record is not value_type.record
    ):
        value = ev.upcast_object(value, value_type.record)
    if kind is not None and kind.reference:
        return caught if value is caught.value else Cell(value, value_type, name)
    if isinstance(value, ObjectValue):
        value = ev.copy_construct(value, ev.make_place_argument(value))
        value.stored = value.stored or value is caught.value or value.derived is not None
    return Cell(ev.copy_assigned(value), value_type, name)


def _matches_handler(kind: ResolvedType, resolved_type: ResolvedType, text: str) -> bool | None:
    """Return whether a handler catches an exception: of its type, or of an unambiguous public base; None if unknown."""
    if kind.record is None or resolved_type.record is None or kind.pointers or resolved_type.pointers:
        return is_same_type(replace(kind, const=False, reference=""), replace(resolved_type, const=False, reference=""))
    if kind.record is resolved_type.record:
        return True
    ways = _count_base_paths(kind.record, resolved_type.record)
    if kind.record.opaque and not ways:
        return None
    heads = [
        text[slice(*record.decl.span)].partition("{")[0]
        for record in _list_derived(kind.record)
        if record.decl is not None
    ]
    if ways == 1 and any(re.search(r"\b(?:private|protected|class)\b", head) for head in heads):
        return None
    return ways == 1


def _count_base_paths(record: RecordType, base: RecordType) -> int:
    """Return how often a class has another as its base."""
    return sum(1 if parent is base else _count_base_paths(parent, base) for parent in record.bases)


def _list_derived(record: RecordType) -> list[RecordType]:
    """Return a class and all its bases."""
    return [record, *(inner for parent in record.bases for inner in _list_derived(parent))]
