"""Run a grid: choose the next group of threads, defer asynchronous work, and detect that nothing can continue.

Threads of a block at the same statement run together; a branch splits them, and they merge where they meet again. A
schedule determines whether warps run together or one by one, and whether asynchronous work completes at once or as late
as the synchronization allows. Everything is deterministic.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lanescope.deadline import check_deadline
from lanescope.emulate.code import UnknownInstructionError
from lanescope.emulate.launching.linking import Program
from lanescope.emulate.state.block import Block, Group, NotConvergedError, Wait, simplify
from lanescope.emulate.state.cluster_run import ClusterRun
from lanescope.emulate.state.convergence import join_groups, list_stops, wait_for_convergence
from lanescope.emulate.state.memory import Allocation, FaultError, Memory
from lanescope.emulate.text.program import Function, SourcePlace, Statement

_QUANTUM = 4096  # statements of one group before another one runs
_MOST_POLLS = 4  # polls of an unchanged value before a group counts as waiting for it


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake in the executed program. line: of the PTX; place: of the source it was compiled from, or ""."""

    code: str
    message: str
    line: int = 0
    place: str = ""
    severity: str = "error"


@dataclass(frozen=True, slots=True)
class Schedule:
    """An order of execution.

    by_warp: warps one by one. late: asynchronous work completes as late as possible. seed: of the order of warps, 0 for
    the one furthest behind first, 1 for the last warp first.
    """

    by_warp: bool = False
    late: bool = False
    seed: int = 0


@dataclass(slots=True)
class PendingWork:
    """Asynchronous work that has been issued and not completed. keys: the names by which a wait finds it."""

    kind: str
    run: Callable[[], None]
    block: Block
    statement: Statement
    keys: dict[str, Any] = field(default_factory=dict)


class Machine:
    """One launch. `run` ends with `status`: finished, deadlock, fault, unknown_instruction or budget."""

    dynamic_shared: int  # bytes, for special registers

    def __init__(
        self,
        program: Program,
        entry: Function,
        memory: Memory,
        parameter_base: int,
        *,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        cluster: tuple[int, int, int] = (1, 1, 1),
        dynamic_shared: int = 0,
        schedule: Schedule = Schedule(),
        most_steps: int = 50_000_000,
    ) -> None:
        self.program, self.entry, self.memory, self.parameter_base = program, entry, memory, parameter_base
        self.grid, self.block_shape, self.cluster_shape, self.dynamic_shared = grid, block, cluster, dynamic_shared
        self.schedule, self.most_steps = schedule, most_steps
        self.random = random.Random(schedule.seed)
        self.findings: list[Finding] = []
        self.notes: set[str] = set()  # caveats about the results
        self.status = ""
        self.stop_statement: Statement | None = None
        self.steps = 0
        self.version = 0  # counts changes that another thread can see
        self.switch = False  # run another group after this statement
        self.groups: list[Group] = []
        self.clusters: list[ClusterRun] = []
        self.pending: deque[PendingWork] = deque()
        self.blocks: list[tuple[int, int, int]] | None = None  # only the clusters of these run
        self.events: list[dict[str, Any]] | None = None  # the timeline, if requested
        self.recorders: list[Callable[..., None]] = []  # called for every matrix instruction (capture)
        self._polls: dict[int, dict[int, tuple[int, Any]]] = {}
        memory.unwritten = self._report_unwritten

    # running

    def run(self, blocks: Iterable[tuple[int, int, int]] | None = None) -> None:
        """Run the clusters that contain the given blocks, in grid order.

        By default those of `blocks`; all where that is None.
        """
        with np.errstate(all="ignore"):
            self._run(self.blocks if blocks is None else blocks)

    def _run(self, blocks: Iterable[tuple[int, int, int]] | None) -> None:
        waiting = deque(self._list_clusters(blocks))
        try:
            while waiting or self.groups:
                if not self.groups:
                    self._start(waiting.popleft())
                group = self._choose()
                if group is not None:
                    self._advance(group)
                elif self.pending:
                    self.settle(self.pending[0])
                elif waiting and any(
                    group.wait is None for group in self.groups
                ):  # it waits for another cluster's store
                    self._start(waiting.popleft())
                else:
                    self._end_stuck()
                    return
            while self.pending:
                self.settle(self.pending[0])
            self.status = "finished"
        except UnknownInstructionError as error:
            self.status, self.stop_statement = "unknown_instruction", error.statement
            self.report("unknown_instruction", error.describe(), error.statement)
        except _StoppedError:
            return
        except OverBudgetError:
            self.status = "budget"
            self.report("budget", describe_budget(self.most_steps), self.stop_statement)

    def _end_stuck(self) -> None:
        """End a run in which nothing can continue.

        It is a fault where parts of a warp wait for each other, one of them at an `.aligned` statement; else a
        deadlock.
        """
        self.status = "deadlock"
        for group in self.groups:
            wait = group.wait
            if wait is None or not wait.facts.get("aligned"):
                continue
            missing = set(wait.facts["missing"])
            others = [
                other for other in self.groups if other.block is group.block and missing & set(other.ids.tolist())
            ]
            if all(other.wait is not None and other.wait.kind in ("barrier", "convergence") for other in others):
                self.status = "fault"
                self.report(
                    "diverged",
                    f"{group.statement.words[0]} has .aligned: all threads of a warp must execute it together, but"
                    f" {wait.what} never reach it",
                    group.statement,
                )

    def _list_clusters(self, blocks: Iterable[tuple[int, int, int]] | None) -> list[tuple[int, int, int]]:
        shape = self.cluster_shape
        if blocks is not None:
            chosen = [tuple(i // s for i, s in zip(block, shape, strict=True)) for block in blocks]
            return list(dict.fromkeys((x, y, z) for x, y, z in chosen))
        counts = [g // s for g, s in zip(self.grid, shape, strict=True)]
        return [(x, y, z) for z in range(counts[2]) for y in range(counts[1]) for x in range(counts[0])]

    def _start(self, index: tuple[int, int, int]) -> None:
        self._free_ended()
        shape = self.cluster_shape
        cluster = ClusterRun(self, self.memory, self.grid, shape, self.parameter_base, index)
        code = self.program.get_code(self.entry.name)
        size = self.program.static_bytes + self.dynamic_shared
        for z in range(shape[2]):
            for y in range(shape[1]):
                for x in range(shape[0]):
                    place = (index[0] * shape[0] + x, index[1] * shape[1] + y, index[2] * shape[2] + z)
                    block = Block(cluster, place, len(cluster.blocks), code, self.block_shape, shared=size)
                    cluster.blocks.append(block)
        self.clusters.append(cluster)
        for block in cluster.blocks:
            groups = block.make_groups(self.schedule.by_warp)
            if self.schedule.seed:
                self.random.shuffle(groups)
            self.groups += groups

    def _free_ended(self) -> None:
        """Free the registers and local memory of clusters whose threads have exited."""
        for cluster in self.clusters:
            if not any(block.live.any() for block in cluster.blocks):
                for block in cluster.blocks:
                    block.free()

    def _choose(self) -> Group | None:
        """Return the group to run: the one that has yielded least often, then the one furthest behind.

        With a seed, this is the group of a pseudo-random warp.
        """
        ready = []
        for group in self.groups:
            wait = group.wait
            if wait is not None:
                if not wait.ready():
                    continue
                if self.events is not None:
                    statement = group.frame.code.function.statements[max(0, group.pc - 1)]
                    self.log_of("resume", group.block, statement, group.warps, wait=wait.kind, **wait.facts)
                group.wait = None
            elif group.polls >= _MOST_POLLS and self._is_stale(group):
                continue
            ready.append(group)
        if self.schedule.seed and ready:
            warps = sorted({(group.block.linear_index, group.first // 32) for group in ready})
            warp = warps[-1] if self.schedule.seed == 1 else self.random.choice(warps)
            ready = [group for group in ready if (group.block.linear_index, group.first // 32) == warp]
        return min(ready, key=lambda group: (group.yields, -len(group.stack), group.pc), default=None)

    def _is_stale(self, group: Group) -> bool:
        polls = self._polls.get(id(group), {})
        if any(version == self.version for version, _ in polls.values()):
            return True
        group.polls = 0
        return False

    def _advance(self, group: Group) -> None:
        """Run one group until it waits, splits, meets another group or has used up its turn."""
        group = join_groups(self, group)
        stops = list_stops(self, group)
        if self.steps >= self.most_steps:
            self.stop_statement = group.statement
            raise OverBudgetError
        limit = min(self.steps + _QUANTUM, self.most_steps)
        self.switch = False
        try:
            while self.steps < limit:
                self.steps += 1
                try:
                    group.frame.code.steps[group.pc](group)
                except NotConvergedError as error:
                    if wait_for_convergence(self, group, error):
                        break
                    continue  # with the complete warps, before other threads join them again
                if self.switch or group.wait is not None or (group.pc in stops):
                    self._log_wait(group)
                    break
            else:
                group.yields += 1
        except FaultError as fault:
            self.status = "fault"
            self.report(fault.code, fault.message, group.statement)
            raise _StoppedError from fault
        except IndexError:
            if group.pc >= len(group.frame.code.steps):  # the end of the text is `ret`
                raise UnknownInstructionError(
                    group.frame.code.function.statements[-1], "the body ends without ret or exit"
                ) from None
            raise
        check_deadline()

    # called by the instructions

    def split(self, group: Group, taken: Any, target: int) -> None:
        """Split threads, given as a mask, from a group, to continue at another statement."""
        other = group.select(taken)
        other.pc = target
        group.threads = simplify(group.ids[~taken])
        self.add(other, group)

    def add(self, part: Group, group: Group) -> None:
        """Schedule a part of a group as a new group."""
        part.yields = group.yields
        self.groups.append(part)
        self.switch = True

    def park(self, group: Group, ids: Any, wait: Wait) -> None:
        """Suspend some threads of a group after this statement, as a new group."""
        waiting = Group(group.block, group.frame, simplify(ids), group.pc + 1, group.stack)
        waiting.wait, waiting.yields = wait, group.yields
        self._log_wait(waiting)
        group.threads = simplify(np.setdiff1d(group.ids, ids))
        self.groups.append(waiting)
        self.switch = True

    def separate(self, group: Group, active: Any, part: Group) -> None:
        """Split a group after a guarded statement that suspended some or all of its active threads."""
        stay = group.ids[~active]
        if part.wait is None:
            stay = np.sort(np.concatenate([stay, part.ids]))
        else:
            part.pc, part.yields = group.pc + 1, group.yields
            self._log_wait(part)
            self.groups.append(part)
        group.threads = simplify(stay)
        self.switch = True

    def end(self, group: Group) -> None:
        """End the threads of a group."""
        group.block.live[group.ids] = False
        if group in self.groups:
            self.groups.remove(group)
        self.version += 1
        self.switch = True

    def submit(self, work: PendingWork) -> None:
        """Accept asynchronous work, which completes at once or when a wait or the end of the run requires it."""
        if self.schedule.late:
            self.pending.append(work)
        else:
            self._end_work(work)

    def settle(self, work: PendingWork) -> None:
        """Complete one piece of pending work."""
        self.pending.remove(work)
        self._end_work(work)

    def _end_work(self, work: PendingWork) -> None:
        self.version += 1
        try:
            work.run()
        except FaultError as fault:
            self.status = "fault"
            self.report(fault.code, fault.message, work.statement)
            raise _StoppedError from fault

    def settle_all(self, matches: Callable[[PendingWork], bool]) -> None:
        """Complete the pending work that matches, in order of issue."""
        for work in [item for item in self.pending if matches(item)]:
            self.settle(work)

    def note_poll(self, group: Group, value: Any) -> None:
        """Record that a group polls a value that another thread has to change: the other groups run first."""
        looks = self._polls.setdefault(id(group), {})
        if looks.get(group.pc) == (self.version, value):
            group.polls += 1
            group.yields += 1
            self.switch = True
        looks[group.pc] = (self.version, value)

    def report(self, code: str, message: str, statement: Statement | None, severity: str = "error") -> None:
        """Report a finding, once per line and code."""
        line = statement.line if statement else 0
        if any(finding.code == code and finding.line == line for finding in self.findings):
            return
        place: SourcePlace | None = statement.place if statement else None
        self.findings.append(Finding(code, message, line, str(place or ""), severity))

    def log(self, kind: str, group: Group, **facts: Any) -> None:
        """Record an event for the timeline, if that was requested."""
        if self.events is not None:
            self.log_of(kind, group.block, group.statement, group.warps, **facts)

    def _log_wait(self, group: Group) -> None:
        """Record that a group starts to wait; its statement counts as executed."""
        wait = group.wait
        if self.events is not None and wait is not None:
            statement = group.frame.code.function.statements[max(0, group.pc - 1)]
            self.log_of("wait", group.block, statement, group.warps, wait=wait.kind, what=wait.what, **wait.facts)

    def log_of(self, kind: str, block: Block, statement: Statement, warps: tuple[int, ...] = (), **facts: Any) -> None:
        """Record an event caused by no group of threads, such as the completion of a copy."""
        if self.events is not None:
            event = {"step": self.steps, "kind": kind, "block": block.index, "warps": warps, "line": statement.line}
            self.events.append(event | facts)

    def _report_unwritten(self, group: Group, allocation: Allocation, offset: int) -> None:
        self.report(
            "unwritten_shared",
            f"Shared memory at {allocation.base + offset:#x} is read before anything was written there",
            group.statement,
        )


def describe_budget(most_steps: int) -> str:
    """Return the message for a run that reached its limit of statements."""
    return f"The run reached its limit of {most_steps:,} statements"


class OverBudgetError(Exception):
    """The run reached its limit of statements."""


class _StoppedError(Exception):
    """A fault, already reported, has ended the run."""
