"""Bulk copies and reductions of linear memory, their groups, and prefetches. PTX ISA 9.1, 9.7.9.25.4 and 9.7.9.27.2."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.instructions.async_work import (
    Bytes,
    Issuer,
    commit_group,
    load_bytes,
    resolve_run,
    store_bytes,
    submit_to_group,
    wait_for_groups,
)
from lanescope.emulate.instructions.mbarriers import check_words
from lanescope.emulate.instructions.reductions import OPERATIONS, check_reduction, reduce_bytes
from lanescope.emulate.machine import PendingWork
from lanescope.emulate.state.block import Group
from lanescope.emulate.state.mbarrier_state import complete_bytes, split_addresses
from lanescope.emulate.state.memory import OFFSET_MASK, RANK_SHIFT, FaultError, truncate_address
from lanescope.emulate.text.program import Immediate, Operand, RemainingOperands, Statement
from lanescope.ptx.register_types import TYPES

KIND = "bulk"
COMPLETION = ("mbarrier::complete_tx::bytes", "bulk_group")
HINT, MULTICAST = "L2::cache_hint", "multicast::cluster"
_U16, _U32 = TYPES["u16"], TYPES["u32"]
_SHARED, _CLUSTER, _GLOBAL = "shared::cta", "shared::cluster", "global"
SPACES = (_SHARED, _CLUSTER, _GLOBAL)


def split_spaces(statement: Statement) -> tuple[str, str]:
    """Return (state space of the destination, that of the source)."""
    found = [word for word in statement.words if word in SPACES]
    if len(found) != 2:
        raise UnknownInstructionError(statement)
    return found[0], found[1]


def read_scalars(read: Callable[[Group], Any], group: Group) -> NDArray[np.int64]:
    """Return an operand's value in each thread."""
    return np.broadcast_to(np.asarray(read(group)), (group.count,)).astype(np.int64)


@instruction("cp.async.bulk", "cp.reduce.async.bulk")
def build_copy(compiler: Compiler, statement: Statement) -> Action:
    """Build cp.async.bulk and cp.reduce.async.bulk: a copy or reduction of consecutive bytes."""
    first = 4 if statement.words[1] == "reduce" else 3
    reduces = first == 4
    operations = OPERATIONS if reduces else ()
    types = ("f16", "bf16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64") if reduces else ()
    words = [word for word in statement.words[first:] if word not in SPACES]
    named = Statement((*statement.words[:first], *words), statement.operands, None, statement.line, statement.place)
    masks = ("cp_mask",) if not reduces else ("noftz",)
    check_words(named, first, COMPLETION, (HINT,), (MULTICAST,), masks, operations, types)
    target, source = split_spaces(statement)
    if statement.has("cp_mask"):
        raise UnknownInstructionError(statement)
    operands = RemainingOperands(statement.operands)
    if statement.has(HINT):
        operands.pop()
    change = None
    if reduces:
        change = make_reduction(statement, statement.find_word(OPERATIONS), statement.words[-1])
    if statement.has(COMPLETION[0]):
        return _build_with_mbarrier(compiler, statement, (target, source), operands, change)
    if (target, source) != (_GLOBAL, _SHARED) or not statement.has("bulk_group") or len(operands) != 3:
        raise UnknownInstructionError(statement)
    return _build_with_group(compiler, operands, change)


Change = Callable[[Bytes, Bytes], Bytes]


def make_reduction(statement: Statement, operation: str, name: str) -> Change:
    """Return a function of (old bytes, source bytes) that returns the reduced bytes."""
    kind = check_reduction(statement, operation, name)
    return lambda old, values: reduce_bytes(statement, operation, kind, old, values)


def _check_run(statement: Statement, target: int, source: int, size: int) -> None:
    if not size:
        raise UnknownInstructionError(statement, f"{statement.opcode} of 0 bytes is not emulated")
    if size % 16:
        raise FaultError("copy_size", f"{statement.opcode} copies {size:,} bytes, which is not a multiple of 16.")
    for address, what in ((target, "destination"), (source, "source")):
        if address % 16:
            raise FaultError("misaligned", f"{statement.opcode}: the {what} {address:#x} is not aligned to 16 bytes.")


def _build_with_mbarrier(
    compiler: Compiler, statement: Statement, spaces: tuple[str, str], operands: list[Operand], change: Change | None
) -> Action:
    legal = {(_SHARED, _GLOBAL), (_CLUSTER, _GLOBAL), (_CLUSTER, _SHARED)}
    multicast = statement.has(MULTICAST)
    allowed = spaces in legal and (change is None or spaces == (_CLUSTER, _SHARED))
    if not allowed or len(operands) != 4 + multicast or (multicast and spaces != (_CLUSTER, _GLOBAL)):
        raise UnknownInstructionError(statement)
    readers = [compiler.read_address(operands[0]), compiler.read_address(operands[1])]
    sizes, barriers = compiler.read(operands[2], _U32), compiler.read_address(operands[3])
    masks = compiler.read(operands[4], _U16) if multicast else None
    origin = "global" if spaces[1] == _GLOBAL else "shared"

    def copy(group: Group) -> None:
        values = [read_scalars(reader, group) for reader in (*readers, sizes, barriers)]
        masked = read_scalars(masks, group) if masks is not None else None
        for n in range(group.count):
            target, source, size, barrier = (int(value[n]) for value in values)
            _check_run(statement, target, source, size)
            issuer = Issuer(group, np.array([n]))
            ranks = list_ranks(issuer, int(masked[n])) if masked is not None else None
            submit_load(
                issuer,
                (target, barrier, ranks),
                size,
                partial(load_bytes, issuer, origin, source, size),
                partial(_store, space=_CLUSTER, change=change),
            )

    return copy


def _store(issuer: Group, place: int, data: Bytes, space: str, change: Change | None) -> None:
    if change is None:
        store_bytes(issuer, space, place, data)
        return
    allocation, first = resolve_run(issuer, space, place, data.size)
    allocation.data[first : first + data.size] = change(allocation.data[first : first + data.size], data)


def list_ranks(issuer: Group, mask: int) -> list[int]:
    """Return the CTA ranks in a multicast mask; FaultError for one outside the cluster."""
    ranks = [rank for rank in range(16) if mask >> rank & 1]
    size = len(issuer.run.blocks)
    if not ranks or ranks[-1] >= size:
        raise FaultError(
            "multicast_mask", f"The mask {mask:#06x} of a multicast names CTAs beyond the {size} of the cluster."
        )
    return ranks


def submit_load(
    issuer: Issuer,
    place: tuple[int, int, list[int] | None],
    size: int,
    read: Callable[[], Bytes],
    write: Callable[[Group, int, Bytes], None],
    pair: bool = False,
) -> None:
    """Issue a copy to shared memory that completes bytes on mbarriers.

    place: addresses of destination and mbarrier, in shared::cluster, and the ranks of a multicast; pair: whether the
    mbarrier may be in the other CTA of a pair (.cta_group::2).
    """
    target, barrier, ranks = truncate_address(place[0]), truncate_address(place[1]), place[2]
    target_rank, barrier_rank = target >> RANK_SHIFT, barrier >> RANK_SHIFT
    statement, block, machine = issuer.statement, issuer.block, issuer.run.machine
    if barrier_rank != target_rank and not (pair and barrier_rank ^ target_rank == 1):
        raise FaultError(
            "remote_mbarrier",
            f"{statement.opcode} copies to CTA {target_rank} of the cluster and signals an mbarrier of CTA"
            f" {barrier_rank}; both have to be in the same CTA.",
        )
    pairs = [(target, barrier)]
    if ranks is not None:
        side = barrier_rank & 1
        pairs = [
            (
                (rank << RANK_SHIFT) | (target & OFFSET_MASK),
                ((rank & ~1 | side if pair else rank) << RANK_SHIFT) | (barrier & OFFSET_MASK),
            )
            for rank in ranks
        ]

    def run() -> None:
        data = read()
        for destination, signal in pairs:
            write(issuer, destination, data)
            for owner, offset, _ in split_addresses(issuer, _CLUSTER, np.array([signal], np.int64)):
                complete_bytes(owner, offset, size, block, statement)

    keys: dict[str, Any] = {"mbarriers": [signal for _, signal in pairs], "bytes": size, "ids": issuer.ids}
    machine.log("tma_load", issuer, bytes=size, mbarrier=barrier & OFFSET_MASK, ranks=ranks)
    machine.submit(PendingWork("tma_load", run, block, statement, keys))


def _build_with_group(compiler: Compiler, operands: list[Operand], change: Change | None) -> Action:
    readers = [compiler.read_address(operands[0]), compiler.read_address(operands[1])]
    sizes = compiler.read(operands[2], _U32)

    def copy(group: Group) -> None:
        values = [read_scalars(reader, group) for reader in (*readers, sizes)]
        for n in range(group.count):
            target, source, size = (int(value[n]) for value in values)
            _check_run(group.statement, target, source, size)
            issuer = Issuer(group, np.array([n]))
            submit_store(
                issuer,
                size,
                partial(load_bytes, issuer, "shared", source, size),
                partial(_store, issuer, target, space="global", change=change),
            )

    return copy


def submit_store(issuer: Issuer, size: int, read: Callable[[], Bytes], write: Callable[[Bytes], None]) -> None:
    """Issue a copy from shared to global memory, tracked by a bulk group."""
    taken: list[Bytes] = []

    def take() -> None:
        if not taken:
            taken.append(read())

    def run() -> None:
        take()
        write(taken[0])

    issuer.run.machine.log("tma_store", issuer, bytes=size)
    submit_to_group(issuer, KIND, issuer.ids, run, take)


@instruction("cp.async.bulk.commit_group")
def build_commit(compiler: Compiler, statement: Statement) -> Action:
    check_words(statement, 4)
    return lambda group: commit_group(group, KIND)


@instruction("cp.async.bulk.wait_group")
def build_wait(compiler: Compiler, statement: Statement) -> Action:
    check_words(statement, 4, ("read",))
    count = statement.operand(0)
    if not isinstance(count, Immediate):
        raise UnknownInstructionError(statement, "cp.async.bulk.wait_group without a constant")
    number, reads = int(count.value), statement.has("read")
    return lambda group: wait_for_groups(group, KIND, number, reads)


@instruction("cp.async.bulk.prefetch")
def build_prefetch(compiler: Compiler, statement: Statement) -> Action:
    """Build a prefetch, which changes nothing."""
    return lambda group: None
