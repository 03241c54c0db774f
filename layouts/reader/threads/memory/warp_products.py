"""Products of warps in a run for tiles, the loads of what TMA copies bring to them, and stmatrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.descriptor.matrix import View
from lanescope.reader.threads.barriers.barrier_trace import TraceLostError
from lanescope.reader.threads.instructions.matrix_loads import store_rows
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
    """Execute stmatrix."""
    run = code.run
    address = code.get_shared_address(operands[0])
    registers = [code.get_value(token) for token in split_operands(operands[1].strip("{} "))]
    known = all(isinstance(one, DataBytes) and one.size == 4 for one in registers)
    if not isinstance(address, ThreadNumber) or address.const is None or not known or "m8n8" not in opcode:
        raise TraceLostError
    store_rows(run, address, registers, ".trans" in opcode, code.get_site(operands[0]))
