"""Exceptions: what is thrown, and which handlers may catch it. ISO C++17: [except]."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.reader.code import tree
from lanescope.reader.code.paths import Escape, Left
from lanescope.reader.code.templates import same_type
from lanescope.reader.code.values import Cell, Kind, Object, Record, Scope, Term

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def execute_throw(ev: Evaluator, one: tree.Throw, scope: Scope) -> Left:
    """Throw an exception, or again the one that is being handled."""
    if one.value is None:
        return Left("throw", ev.caught.value if ev.caught is not None else None)
    return Left("throw", _thrown(ev, one.value, scope))


def _thrown(ev: Evaluator, one: tree.Expression, scope: Scope) -> Any:
    """An exception: a copy of what is thrown, of which it is not known whether it is copied or moved."""
    value = ev.value(one, scope)
    if isinstance(value, Object) and value.held and value.record.copies:
        value = ev.copy_constructed(value, replace(ev.argument_of_place(value), const=None, loose=True))
    return ev.copied(value)


def execute_try(ev: Evaluator, one: tree.Try, scope: Scope) -> Left | None:
    """Run a try block and the handlers that may catch what it throws."""
    thrown: list[Escape] = []
    ev.tries.append((thrown, len(ev.branches)))
    try:
        left = ev.execute(one.body, scope)
    finally:
        ev.tries.pop()
    if left is not None and left.word == "throw":
        if thrown:
            ev.rejoin(thrown)
            return ev.alternatives([(f"caught {n}", _handler(ev, h, None, scope)) for n, h in enumerate(one.handlers)])
        return _caught(ev, one, left, scope)
    if thrown:
        ev.rejoin(thrown)
        runs = [(f"caught {n}", _handler(ev, handler, None, scope)) for n, handler in enumerate(one.handlers)]
        if left is not None:
            ev.escape("not thrown", left, {})
            return ev.alternatives(runs)
        return ev.alternatives([*runs, ("not thrown", lambda: None)])
    return left


def _caught(ev: Evaluator, one: tree.Try, left: Left, scope: Scope) -> Left | None:
    """Run the handler of an exception; where its type leaves open which, all that may be."""
    kind = ev.kind_of(left.value) if not isinstance(left.value, Term) or left.value.kind else None
    unsure: list[tuple[tree.Parameter | None, tree.Statement]] = []
    for handler in one.handlers:
        parameter = handler[0]
        if parameter is None or parameter.type is None or parameter.type.name in ("", "..."):
            fits: bool | None = True
        else:
            wanted = ev.kind(parameter.type, scope)
            fits = None if kind is None else _same_or_base(kind, wanted, ev.text)
        if fits and not unsure:
            return _handler(ev, handler, left.value, scope)()
        if fits is not False:
            unsure.append(handler)
    if not unsure:
        return left
    return ev.alternatives([(f"caught {n}", _handler(ev, h, None, scope)) for n, h in enumerate(unsure)])


def _handler(
    ev: Evaluator, handler: tuple[tree.Parameter | None, tree.Statement], value: Any, scope: Scope
) -> Callable[[], Left | None]:
    """Return what runs a handler. value: the exception, None where it is not known."""

    def run() -> Left | None:
        inner, before = Scope(scope), ev.caught
        parameter = handler[0]
        ev.caught = Cell(value if value is not None else Term(ev.fresh("exception")))
        if parameter is not None and parameter.name:
            kind = ev.kind(parameter.type, scope) if parameter.type else None
            if value is None:
                ev.caught.value = ev.symbolic(kind, ev.fresh(parameter.name))
            bare = replace(kind, reference="") if kind is not None else None
            inner.names[parameter.name] = _caught_variable(ev, ev.caught, kind, bare, parameter.name)
            if kind is not None and kind.const and not kind.pointers:
                inner.consts.add(parameter.name)
        elif value is None:
            ev.caught.value = None
        thrown = ev.caught.value
        try:
            left = ev.execute(handler[1], inner)
            ev.leave_block(inner, left)
            if isinstance(thrown, Object) and thrown.record.ends:
                ev.perhaps(lambda: ev.destroy(thrown, (0, 0)))
            return left
        finally:
            ev.caught = before

    return run


def _caught_variable(ev: Evaluator, caught: Cell, kind: Kind | None, bare: Kind | None, name: str) -> Cell:
    """The variable of a handler: the exception itself, as its base; a copy of it where it is no reference."""
    value = caught.value
    if isinstance(value, Object) and bare is not None and bare.record is not None and value.record is not bare.record:
        value = ev.upcast(value, bare.record)
    if kind is not None and kind.reference:
        return caught if value is caught.value else Cell(value, bare, name)
    if isinstance(value, Object):
        value = ev.copy_constructed(value, ev.argument_of_place(value))
        value.held = value.held or value is caught.value or value.whole is not None
    return Cell(ev.copied(value), bare, name)


def _same_or_base(kind: Kind, wanted: Kind, text: str) -> bool | None:
    """Whether a handler takes an exception: its type, or a base of it that is public and no more than once there."""
    if kind.record is None or wanted.record is None or kind.pointers or wanted.pointers:
        return same_type(replace(kind, const=False, reference=""), replace(wanted, const=False, reference=""))
    if kind.record is wanted.record:
        return True
    ways = _ways(kind.record, wanted.record)
    if kind.record.opaque and not ways:
        return None
    heads = [text[slice(*one.decl.span)].partition("{")[0] for one in _derived(kind.record) if one.decl is not None]
    if ways == 1 and any(re.search(r"\b(?:private|protected|class)\b", head) for head in heads):
        return None
    return ways == 1


def _ways(record: Record, base: Record) -> int:
    """Return how many times a class has another as its base."""
    return sum(1 if one is base else _ways(one, base) for one in record.bases)


def _derived(record: Record) -> list[Record]:
    """Return a class and all of its bases."""
    return [record, *(inner for one in record.bases for inner in _derived(one))]
