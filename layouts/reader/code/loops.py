"""Run loops symbolically. Every loop is bounded; variables it may change become unknown afterwards."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL
from lanescope.reader.code import tree
from lanescope.reader.code.constness import find_constness
from lanescope.reader.code.integer_values import integer_or_symbol
from lanescope.reader.code.lookup import find_name
from lanescope.reader.code.paths import EarlyExit, Journal, JumpTarget
from lanescope.reader.code.scopes import Cell, NameScope
from lanescope.reader.code.side_effects import list_reachable_places
from lanescope.reader.code.symbolic_integers import SymbolicInt, make_free
from lanescope.reader.code.tree_statements import Loop, RangeLoop
from lanescope.reader.code.values import PLACES, ArrayValue, ObjectPart, ObjectValue, OpaqueValue, ResolvedType
from lanescope.reader.code.write_summaries import get_root_name, walk_nodes

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_TURNS = (16, 16, 8, 4)  # of a loop that builds descriptors, by how many it stands in
MOST_QUIET = 1100  # of a loop that builds none
MOST_SPENT = (4000, 1000, 250)  # steps of such a loop, by how many it stands in
LEAST_TURNS = 3  # of a loop of the host that fills matrices or prints, once its steps are spent
_MATTERS = re.compile(r"tma|bulk|tensor|load|copy|fetch|issue|mma|gemm|desc|map|matrix|launch", re.I)
FREE_TURNS = (3, 3, 2)  # of a loop whose end is not known, by how many it stands in: enough to see what a turn changes


def _count_turns(ev: Evaluator) -> int:
    """Return how many turns are followed of a loop that builds descriptors."""
    return MOST_TURNS[min(len(ev.loops), len(MOST_TURNS) - 1)]


def _count_free_turns(ev: Evaluator) -> int:
    """Count the turns to follow of the loop that is being run, if its end is not known."""
    return FREE_TURNS[min(len(ev.loops), len(FREE_TURNS)) - 1]


def _count_steps(ev: Evaluator) -> int:
    """Count the steps that a loop which builds nothing may take."""
    return min(ev.steps_left // 3, MOST_SPENT[min(len(ev.loops), len(MOST_SPENT) - 1)])


def _count_findings(ev: Evaluator) -> int:
    """Count what a loop may find: the more, the fewer turns are followed."""
    return len(ev.descriptors) + len(ev.assembled) + len(ev.bodiless_calls)


@dataclass(slots=True)
class LoopRun:
    """How far a loop is followed. few: turns where it builds descriptors; most: turns at all; kept, made: what had been
    found when it began, calls without a body; budget: steps from `start` on; told: whether the text says when it ends;
    whole: whether that was reached.
    """

    variable: Cell | None
    few: int
    most: int
    kept: int
    made: int
    budget: int
    start: int = 0
    turn: int = 0
    told: bool = True
    whole: bool = False

    def limit(self, ev: Evaluator) -> None:
        """Follow no more turns than of a loop whose end is not known."""
        self.most = min(self.most, _count_free_turns(ev))

    def finds(self, ev: Evaluator) -> bool:
        """Return whether the loop has found anything."""
        return _count_findings(ev) > self.kept

    def is_over(self, ev: Evaluator) -> bool:
        """Return whether no other turn is followed."""
        spent = self.start - ev.steps_left > self.budget
        if self.turn >= self.most or (self.turn >= self.few and (self.finds(ev) or spent)):
            return True
        return spent and self.turn >= LEAST_TURNS and not ev.python and not self._matters(ev)

    def _matters(self, ev: Evaluator) -> bool:
        """Return whether the loop has found more than calls that no descriptor and no load is made of."""
        made = len(ev.bodiless_calls) - self.made
        matters = _count_findings(ev) - self.kept > made
        return matters or any(_MATTERS.search(call.term.head) for call in ev.bodiless_calls[self.made :])


def execute_loop(ev: Evaluator, loop: Loop, scope: NameScope) -> EarlyExit | None:
    """Run a for or while loop turn by turn, as far as its bounds allow."""
    if loop.start is not None:
        ev.execute_statement(loop.start, scope)
    few = _count_turns(ev)
    variable = _find_loop_variable(ev, loop, scope)
    most = few if ev.python else MOST_QUIET
    run = LoopRun(variable, few, most, _count_findings(ev), len(ev.bodiless_calls), _count_steps(ev))
    first = len(ev.write_log)
    target = JumpTarget(True, len(ev.branches))
    ev.jump_targets.append(target)
    ev.loops.append(("", SymbolicInt(0)))
    run.start = ev.steps_left
    try:
        left = _run_turns(ev, loop, scope, run, target)
    finally:
        ev.loops.pop()
        ev.jump_targets.pop()
        journal = ev.list_writes_since(first)
    if not run.told and left is not None and left.word not in ("break", "continue"):
        ev.keep_escape("?", left, {})
        left = None
    left = ev.join_breaks(target.breaks, left, run.whole)
    if not run.whole:
        ev.cut.add(run.variable.name if run.variable is not None else "")
        _forget_open_loop(ev, loop, journal, scope, run.told)
        _note_possible_return(ev, loop)
    ev.leave_block(scope, left)
    return left


def _run_turns(ev: Evaluator, loop: Loop, scope: NameScope, run: LoopRun, target: JumpTarget) -> EarlyExit | None:
    """Run the turns of a loop; return what ended them early, or None."""
    while True:
        inner = _begin_turn(ev, loop, scope, run)
        if inner is None:
            return None
        if run.variable is not None:
            ev.loops[-1] = (run.variable.name, integer_or_symbol(run.variable.value, BOOL))
        left = _run_body(ev, loop.body, inner, target)
        if left is not None:
            run.whole = run.told
            return left
        if loop.step is not None:
            ev.evaluate_full_expression(partial(ev.evaluate_for_effect, loop.step, scope), loop.step.span)
        run.turn += 1
        if not run.told and run.turn >= 2 and _count_findings(ev) == run.kept:
            return None
        if loop.condition is None and run.finds(ev):
            run.limit(ev)


def _begin_turn(ev: Evaluator, loop: Loop, scope: NameScope, run: LoopRun) -> NameScope | None:
    """Return the scope of a loop's next turn; None if its condition or a bound ends it."""
    inner = scope
    if loop.condition is None:
        if run.variable is None and ev.python:
            run.limit(ev)
    elif run.turn or not loop.late:
        inner = NameScope(scope)
        goes_on = ev.decide_condition(loop.condition, inner)[1]
        if goes_on is None:
            run.limit(ev)
            run.told = False
            ev.endless.add(run.variable.name if run.variable is not None else "")
        elif not goes_on:
            ev.leave_block(inner, None)
            run.whole = run.told
            return None
    return None if run.is_over(ev) else inner


def _run_body(ev: Evaluator, body: tree.Statement, scope: NameScope, target: JumpTarget) -> EarlyExit | None:
    """Run one turn of a loop; return what ended it early, None if the next may follow."""
    left = ev.execute_statement(body, scope)
    ev.rejoin_paths(target.continues)
    if left is not None and left.word == "continue":
        left = None
    ev.leave_block(scope, left)
    return left


def _note_possible_return(ev: Evaluator, one: tree.Statement) -> None:
    """Note that a turn that was not followed may return, or go elsewhere."""
    if ev.python:
        return
    summary, frame = ev.summaries.get_summary(one), ev.frames[-1]
    if summary.returns:
        ev.keep_escape(
            "?", EarlyExit("return", ev.make_symbolic_value(frame.returns, ev.make_fresh_name(frame.name or "?"))), {}
        )
    if summary.jumps:
        ev.forget_after_goto({})


def _forget_open_loop(
    ev: Evaluator, statement: tree.Statement, written: Journal, scope: NameScope, follows_all: bool
) -> None:
    """Forget what a loop writes that has, or may have, more turns than were run.

    Items of an array that each turn fills in turn keep what the turns put there; others may be filled, too.
    """
    if not follows_all and not ev.python:
        _drop_gathered(ev, statement, written)
    spared = _spare_items(ev, statement, written, scope, follows_all)
    for key, (cell, old) in written.items():
        if key in spared:
            continue
        if not ev.python:
            inside = any(f.cell is cell and f.loops for f in ev.descriptors[-96:])
            ev.forget_place(cell, quiet=inside)
        elif isinstance(cell.value, SymbolicInt) and cell.name and cell.value != old:
            ev.write_cell(cell, make_free(cell.name, cell.value.type))
    if not ev.python:
        _forget_assigned(ev, statement, scope)


def _drop_gathered(ev: Evaluator, statement: tree.Statement, written: Journal) -> None:
    """Drop what was found in words that are put together turn by turn: later turns may put other bits into them."""
    gathered = ev.summaries.get_summary(statement).gathered
    cells = {id(cell) for cell, _ in written.values() if cell.name in gathered}
    ev.descriptors = [f for f in ev.descriptors if not (f.loops and id(f.cell) in cells)]


def _spare_items(
    ev: Evaluator, statement: tree.Statement, written: Journal, scope: NameScope, follows_all: bool
) -> set[int]:
    """Return the items of arrays that stay as the turns have filled them; forget the others of these arrays."""
    filled = _list_filled_arrays(statement)
    spared: set[int] = set()
    for name, array in _list_arrays(scope):
        if not any(id(cell) in written for cell in array.cells):
            continue
        fresh = name in filled or ev.python
        for n, cell in enumerate(array.cells):
            old = written[id(cell)][1] if id(cell) in written else None
            unset = isinstance(old, OpaqueValue) and old.head == "uninitialised"
            if id(cell) in written and fresh and (follows_all or unset or ev.python):
                spared.add(id(cell))
            elif isinstance(cell.value, SymbolicInt):
                ev.write_cell(cell, make_free(ev.make_fresh_name(f"{name}[{n}]"), cell.value.type))
    return spared


def _forget_assigned(ev: Evaluator, statement: tree.Statement, scope: NameScope) -> None:
    """Forget what a statement assigns anywhere in it, run or not."""
    summary = ev.summaries.get_summary(statement)
    for name in sorted(summary.names):  # the order numbers the fresh names
        found = find_name(scope, name)[0]
        if isinstance(found, PLACES):
            inner = found.value if isinstance(found, Cell) else None
            ev.forget_place(found, integers=not isinstance(inner, ArrayValue))
    if summary.calls:
        ev.forget_globals()


def _find_loop_variable(ev: Evaluator, loop: Loop, scope: NameScope) -> Cell | None:
    """Find the variable that a loop counts."""
    step = loop.step
    while isinstance(step, tree.Unary | tree.Binary):
        step = step.value if isinstance(step, tree.Unary) else step.left
    target = step.target if isinstance(step, tree.Assignment) else None
    found = find_name(scope, target.last)[0] if isinstance(target, tree.Name) else None
    return found if isinstance(found, Cell) else None


@dataclass(frozen=True, slots=True)
class _Range:
    """What a loop goes over. items: the places of its values, () if not known; whole: whether these are all."""

    source: Any
    values: Sequence[Any]
    items: Sequence[Any]
    whole: bool


def execute_each(ev: Evaluator, loop: RangeLoop, scope: NameScope) -> EarlyExit | None:
    """Run a loop over the items of an array, a range or an object, as far as they are known."""
    if loop.start is not None:
        scope = NameScope(scope)
        ev.execute_statement(loop.start, scope)
    over = _items(ev, loop, scope)
    complete = over.whole
    refers = loop.type is not None and bool(loop.type.reference) and bool(over.items)
    first = len(ev.write_log)
    target = JumpTarget(True, len(ev.branches))
    left: EarlyExit | None = None
    ev.jump_targets.append(target)
    ev.loops.append(("", SymbolicInt(0)))
    try:
        for n, item in enumerate(over.values):
            inner = scope if ev.python else NameScope(scope)
            _bind_item(ev, loop, item, over.items[n] if refers else None, inner)
            left = _run_body(ev, loop.body, inner, target)
            if left is not None:
                complete = True
                break
    finally:
        ev.loops.pop()
        ev.jump_targets.pop()
        journal = ev.list_writes_since(first)
    left = ev.join_breaks(target.breaks, left, complete)
    if not complete:
        _forget_open_loop(ev, loop, journal, scope, False)
        _note_possible_return(ev, loop)
        if isinstance(over.source, ObjectValue) and not ev.python:
            _forget_range(ev, loop, over.source, scope)
    return left


def _items(ev: Evaluator, loop: RangeLoop, scope: NameScope) -> _Range:
    """Evaluate what a loop goes over; what items that are not followed refer to is forgotten."""
    source = ev.evaluate_expression(loop.values, scope)
    turns = _count_turns(ev) if ev.python else MOST_QUIET
    values, complete = ev.list_items(source, turns, loop.names[0] if loop.names else "")
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
    """Forget what the items of an object, which are not followed, may refer to."""
    ev.forget_names(ev.text[slice(*loop.values.span)], scope)
    if isinstance(source, ObjectValue):  # its begin() and end() may write, too
        ev.forget_place(Cell(source))
        for place in list_reachable_places(source):
            ev.forget_place(place)
        ev.forget_globals()


def _bind_item(ev: Evaluator, loop: RangeLoop, value: Any, cell: Any, scope: NameScope) -> None:
    """Give a loop's variables the next item, the very item where they are references."""
    if len(loop.names) == 1:
        _bind_variable(ev, loop, value, cell, scope)
        return
    for place, name in enumerate(loop.names):
        where = ev.get_item_place(value, place) if cell is not None else None
        item = ev.get_item(value, place, loop.span)
        if place == 0 and isinstance(item, SymbolicInt):
            ev.loops[-1] = (name, item)
        if isinstance(where, PLACES):
            scope.names[name] = where
        elif ev.python:
            ev.assign_name(name, item, scope, loop.span)
        else:
            scope.names[name] = Cell(item, None, name, loop.span, len(ev.frames))


def _bind_variable(ev: Evaluator, loop: RangeLoop, value: Any, cell: Any, scope: NameScope) -> None:
    """Give a loop's only variable the next item. cell: where that stands, if the variable refers to it."""
    name = loop.names[0]
    if isinstance(value, SymbolicInt):
        ev.loops[-1] = (name, value)
    if cell is not None:
        scope.names[name] = cell
        const = (loop.type is not None and loop.type.const) or find_constness(ev, loop.values, scope)
        if const is not False:
            scope.consts.add(name if const else f"?{name}")
    elif ev.python:
        ev.assign_name(name, value, scope, loop.span)
    else:
        _copy_item(ev, loop, value, scope)


def _copy_item(ev: Evaluator, loop: RangeLoop, value: Any, scope: NameScope) -> None:
    """Enter a loop's variable with a copy of an item."""
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


def _list_arrays(scope: NameScope) -> list[tuple[str, ArrayValue]]:
    """Return the arrays that can be named here."""
    cells = [
        cell for enclosing in scope.iterate_outward() for cell in enclosing.names.values() if isinstance(cell, Cell)
    ]
    return [(c.name, c.value) for c in cells if isinstance(c.value, ArrayValue)]


def _list_filled_arrays(statement: tree.Statement) -> set[str]:
    """Return the arrays of which each turn of a counting loop writes only the item that its variable counts."""
    counter = _counter(statement)
    if counter is None or not isinstance(statement, Loop):
        return set()
    written: dict[str, bool] = {}
    for node in walk_nodes(statement.body):
        if isinstance(node, tree.Assignment):
            name = get_root_name(node.target)
            written[name] = written.get(name, True) and _writes_item(node, counter)
    return {name for name, fits in written.items() if fits}


def _counter(statement: tree.Statement) -> str | None:
    """Return the name of the variable that a loop counts up; None if there is none."""
    if not isinstance(statement, Loop):
        return None
    step = (
        statement.step.value
        if isinstance(statement.step, tree.Unary) and statement.step.op == "post"
        else statement.step
    )
    if not isinstance(step, tree.Assignment) or step.op != "+" or not isinstance(step.target, tree.Name):
        return None
    return step.target.last


def _writes_item(assignment: tree.Assignment, counter: str) -> bool:
    """Return whether an assignment is `array[counter] = …`."""
    target = assignment.target
    if assignment.op or not isinstance(target, tree.Index) or not isinstance(target.value, tree.Name):
        return False
    index = target.indices[0]
    return len(target.indices) == 1 and isinstance(index, tree.Name) and index.last == counter
