"""Follow both branches of an undecided condition, and merge them where the paths meet.

A path that leaves early (return, break, continue, throw) is kept until its target is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.running.run_records import record_fork

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

Journal = dict[int, tuple[Cell, Any]]  # id of a written cell → (cell, another value of it)
Run = Callable[[], "EarlyExit | None"]


@dataclass(frozen=True, slots=True)
class EarlyExit:
    """Why a block ended early: return, break, continue, goto or throw, with its value or label."""

    word: str
    value: Any = None


class ThrownError(Exception):
    """An exception of the evaluated text that propagates through calls."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


@dataclass(slots=True, eq=False)
class EscapedPath:
    """A path that left early under an undecided condition.

    changes: what it wrote that other paths may not have. start: the length of the write log when it left. born: the
    number of the last variable then.
    """

    text: str
    value: Any
    changes: Journal
    start: int
    born: int


@dataclass(slots=True)
class JumpTarget:
    """The target of break and continue: a loop, or a switch (break only). depth: the number of enclosing branches."""

    loop: bool
    depth: int
    breaks: list[EscapedPath] = field(default_factory=list)
    continues: list[EscapedPath] = field(default_factory=list)


def write_cell(ev: Evaluator, cell: Cell, value: Any) -> None:
    """Write a cell, and log the old value so that the write can be undone."""
    ev.write_log.append((cell, cell.value))
    cell.value = value


def list_writes_since(ev: Evaluator, start: int) -> Journal:
    """Return each cell written since the log had length `start`, with its value before."""
    entries = ev.write_log[start:]
    ids = list(map(id, map(itemgetter(0), entries)))
    journal: Journal = dict(zip(ids, entries, strict=True))  # in the order of first writes
    if len(journal) != len(entries):  # the first entry of each cell
        journal.update(zip(reversed(ids), reversed(entries), strict=True))
    return journal


def rewrite_log(ev: Evaluator, start: int, journal: Journal) -> None:
    """Replace the log entries after `start`."""
    ev.write_log[start:] = journal.values()
    for path in reversed(ev.escaped_paths):
        if path.start <= start:
            break
        path.start = start  # writes between there and the path's end are among its changes


def follow_branch(ev: Evaluator, run: Run, arm: tuple[int, int] | None = None) -> tuple[EarlyExit | None, Journal]:
    """Run a branch and undo its writes; return (early exit, what it wrote). arm: (fork, index of the branch)."""
    start, first, temporaries_before = len(ev.write_log), Cell(None).born, len(ev.temporaries)
    ev.branches.append(start)
    ev.branch_arms.append(arm or (make_fork(ev), 0))
    try:
        early_exit = run()
    except ThrownError as thrown:
        early_exit = EarlyExit("throw", thrown.value)
    finally:
        ev.branches.pop()
        ev.branch_arms.pop()
        ev.temporaries[temporaries_before:] = [(value, "perhaps") for value, _ in ev.temporaries[temporaries_before:]]
        journal = ev.list_writes_since(start)
        if not ev.python:  # variables of the branch end with it
            journal = {key: entry for key, entry in journal.items() if entry[0].born <= first}
        rewrite_log(ev, start, journal)
        changed = {key: (cell, cell.value) for key, (cell, _) in journal.items()}
        for cell, old in journal.values():
            cell.value = old
    return early_exit, changed


def make_fork(ev: Evaluator) -> int:
    """Return the number of the next undecided condition."""
    ev.forks += 1
    return ev.forks


def follow_alternatives(ev: Evaluator, runs: Sequence[tuple[str, Run]]) -> EarlyExit | None:
    """Follow each of several alternative paths and merge them; return the early exit if all paths leave."""
    fork = make_fork(ev)
    ended = [(text, *ev.follow_branch(run, (fork, n))) for n, (text, run) in enumerate(runs)]
    left = tuple(n for n, (_, early_exit, _) in enumerate(ended) if early_exit is not None)
    record_fork(ev, fork, tuple(text for text, _ in runs), left)
    continuing = [(text, changed) for text, early_exit, changed in ended if early_exit is None]
    leaving = [(text, early_exit, changed) for text, early_exit, changed in ended if early_exit is not None]
    final: EarlyExit | None = None
    if not continuing:
        words = {early_exit.word for _, early_exit, _ in leaving}
        if len(words) == 1 and words <= {"return", "break", "continue"}:
            final = leaving[-1][1]
            for text, early_exit, _ in reversed(leaving[:-1]):
                final = EarlyExit(final.word, ev.merge(text, early_exit.value, final.value))
            continuing, leaving = [(text, changed) for text, _, changed in leaving], []
        else:
            text, final, changed = leaving.pop()
            continuing = [(text, changed)]
    for text, early_exit, changed in leaving:
        ev.keep_escape(text, early_exit, changed)
    _join_values(ev, continuing)
    return final


def _join_values(ev: Evaluator, going: Sequence[tuple[str, Journal]]) -> None:
    """Merge the values at the ends of several paths."""
    cells = {key: cell for _, changed in going for key, (cell, _) in changed.items()}
    for key, cell in cells.items():
        values = [changed[key][1] if key in changed else cell.value for _, changed in going]
        value = values[-1]
        for (text, _), other in zip(reversed(going[:-1]), reversed(values[:-1]), strict=True):
            value = ev.merge(text, other, value)
        ev.write_cell(cell, value)
        if len(going) > 1:
            ev.update_noted(cell)


def keep_escape(ev: Evaluator, text: str, early_exit: EarlyExit, changed: Journal) -> None:
    """Keep a path that left early until its target is reached."""
    path = EscapedPath(text, early_exit.value, changed, len(ev.write_log), Cell(None).born)
    match early_exit.word:
        case "return":
            depth, escapes = ev.frames[-1].depth, ev.frames[-1].escapes
        case "break" if ev.jump_targets:
            depth, escapes = ev.jump_targets[-1].depth, ev.jump_targets[-1].breaks
        case "continue":
            loop = next((target for target in reversed(ev.jump_targets) if target.loop), None)
            if loop is None:
                return
            depth, escapes = loop.depth, loop.continues
        case "throw":
            if not ev.try_blocks:
                return  # the program ends
            escapes, depth = ev.try_blocks[-1]
        case _:
            ev.forget_after_goto(changed)
            return
    escapes.append(path)
    if early_exit.word == "return" and ev.frames[-1].entry:
        return  # nothing reads what it wrote
    ev.escaped_paths.append(path)
    if len(ev.branches) > depth:  # it leaves enclosing branches
        written_values = {
            key: (cell, cell.value) for key, (cell, _) in ev.list_writes_since(ev.branches[depth]).items()
        }
        path.changes = {**written_values, **changed}


def _list_taken_values(ev: Evaluator, path: EscapedPath) -> list[tuple[Cell, Any]]:
    """Return (variable, value on the path) of each variable that may differ on a path that left."""
    since: Journal = {}
    if path in ev.escaped_paths:
        ev.escaped_paths.remove(path)
        since = ev.list_writes_since(path.start)
    current = {key: entry for key, entry in since.items() if entry[0].born <= path.born}
    return list({**current, **path.changes}.values())


def rejoin_paths(ev: Evaluator, escapes: list[EscapedPath]) -> None:
    """Merge the paths that left into the current path, and empty the list."""
    while escapes:
        path = escapes.pop()
        for cell, value in _list_taken_values(ev, path):
            if value is not cell.value:
                ev.write_cell(cell, ev.merge(path.text, value, cell.value))
                ev.update_noted(cell)


def restore_last_path(ev: Evaluator, escapes: list[EscapedPath]) -> Any:
    """Continue in the state of the last path that left; return its value."""
    path = escapes.pop()
    for cell, value in _list_taken_values(ev, path):
        ev.write_cell(cell, value)
    return path.value
