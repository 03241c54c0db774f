"""Run a kernel under several schedules, and find the accesses on which its result depends.

Warps run in lockstep or one by one, asynchronous work completes at once or as late as the waits allow. Where outputs
differ, two runs are traced, and the first read with another writer names the two accesses. This is not a proof, because
other orders exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from lanescope.emulate.machine import Finding, Machine, Schedule
from lanescope.emulate.observing.access_trace import Access, AccessTrace, ProxyWatch, decode_access, sort_by_thread
from lanescope.emulate.observing.waits import find_deadlock, format_place
from lanescope.emulate.text.program import Statement
from lanescope.ptx.threads import WARP

MOST_PAIRS = 3
_LOOSE = ("atom", "red")  # their order is undefined, and may differ without harm
_WATCHED = ("volatile", "acquire", "relaxed", "mmio")
MakeMachine = Callable[[Schedule], Machine]


@dataclass(frozen=True, slots=True)
class ScheduleComparison:
    """The result of several schedules.

    machine: of the first one; findings: about their differences; equal: whether all ended with the same status and the
    same bytes in every allocation.
    """

    machine: Machine
    schedules: tuple[Schedule, ...]
    statuses: tuple[str, ...]
    findings: tuple[Finding, ...]
    equal: bool


def list_schedules(count: int) -> list[Schedule]:
    """Return that many schedules, the default one first.

    >>> [schedule.late for schedule in list_schedules(3)]
    [False, True, False]
    """
    fixed = [Schedule(), Schedule(late=True), Schedule(by_warp=True, seed=1), Schedule(by_warp=True, late=True, seed=2)]
    more = [Schedule(by_warp=True, late=bool(n % 2), seed=n) for n in range(3, count + 1)]
    return (fixed + more)[: max(1, count)]


def describe_schedule(schedule: Schedule) -> str:
    """Return a schedule in words."""
    order = "the last first" if schedule.seed == 1 else f"in random order {schedule.seed}"
    warps = (
        f"warps one by one, {order if schedule.seed else 'the first first'}" if schedule.by_warp else "warps in step"
    )
    return f"{warps}, asynchronous work {'as late as possible' if schedule.late else 'at once'}"


def compare_schedules(make_machine: MakeMachine, count: int) -> ScheduleComparison:
    """Run a kernel under several schedules and compare the final contents of global memory.

    make_machine: returns a machine of a schedule that has not run, each with a memory of its own and the same
    allocations in the same order. The first machine also reports reads without a proxy fence.
    """
    schedules = list_schedules(count)
    base = make_machine(schedules[0])
    ProxyWatch(base)
    base.run()
    expected = _take_outputs(base)
    statuses, equal = [base.status], True
    findings: list[Finding] = []
    for schedule in schedules[1:]:
        machine = make_machine(schedule)
        machine.run()
        statuses.append(machine.status)
        if machine.status == base.status and _take_outputs(machine) == expected:
            continue
        if equal:  # the first that differs is explained
            findings += _explain(make_machine, (base, machine), (schedules[0], schedule))
        equal = False
    return ScheduleComparison(base, tuple(schedules), tuple(statuses), tuple(findings), equal)


def _take_outputs(machine: Machine) -> list[bytes]:
    return [allocation.data.tobytes() for allocation in machine.memory.allocations if not allocation.read_only]


def _explain(
    make_machine: MakeMachine, machines: tuple[Machine, Machine], schedules: tuple[Schedule, Schedule]
) -> Iterator[Finding]:
    first, second = machines
    orders = f"{describe_schedule(schedules[0])}; and {describe_schedule(schedules[1])}"
    if first.status != second.status:
        yield from _explain_statuses(machines, schedules)
    traces = []
    for schedule in schedules:
        machine = make_machine(schedule)
        trace = AccessTrace(machine)
        machine.run()
        traces.append(trace)
    pairs = list(_find_pairs(traces[0], traces[1]))
    yield from pairs[:MOST_PAIRS]
    if not pairs:
        yield Finding(
            "schedules_differ",
            f"The result depends on the order of execution ({orders}), and no pair of accesses was found that"
            " explains it.",
        )


def _explain_statuses(machines: tuple[Machine, Machine], schedules: tuple[Schedule, Schedule]) -> Iterator[Finding]:
    for machine, schedule in zip(machines, schedules, strict=True):
        if machine.status == "deadlock":
            find_deadlock(machine)
        if machine.status != "finished":
            yield Finding(
                "schedules_differ",
                f"With {describe_schedule(schedule)}, the run ends with {machine.status}.",
            )
            yield from machine.findings if machine is machines[1] else ()


@dataclass(frozen=True, slots=True)
class _Difference:
    """A read whose value came from another write."""

    step: int
    read: Access
    place: int
    writers: tuple[Access | None, Access | None]
    unordered: Access | None  # the writer that comes before or after the read


def _find_pairs(first: AccessTrace, second: AccessTrace) -> Iterator[Finding]:
    """Yield findings for reads whose values came from different writes, in the order of the first run."""
    statements = first.statements
    differences = []
    for key in first.reads.keys() & second.reads.keys():
        difference = _compare_reads(first, second, key)
        if difference is not None:
            differences.append(difference)
    differences.sort(key=lambda difference: (_is_loose(difference, statements), difference.step))
    seen: set[tuple[int, ...]] = set()
    for difference in differences:
        lines = tuple(
            sorted({difference.read.statement, *(writer.statement for writer in difference.writers if writer)})
        )
        if lines not in seen and (not seen or not _is_loose(difference, statements)):
            seen.add(lines)
            yield _describe(difference, statements)
    if not differences:
        yield from _find_stores(first, second, statements)


def _is_loose(difference: _Difference, statements: list[Statement]) -> bool:
    numbers = [difference.read.statement, *(writer.statement for writer in difference.writers if writer)]
    return any(statements[number].words[0] in _LOOSE for number in numbers) or any(
        statements[difference.read.statement].has(word) for word in _WATCHED
    )


def _compare_reads(first: AccessTrace, second: AccessTrace, key: tuple[int, int]) -> _Difference | None:
    a, b = sort_by_thread(first.reads[key]), sort_by_thread(second.reads[key])
    if not np.array_equal(a[0], b[0]):  # a loop ran another number of iterations: compare those that both have
        keep_a, keep_b = _align(a[0], b[0])
        a, b = tuple(positions[keep_a] for positions in a), tuple(positions[keep_b] for positions in b)
    differs = np.flatnonzero(a[1] != b[1])
    if not len(differs):
        return None
    at = int(differs[np.argmin(a[2][differs])])
    read = Access(key[0], key[1], int(a[0][at]), 0)
    writers = (decode_access(int(a[1][at])), decode_access(int(b[1][at])))
    # the overwriting write came too early in one run, or too late in the other; it is never the reader's own
    first_later = writers[1] is None or int(a[4][at]) == int(b[1][at])
    later, other = writers if first_later else writers[::-1]
    if later and other and (later.block, later.thread) == (read.block, read.thread):
        later = other
    return _Difference(int(a[2][at]), read, int(a[3][at]), writers, later)


def _align(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the accesses that are in both sorted lists of threads."""
    numbers = []
    for threads in (a, b):
        starts = np.flatnonzero(np.r_[True, threads[1:] != threads[:-1]])
        rank = np.arange(len(threads)) - np.repeat(starts, np.diff(np.r_[starts, len(threads)]))
        numbers.append(threads << 32 | rank)
    _, keep_a, keep_b = np.intersect1d(numbers[0], numbers[1], assume_unique=True, return_indices=True)
    return keep_a, keep_b


def _find_stores(first: AccessTrace, second: AccessTrace, statements: list[Statement]) -> Iterator[Finding]:
    """Yield a finding for two stores to the same place that come in either order."""
    pairs = zip(first.machine.memory.allocations, second.machine.memory.allocations, strict=True)
    for earlier, later in pairs:
        if earlier.read_only or earlier.size != later.size:
            continue
        differs = np.flatnonzero(earlier.data != later.data)
        if not len(differs):
            continue
        at = int(differs[0])
        writers = [decode_access(int(trace.get_writers(a)[at])) for trace, a in ((first, earlier), (second, later))]
        if writers[0] is None or writers[1] is None or writers[0] == writers[1]:
            continue
        names = " and ".join(_name(writer, statements) for writer in writers if writer)
        yield _make(
            f"Two writes to byte {at:,} of {earlier.name} come in either order, and the last one determines the value:"
            f" {names}. {_suggest(writers[0], writers[1], statements)}",
            statements[writers[0].statement],
        )
        return


def _describe(difference: _Difference, statements: list[Statement]) -> Finding:
    reader = _name(difference.read, statements)
    texts = []
    for writer in difference.writers:
        texts.append(f"what {_name(writer, statements)} wrote" if writer else "the value from before any write")
    message = (
        f"Two accesses to {difference.place:#x} are not ordered: {reader} gets {texts[0]} in one schedule, {texts[1]}"
        f" in another. {_suggest(difference.read, difference.unordered, statements)}"
    )
    return _make(message, statements[difference.read.statement])


def _make(message: str, statement: Statement) -> Finding:
    text = f"{message} Found by running some of many possible orders, so there may be more."
    return Finding("race", text, statement.line, str(statement.place or ""))


def _name(access: Access | None, statements: list[Statement]) -> str:
    if access is None:
        return "nothing"
    statement = statements[access.statement]
    return f"{'.'.join(statement.words[:3])} in {format_place(statement)} by thread {access.thread}"


def _suggest(first: Access, second: Access | None, statements: list[Statement]) -> str:
    """Return the synchronization that would order two accesses, as a sentence."""
    if second is None:
        return ""
    opcodes = [statements[access.statement].opcode for access in (first, second)]
    for opcode, text in _MISSING:
        if any(name.startswith(opcode) for name in opcodes):
            return f"Missing: {text}."
    if first.block != second.block:
        return "Missing: a barrier of the cluster, or of the grid, between the two CTAs."
    if first.thread // WARP == second.thread // WARP:
        return "Missing: __syncwarp() between the two."
    return "Missing: __syncthreads() or another barrier that both warps pass."


_MISSING = (
    ("wgmma", "wgmma.wait_group before the shared memory that it reads is written again or its result is used"),
    (
        "cp.async.bulk.tensor",
        "the wait for the copy: mbarrier.try_wait on its barrier (loads), cp.async.bulk.wait_group (stores)",
    ),
    (
        "cp.async.bulk",
        "the wait for the copy: mbarrier.try_wait on its barrier (loads), cp.async.bulk.wait_group (stores)",
    ),
    ("cp.reduce.async.bulk", "cp.async.bulk.wait_group before the source is written again"),
    ("cp.async", "cp.async.wait_group (or an mbarrier) and a barrier before the data is read by other threads"),
    ("st.async", "the wait on the mbarrier that st.async signals"),
    ("red.async", "the wait on the mbarrier that red.async signals"),
    ("tcgen05", "the wait on the mbarrier that tcgen05.commit signals"),
)
