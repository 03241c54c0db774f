"""Products of warps in a run for tiles, the loads of what TMA copies bring to them, and stmatrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.descriptor.matrix import View
from lanescope.reader.threads.barriers.barrier_trace import TraceLostError
from lanescope.reader.threads.language.numbers import ThreadNumber, make_number
from lanescope.reader.threads.language.program import split_operands
from lanescope.reader.threads.memory.records import MmaUse
from lanescope.reader.threads.memory.results import find_instruction
from lanescope.reader.threads.memory.storage import EMPTY, DataBytes, Ints, LoadRecord, Mask
from lanescope.reader.threads.memory.tile_records import BoxRead, TileProduct

if TYPE_CHECKING:
    from lanescope.reader.threads.instructions.asm_code import AsmCode
    from lanescope.reader.threads.runner import KernelRunner


def await_origin(run: KernelRunner, data: DataBytes, places: Ints, mask: Mask) -> tuple[BoxRead, DataBytes]:
    """Return a load of bytes that no thread has stored, and these bytes with a record of their own: a copy may bring
    them. The last event of the trace is that its warps load.
    """
    assert run.barriers is not None
    run.records.append(LoadRecord("", make_number(0)))
    number = len(run.records) - 1
    read = BoxRead(len(run.barriers.events) - 1, mask.copy(), places, data.size, number)
    fresh = (data.record == EMPTY) & mask[:, None]
    lanes, here = np.arange(run.threads)[:, None], np.arange(data.size)
    record, thread = np.where(fresh, number, data.record), np.where(fresh, lanes, data.thread)
    return read, DataBytes(record, thread, np.where(fresh, here, data.byte))


def make_warp_product(number: int, use: MmaUse, added: Any) -> TileProduct:
    """Return an mma of warps, of which the result has a number. added: the first register of C."""
    instruction = find_instruction(use.opcode)
    if instruction is None:
        raise TraceLostError
    bits, (m, n, k) = instruction.operand("a").container_bits, (instruction.sizes[one] for one in "mnk")
    views = {"a": View(m, k, bits, "K"), "b": View(n, k, bits, "K")}
    sites = {name: of[0].load.site if of[0].load is not None else of[0].site for name, of in use.operands}
    of_product = isinstance(added, DataBytes) and bool((added.record[use.active] < 0).all())
    before = added if of_product else None
    return TileProduct(-number - 1, number, use.active, {}, views, before, sites, use.calls, start=use.start, use=use)


def store_matrices(code: AsmCode, opcode: str, operands: Sequence[str]) -> None:
    """Execute stmatrix.

    Lanes 8·i to 8·i + 7 give the addresses of the rows of matrix i (PTX ISA 9.1, 9.7.14.5.16, stmatrix).
    """
    run = code.run
    address = code.get_shared_address(operands[0])
    registers = [code.get_value(token) for token in split_operands(operands[1].strip("{} "))]
    known = all(isinstance(one, DataBytes) and one.size == 4 for one in registers)
    if not isinstance(address, ThreadNumber) or address.const is None or not known or "m8n8" not in opcode:
        raise TraceLostError
    lanes = np.arange(run.threads)
    warp, matrix, row = lanes // 32 * 32, lanes % 32 // 8, lanes % 8
    outer, mask = run.mask, run.mask & (matrix < len(registers))
    source, byte = _find_row_elements(warp, row, ".trans" in opcode)
    number = np.minimum(matrix, len(registers) - 1)[:, None]
    parts = []
    for name in ("record", "thread", "byte"):
        stacked = np.stack([getattr(one, name) for one in registers])
        parts.append(stacked[number, source, byte])
    run.mask = mask
    run.store_shared(address, DataBytes(*parts), code.get_site(operands[0]))
    run.mask = outer


def _find_row_elements(warp: Ints, row: Ints, transposed: bool) -> tuple[Ints, Ints]:
    """Return (lane, byte of its register) of the 16 bytes of each lane's row."""
    column, half = np.arange(16) // 2, np.arange(16) % 2
    if transposed:
        return warp[:, None] + 4 * column + row[:, None] // 2, 2 * (row[:, None] % 2) + half
    return warp[:, None] + 4 * row[:, None] + column // 2, np.broadcast_to(2 * (column % 2) + half, (len(row), 16))
