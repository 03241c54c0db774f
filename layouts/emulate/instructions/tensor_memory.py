"""tcgen05: tensor memory, its allocation, loads, stores and copies. PTX ISA 9.1, 9.7.16.

From the documentation; tcgen05 was not run on hardware.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.blackwell import transfers
from lanescope.blackwell.tmem import COLUMNS, LANES, QUARTER, TensorAccess, parse_access
from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.machine import PendingWork
from lanescope.emulate.state.block import Block, Group
from lanescope.emulate.state.memory import FaultError
from lanescope.emulate.text.program import Immediate, Statement, VectorOperand, require_address
from lanescope.errors import LayoutError
from lanescope.ptx.register_types import TYPES
from lanescope.ptx.table.tmem import LEAST_ALLOCATION
from lanescope.ptx.threads import WARP

Array = NDArray[Any]
_U32, _U64 = TYPES["u32"], TYPES["u64"]
_MOVE_WORDS = {"sync", "aligned", "b32", "pack::16b", "unpack::16b"}
KIND = "tcgen05"  # of pending work


class TensorMemory:
    """The tensor memory of a CTA.

    cells: uint32 [lanes, columns]; owner: number of the allocation of each column, 0 if free.
    """

    def __init__(self, cells: Array) -> None:
        self.cells = cells
        self.owner = np.zeros(COLUMNS, np.int64)
        self.allocations = 0
        self.may_allocate = True

    def find_room(self, columns: int) -> int:
        """Return the first free column range aligned to its length, -1 if there is none."""
        starts = range(0, COLUMNS - columns + 1, columns)
        return next((start for start in starts if not self.owner[start : start + columns].any()), -1)


def get_tensor_memory(block: Block) -> TensorMemory:
    """Return a CTA's tensor memory; the CTAs of a pair share one array, so a product accesses both."""
    if KIND not in block.state:
        pair = [other for other in block.run.blocks if other.rank | 1 == block.rank | 1]
        cells = np.zeros((2, LANES, COLUMNS), np.uint32)
        for member in pair:
            member.state[KIND] = TensorMemory(cells[member.rank & 1])
    memory: TensorMemory = block.state[KIND]
    return memory


def get_pair(block: Block) -> list[Block]:
    """Return the CTAs of a block's pair, the even one first."""
    return [member for member in block.run.blocks if member.rank | 1 == block.rank | 1]


def _check_words(statement: Statement, allowed: set[str]) -> None:
    unknown = [word for word in statement.words[2:] if word not in allowed]
    if unknown:
        raise UnknownInstructionError(statement, f"{statement.opcode} is not emulated: .{unknown[0]}")


_ALLOCATION_WORDS = {"cta_group::1", "cta_group::2", "sync", "aligned", "shared::cta", "b32"}


@instruction("tcgen05.alloc")
def build_allocation(compiler: Compiler, statement: Statement) -> Action:
    """Build tcgen05.alloc: allocate columns and write their address to shared memory; wait until enough are free."""
    _check_words(statement, _ALLOCATION_WORDS)
    target, count = statement.take(2)
    to, columns_of = compiler.read_address(target), compiler.read(count, _U32)
    space = "shared" if statement.has("shared::cta") else ""

    def allocate(group: Group) -> None:
        for warp in group.take_complete_warps():
            _allocate(group.select(group.ids // WARP == warp), to, columns_of, space)

    return allocate


def _allocate(group: Group, to: Any, columns_of: Any, space: str) -> None:
    memory = get_tensor_memory(group.block)
    columns = int(np.asarray(columns_of(group)).flat[0])
    if columns < LEAST_ALLOCATION or columns > COLUMNS or columns & (columns - 1):
        raise FaultError(
            "bad_allocation",
            f"tcgen05.alloc of {columns} columns; it must be a power of two from {LEAST_ALLOCATION} to {COLUMNS}.",
        )
    if not memory.may_allocate:
        raise FaultError("bad_allocation", "tcgen05.alloc after tcgen05.relinquish_alloc_permit of the same CTA.")
    start = memory.find_room(columns)
    if start < 0:
        raise FaultError(
            "tensor_memory_full",
            f"tcgen05.alloc of {columns} columns waits forever: this CTA has allocated"
            f" {int((memory.owner != 0).sum())} of {COLUMNS} columns.",
        )
    memory.allocations += 1
    memory.owner[start : start + columns] = memory.allocations
    group.memory.store(group, space, to(group), np.full((group.count, 1), start, np.uint32))
    machine = group.run.machine
    machine.version += 1
    machine.log("tensor_alloc", group, column=start, columns=columns)


@instruction("tcgen05.dealloc")
def build_release(compiler: Compiler, statement: Statement) -> Action:
    _check_words(statement, _ALLOCATION_WORDS)
    address, count = (compiler.read(operand, _U32) for operand in statement.take(2))

    def release(group: Group) -> None:
        for warp in group.take_complete_warps():
            part = group.select(group.ids // WARP == warp)
            first = int(np.asarray(address(part)).flat[0])
            columns = int(np.asarray(count(part)).flat[0])
            memory = get_tensor_memory(part.block)
            start = first & 0xFFFF
            owners = memory.owner[start : start + columns]
            is_allocation = len(owners) == columns and owners.all() and (memory.owner == owners[0]).sum() == columns
            if not is_allocation or (owners != owners[0]).any() or first >> 16:
                raise FaultError(
                    "bad_allocation",
                    f"tcgen05.dealloc of {columns} columns from {first:#x}, which is not an allocation.",
                )
            memory.owner[start : start + columns] = 0

    return release


@instruction("tcgen05.relinquish_alloc_permit")
def build_relinquish(compiler: Compiler, statement: Statement) -> Action:
    _check_words(statement, _ALLOCATION_WORDS)

    def relinquish(group: Group) -> None:
        get_tensor_memory(group.block).may_allocate = False

    return relinquish


@instruction("tcgen05.fence", "tcgen05.fence::before_thread_sync", "tcgen05.fence::after_thread_sync")
def build_fence(compiler: Compiler, statement: Statement) -> Action:
    return lambda group: None


@instruction("tcgen05.wait::ld", "tcgen05.wait::st")
def build_wait(compiler: Compiler, statement: Statement) -> Action:
    """Build tcgen05.wait, a no-op: loads and stores of tensor memory complete when they are issued."""
    return lambda group: None


def check_cells(group: Group, memory: TensorMemory, address: int, columns: int, what: str) -> None:
    """Report columns that are not allocated; raise FaultError for those that do not exist."""
    first, last = address & 0xFFFF, (address & 0xFFFF) + columns
    if last > COLUMNS or address >> 16 >= LANES:
        raise FaultError(
            "out_of_bounds", f"{what} at {address:#x} accesses columns {first} to {last - 1} of {COLUMNS}."
        )
    if not memory.owner[first:last].all():
        group.run.machine.report(
            "tensor_memory_unallocated",
            f"{what} at {address:#x} accesses columns {first} to {last - 1}, not all of which are allocated",
            group.statement,
        )


@instruction("tcgen05.ld", "tcgen05.st")
def build_transfer(compiler: Compiler, statement: Statement) -> Action:
    """Build tcgen05.ld and .st: each warp accesses its own quarter of the lanes."""
    loads = statement.words[1] == "ld"
    address, registers = (statement.operand(n) for n in ((1, 0) if loads else (0, -1)))
    split = 0
    middle = statement.operands[2 if loads else 1 : None if loads else -1]
    if middle:
        if len(middle) != 1 or not isinstance(middle[0], Immediate):
            raise UnknownInstructionError(statement, f"{statement.opcode} with these operands")
        split = int(middle[0].value)
    try:
        access = parse_access(statement.opcode, split)
    except LayoutError as error:
        raise UnknownInstructionError(statement, error.message) from None
    repeats = [word for word in statement.words if word[:1] == "x" and word[1:].isdigit()]
    if not repeats:
        raise UnknownInstructionError(statement, f"{statement.opcode} names no number of repetitions")
    _check_words(statement, {*_MOVE_WORDS, access.shape, repeats[0]})
    if not isinstance(registers, VectorOperand):
        registers = VectorOperand((registers,))
    if len(registers.items) != access.registers:
        raise UnknownInstructionError(statement, f"{statement.opcode} with {len(registers.items)} registers")
    place = compiler.read_address(address)
    move = compiler.write_all(registers, _U32) if loads else compiler.read_all(registers, _U32)
    return lambda group: _transfer(group, access, place(group), move, loads)


def _drop_rank(block: Block, address: int) -> int:
    """Return an address without the 128 lanes that kernels add in the odd CTA of a pair.

    gau-nernst/learn-cuda, 02e_matmul_sm100/matmul_v5.cu, adds them, and was run on a B200.
    """
    return address & ~(LANES << 16) if block.run.is_cluster and block.rank & 1 else address


def _transfer(group: Group, access: TensorAccess, addresses: Array, move: Any, loads: bool) -> None:
    memory = get_tensor_memory(group.block)
    group.run.machine.settle_all(lambda work: work.kind == KIND and work.keys.get("private", False))
    warps = group.take_complete_warps()
    values = np.empty((group.count, access.registers), np.uint32) if loads else move(group)
    for number, warp in enumerate(warps):
        threads = slice(number * WARP, (number + 1) * WARP)
        address = _drop_rank(group.block, int(addresses[threads][0]))
        quarter, lane = int(warp) % (LANES // QUARTER), address >> 16
        if not QUARTER * quarter <= lane <= QUARTER * (quarter + 1) - access.tall:
            raise FaultError(
                "tensor_memory_lanes",
                f"{group.statement.opcode} of warp {warp} at lane {lane}: it can access only lanes"
                f" {QUARTER * quarter} to {QUARTER * quarter + QUARTER - 1}.",
            )
        half = access.columns // 2
        span = max(half, access.split) + half if access.halves and access.split else access.columns
        check_cells(group, memory, address, span, group.statement.opcode)
        if loads:
            values[threads] = transfers.load_registers(access, memory.cells, lane, address & 0xFFFF)
        else:
            transfers.store_registers(access, memory.cells, lane, address & 0xFFFF, values[threads])
    if loads:
        move(group, values)
    else:
        group.run.machine.version += 1


@instruction("tcgen05.cp")
def build_copy(compiler: Compiler, statement: Statement) -> Action:
    """Build tcgen05.cp: copy a matrix descriptor's data from shared to tensor memory, asynchronously."""
    target, source = statement.take(2)
    require_address(target)
    try:
        access = parse_access(statement.opcode)
    except LayoutError as error:
        raise UnknownInstructionError(statement, error.message) from None
    if access.widened or statement.has("cta_group::2"):
        raise UnknownInstructionError(statement)
    place, word_of = compiler.read_address(target), compiler.read(source, _U64)

    def copy(group: Group) -> None:
        memory, shared = get_tensor_memory(group.block), group.block.shared
        for number in range(group.count):
            address, word = int(place(group)[number]), int(np.broadcast_to(word_of(group), (group.count,))[number])
            check_cells(group, memory, address, access.columns, statement.opcode)

            def run(address: int = address, word: int = word) -> None:
                transfers.copy_from_shared(
                    access, memory.cells, (address >> 16, address & 0xFFFF), shared.data, word, shared.base
                )

            submit(group, run)

    return copy


@instruction("tcgen05.shift")
def build_shift(compiler: Compiler, statement: Statement) -> Action:
    _check_words(statement, {"cta_group::1", "down"})
    place = compiler.read_address(statement.operand(0))
    access = parse_access(statement.opcode)

    def shift(group: Group) -> None:
        memory = get_tensor_memory(group.block)
        for address in place(group):
            column = int(address) & 0xFFFF
            check_cells(group, memory, int(address), access.columns, statement.opcode)
            submit(group, partial(transfers.shift_lanes, access, memory.cells, column))

    return shift


def submit(group: Group, run: Any) -> None:
    """Issue work of the tensor cores, which completes in order of issue, at the latest when its commit arrives."""
    group.run.machine.submit(PendingWork(KIND, run, group.block, group.statement))
