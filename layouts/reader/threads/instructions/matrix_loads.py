"""Registers that ldmatrix fills, mma takes and stmatrix stores, whether PTX or CuTe executes them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.memory.records import LoadedRegister, MatrixLoad, RegisterUse
from lanescope.reader.threads.memory.storage import DataBytes, Ints, Span, is_zero, make_open_data, make_zeros

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner


def load_matrices(run: KernelRunner, opcode: str, address: Any, count: int, spans: tuple[Span, ...]) -> list[DataBytes]:
    """Return the registers that ldmatrix fills.

    address: of a row, for every thread, None if unknown; spans: of the instruction, of the expression of the address
    and of where a loop moves it, which are the instruction's by default.
    """
    span, site, step = (*spans, *spans[:1] * 2)[:3]
    followed = address is not None and "m8n8" in opcode and "b16" in opcode
    if not followed or not run.follows_bytes or (not run.runs_everyone() and not has_complete_warps(run)):
        return [make_open_data(run.threads, 4)] * count
    arguments = run.mask & (np.arange(run.threads) % 32 < 8 * count)
    rows = run.load_shared(address, 16, arguments, site)
    writers = tuple(np.unique(run.shared.writer.take(address, mode="clip")).tolist())
    places = np.asarray(address)[arguments]
    aligned = not ((places - places[:1]) % 16).any()  # wherever the array begins
    load = MatrixLoad(
        opcode, span, rows, site, tuple(run.calls), writers, aligned, np.asarray(address), step, _note_read(run)
    )
    registers: list[DataBytes] = []
    for n in range(count):
        data = gather_register(rows, n, ".trans" in opcode)
        registers.append(LoadedRegister(data.record, data.thread, data.byte, load, n))
    return registers


def _note_read(run: KernelRunner) -> int:
    """Note that the last read was an ldmatrix; return its number."""
    if run.order is None:
        return 0
    run.order.matrices.add(run.order.reads)
    return run.order.reads


def has_complete_warps(run: KernelRunner) -> bool:
    warps = np.array_split(run.mask, max(run.threads // 32, 1))
    return all(bool(warp.all()) or not warp.any() for warp in warps)


def gather_register(rows: DataBytes, number: int, turned: bool) -> DataBytes:
    """Return the contents of register `number` of ldmatrix.b16, given the 16 bytes at every lane's address.

    Matrix `number` has its rows at the addresses of lanes 8·number to 8·number + 7 of the warp; lane l gets elements
    2(l mod 4) and + 1 of row l div 4, with .trans of column l div 4 (PTX ISA 9.1, 9.7.14.5.15).
    """
    at = _place_register(rows.record.shape[0], number, turned)
    return DataBytes(rows.record.take(at), rows.thread.take(at), rows.byte.take(at))


@lru_cache(maxsize=64)
def _place_register(threads: int, number: int, turned: bool) -> Ints:
    """Return where each byte of a register is among the 16 at the address of every lane: [threads, 4]."""
    lane, (half, byte) = np.arange(threads)[:, None], np.divmod(np.arange(4), 2)
    group, position = lane % 32 // 4, 2 * (lane % 4) + half
    row, column = (position, group) if turned else (group, position)
    first: Ints = np.minimum(lane // 32 * 32 + 8 * number + row, threads - 1)
    return 16 * first + 2 * column + byte


def store_rows(
    run: KernelRunner, address: ThreadNumber, registers: Sequence[DataBytes], turned: bool, site: Span
) -> None:
    """Store the registers of stmatrix.

    Lanes 8·i to 8·i + 7 give the addresses of the rows of matrix i (PTX ISA 9.1, 9.7.14.5.16, stmatrix).
    """
    lanes = np.arange(run.threads)
    warp, matrix, row = lanes // 32 * 32, lanes % 32 // 8, lanes % 8
    outer, mask = run.mask, run.mask & (matrix < len(registers))
    source, byte = _find_row_elements(warp, row, turned)
    number = np.minimum(matrix, len(registers) - 1)[:, None]
    parts = []
    for name in ("record", "thread", "byte"):
        stacked = np.stack([getattr(one, name) for one in registers])
        parts.append(stacked[number, source, byte])
    run.mask = mask
    run.store_shared(address, DataBytes(*parts), site)
    run.mask = outer


def _find_row_elements(warp: Ints, row: Ints, turned: bool) -> tuple[Ints, Ints]:
    """Return (lane, byte of its register) of the 16 bytes of each lane's row."""
    column, half = np.arange(16) // 2, np.arange(16) % 2
    if turned:
        return warp[:, None] + 4 * column + row[:, None] // 2, 2 * (row[:, None] % 2) + half
    return warp[:, None] + 4 * row[:, None] + column // 2, np.broadcast_to(2 * (column % 2) + half, (len(row), 16))


def make_use(run: KernelRunner, value: Any, unset: bool) -> RegisterUse:
    """Return the use of a register by an mma. unset: whether nothing has written it."""
    if run.order is not None:
        run.order.product = run.order.reads
    if isinstance(value, LoadedRegister):
        if run.order is not None and value.load is not None:
            run.order.taken.add(value.load.read)
        return RegisterUse(value, value.load, value.number)
    value = make_zeros(run.threads, 4) if run.sizes is not None and is_zero(value) else value
    known = isinstance(value, DataBytes) and value.size == 4
    return RegisterUse(value if known else None, unset=unset)
