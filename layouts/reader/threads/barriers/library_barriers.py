"""Barriers of libcu++ in device code: objects of cuda::barrier, and the functions of cuda::device and cuda::ptx.

A barrier of a block is one mbarrier. An arrival returns a token; a wait for it ends when the phase of that arrival has
completed (libcu++, cuda::barrier; cuda::ptx).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent, TraceLostError, spread_known
from lanescope.reader.threads.barriers.order_events import follow_call
from lanescope.reader.threads.language.numbers import ULONG, ThreadNumber, make_number
from lanescope.reader.threads.language.places import find_place
from lanescope.reader.threads.language.program import Scope
from lanescope.reader.threads.language.sites import trace_site
from lanescope.reader.threads.memory.storage import Ints, Pointer
from lanescope.reader.threads.memory.tile_trace import follow_box_store, note_box_call

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

NOT_HERE = object()
BARRIER = "cuda::barrier"


def is_barrier(value: Any) -> bool:
    """Return whether a value is the place of a barrier, or of an array of them."""
    return isinstance(value, Pointer) and value.type.name == BARRIER


def call_method(run: KernelRunner, place: Pointer, name: str, node: tree.Call, scope: Scope) -> Any:
    """Call a member function of a barrier; return the token of an arrival."""
    if run.barriers is None:
        follow_call(run, name, node, scope)
        return None
    if name == "arrive":
        count = _evaluate(run, node.arguments[0], scope) if node.arguments else _count_threads(run)
        return _arrive(run, place, count, node)
    if name == "arrive_and_wait":
        return _wait(run, place, _arrive(run, place, _count_threads(run), node), node)
    if name == "wait" and len(node.arguments) == 1:
        return _wait(run, place, run.evaluate(node.arguments[0], scope), node)
    raise TraceLostError


@lru_cache(maxsize=1 << 10)
def _find_function(
    name: str, arguments: int
) -> tuple[int, Callable[[KernelRunner, Pointer, tree.Call, Scope], Any]] | None:
    """Return (which argument is the barrier, what is done) of a function; None for one that takes no barrier."""
    known = ((at, call) for names, least, at, call in _FUNCTIONS if arguments >= least and names.fullmatch(name))
    return next(known, None)


def call_function(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> Any:
    """Call a function of libcu++ that takes a barrier; NOT_HERE for any other."""
    found = _find_function(name, len(node.arguments))
    if found is None:
        follow_box_store(run, name, node, scope)
        return NOT_HERE
    at, execute = found
    barrier = _find_barrier(run, node.arguments[at], scope)
    if execute is _get_handle:
        return barrier
    if not is_barrier(barrier) and name == "init":
        return NOT_HERE
    if run.barriers is None:
        follow_call(run, name, node, scope)
        return None
    if not isinstance(barrier, Pointer):
        raise TraceLostError
    return execute(run, barrier, node, scope)


def _find_barrier(run: KernelRunner, node: tree.Expression, scope: Scope) -> Any:
    """Return the barrier that an argument is, or points to."""
    place = find_place(run, node, scope) if isinstance(node, tree.Name | tree.Index | tree.Member) else None
    found = isinstance(place, Pointer) and is_barrier(place) and not place.dims
    return place if found else run.evaluate(node, scope)


def _init(run: KernelRunner, barrier: Pointer, node: tree.Call, scope: Scope) -> None:
    site = trace_site(run, node.arguments[1], scope)
    _add(run, "init", barrier, _evaluate(run, node.arguments[1], scope), node, site)


def _arrive_for_bytes(run: KernelRunner, barrier: Pointer, node: tree.Call, scope: Scope) -> Any:
    return _arrive(run, barrier, _evaluate(run, node.arguments[1], scope), node)


def _arrive_once(run: KernelRunner, barrier: Pointer, node: tree.Call, scope: Scope) -> Any:
    return _arrive(run, barrier, _count_threads(run), node)


def _copy(run: KernelRunner, barrier: Pointer, node: tree.Call, scope: Scope) -> None:
    _add(run, "copy", barrier, _count_threads(run), node)
    function = node.function
    if run.barriers is not None and run.mask.any():
        note_box_call(run, getattr(function, "last", ""), node, scope, len(run.barriers.events) - 1)


def _expect(run: KernelRunner, barrier: Pointer, node: tree.Call, scope: Scope) -> None:
    """Ignore bytes that a phase expects."""


def _try_wait(run: KernelRunner, barrier: Pointer, node: tree.Call, scope: Scope) -> None:
    """Note a wait for a parity that the code is still to repeat."""
    parity = _evaluate(run, node.arguments[-1], scope)
    site = trace_site(run, node.arguments[-1], scope)
    assert run.barriers is not None
    run.barriers.peek(_make_event(run, "wait", barrier, parity, node, site))


def _get_handle(run: KernelRunner, barrier: Pointer, node: tree.Call, scope: Scope) -> Any:
    return barrier


# names, the arguments that a call has at least, the argument that is the barrier
_FUNCTIONS: tuple[tuple[re.Pattern[str], int, int, Callable[[KernelRunner, Pointer, tree.Call, Scope], Any]], ...] = (
    (re.compile("init|mbarrier_init"), 2, 0, _init),
    (re.compile("barrier_arrive_tx"), 3, 0, _arrive_for_bytes),
    (re.compile("barrier_expect_tx"), 2, 0, _expect),
    (re.compile("barrier_native_handle"), 1, 0, _get_handle),
    (re.compile(r"cp_async_bulk_(?:tensor_\dd_)?global_to_shared"), 4, -1, _copy),
    (re.compile("cp_async_bulk_tensor"), 6, -1, _copy),
    (re.compile("mbarrier_arrive_expect_tx"), 5, 3, _arrive_once),
    (re.compile("mbarrier_(?:try|test)_wait_parity"), 2, -2, _try_wait),
)


# events ---------------------------------------------------------------------------------------------------------------


def _arrive(run: KernelRunner, place: Pointer, count: Ints, node: tree.Call) -> ThreadNumber:
    """Note an arrival; return its token: the number of the event."""
    assert run.barriers is not None
    _add(run, "arrive", place, count, node)
    return make_number(len(run.barriers.events) - 1, ULONG)


def _wait(run: KernelRunner, place: Pointer, token: Any, node: tree.Call) -> None:
    _add(run, "await", place, spread_known(run, token), node)


def _add(
    run: KernelRunner, kind: str, place: Pointer, values: Ints, node: tree.Call, site: tuple[int, int] | None = None
) -> None:
    assert run.barriers is not None
    if run.mask.any():
        run.barriers.bytes.note_expected(run.mask, spread_known(run, place.shared_address), None, node.span)
        run.barriers.add(run, _make_event(run, kind, place, values, node, site or node.span))


def _make_event(
    run: KernelRunner, kind: str, place: Pointer, values: Ints, node: tree.Call, site: tuple[int, int]
) -> BarrierEvent:
    call = run.get_call(node.span)
    return BarrierEvent(kind, run.mask.copy(), spread_known(run, place.shared_address), values, site, call)


def _evaluate(run: KernelRunner, node: tree.Expression, scope: Scope) -> Ints:
    return spread_known(run, run.evaluate(node, scope))


def _count_threads(run: KernelRunner) -> Ints:
    return np.ones(run.threads, np.int64)
