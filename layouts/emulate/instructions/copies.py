"""cp.async and its groups. PTX ISA 9.1, 9.7.9.25.3 and 9.7.13.15.15."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.instructions.async_work import Issuer, commit_group, submit_to_group, wait_for_groups
from lanescope.emulate.instructions.mbarriers import arrive_on, check_words, find_shared_space
from lanescope.emulate.machine import PendingWork
from lanescope.emulate.state.block import Block, Group
from lanescope.emulate.state.mbarrier_state import MOST_COUNT, get_mbarrier, split_addresses, write_word
from lanescope.emulate.state.memory import FaultError
from lanescope.emulate.text.program import Immediate, NegatedOperand, Operand, Register, RemainingOperands, Statement
from lanescope.ptx.register_types import TYPES

KIND = "cp.async"
PREFETCH = ("L2::64B", "L2::128B", "L2::256B")
_U32, _PRED = TYPES["u32"], TYPES["pred"]
_DTYPES: dict[int, np.dtype[Any]] = {4: np.dtype(np.uint32), 8: np.dtype(np.uint64), 16: np.dtype(np.uint64)}


def _is_predicate(operand: Operand) -> bool:
    return isinstance(operand, NegatedOperand) or (isinstance(operand, Register) and operand.type.kind == "pred")


@instruction("cp.async.ca", "cp.async.cg")
def build_copy(compiler: Compiler, statement: Statement) -> Action:
    """Build cp.async: 4, 8 or 16 bytes per thread.

    Bytes beyond src-size become zero, all do if the source is ignored.
    """
    check_words(statement, 3, ("shared", "shared::cta"), ("global",), ("L2::cache_hint",), PREFETCH)
    operands = RemainingOperands(statement.operands)
    if statement.has("L2::cache_hint"):
        operands.pop()
    target, source, size = operands.pop(0), operands.pop(0), operands.pop(0)
    rest = operands
    if not isinstance(size, Immediate) or size.value not in (4, 8, 16) or len(rest) > 1:
        raise UnknownInstructionError(statement, f"{statement.opcode} of these operands")
    if statement.words[2] == "cg" and size.value != 16:
        raise UnknownInstructionError(statement, f"cp.async.cg copies 16 bytes, not {size.value}")
    if not statement.has("global"):
        raise UnknownInstructionError(statement)
    count = int(size.value)
    to, origin = compiler.read_address(target), compiler.read_address(source)
    ignored = compiler.read(rest[0], _PRED) if rest and _is_predicate(rest[0]) else None
    lengths = compiler.read(rest[0], _U32) if rest and ignored is None else None

    def copy(group: Group) -> None:
        sizes = np.full(group.count, count, np.int64)
        if ignored is not None:
            sizes[np.broadcast_to(ignored(group), (group.count,))] = 0
        elif lengths is not None:
            sizes[:] = lengths(group)
            if (sizes > count).any():
                raise FaultError(
                    "copy_size",
                    f"The src-size of cp.async is {int(sizes.max())}; it must be at most its cp-size, {count}.",
                )
        issue(group, to(group).copy(), origin(group).copy(), count, sizes)

    return copy


def issue(
    group: Group, targets: NDArray[np.int64], sources: NDArray[np.int64], count: int, sizes: NDArray[np.int64]
) -> None:
    """Issue one copy per thread.

    count: bytes that each copy writes; sizes: how many of them it reads, the others become zero.
    """
    issuer, memory = Issuer(group, proxy="generic"), group.memory
    dtype = _DTYPES[count]
    lanes = count // dtype.itemsize
    for addresses, what in ((targets, "shared"), (sources, "global")):
        wrong = addresses & (count - 1)
        if wrong.any():
            address = int(addresses[np.flatnonzero(wrong)[0]])
            raise FaultError("misaligned", f"cp.async: {what} address {address:#x} is not aligned to {count} bytes.")

    def run() -> None:
        values = np.zeros((len(sizes), lanes), dtype)
        raw = values.view(np.uint8)
        for size in [int(size_read) for size_read in np.unique(sizes[sizes > 0])]:
            chosen = np.flatnonzero(sizes == size)
            part = Issuer(issuer, chosen, "generic")
            for inner, allocation, offsets in memory.resolve(
                part, "global", sources[chosen], size, writes=False, align=1
            ):
                rows = chosen if inner is None else chosen[inner]
                raw[rows, :size] = allocation.data[offsets[:, None] + np.arange(size)]
        memory.store(issuer, "shared", targets, values)

    submit_to_group(group, KIND, issuer.ids, run, lambda: None)
    group.run.machine.log("cp_async", group, bytes=int(sizes.sum()))


@instruction("cp.async.commit_group")
def build_commit(compiler: Compiler, statement: Statement) -> Action:
    check_words(statement, 3)
    return lambda group: commit_group(group, KIND)


@instruction("cp.async.wait_group")
def build_wait(compiler: Compiler, statement: Statement) -> Action:
    check_words(statement, 3)
    count = statement.operand(0)
    if not isinstance(count, Immediate):
        raise UnknownInstructionError(statement, "cp.async.wait_group without a constant")
    number = int(count.value)
    return lambda group: wait_for_groups(group, KIND, number)


@instruction("cp.async.wait_all")
def build_wait_all(compiler: Compiler, statement: Statement) -> Action:
    check_words(statement, 3)

    def wait(group: Group) -> None:
        commit_group(group, KIND)
        wait_for_groups(group, KIND, 0)

    return wait


@instruction("cp.async.mbarrier.arrive")
def build_arrival(compiler: Compiler, statement: Statement) -> Action:
    """Build cp.async.mbarrier.arrive: arrive once the thread's previous copies have completed."""
    check_words(statement, 4, ("noinc",), ("shared", "shared::cta"), ("b64",))
    space, read = find_shared_space(statement), compiler.read_address(statement.operand(0))
    adds = not statement.has("noinc")

    def arrive(group: Group) -> None:
        for block, offset, chosen in split_addresses(group, space, read(group)):
            if block is not group.block:
                raise FaultError(
                    "remote_mbarrier", f"{statement.opcode} of an mbarrier in another CTA's shared memory."
                )
            if adds:
                _raise_pending(block, offset, len(chosen))
            issuer = Issuer(group, chosen, "generic")
            _submit_arrival(issuer, block, offset)

    return arrive


def _raise_pending(block: Block, offset: int, count: int) -> None:
    barrier = get_mbarrier(block, offset)
    if barrier.pending + count > MOST_COUNT:
        raise FaultError(
            "mbarrier_count", f"The pending count of the mbarrier at {barrier.address:#x} exceeds {MOST_COUNT:,}."
        )
    barrier.pending += count
    write_word(block.shared, offset, barrier.word)


def _submit_arrival(issuer: Issuer, block: Block, offset: int) -> None:
    machine, ids = block.run.machine, issuer.ids
    waiting = np.zeros(block.padded, bool)
    waiting[ids] = True
    before = [
        work
        for work in machine.pending
        if work.block is block and work.kind == KIND and waiting[work.keys["ids"]].any()
    ]

    def run() -> None:
        for work in before:
            if work in machine.pending:
                machine.settle(work)
        arrive_on(issuer, block, offset, ids, np.ones(len(ids), np.int64))

    machine.submit(PendingWork("cp.async.mbarrier.arrive", run, block, issuer.statement, {"mbarrier": offset}))
