"""Run loops symbolically. Every loop is bounded; variables it may change become unknown afterwards."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from lanescope.cxx.integers import BOOL
from lanescope.reader.code.expression.integer_values import get_integer_or_symbol
from lanescope.reader.code.naming.lookup import find_name
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.running.loop_steps import LEAST_TURNS, MOST_SPENT
from lanescope.reader.code.running.paths import EarlyExit, Journal, JumpTarget
from lanescope.reader.code.running.silent_loops import find_loop_variable, skip_silent_loop
from lanescope.reader.code.running.write_summaries import get_root_name, walk_nodes
from lanescope.reader.code.symbolic_integers import SymbolicInt, make_free
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.tree_statements import Loop
from lanescope.reader.code.values import PLACES, ArrayValue, OpaqueValue

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_ITERATIONS = (16, 16, 8, 4)  # of a loop that builds descriptors, by nesting depth
MOST_QUIET = 1100  # iterations of a loop that builds none
_MATTERS = re.compile(r"tma|bulk|tensor|load|copy|fetch|issue|mma|gemm|desc|map|matrix|launch", re.I)
FREE_ITERATIONS = (3, 3, 2)  # of a loop with an unknown bound, by nesting depth: enough to see what changes


def get_iteration_limit(ev: Evaluator) -> int:
    """Return how many iterations to run of a loop that builds descriptors."""
    return MOST_ITERATIONS[min(len(ev.loops), len(MOST_ITERATIONS) - 1)]


def _get_step_limit(ev: Evaluator) -> int:
    """Return how many steps a loop may take that builds nothing."""
    return min(ev.steps_left // 3, MOST_SPENT[min(len(ev.loops), len(MOST_SPENT) - 1)])


def _count_findings(ev: Evaluator) -> int:
    """Count the findings so far; a loop that adds some runs fewer iterations."""
    return len(ev.descriptors) + len(ev.asm_runs) + len(ev.bodiless_calls)


@dataclass(slots=True)
class LoopRun:
    """The progress and limits of a loop.

    few: iterations if it builds descriptors. most: iterations in any case. findings_before, calls_before: number of
    findings and of bodiless calls at the start. budget: steps from `start` on. bounded: whether every condition so far
    was decided. complete: whether the loop ended.
    """

    variable: Cell | None
    few: int
    most: int
    findings_before: int
    calls_before: int
    budget: int
    start: int = 0
    turn: int = 0
    bounded: bool = True
    complete: bool = False

    def limit_iterations(self, ev: Evaluator) -> None:
        """Limit the iterations to those of a loop with an unknown bound."""
        self.most = min(self.most, FREE_ITERATIONS[min(len(ev.loops), len(FREE_ITERATIONS)) - 1])

    def has_findings(self, ev: Evaluator) -> bool:
        """Return whether the loop has added findings."""
        return _count_findings(ev) > self.findings_before

    def is_over(self, ev: Evaluator) -> bool:
        """Return whether no further iteration is run."""
        is_spent = self.start - ev.steps_left > self.budget
        if self.turn >= self.most or (self.turn >= self.few and (self.has_findings(ev) or is_spent)):
            return True
        return is_spent and self.turn >= LEAST_TURNS and not ev.python and not self._has_relevant_findings(ev)

    def _has_relevant_findings(self, ev: Evaluator) -> bool:
        """Return whether the loop has added findings other than calls unrelated to descriptors and loads."""
        new_calls = len(ev.bodiless_calls) - self.calls_before
        matters = _count_findings(ev) - self.findings_before > new_calls
        return matters or any(_MATTERS.search(call.term.head) for call in ev.bodiless_calls[self.calls_before :])


def execute_loop(ev: Evaluator, loop: Loop, scope: NameScope) -> EarlyExit | None:
    """Run the iterations of a for or while loop within its limits."""
    if loop.start is not None:
        ev.execute_statement(loop.start, scope)
    if skip_silent_loop(ev, loop, scope, _get_step_limit(ev)):
        note_possible_return(ev, loop)
        ev.leave_block(scope, None)
        return None
    limit = get_iteration_limit(ev)
    variable = find_loop_variable(loop, scope)
    most = limit if ev.python else MOST_QUIET
    run = LoopRun(variable, limit, most, _count_findings(ev), len(ev.bodiless_calls), _get_step_limit(ev))
    first = len(ev.write_log)
    target = JumpTarget(True, len(ev.branches))
    ev.jump_targets.append(target)
    ev.loops.append(("", SymbolicInt(0)))
    run.start = ev.steps_left
    try:
        early_exit = _run_turns(ev, loop, scope, run, target)
    finally:
        ev.loops.pop()
        ev.jump_targets.pop()
    journal = {} if run.complete else ev.list_writes_since(first)  # before paths rejoin
    if not run.bounded and early_exit is not None and early_exit.word not in ("break", "continue"):
        ev.keep_escape("?", early_exit, {})
        early_exit = None
    early_exit = ev.join_breaks(target.breaks, early_exit)
    if not run.complete:
        ev.cut_variables.add(run.variable.name if run.variable is not None else "")
        forget_open_loop(ev, loop, journal, scope, run.bounded)
        note_possible_return(ev, loop)
    ev.leave_block(scope, early_exit)
    return early_exit


def _run_turns(ev: Evaluator, loop: Loop, scope: NameScope, run: LoopRun, target: JumpTarget) -> EarlyExit | None:
    """Run the iterations of a loop; return an early exit, or None."""
    while True:
        inner = _begin_turn(ev, loop, scope, run)
        if inner is None:
            return None
        if run.variable is not None:
            ev.loops[-1] = (run.variable.name, get_integer_or_symbol(run.variable.value, BOOL))
        early_exit = run_body(ev, loop.body, inner, target)
        if early_exit is not None:
            run.complete = run.bounded
            return early_exit
        if loop.step is not None:
            ev.evaluate_full_expression(partial(ev.evaluate_for_effect, loop.step, scope), loop.step.span)
        run.turn += 1
        if not run.bounded and run.turn >= 2 and _count_findings(ev) == run.findings_before:
            return None
        if loop.condition is None and run.has_findings(ev):
            run.limit_iterations(ev)


def _begin_turn(ev: Evaluator, loop: Loop, scope: NameScope, run: LoopRun) -> NameScope | None:
    """Return the scope of the next iteration; None if the condition or a limit ends the loop."""
    inner = scope
    if loop.condition is None:
        if run.variable is None and ev.python:
            run.limit_iterations(ev)
    elif run.turn or not loop.late:
        inner = NameScope(scope)
        goes_on = ev.decide_condition(loop.condition, inner)[1]
        if goes_on is None:
            run.limit_iterations(ev)
            run.bounded = False
            ev.unbounded_variables.add(run.variable.name if run.variable is not None else "")
        elif not goes_on:
            ev.leave_block(inner, None)
            run.complete = run.bounded
            return None
    return None if run.is_over(ev) else inner


def run_body(ev: Evaluator, body: tree.Statement, scope: NameScope, target: JumpTarget) -> EarlyExit | None:
    """Run one iteration of a loop; return an early exit, None if another iteration may follow."""
    early_exit = ev.execute_statement(body, scope)
    ev.rejoin_paths(target.continues)
    if early_exit is not None and early_exit.word == "continue":
        early_exit = None
    ev.leave_block(scope, early_exit)
    return early_exit


def note_possible_return(ev: Evaluator, statement: tree.Statement) -> None:
    """Note that an iteration that was not run may return or jump."""
    if ev.python:
        return
    summary, frame = ev.summaries.get_summary(statement), ev.frames[-1]
    if summary.returns:
        ev.keep_escape(
            "?", EarlyExit("return", ev.make_symbolic_value(frame.returns, ev.make_fresh_name(frame.name or "?"))), {}
        )
    if summary.jumps:
        ev.forget_after_goto({})


def forget_open_loop(
    ev: Evaluator, statement: tree.Statement, written: Journal, scope: NameScope, follows_all: bool
) -> None:
    """Make unknown what a loop writes that has, or may have, more iterations than were run.

    Array items that the iterations fill in order keep their values; the other items become unknown.
    """
    if not follows_all and not ev.python:
        _drop_accumulated(ev, statement, written)
    spared = _spare_items(ev, statement, written, scope, follows_all)
    inside = {id(f.cell) for f in ev.descriptors[-96:] if f.loops}  # variables whose descriptors loops made
    for key, (cell, old) in written.items():
        if key in spared:
            continue
        if not ev.python:
            ev.forget_place(cell, quiet=key in inside)
        elif isinstance(cell.value, SymbolicInt) and cell.name and cell.value != old:
            ev.write_cell(cell, make_free(cell.name, cell.value.type))
    if not ev.python:
        _forget_assigned(ev, statement, scope)


def _drop_accumulated(ev: Evaluator, statement: tree.Statement, written: Journal) -> None:
    """Drop descriptors that a loop accumulates bit by bit: later iterations may set other bits."""
    accumulated = ev.summaries.get_summary(statement).accumulated
    cells = {id(cell) for cell, _ in written.values() if cell.name in accumulated}
    ev.descriptors = [f for f in ev.descriptors if not (f.loops and id(f.cell) in cells)]


def _spare_items(
    ev: Evaluator, statement: tree.Statement, written: Journal, scope: NameScope, follows_all: bool
) -> set[int]:
    """Return ids of the array items that keep their values; make the other items of these arrays unknown."""
    spared: set[int] = set()
    arrays = [(name, array) for name, array in _list_arrays(scope) if any(id(cell) in written for cell in array.cells)]
    filled = _list_filled_arrays(statement) if arrays else set()
    for name, array in arrays:
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
    """Make unknown what a statement assigns anywhere, run or not."""
    summary = ev.summaries.get_summary(statement)
    for name in sorted(summary.names):  # the order numbers the fresh names
        entity = find_name(scope, name)[0]
        if isinstance(entity, PLACES):
            inner = entity.value if isinstance(entity, Cell) else None
            ev.forget_place(entity, integers=not isinstance(inner, ArrayValue))
    if summary.calls:
        ev.forget_globals()


def _list_arrays(scope: NameScope) -> list[tuple[str, ArrayValue]]:
    """Return the arrays that can be named here."""
    cells = [
        cell for enclosing in scope.iterate_outward() for cell in enclosing.names.values() if isinstance(cell, Cell)
    ]
    return [(c.name, c.value) for c in cells if isinstance(c.value, ArrayValue)]


def _list_filled_arrays(statement: tree.Statement) -> set[str]:
    """Return the arrays in which each iteration of a counting loop writes only the item of its loop variable."""
    counter = _find_counter(statement)
    if counter is None or not isinstance(statement, Loop):
        return set()
    written: dict[str, bool] = {}
    for node in walk_nodes(statement.body):
        if isinstance(node, tree.Assignment):
            name = get_root_name(node.target)
            written[name] = written.get(name, True) and _writes_item(node, counter)
    return {name for name, fits in written.items() if fits}


def _find_counter(statement: tree.Statement) -> str | None:
    """Return the name of the variable that a loop counts up, or None."""
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
