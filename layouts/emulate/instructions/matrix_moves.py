"""ldmatrix, stmatrix and movmatrix. PTX ISA 9.1, 9.7.14.5.15 to 9.7.14.5.17."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.instructions.data import find_space
from lanescope.emulate.instructions.fragments import (
    MatrixEvent,
    bind_instruction,
    read_registers,
    record_event,
    take_full_warps,
    unpack_matrix,
    write_registers,
)
from lanescope.emulate.state.block import Group
from lanescope.emulate.state.memory import SHARED_WINDOW, WINDOW_SIZE, FaultError, format_address
from lanescope.emulate.text.program import Statement, require_address
from lanescope.ptx import fragment_words
from lanescope.ptx.product_values import list_row_lanes
from lanescope.ptx.table.movement import PACKED_BITS
from lanescope.ptx.threads import WARP

Array = NDArray[Any]
ROW_BYTES = 16


def _check_rows(addresses: Array, space: str, name: str) -> None:
    """Raise FaultError for misaligned rows, and for generic addresses outside shared memory."""
    wrong = addresses % ROW_BYTES != 0
    if wrong.any():
        raise FaultError(
            "misaligned",
            f"{name}: row address {format_address(int(addresses[wrong][0]))} is not aligned to 16 bytes.",
        )
    outside = (addresses < SHARED_WINDOW) | (addresses >= SHARED_WINDOW + WINDOW_SIZE)
    if space == "" and outside.any():
        raise FaultError(
            "out_of_bounds",
            f"{name}: row address {format_address(int(addresses[outside][0]))} is not in shared memory.",
        )


def _pick_lanes(lanes: Array, warps: int) -> Array:
    """Return the indices, in a group of complete warps, of the lanes whose addresses count, ascending."""
    picked: Array = (np.arange(warps)[:, None] * WARP + lanes.reshape(-1)).reshape(-1)
    return picked


@instruction("ldmatrix")
def build_row_load(compiler: Compiler, statement: Statement) -> Action:
    bound = bind_instruction(statement)
    op, lanes = bound.operands["data"], list_row_lanes(bound)
    target, second = statement.take(2)
    address = require_address(second)
    space, _ = find_space(compiler, statement, address)
    read, write = compiler.read_address(address), write_registers(compiler, target, op)
    packed = bound.family.unpacks
    if packed and packed not in PACKED_BITS:
        raise UnknownInstructionError(statement, f"ldmatrix: .{packed} is not emulated")
    bits = PACKED_BITS.get(packed, 0)
    size = 2 * bits or ROW_BYTES  # bytes of 16 elements
    word, count = (np.dtype(np.uint64), size // 8) if size % 8 == 0 else (np.dtype(np.uint32), size // 4)

    def load(group: Group) -> None:
        warps = take_full_warps(group, statement)
        every = read(group)
        picked = _pick_lanes(lanes, len(warps))
        addresses = every[picked]
        _check_rows(addresses, space, "ldmatrix")
        rows = np.empty((len(picked), size), np.uint8)
        loader = group.select(picked)
        if count * word.itemsize in (8, 16):
            rows[:] = np.ascontiguousarray(group.memory.load(loader, space, addresses, word, count)).view(np.uint8)
        else:
            for n in range(count):
                part = group.memory.load(loader, space, addresses + n * word.itemsize, word)
                rows[:, n * word.itemsize : (n + 1) * word.itemsize] = np.ascontiguousarray(part).view(np.uint8)
        if bits:
            single = np.unpackbits(rows, axis=1, bitorder="little").reshape(len(picked), 16, bits)
            rows = np.packbits(single, axis=2, bitorder="little").reshape(len(picked), 16)
        elements = (rows.view(np.uint16) if op.container_bits == 16 else rows).astype(np.uint64)
        loaded = fragment_words.pack(op, elements.reshape(len(warps), *op.extents.values()))
        write(group, loaded)
        if group.run.machine.recorders:
            firsts = tuple(int(warp) * WARP for warp in warps)
            inside = every & (SHARED_WINDOW - 1) if space == "" else every
            record_event(
                MatrixEvent(
                    "ldmatrix",
                    group,
                    statement,
                    bound,
                    firsts,
                    addresses=inside.reshape(-1, WARP),
                    registers={"a": loaded},
                )
            )

    return load


@instruction("stmatrix")
def build_row_store(compiler: Compiler, statement: Statement) -> Action:
    bound = bind_instruction(statement)
    op, lanes = bound.operands["data"], list_row_lanes(bound)
    first, source = statement.take(2)
    address = require_address(first)
    space, _ = find_space(compiler, statement, address)
    read, values_of = compiler.read_address(address), read_registers(compiler, source, op)

    def store(group: Group) -> None:
        warps = take_full_warps(group, statement)
        picked = _pick_lanes(lanes, len(warps))
        addresses = read(group)[picked]
        _check_rows(addresses, space, "stmatrix")
        elements = unpack_matrix(op, values_of(group), statement)
        rows = elements.astype(np.uint16 if op.container_bits == 16 else np.uint8).reshape(len(picked), -1)
        words = np.ascontiguousarray(rows).view(np.uint64)
        group.memory.store(group.select(picked), space, addresses, words)
        group.run.machine.version += 1

    return store


@instruction("movmatrix")
def build_transpose(compiler: Compiler, statement: Statement) -> Action:
    bound = bind_instruction(statement)
    source, target = bound.operands["a"], bound.operands["d"]
    to, origin = statement.take(2)
    read, write = read_registers(compiler, origin, source), write_registers(compiler, to, target)

    def move(group: Group) -> None:
        take_full_warps(group, statement)
        write(group, fragment_words.pack(target, unpack_matrix(source, read(group), statement)))

    return move
