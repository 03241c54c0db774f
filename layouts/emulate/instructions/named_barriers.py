"""Barriers of a CTA by number: bar and barrier, with sync, arrive and red. PTX ISA 9.1, 9.7.13.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.state.block import Group, NamedBarrier, Wait, simplify
from lanescope.emulate.state.memory import FaultError
from lanescope.emulate.text.program import Statement
from lanescope.ptx.register_types import TYPES
from lanescope.ptx.threads import WARP

Array = NDArray[Any]
Ids = NDArray[np.int64]
Deliver = Callable[[Ids, Array], None]  # gives threads the result of a phase: [votes for, votes]
_U32, _PRED = TYPES["u32"], TYPES["pred"]
_MOST = 16  # barriers of a CTA


@instruction(
    "bar.sync",
    "bar.cta.sync",
    "barrier.sync",
    "barrier.cta.sync",
    "bar.arrive",
    "bar.cta.arrive",
    "barrier.arrive",
    "barrier.cta.arrive",
)
def build_barrier(compiler: Compiler, statement: Statement) -> Action:
    """Build bar.sync and bar.arrive: a phase ends when the expected number of threads have arrived."""
    _check_words(statement, ("sync", "arrive"))
    number = compiler.read(statement.operand(0), _U32)
    count = compiler.read(statement.operand(1), _U32) if len(statement.operands) > 1 else None
    waits = statement.has("sync")

    def arrive(group: Group) -> None:
        identities = np.broadcast_to(number(group), (group.count,)).astype(np.int64)
        counts = np.broadcast_to(count(group) if count else np.zeros((), np.int64), (group.count,)).astype(np.int64)
        arrive_at_barriers(group, identities, counts, waits)

    return arrive


def _check_words(statement: Statement, modes: tuple[str, ...]) -> None:
    for word in statement.words[1:]:
        if word not in (*modes, "cta", "aligned"):
            raise UnknownInstructionError(statement)


@instruction("bar.red", "bar.cta.red", "barrier.red", "barrier.cta.red")
def build_reduction(compiler: Compiler, statement: Statement) -> Action:
    """Build bar.red: wait, then return how many of the threads' predicates are true, or whether all or any are."""
    _check_words(statement, ("red", "popc", "and", "or", "u32", "pred"))
    target, identity, *rest = statement.take(3, more=True)
    mode = statement.find_word(("popc", "and", "or"))
    number, predicate = compiler.read(identity, _U32), compiler.read(rest[-1], _PRED)
    count = compiler.read(rest[0], _U32) if len(rest) > 1 else None
    write = compiler.write(target, _U32 if mode == "popc" else _PRED)

    def reduce(group: Group) -> None:
        identities = np.broadcast_to(number(group), (group.count,)).astype(np.int64)
        counts = np.broadcast_to(count(group) if count else np.zeros((), np.int64), (group.count,)).astype(np.int64)
        block, frame = group.block, group.frame

        def deliver(ids: Ids, outcome: Array) -> None:
            value = outcome[0] if mode == "popc" else outcome[0] == outcome[1] if mode == "and" else outcome[0] > 0
            write(Group(block, frame, simplify(ids)), np.asarray(value))

        votes = np.broadcast_to(predicate(group), (group.count,)).copy()
        arrive_at_barriers(group, identities, counts, True, (votes, deliver))

    return reduce


def arrive_at_barriers(
    group: Group, identities: Ids, counts: Ids, waits: bool, reduction: tuple[Array, Deliver] | None = None
) -> None:
    """Arrive at named barriers, [threads]; threads that wait are suspended until the phase of their barrier ends.

    counts: expected threads of a phase, 0 for all of the block. reduction: the votes, and the function that receives
    the result.
    """
    if len(identities) and int(identities.max()) >= _MOST:
        raise FaultError("bad_barrier", f"There is no barrier {int(identities.max())}: a CTA has {_MOST}.")
    ids, machine, block = group.ids, group.run.machine, group.block
    open_phases: list[tuple[NamedBarrier, int, int, Ids]] = []
    keys = identities << 32 | counts
    for key in np.unique(keys):
        identity, expected = int(key) >> 32, int(key) & 0xFFFFFFFF
        barrier = block.barriers.setdefault(identity, NamedBarrier())
        left = ids[keys == key]
        while len(left):
            before = left
            left, phase, arrived = _arrive(group, barrier, identity, expected, left)
            if reduction:
                barrier.votes.append(reduction[0][np.isin(ids, arrived)])
            _end_phase(group, barrier)
            if reduction and barrier.phase != phase:
                reduction[1](arrived, barrier.outcome[phase])
            if len(left) == len(before):
                break
            if waits and barrier.phase == phase:
                open_phases.append((barrier, identity, phase, arrived))
        machine.log("barrier", group, barrier=identity, waits=waits)
    block.synced[ids] = machine.steps
    machine.version += 1
    _wait_for_phases(group, open_phases, reduction[1] if reduction else None)


def _wait_for_phases(
    group: Group, open_phases: list[tuple[NamedBarrier, int, int, Ids]], deliver: Deliver | None
) -> None:
    """Suspend threads until the phases they arrived at end.

    The group itself waits for the last one if none of it continues.
    """
    parked = sum(len(arrived) for *_, arrived in open_phases)
    for number, (barrier, identity, phase, arrived) in enumerate(open_phases):
        wait = _make_barrier_wait(group, barrier, identity, phase)
        if deliver:
            _deliver_when_ready(wait, barrier, phase, arrived, deliver)
        if parked == len(group.ids) and number == len(open_phases) - 1:
            group.wait = wait
        else:
            group.run.machine.park(group, arrived, wait)


def _arrive(
    group: Group, barrier: NamedBarrier, identity: int, expected: int, ids: NDArray[np.int64]
) -> tuple[NDArray[np.int64], int, NDArray[np.int64]]:
    """Count arrivals until a phase ends; return the remaining threads, and the phase with the threads that arrived."""
    if expected % WARP:
        raise FaultError(
            "bad_barrier", f"Barrier {identity} is to wait for {expected} threads, which is not a multiple of {WARP}."
        )
    if barrier.arrived and barrier.expected and expected and barrier.expected != expected:
        group.run.machine.report(
            "barrier_count",
            f"Barrier {identity} expects {expected} threads here and {barrier.expected} elsewhere in the same phase",
            group.statement,
        )
    barrier.expected = expected
    room = (expected or int(group.block.live.sum())) - barrier.arrived
    phase = barrier.phase
    weights = _count_arrivals(group, ids) if expected else np.ones(len(ids), np.int64)
    arrived = ids[np.cumsum(weights) <= room]
    barrier.arrived += int(weights[: len(arrived)].sum())
    barrier.groups.append((group.statement, tuple(int(warp) for warp in np.unique(arrived // WARP))))
    return ids[len(arrived) :], phase, arrived


def _count_arrivals(group: Group, ids: Ids) -> Ids:
    """Return the arrivals that each thread counts as: a warp of which all live threads arrive counts as 32."""
    block = group.block
    warps = ids // WARP
    weights = np.ones(len(ids), np.int64)
    arriving = np.bincount(warps, minlength=block.padded // WARP)
    live = block.live.reshape(-1, WARP).sum(axis=1)
    partial_warps = np.flatnonzero((arriving == live) & (arriving > 0) & (arriving < WARP))
    for warp in partial_warps:
        weights[np.flatnonzero(warps == warp)[-1]] += WARP - arriving[warp]
    return weights


def _end_phase(group: Group, barrier: NamedBarrier) -> bool:
    """Begin the next phase of a barrier if all have arrived; return whether it began."""
    if barrier.arrived < (barrier.expected or int(group.block.live.sum())):
        return False
    if barrier.votes:
        votes = np.concatenate(barrier.votes)
        barrier.outcome[barrier.phase] = np.array([int(votes.sum()), len(votes)])
        barrier.outcome.pop(barrier.phase - _MOST, None)
        barrier.votes = []
    barrier.phase += 1
    barrier.arrived, barrier.groups = 0, []
    group.run.machine.version += 1
    return True


def _make_barrier_wait(group: Group, barrier: NamedBarrier, identity: int, phase: int) -> Wait:
    def ready() -> bool:
        return barrier.phase != phase or _end_phase(group, barrier)

    return Wait("barrier", f"barrier {identity}", ready, {"barrier": identity, "phase": phase})


def _deliver_when_ready(wait: Wait, barrier: NamedBarrier, phase: int, ids: Ids, deliver: Deliver) -> None:
    """Give threads the result when their phase has ended."""
    over = wait.ready

    def ready() -> bool:
        if not over():
            return False
        deliver(ids, barrier.outcome[phase])
        return True

    wait.ready = ready
