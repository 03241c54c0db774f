"""The functions that are running, and the calls of bodiless functions that they make."""

from __future__ import annotations

import re
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.findings import BodilessCall, list_named_loops
from lanescope.reader.code.maps.map_objects import is_allocated_map
from lanescope.reader.code.naming.header_names import ARITHMETIC
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.running.paths import EscapedPath
from lanescope.reader.code.running.run_records import record_skipped
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import ArrayValue, OpaqueValue, Pointer, ResolvedType, shorten_name

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_CALLS = 4000  # bodiless calls that are recorded


MOST_ALIKE = 256  # of one name related to maps and descriptors


_MOST_OTHERS = 1000  # of all other names of a function together


_TELLING = re.compile(r"desc|mma|gemm|map|tma|tensor|encode|fragment", re.I)


MOST_ITEMS_COPIED = 64  # items of an array that is recorded with a call


@dataclass(slots=True)
class CallFrame:
    """A running function.

    passed: parameter → argument expression. symbols: parameters that are symbols. escapes: paths that returned under
    undecided conditions. returns: the return type; refers: whether it is a reference. constant: whether its object is
    const. template: whether it is one of many instances. lost: whether a goto made the position unknown. start, depth:
    the length of the write log and the number of open branches at its start.
    """

    name: str
    span: Span
    entry: bool = False
    passed: dict[str, tree.Expression] = field(default_factory=dict)
    symbols: frozenset[str] = frozenset()
    escapes: list[EscapedPath] = field(default_factory=list)
    returns: ResolvedType | None = None
    refers: bool = False
    template: bool = False
    instance: str = ""
    lost: bool = False
    start: int = 0
    depth: int = 0
    targets: list[Any] = field(default_factory=list)
    single: bool = False  # whether it has one return statement
    scope: NameScope | None = None  # of the current statement


def enter_function(
    ev: Evaluator,
    name: str,
    span: Span,
    *,
    entry: bool = False,
    passed: dict[str, tree.Expression] | None = None,
    refers: bool = False,
) -> None:
    """Push the frame of a function."""
    frame = CallFrame(name, span, entry, passed or {}, refers=refers)
    frame.start, frame.depth = len(ev.write_log), len(ev.branches)
    frame.targets, ev.jump_targets = ev.jump_targets, []
    ev.frames.append(frame)


def find_origin(ev: Evaluator, expression: tree.Expression) -> tuple[Span, tuple[Span, ...]]:
    """Return (span of an expression, spans of the calls that lead there, innermost first).

    An expression that only passes on a parameter is traced to the caller's argument, and so on outwards.
    """
    depth = len(ev.frames) - 1
    while depth > 0:
        inner = expression
        while isinstance(inner, tree.Cast | tree.Member):
            inner = inner.value
        passed = ev.frames[depth].passed.get(inner.last) if isinstance(inner, tree.Name) else None
        if passed is None:
            break
        expression = passed
        depth -= 1
    return expression.span, tuple(frame.span for frame in ev.frames[depth:0:-1] if not frame.entry)


def leave_function(ev: Evaluator) -> None:
    """Pop the frame of the current function."""
    ev.jump_targets = ev.frames.pop().targets


def record_call(ev: Evaluator, term: OpaqueValue) -> None:
    """Record a call of a bodiless function.

    Calls that may make a tensor map or take a descriptor are counted separately, and so are others by the function that
    the outermost one calls: a kernel may follow hundreds of the host's. Arithmetic intrinsics are not recorded.
    """
    if ARITHMETIC.fullmatch(term.head):
        return
    function_name = term.text.partition("(")[0] if "::" in term.text else term.head  # SM90_TMA_LOAD_2D::copy
    running = ev.list_running_functions()
    telling = _TELLING.search(function_name) or len(term.arguments) > 8
    counted_name = function_name if telling else f"in {running[1][0]}" if len(running) > 1 else ""
    count = ev.call_counts[counted_name] = ev.call_counts.get(counted_name, 0) + 1
    if count <= (MOST_ALIKE if telling else _MOST_OTHERS) and len(ev.bodiless_calls) < MOST_CALLS:
        term = replace(term, arguments=tuple(_copy_array(value) for value in term.arguments))
        ev.run_count += 1
        ev.bodiless_calls.append(
            BodilessCall(
                term,
                list_named_loops(ev),
                calls=running,
                order=ev.run_count,
                arms=tuple(ev.branch_arms),
            )
        )
    else:
        record_skipped(ev, term.span)


def _copy_array(value: Any, depth: int = 0) -> Any:
    """Copy an array, with nested arrays as deep as tensor maps have them, and the object of a map that is pointed to:
    later calls may write into them.
    """
    if is_allocated_map(value):
        return replace(value, place=copy(value.place))
    if isinstance(value, Pointer) and value.array is not None:
        return replace(value, array=_copy_array(value.array, depth))
    if not isinstance(value, ArrayValue):
        return value
    if depth > 1:
        return OpaqueValue(shorten_name(value))
    cells = [Cell(_copy_array(c.value, depth + 1), c.kind, c.name) for c in value.cells[:MOST_ITEMS_COPIED]]
    return ArrayValue(cells, value.element, value.name, value.typed)
