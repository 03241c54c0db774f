"""Clusters: barrier.cluster, st.async, red.async. PTX ISA 9.1, 9.7.13.3, 9.7.9.12 and 9.7.13.7."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.instructions.async_work import Issuer
from lanescope.emulate.instructions.mbarriers import check_words, find_shared_space
from lanescope.emulate.instructions.reductions import OPERATIONS, check_reduction, reduce_bytes
from lanescope.emulate.machine import PendingWork
from lanescope.emulate.state.block import Block, Group, Wait
from lanescope.emulate.state.mbarrier_state import complete_bytes, split_addresses
from lanescope.emulate.state.memory import RANK_SHIFT, SHARED_WINDOW, FaultError, truncate_address
from lanescope.emulate.text.program import AddressOperand, Statement

BARRIER = "cluster_barrier"  # the key in the state of the cluster's first block


@dataclass(slots=True)
class ClusterBarrier:
    """The barrier of a cluster.

    arrived: per rank, the threads in the current phase. waiting: the phase whose end each thread waits for, -1 if it
    has not arrived.
    """

    arrived: list[NDArray[np.bool_]]
    waiting: list[NDArray[np.int64]]
    phase: int = 0
    arrivals: list[tuple[int, Statement, tuple[int, ...]]] = field(default_factory=list)


def get_cluster_barrier(block: Block) -> ClusterBarrier:
    """Return the barrier of a block's cluster."""
    blocks = block.run.blocks
    state = blocks[0].state
    if BARRIER not in state:
        state[BARRIER] = ClusterBarrier(
            [np.zeros(member.padded, bool) for member in blocks],
            [np.full(member.padded, -1, np.int64) for member in blocks],
        )
    barrier: ClusterBarrier = state[BARRIER]
    return barrier


def end_cluster_phase(block: Block) -> None:
    """Begin the barrier's next phase if all threads of the cluster that have not exited have arrived."""
    barrier = get_cluster_barrier(block)
    blocks = block.run.blocks
    if all((barrier.arrived[member.rank] | ~member.live).all() for member in blocks):
        barrier.phase += 1
        barrier.arrivals = []
        for arrived in barrier.arrived:
            arrived[:] = False
        block.run.machine.version += 1


@instruction("barrier.cluster.arrive")
def build_cluster_arrival(compiler: Compiler, statement: Statement) -> Action:
    check_words(statement, 3, ("release", "relaxed"), ("aligned",))
    aligned = statement.has("aligned")

    def arrive(group: Group) -> None:
        if aligned:
            group.take_complete_warps()
        block, ids = group.block, group.ids
        barrier = get_cluster_barrier(block)
        again = barrier.arrived[block.rank][ids]
        if again.any():
            raise FaultError(
                "cluster_barrier",
                f"Thread {int(ids[np.flatnonzero(again)[0]])} arrives twice at the cluster's barrier in one phase.",
            )
        barrier.arrived[block.rank][ids] = True
        barrier.waiting[block.rank][ids] = barrier.phase
        barrier.arrivals.append((block.rank, statement, group.warps))
        block.synced[ids] = group.run.machine.steps
        group.run.machine.version += 1
        group.run.machine.log("cluster_arrive", group, phase=barrier.phase)
        end_cluster_phase(block)

    return arrive


@instruction("barrier.cluster.wait")
def build_cluster_wait(compiler: Compiler, statement: Statement) -> Action:
    check_words(statement, 3, ("acquire",), ("aligned",))
    aligned = statement.has("aligned")

    def wait(group: Group) -> None:
        if aligned:
            group.take_complete_warps()
        block, ids = group.block, group.ids
        barrier = get_cluster_barrier(block)
        phases = barrier.waiting[block.rank][ids]
        if (phases < 0).any():
            raise FaultError(
                "cluster_barrier",
                f"Thread {int(ids[np.flatnonzero(phases < 0)[0]])} waits at the cluster's barrier without an arrival.",
            )
        barrier.waiting[block.rank][ids] = -1
        phase = int(phases.max())

        def ready() -> bool:
            if barrier.phase <= phase:
                end_cluster_phase(block)
            return barrier.phase > phase

        if not ready():
            what = f"phase {phase} of the cluster's barrier"
            group.wait = Wait("cluster_barrier", what, ready, {"phase": phase})

    return wait


def read_shared_address(group: Group, space: str, address: int) -> int:
    """Return a shared::cluster address for one of that space or a generic one; FaultError for other memory."""
    if space:
        return truncate_address(address)
    if not SHARED_WINDOW <= address < SHARED_WINDOW + (16 << RANK_SHIFT):
        raise FaultError("out_of_bounds", f"{group.statement.opcode}: {address:#x} is not in shared memory.")
    return address - SHARED_WINDOW


_TYPES = tuple(f"{kind}{bits}" for kind in "busf" for bits in (32, 64))
_COMPLETION = ("mbarrier::complete_tx::bytes",)


@instruction("st.async", "red.async")
def build_async_store(compiler: Compiler, statement: Statement) -> Action:
    """Build st.async and red.async: a store to another CTA's shared memory, with an mbarrier there."""
    reduces = statement.words[0] == "red"
    operations = OPERATIONS if reduces else ()
    orders = ("relaxed",) if reduces else ("weak",)
    lanes = ("v2", "v4") if not reduces else ()
    check_words(statement, 2, ("shared::cluster",), _COMPLETION, operations, _TYPES, orders, ("cluster",), lanes)
    if not statement.has(_COMPLETION[0]) or len(statement.operands) != 3:
        raise UnknownInstructionError(statement)
    target, source, barrier = statement.take(3)
    if not isinstance(target, AddressOperand) or not isinstance(barrier, AddressOperand):
        raise UnknownInstructionError(statement)
    row = compiler.get_type(statement)
    operation = statement.find_word(OPERATIONS)
    name = check_reduction(statement, operation, row.name) if reduces else ""
    if name in ("b64", "s64", "f32", "f64"):
        raise UnknownInstructionError(statement)
    space = find_shared_space(statement)
    targets, values_of, barriers = (
        compiler.read_address(target),
        compiler.read_all(source, row),
        compiler.read_address(barrier),
    )

    def store(group: Group) -> None:
        places, values, signals = targets(group), values_of(group), barriers(group)
        for n in range(group.count):
            place = read_shared_address(group, space, int(places[n]))
            signal = read_shared_address(group, space, int(signals[n]))
            if place >> RANK_SHIFT != signal >> RANK_SHIFT:
                raise FaultError("remote_mbarrier", f"{statement.opcode} writes to one CTA and signals in another.")
            data = np.ascontiguousarray(values[n : n + 1])
            _submit(Issuer(group, np.array([n])), place, signal, data, (operation, name))

    return store


def _submit(issuer: Issuer, place: int, signal: int, values: NDArray[np.generic], change: tuple[str, str]) -> None:
    machine, block, statement = issuer.run.machine, issuer.block, issuer.statement
    raw = values.view(np.uint8).reshape(-1)
    size, address = raw.size, np.array([place], np.int64)

    def run() -> None:
        for _, allocation, offsets in issuer.memory.resolve(
            issuer, "shared::cluster", address, size, writes=True, align=size
        ):
            first = int(offsets[0])
            part = allocation.data[first : first + size]
            part[:] = reduce_bytes(statement, *change, part, raw) if change[0] else raw
        for owner, offset, _ in split_addresses(issuer, "shared::cluster", np.array([signal], np.int64)):
            complete_bytes(owner, offset, size, block, statement)

    machine.log("st_async", issuer, bytes=size)
    machine.submit(PendingWork("st_async", run, block, statement, {"mbarriers": [signal], "bytes": size}))
