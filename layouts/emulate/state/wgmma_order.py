"""wgmma in flight: each warp's groups, and accesses to their registers that come too early.

PTX ISA 9.1, 9.7.15.7: registers of a wgmma.mma_async may not be accessed until wgmma.wait_group; accesses before it are
ordered by wgmma.fence. Moves between registers are exempt: compilers write them where ptxas emits nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from lanescope.emulate.code import Action, Code
from lanescope.emulate.instructions.fragments import MatrixEvent, record_event
from lanescope.emulate.machine import PendingWork
from lanescope.emulate.state.block import Block, Group
from lanescope.emulate.text.program import (
    AddressOperand,
    ListOperand,
    Operand,
    PairOperand,
    Register,
    Statement,
    VectorOperand,
)
from lanescope.ptx.threads import GROUP_WARPS, WARP

Slots = frozenset[int]
_NO_RESULT = {"st", "red", "stmatrix", "bar", "barrier", "mbarrier", "cp", "bra", "call", "wgmma"}


@dataclass(slots=True)
class Issued:
    """One wgmma of some warps. snapshot: what recorders receive about D when it is read."""

    statement: Statement
    d_slots: Slots
    a_slots: Slots
    work: PendingWork | None = None
    snapshot: Callable[[], MatrixEvent] | None = None
    reported: bool = False


@dataclass(slots=True)
class _Queue:
    """One warp's queue: wgmmas since the last commit, committed groups (oldest first), registers written since a fence.

    issued: number of wgmmas; ended: how many of them a wait has completed.
    """

    open: list[Issued] = field(default_factory=list)
    groups: list[list[Issued]] = field(default_factory=list)
    fenced: bool = False
    written: set[int] = field(default_factory=set)
    sums: set[Slots] = field(default_factory=set)  # accumulators that only wgmmas wrote, and moves
    issued: int = 0
    ended: int = 0

    def list_flying(self) -> list[Issued]:
        return [wgmma for group in (*self.groups, self.open) for wgmma in group]


class Queues:
    """The queues of a block's warps."""

    def __init__(self) -> None:
        self.warps: dict[int, _Queue] = {}
        self.ended: dict[tuple[int, Slots], MatrixEvent] = {}  # D that nobody has read yet, by first warp

    def get(self, warp: int) -> _Queue:
        return self.warps.setdefault(warp, _Queue())

    def note_issue(self, group: Group, issued: Issued) -> bool:
        """Add a wgmma; return whether its D continues that of another one.

        Reports a finding where no fence orders it after writes to its registers.
        """
        machine = group.run.machine
        chained = True
        for warp in group.warps:
            queue = self.get(warp)
            used = queue.written & (issued.d_slots | issued.a_slots)
            if used or not queue.fenced:
                why = (
                    "registers of it were written since the last wgmma.fence"
                    if used
                    else "the warp has executed no wgmma.fence"
                )
                machine.report(
                    "missing_wgmma_fence",
                    f"wgmma.mma_async is issued although {why}: ptxas may reorder it",
                    issued.statement,
                )
            queue.open.append(issued)
            queue.issued += 1
            chained &= issued.d_slots in queue.sums
            queue.sums.add(issued.d_slots)
        self.ended.pop((group.first, issued.d_slots), None)
        return chained

    def fence(self, group: Group) -> None:
        for warp in group.warps:
            queue = self.get(warp)
            queue.fenced = True
            queue.written.clear()

    def commit(self, group: Group) -> None:
        for warp in group.warps:
            queue = self.get(warp)
            queue.groups.append(queue.open)
            queue.open = []

    def is_met(self, group: Group, most: int) -> bool:
        """Return whether the other warps of the warpgroups have issued everything that a wait of these warps completes.

        A wgmma belongs to the complete warpgroup: one thread releases a stage for all four warps after its own wait
        (CUTLASS, cutlass/pipeline/sm90_pipeline.hpp).
        """
        return all(self.get(other).issued >= self._count_needed(warp, most) for warp, other in self._list_pairs(group))

    def _list_pairs(self, group: Group) -> list[tuple[int, int]]:
        """Return (warp, another live warp of its warpgroup) pairs."""
        live = np.asarray(group.block.live.reshape(-1, WARP).any(axis=1))
        return [
            (warp, other)
            for warp in group.warps
            for other in range(len(live))
            if other != warp and other // GROUP_WARPS == warp // GROUP_WARPS and live[other]
        ]

    def _count_needed(self, warp: int, most: int) -> int:
        queue = self.get(warp)
        return queue.ended + sum(map(len, queue.groups[: max(0, len(queue.groups) - most)]))

    def wait(self, group: Group, most: int) -> None:
        """Complete all but the newest groups of every warp, and what other warps of its warpgroup issued for them."""
        for warp, other in self._list_pairs(group):
            queue = self.get(other)
            self.settle(group, queue.list_flying()[: max(0, self._count_needed(warp, most) - queue.ended)])
        done: list[Issued] = []
        for warp in group.warps:
            queue = self.get(warp)
            count = max(0, len(queue.groups) - most)
            done += [wgmma for ended in queue.groups[:count] for wgmma in ended]
            queue.ended += sum(map(len, queue.groups[:count]))
            queue.groups = queue.groups[count:]
        self.settle(group, done)
        flying = {wgmma.d_slots for warp in group.warps for wgmma in self.get(warp).list_flying()}
        for wgmma in done:
            if wgmma.snapshot is not None and wgmma.d_slots not in flying:
                event, wgmma.snapshot = wgmma.snapshot(), None
                self.ended[event.threads[0], wgmma.d_slots] = event

    def settle(self, group: Group, issued: list[Issued]) -> None:
        machine = group.run.machine
        for wgmma in issued:
            if wgmma.work is not None and wgmma.work in machine.pending:
                machine.settle(wgmma.work)
            wgmma.work = None

    def touch(self, group: Group, statement: Statement, slots: Slots, written: Slots) -> None:
        """Record that a statement reads or writes registers which some wgmma of the function uses."""
        judged = statement.words[0] != "mov"
        for warp in group.warps:
            queue = self.warps.get(warp)
            if queue is None:
                continue
            if judged:
                queue.written |= written
                queue.sums = {sums for sums in queue.sums if not sums & written}
            flying = [wgmma for wgmma in queue.list_flying() if wgmma.d_slots & slots or wgmma.a_slots & written]
            if not flying:
                continue
            self.settle(group, queue.list_flying())
            if judged and not all(wgmma.reported for wgmma in flying):
                for wgmma in queue.list_flying():
                    wgmma.reported = True
                _report_flying(group, statement, flying[0], slots)
        if judged and self.ended:
            self.record_ended(lambda key: bool(key[1] & slots) and key[0] // 32 in group.warps)

    def record_ended(self, chosen: Callable[[tuple[int, Slots]], bool] = lambda key: True) -> None:
        """Report to recorders D as the wait left it, before the program reads it."""
        for key in [key for key in self.ended if chosen(key)]:
            record_event(self.ended.pop(key))


def _report_flying(group: Group, statement: Statement, flying: Issued, slots: Slots) -> None:
    first = flying.statement
    what = "an accumulator" if flying.d_slots & slots else "a register of A"
    where = first.place.brief if first.place else f"line {first.line}"
    group.run.machine.report(
        "wgmma_in_flight",
        f"{statement.words[0]} accesses {what} of the wgmma.mma_async at {where} before a wgmma.wait_group for it",
        statement,
    )


def get_queues(block: Block) -> Queues:
    """Return the queues of a block's warps."""
    queues: Queues = block.state.setdefault("wgmma", Queues())
    return queues


def collect_slots(operand: Operand) -> Slots:
    """Return the indices of the registers in an operand."""
    match operand:
        case Register():
            return frozenset((operand.slot,))
        case VectorOperand() | ListOperand():
            return frozenset(slot for item in operand.items for slot in collect_slots(item))
        case PairOperand():
            return collect_slots(operand.first) | collect_slots(operand.second)
        case AddressOperand():
            return frozenset(slot for item in (operand.base, *operand.rest) for slot in collect_slots(item))
        case _:
            return frozenset()


def watch_registers(code: Code) -> None:
    """Make statements that access registers of a wgmma report to the queues; once per function."""
    if code.watched:
        return
    code.watched = True
    statements = code.function.statements
    watched: set[int] = set()
    for statement in statements:
        if statement.words[:2] == ("wgmma", "mma_async"):
            watched |= collect_slots(statement.operand(0))
            if isinstance(statement.operand(1), VectorOperand):
                watched |= collect_slots(statement.operand(1))
    for number, statement in enumerate(statements):
        if statement.words[0] == "wgmma":
            continue
        slots = frozenset(slot for operand in statement.operands for slot in collect_slots(operand)) & watched
        if slots:
            has_result = statement.words[0] not in _NO_RESULT and bool(statement.operands)
            written = collect_slots(statement.operand(0)) & slots if has_result else frozenset()
            code.steps[number] = _watch(code, number, frozenset(slots), frozenset(written))


def _watch(code: Code, number: int, slots: Slots, written: Slots) -> Action:
    statement, inner = code.function.statements[number], code.steps[number]
    guard = statement.guard

    def step(group: Group) -> None:
        nonlocal inner
        active = True
        if guard is not None:
            active = bool((group.frame.registers[guard.register.slot][group.threads] ^ guard.negated).any())
        if active and "wgmma" in group.block.state:
            get_queues(group.block).touch(group, statement, slots, written)
        try:
            inner(group)
        finally:
            if code.steps[number] is not step:  # set on a statement's first execution
                inner, code.steps[number] = code.steps[number], step

    return step
