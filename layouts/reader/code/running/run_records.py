"""Record skipped code, stores through pointers, and the undecided conditions under which code runs.

The order of instructions can be checked only if all of these are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.maps.map_objects import list_pointed_maps
from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.symbolic_integers import LinearExpression, Span, SymbolicInt

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator
    from lanescope.reader.code.values import Pointer

MOST_STORES = 400
MOST_SKIPPED = 400
MOST_SKIPPING = 8  # functions whose skipped code is kept
MOST_FORKS = 4000
Arms = tuple[tuple[int, int], ...]  # (fork, index of the branch), outermost first
Calls = tuple[tuple[str, Span], ...]  # the running functions, outermost first


@dataclass(frozen=True, slots=True)
class SkippedCode:
    """Code that was not run."""

    span: Span
    calls: tuple[tuple[str, Span], ...]
    arms: Arms
    order: int


@dataclass(frozen=True, slots=True)
class MemoryStore:
    """A store through a pointer. to: its byte address."""

    to: LinearExpression
    span: Span
    calls: tuple[tuple[str, Span], ...]
    arms: Arms
    order: int


@dataclass(frozen=True, slots=True)
class KernelLaunchRecord:
    """A launch: the kernel, its template arguments as C++, the block, the bytes of shared memory, and their place; the
    call, the dimensions of its grid, the numbers among its arguments, and those among their members: (argument, member,
    number); the names of the tensor maps among its arguments, as the calls that encode them give.

    Unknown values are None, unknown template arguments the name `launches.OPEN`.
    """

    name: str
    templates: tuple[str, ...]
    block: tuple[int, ...] | None
    size: int | None
    span: Span
    call: Span = (0, 0)
    grid: tuple[SymbolicInt | None, ...] = ()
    arguments: tuple[SymbolicInt | None, ...] = ()
    members: tuple[tuple[int, str, SymbolicInt], ...] = ()
    maps: frozenset[str] = field(default=frozenset(), compare=False)


@dataclass(frozen=True, slots=True)
class Fork:
    """A branch on an undecided condition.

    conditions: of its alternatives, as C expressions in which threadIdx is a name; left: alternatives that leave the
    block early; calls, arms: where it is; order: of the last record within it.
    """

    number: int
    conditions: tuple[str, ...]
    left: tuple[int, ...]
    calls: tuple[tuple[str, Span], ...]
    arms: Arms
    order: int


def record_fork(ev: Evaluator, number: int, conditions: tuple[str, ...], left: tuple[int, ...]) -> None:
    """Record a branch on an undecided condition, up to MOST_FORKS."""
    if len(ev.fork_records) < MOST_FORKS and not ev.python:
        calls, arms = ev.list_running_functions(), tuple(ev.branch_arms)
        ev.fork_records.append(Fork(number, conditions, left, calls, arms, ev.run_count))


def record_skipped(ev: Evaluator, span: Span) -> None:
    """Record skipped code, up to MOST_SKIPPED of the outermost function and the one that it calls."""
    calls = ev.list_running_functions()
    if len(ev.skipped) < MOST_SKIPPED * MOST_SKIPPING and ev.skipped_counts[calls[:2]] < MOST_SKIPPED:
        ev.run_count += 1
        ev.skipped_counts[calls[:2]] += 1
        ev.skipped.append(SkippedCode(span, calls, tuple(ev.branch_arms), ev.run_count))


def find_last_skipped(skipped: Sequence[SkippedCode], calls: Calls) -> int | None:
    """Return the order from which skipped code of some calls may be left out, None if all of it is recorded."""
    alike = [each for each in skipped if each.calls[:2] == calls[:2]]
    full = skipped if len(skipped) >= MOST_SKIPPED * MOST_SKIPPING else alike if len(alike) >= MOST_SKIPPED else ()
    return full[-1].order if full else None


def record_store(ev: Evaluator, pointer: Pointer, span: Span) -> None:
    """Record a store through a pointer, up to MOST_STORES."""
    if len(ev.memory_stores) < MOST_STORES and not ev.python:
        ev.run_count += 1
        ev.memory_stores.append(
            MemoryStore(pointer.base, span, ev.list_running_functions(), tuple(ev.branch_arms), ev.run_count)
        )


def list_place_names(ev: Evaluator, values: Iterable[Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """List (symbol, names) of each variable whose address is among some values."""
    symbols = dict.fromkeys(name for value in values for name in _list_object_symbols(value))
    if not symbols:
        return ()
    named = {f"&object{abs(cell.born)}": cell for cell in _list_visible_cells(ev)}
    return tuple((symbol, _list_cell_names(named[symbol])) for symbol in symbols if symbol in named)


def _list_object_symbols(value: Any) -> Iterator[str]:
    integer = None if value is None or isinstance(value, str) else get_integer(value)
    for piece in integer.pieces if integer is not None else ():
        yield from (name for name, _ in piece.source.terms if name.startswith("&object"))


def _list_visible_cells(ev: Evaluator) -> Iterator[Cell]:
    for frame in ev.frames:
        for scope in frame.scope.iterate_outward() if frame.scope is not None else ():
            for cell in scope.names.values():
                if isinstance(cell, Cell):
                    yield from (cell, *list_pointed_maps(cell.value))


def _list_cell_names(cell: Cell) -> tuple[str, ...]:
    text = getattr(cell.value, "text", "")
    return tuple(dict.fromkeys(name for name in (cell.name, text) if name))
