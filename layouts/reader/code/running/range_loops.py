"""Run loops over the items of a range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.calling.python_calls import list_items
from lanescope.reader.code.naming.declarations import assign_name, get_item_place
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.running.loops import (
    MOST_QUIET,
    forget_open_loop,
    get_iteration_limit,
    note_possible_return,
    run_body,
)
from lanescope.reader.code.running.paths import EarlyExit, JumpTarget
from lanescope.reader.code.running.side_effects import list_reachable_places
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.syntax.tree_statements import RangeLoop
from lanescope.reader.code.types.constness import find_constness
from lanescope.reader.code.values import PLACES, ArrayValue, ObjectPart, ObjectValue, ResolvedType

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


@dataclass(frozen=True, slots=True)
class _Range:
    """The values that a loop iterates over. items: their places, () if unknown. complete: whether these are all."""

    source: Any
    values: Sequence[Any]
    items: Sequence[Any]
    complete: bool


def execute_range_loop(ev: Evaluator, loop: RangeLoop, scope: NameScope) -> EarlyExit | None:
    """Run a loop over the known items of an array, a range or an object."""
    if loop.start is not None:
        scope = NameScope(scope)
        ev.execute_statement(loop.start, scope)
    over = _evaluate_range(ev, loop, scope)
    complete = over.complete
    refers = loop.type is not None and bool(loop.type.reference) and bool(over.items)
    first = len(ev.write_log)
    target = JumpTarget(True, len(ev.branches))
    early_exit: EarlyExit | None = None
    ev.jump_targets.append(target)
    ev.loops.append(("", SymbolicInt(0)))
    try:
        for n, item in enumerate(over.values):
            inner = scope if ev.python else NameScope(scope)
            _bind_item(ev, loop, item, over.items[n] if refers else None, inner)
            early_exit = run_body(ev, loop.body, inner, target)
            if early_exit is not None:
                complete = True
                break
    finally:
        ev.loops.pop()
        ev.jump_targets.pop()
    journal = {} if complete else ev.list_writes_since(first)  # before paths rejoin
    early_exit = ev.join_breaks(target.breaks, early_exit)
    if not complete:
        forget_open_loop(ev, loop, journal, scope, False)
        note_possible_return(ev, loop)
        if isinstance(over.source, ObjectValue) and not ev.python:
            _forget_range(ev, loop, over.source, scope)
    return early_exit


def _evaluate_range(ev: Evaluator, loop: RangeLoop, scope: NameScope) -> _Range:
    """Evaluate the range of a loop; make unknown what unknown items may refer to."""
    source = ev.evaluate_expression(loop.values, scope)
    turns = get_iteration_limit(ev) if ev.python else MOST_QUIET
    values, complete = list_items(ev, source, turns, loop.names[0] if loop.names else "")
    items: Sequence[Any] = source.cells if isinstance(source, ArrayValue) else ()
    if isinstance(source, ObjectPart) and source.field.count and not ev.python:
        items = ev.list_part_items(source)
        values, complete = [ev.load_place(item, loop.values) for item in items], True
    if not ev.python and not items:
        complete = complete and isinstance(source, ArrayValue)
        if isinstance(source, ObjectValue) or (loop.type is not None and loop.type.reference):
            _forget_range(ev, loop, source, scope)
    return _Range(source, values, tuple(items), complete)


def _forget_range(ev: Evaluator, loop: RangeLoop, source: Any, scope: NameScope) -> None:
    """Make unknown what the unknown items of a range may refer to."""
    ev.forget_names(ev.text[slice(*loop.values.span)], scope)
    if isinstance(source, ObjectValue):  # its begin() and end() may write, too
        ev.forget_place(Cell(source))
        for place in list_reachable_places(source):
            ev.forget_place(place)
        ev.forget_globals()


def _bind_item(ev: Evaluator, loop: RangeLoop, value: Any, cell: Any, scope: NameScope) -> None:
    """Bind a loop's variables to the next item; references to the item itself."""
    if len(loop.names) == 1:
        _bind_variable(ev, loop, value, cell, scope)
        return
    for index, name in enumerate(loop.names):
        where = get_item_place(ev, value, index) if cell is not None else None
        item = ev.get_item(value, index, loop.span)
        if index == 0 and isinstance(item, SymbolicInt):
            ev.loops[-1] = (name, item)
        if isinstance(where, PLACES):
            scope.names[name] = where
        elif ev.python:
            assign_name(ev, name, item, scope, loop.span)
        else:
            scope.names[name] = Cell(item, None, name, loop.span, len(ev.frames))


def _bind_variable(ev: Evaluator, loop: RangeLoop, value: Any, cell: Any, scope: NameScope) -> None:
    """Bind a loop's only variable to the next item. cell: the item's place, if the variable is a reference."""
    name = loop.names[0]
    if isinstance(value, SymbolicInt):
        ev.loops[-1] = (name, value)
    if cell is not None:
        scope.names[name] = cell
        const = (loop.type is not None and loop.type.const) or find_constness(ev, loop.values, scope)
        if const is not False:
            scope.consts.add(name if const else f"?{name}")
    elif ev.python:
        assign_name(ev, name, value, scope, loop.span)
    else:
        _copy_item(ev, loop, value, scope)


def _copy_item(ev: Evaluator, loop: RangeLoop, value: Any, scope: NameScope) -> None:
    """Bind a loop's variable to a copy of an item."""
    name = loop.names[0]
    kind: ResolvedType | None = None
    if loop.type is not None and loop.type.name != "auto":
        kind = replace(ev.resolve_type(loop.type, scope), reference="")
    if isinstance(value, ObjectValue) and value.record.copies:
        value = ev.copy_construct(value, ev.make_copy_argument(loop.values, scope, value))
    assigned = ev.copy_assigned(ev.convert_to_kind(value, kind, loop.span, name) if kind is not None else value)
    cell = scope.names[name] = Cell(assigned, kind, name, loop.span, len(ev.frames))
    if isinstance(assigned, ObjectValue) and assigned.record.ends:
        scope.names["(destroyed)"] = (cell,)
    ev.note_variable(cell, loop.span)
