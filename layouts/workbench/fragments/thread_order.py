"""Find missing waits and barriers between threads that fill shared memory and warps that multiply it by mma.

`lanescope.reader.threads` runs each kernel for known sizes of its matrices and follows every byte; the first mistake of
a kernel is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lanescope.cxx.source_text import WORD_START, is_kernel_head
from lanescope.deadline import OverdueError
from lanescope.errors import LayoutError
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.threads.kernels import KNOWN_SIZE, ORDER, KernelRun, run_kernels
from lanescope.reader.threads.memory.shared_memory import BASE
from lanescope.reader.threads.memory.shared_order import OrderMistake
from lanescope.workbench.fragments.thread_gaps import list_kernels_by_text
from lanescope.workbench.fragments.warp_coverage import list_unread_arrays
from lanescope.workbench.repair.blamed_numbers import list_local_values
from lanescope.workbench.source import shared_budget
from lanescope.workbench.text.function_texts import FunctionText, blank_text, find_function_at, find_functions
from lanescope.workbench.text.loop_texts import (
    find_next_statement,
    find_place_after_products,
    find_place_before_products,
)

TITLES = {
    "copy_commit_missing": "No cp.async.commit_group after the copies of a tile",
    "copy_wait_missing": "No cp.async.wait_group before the tile is read",
    "copy_wait_short": "cp.async.wait_group leaves the group pending that is read",
    "barrier_missing": "No barrier between a store to shared memory and the read of another warp",
    "refill_early": "No barrier between a read of shared memory and the store that overwrites it",
}
_CODES = {
    "commit_missing": "copy_commit_missing",
    "wait_missing": "copy_wait_missing",
    "wait_short": "copy_wait_short",
    "barrier_missing": "barrier_missing",
    "refill_early": "refill_early",
    "stored_twice": "stores_overlap",
}
_SMALL_SIZE = 64, KNOWN_SIZE[1]
_COUNTER = re.compile(r"%\s*\w*(?:stage|buf|slot|depth)", re.I)
Span = tuple[int, int]
_MMA = re.compile(rf"{WORD_START}mma\s*\.\s*(?:sp(?:::\w+)?\s*\.\s*)?sync|\bmma_sync\s*\(|\bSM(?:75|80|89|120)_\d+x\d")


@dataclass(frozen=True, slots=True)
class OrderReport:
    """The mistakes of a text's kernels, and the names of those that use shared memory in an unknown order.

    unread: (kernel, array) of which a kernel stores elements that it never reads; needed: the bytes of dynamic shared
    memory that each kernel stores to, the least of its instances."""

    mistakes: tuple[Pitfall, ...] = ()
    left: frozenset[str] = frozenset()
    unread: frozenset[tuple[str, str]] = frozenset()
    needed: Mapping[str, int] = field(default_factory=dict)


def check_thread_order(
    text: str, macros: Mapping[str, str], recorded: Sequence[KernelLaunchRecord] = (), described: bool = False
) -> OrderReport:
    """Check the order in which the kernels of a text access shared memory. described: whether descriptors read tiles
    that threads fill.
    """
    if not is_kernel_head(text) or not (described or _MMA.search(text)):
        return OrderReport()
    try:
        branches = list(run_kernels(text, macros, recorded, ORDER, KNOWN_SIZE))
    except LayoutError:
        return OrderReport()
    except OverdueError:
        return OrderReport(left=frozenset(kernel.name for kernel in list_kernels_by_text(text)))
    common = _list_common_mistakes(branches)
    if any(one.code == _CODES["stored_twice"] for one in common):
        common = _keep_for_small_sizes(common, run_kernels(text, macros, recorded, ORDER, _SMALL_SIZE))
    left = frozenset(run.function.name for runs in branches for run in runs if _is_left(run))
    unread = [frozenset(_list_unread(runs)) for runs in branches]
    never_read = frozenset.intersection(*unread) if unread else frozenset[tuple[str, str]]()
    return OrderReport(tuple(common), left, never_read, _list_needed(run for runs in branches for run in runs))


def _list_common_mistakes(branches: Sequence[list[KernelRun]]) -> list[Pitfall]:
    """Return the mistakes of the first branch of a text that has some; none if another branch is right."""
    found = (dict(list_mistakes(runs)) for runs in branches)
    first = next(filter(None, found), {})
    return [*first.values()] if all(map(_has_mistake, branches)) else []


def _keep_for_small_sizes(found: Sequence[Pitfall], branches: Iterable[list[KernelRun]]) -> list[Pitfall]:
    """Drop stores that overlap only if a size is larger than the kernel may be written for, such as the length of the
    row that a warp holds.
    """
    again = {(one.code, one.span) for runs in branches for _, one in list_mistakes(runs)}
    return [one for one in found if one.code != _CODES["stored_twice"] or (one.code, one.span) in again]


def find_short_launches(
    text: str, macros: Mapping[str, str], recorded: Sequence[KernelLaunchRecord], needed: Mapping[str, int]
) -> tuple[list[Pitfall], list[Pitfall]]:
    """Find launches with less dynamic shared memory than their kernel stores to; return (the certain ones, others).

    needed: the bytes of each kernel for the sizes of check_thread_order. If others are needed for matrices of twice the
    size, the program may pass matrices that are small enough.
    """
    blank = blank_text(text)
    short = list(shared_budget.find_short_launches(blank, recorded, needed))
    if not short:
        return [], []
    branches = run_kernels(text, macros, recorded, ORDER, (2 * KNOWN_SIZE[0], KNOWN_SIZE[1]))
    again = _list_needed(run for runs in branches for run in runs)
    sure = {name: count for name, count in needed.items() if again.get(name) == count}
    known = list(shared_budget.find_short_launches(blank, recorded, sure))
    sized = f" if M, N and K are {KNOWN_SIZE[0]}; the program may pass smaller ones."
    others = [one for one in short if one.span not in {one.span for one in known}]
    return known, [replace(one, message=one.message.removesuffix(".") + sized) for one in others]


def _list_needed(runs: Iterable[KernelRun]) -> dict[str, int]:
    """Return the bytes of dynamic shared memory that each kernel stores to, the least of its runs."""
    needed: dict[str, int] = {}
    for run in runs:
        dynamic = run.runner.dynamic.get("")
        base = dynamic.offset.known if dynamic is not None and dynamic.offset is not None else None
        bytes_ = max(run.runner.shared.past - base, 0) if base is not None else 0
        name = run.function.name
        needed[name] = min(needed.get(name, bytes_), bytes_)
    return needed


def _list_unread(runs: list[KernelRun]) -> Iterator[tuple[str, str]]:
    for run in runs:
        order = run.runner.order
        if (
            run.complete
            and order is not None
            and order.mistake is None
            and not order.lost
            and not run.runner.shared.broken
        ):
            yield from ((run.function.name, array) for array in list_unread_arrays(run.runner))


def _has_mistake(runs: list[KernelRun]) -> bool:
    """Return whether a run has come to a mistake, or none has followed a read."""
    orders = [run.runner.order for run in runs if run.runner.order is not None]
    if any(run.runner.kernel_errors for run in runs):
        return True
    return any(order.mistake is not None for order in orders) or not any(order.checked for order in orders)


def _is_left(run: KernelRun) -> bool:
    """Return whether a kernel uses shared memory and no read of it was followed."""
    order, shared = run.runner.order, run.runner.shared
    if order is None or order.mistake is not None or shared.next == BASE:
        return False
    return not order.checked or order.lost or (run.complete and order.is_uneven)


def list_mistakes(runs: list[KernelRun]) -> Iterator[tuple[object, Pitfall]]:
    """Yield (what tells it apart, the finding) of the mistakes of runs."""
    for run in runs:
        for why, (code, span) in run.runner.kernel_errors.items():
            yield (code, span), Pitfall(code, why, span)
        if run.runner.kernel_errors:  # from which other mistakes follow
            continue
        mistake = run.runner.order.mistake if run.runner.order is not None else None
        if mistake is not None:
            code, blank = _CODES[mistake.kind], blank_text(run.runner.text)
            span = _find_place(blank, find_functions(blank), mistake, run.runner.order.depth if run.runner.order else 0)
            yield (code, span), Pitfall(code, _describe_mistake(run.function.name, mistake), span)


def _find_place(blank: str, functions: tuple[FunctionText, ...], mistake: OrderMistake, depth: int) -> Span:
    """Return where an operation has to be inserted, or what has to be changed. depth: calls around the last barrier."""
    if mistake.store is not None:
        counter = _find_counter(blank, functions, mistake.store)
        return _find_offset(blank, functions, counter) if _COUNTER.search(blank[slice(*counter)]) else mistake.span
    if mistake.kind == "commit_missing" and mistake.copy:
        at = _find_place_of_commit(blank, functions, mistake, depth)
        return at, at + 1
    if mistake.kind == "barrier_missing":
        function = find_function_at(functions, mistake.span[0])
        if mistake.waited or function is None:
            at = find_next_statement(blank, mistake.span)
        else:
            at = find_place_before_products(blank, function, mistake.span[0])
        return at, at + 1
    return mistake.span


def _find_place_of_commit(blank: str, functions: tuple[FunctionText, ...], mistake: OrderMistake, depth: int) -> int:
    """Return the statement after the copies: in their own function if nothing is ever committed, else after the call
    of it.
    """
    chain = mistake.copy
    copy = chain[max(len(chain) - 2, 0)] if mistake.first else chain[min(depth, len(chain) - 1)]
    function = find_function_at(functions, copy[0])
    return find_place_after_products(blank, function, copy) if function else find_next_statement(blank, copy)


def _find_offset(blank: str, functions: tuple[FunctionText, ...], counter: Span) -> Span:
    """Return the value of a variable that a remainder is taken of: `kt + 3` of `next % STAGES`; else the remainder."""
    names = set(re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*%").findall(blank, *counter))
    function = find_function_at(functions, counter[0])
    found = [list_local_values(blank, function, name, counter) for name in names] if function is not None else []
    values = found[0] if len(found) == 1 else []
    return values[0] if len(values) == 1 and re.search(r"\w\s*[+-]\s*\w", blank[slice(*values[0])]) else counter


def _find_counter(blank: str, functions: tuple[FunctionText, ...], at: Span, depth: int = 4) -> Span:
    """Return the remainder that gives an address its stage, through the variables that it names; else the address."""
    if "%" in blank[slice(*at)] or not depth:
        return at
    function = find_function_at(functions, at[0])
    names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", blank[slice(*at)])) if function is not None else {}
    for name in names:
        values = list_local_values(blank, function, name, at) if function is not None else ()
        found = _find_counter(blank, functions, values[0], depth - 1) if len(values) == 1 else at
        if _COUNTER.search(blank[slice(*found)]):
            return found
    return at


def _describe_mistake(kernel: str, mistake: OrderMistake) -> str:
    match mistake.kind:
        case "commit_missing":
            return (
                f"{kernel} reads what cp.async copies before this, and no cp.async.commit_group puts these copies in a"
                " group."
            )
        case "wait_missing":
            return (
                f"{kernel} reads a tile of shared memory after this whose cp.async may be running: no"
                " cp.async.wait_group waits for its group before."
            )
        case "wait_short":
            groups = "the last group" if mistake.pending == 1 else f"the last {mistake.pending} groups"
            return (
                f"This wait lets {groups} of cp.async stay pending, and {kernel} then reads what one of them copies."
                " Wait for fewer."
            )
        case "stored_twice":
            return (
                f"{kernel} stores other elements in these bytes of shared memory shortly before, and nothing reads them"
                " between: one of the two places is wrong."
            )
        case "barrier_missing":
            return (
                f"{kernel} reads in one warp what another has stored or copied to shared memory, without a barrier"
                " between: it may read the previous contents. All threads need a __syncthreads() before the read."
            )
        case _ if mistake.running:
            return (
                f"Here {kernel} overwrites bytes of shared memory that a wgmma may still read: wgmma.wait_group has to"
                " wait for its group before, and a barrier has to follow if other warpgroups read them."
            )
        case _:
            return (
                f"Here {kernel} overwrites bytes of shared memory that it has still to read, or goes on to overwrite"
                " what another warp has read, without a barrier between."
            )
