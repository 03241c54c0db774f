"""Run the statements of one text: definitions, the lines outside functions, then each uncalled function."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from lanescope.reader.code.calling.call_frames import CallFrame
from lanescope.reader.code.calling.launches import note_instantiations
from lanescope.reader.code.evaluator import Evaluator
from lanescope.reader.code.expression.expressions import BudgetError
from lanescope.reader.code.naming.definitions import DEFINITIONS
from lanescope.reader.code.naming.header_names import PRELUDE, find_fields_union, write_vector_types
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.objects.later_members import LaterMember
from lanescope.reader.code.preprocessing.used_functions import Entry
from lanescope.reader.code.ptx.asm_statements import copy_unshared, forget_entry_writes, may_asm_write
from lanescope.reader.code.running.entries import (
    find_idle_blocks,
    is_never_instantiated,
    list_entries,
    run_function_alone,
)
from lanescope.reader.code.running.work_words import WORDS
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt
from lanescope.reader.code.syntax import cxx, tree
from lanescope.reader.code.syntax.source import make_plain_source
from lanescope.reader.code.syntax.tree_statements import ExpressionStatement
from lanescope.reader.code.values import NamespaceValue

BUDGET = 8_000  # steps of one text's evaluation
MOST_STEPS = 3_000  # of one function, so that a long function leaves steps for the others


def make_evaluator(text: str, budget: int, python: bool = False) -> tuple[Evaluator, NameScope]:
    """Make an evaluator for a text; return it with the scope of the text's global names."""
    ev = Evaluator(text, budget, python)
    ev.frames.append(CallFrame("", (0, len(text))))
    ev.prelude = NameScope()
    for statement in () if python else _parse_definitions(PRELUDE):
        ev.define(statement, ev.prelude)
    union, ev.unions = ("", frozenset()) if python else find_fields_union(text)
    added = "" if python else union + write_vector_types(text)
    for statement in _parse_definitions(added) if added else ():
        ev.define(statement, ev.prelude)
    ev.globals = NameScope(NameScope(ev.prelude), "namespace")
    return ev, ev.globals


@lru_cache(maxsize=64)
def _parse_definitions(text: str) -> tuple[tree.Statement, ...]:
    return cxx.parse_cxx(make_plain_source(text))


def run_statements(
    ev: Evaluator, scope: NameScope, body: tuple[tree.Statement, ...], standard: tuple[tuple[str, str], ...]
) -> tuple[tuple[tuple[str, Span], ...], dict[str, tuple[str, ...]]]:
    """Run the lines outside functions, then each uncalled function, within the step budget.

    Return the unfinished functions as (name, span of the name), and the variables of the loops that each was in.
    """
    text, budget, is_py = ev.text, ev.steps_left, ev.python
    ev.standard_functions = dict(standard)
    if scope.parent is not None:  # the text's own declarations hide them
        scope.parent.names.update(
            {name: Cell(SymbolicInt(value), name=name) for name, value in ev.supplied_values.items()}
        )
    unfinished: list[tuple[str, Span]] = []
    spent_loops: dict[str, tuple[str, ...]] = {}
    try:
        _run_loose_lines(ev, scope, body)
    except (BudgetError, RecursionError):
        unfinished.append(("", (0, 0)))
    earlier = [] if is_py else _list_earlier_writes(ev, body)
    if not is_py:
        note_instantiations(ev, body, scope)
    first, later = list_entries(ev, body, text)
    entries, left_out = [*first, *later], set[int]()
    for n, entry in enumerate(entries):
        if n == len(first):  # run instances that are never launched before the functions they call
            entries[n:] = sorted(later, key=lambda entry: entry[0].key not in ev.named_instances)
            entry = entries[n]
        function = entry[0]
        if function.key in ev.called:
            continue
        if n >= len(first) and not unfinished and is_never_instantiated(ev, entry, entries, left_out):
            left_out.add(function.key)
            continue
        if ev.steps_left <= 0:
            unfinished.append((function.name, _get_name_span(text, function)))
            break
        share = max(budget * MOST_STEPS // BUDGET, ev.steps_left // (len(entries) - n))
        if not _run_entry(ev, entry, _raise_share(ev, function, share), earlier):
            unfinished.append((function.name, _get_name_span(text, function)))
            spent_loops[function.name] = ev.spent_loops
    return tuple(unfinished), spent_loops


def _run_loose_lines(ev: Evaluator, scope: NameScope, body: tuple[tree.Statement, ...]) -> None:
    """Enter the definitions of a text, then run its lines outside functions."""
    outer = scope.parent  # for values that a line uses before the line that assigns them
    if outer is not None:
        for late_value in _find_late_values(body):
            outer.names.setdefault(late_value.name, LaterMember(late_value, scope))
    for statement in body:
        if not isinstance(statement, tree.UsingDeclaration):
            ev.define(statement, scope)
    idle = find_idle_blocks(ev, body, ev.text)
    for statement in body:
        if not isinstance(statement, DEFINITIONS) and id(statement) not in idle:
            ev.execute_statement(statement, scope)


def _raise_share(ev: Evaluator, function: tree.Function, share: int) -> int:
    """Return the steps of a function: most of those left if it is main, which launches the kernels of the text, or a
    kernel for a JIT compiler, the subject of the text; else `share`.
    """
    main = function.name == "main" and not ev.python
    return max(share, ev.steps_left * 3 // 4) if main or function.key in ev.named_instances else share


def _run_entry(ev: Evaluator, entry: Entry, share: int, earlier: list[tuple[Cell, Any, Any]]) -> bool:
    """Run a function by itself; return whether `share` steps sufficed."""
    function, owner, home = entry
    reserved = max(ev.steps_left - share, 0)
    ev.steps_left -= reserved
    ev.runs_main = function.name == "main" and owner is None and home is ev.globals
    for cell, first, value in earlier:
        cell.value = copy_unshared(ev, first if ev.runs_main else value)
    forget_entry_writes(ev)
    ev.asm_runs_before = len(ev.asm_runs)
    try:
        instances = ev.named_instances.get(function.key, []) if owner is None else []
        for instance in instances:
            ev.run_entry(function, home, templates=instance.templates)
        if not instances:
            run_function_alone(ev, function, owner, home)
    except (BudgetError, RecursionError):
        return False
    finally:
        ev.steps_left = max(ev.steps_left, 0) + reserved
        del ev.frames[1:]
        ev.loops.clear()
        for records in (ev.write_log, ev.branches, ev.branch_arms, ev.escaped_paths, ev.jump_targets, ev.try_blocks):
            records.clear()
        ev.nesting, ev.pending_objects = 0, []
    return True


def _list_earlier_writes(ev: Evaluator, body: tuple[tree.Statement, ...]) -> list[tuple[Cell, Any, Any]]:
    """List the global variables that one function may have written before another is run.

    Each comes with its initial value, which main reads, and an unknown value, which other functions read. Variables
    that the lines outside functions use are omitted.
    """
    loose = " ".join(
        ev.text[slice(*statement.span)]
        for statement in body
        if not isinstance(statement, (*DEFINITIONS, tree.Declaration))
    )
    loose_words = set(WORDS.findall(loose))
    writes: list[tuple[Cell, Any, Any]] = []
    pending, seen = [ev.globals], set()
    while pending:
        scope = pending.pop()
        if id(scope) in seen:
            continue
        seen.add(id(scope))
        for name, cell in scope.names.items():
            if isinstance(cell, NamespaceValue):
                pending.append(cell.scope)
            elif isinstance(cell, Cell) and not cell.const and name not in loose_words and may_asm_write(ev, name):
                first = copy_unshared(ev, cell.value)
                ev.give_earlier_value(cell)
                writes.append((cell, first, cell.value))
    return writes


def _get_name_span(text: str, function: tree.Function) -> Span:
    """Return the span of a function's name."""
    at = text.find(function.name, *function.span)
    return (at, at + len(function.name)) if function.name and at >= 0 else (function.span[0], function.span[0])


def _find_late_values(body: tuple[tree.Statement, ...]) -> Iterator[tree.Declaration]:
    """Find lines outside functions that name a list or a layout: people paste them after the call that uses them."""
    for statement in body:
        if isinstance(statement, tree.Declaration) and statement.name and statement.type and statement.type.dims:
            if isinstance(statement.value, tree.ItemList):
                yield statement
        elif (
            isinstance(statement, ExpressionStatement)
            and isinstance(statement.value, tree.Assignment)
            and not statement.value.op
        ):
            target, value = statement.value.target, statement.value.value
            layout = isinstance(value, tree.Call) and "ayout" in "".join(_get_name_parts(value.function))
            if isinstance(target, tree.Name) and len(target.path) == 1 and (layout or isinstance(value, tree.ItemList)):
                yield tree.Declaration(None, target.last, value, span=statement.span)


def _get_name_parts(function: tree.Expression) -> tuple[str, ...]:
    """Return the parts of a called function's name, as in NVMMASharedLayout.get_default_for."""
    if isinstance(function, tree.Member):
        return (*_get_name_parts(function.value), function.name)
    return tuple(name for name, _ in function.path) if isinstance(function, tree.Name) else ()
