"""A NumPy simulation of one operation on tensor memory, by the maps of lanescope.blackwell.tmem, the descriptor model
and the fields of the instruction descriptor. It shows what those predict, and proves nothing about them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.hardware.tensor_memory import CopyOperation, MmaOperation, MoveOperation, TensorJob
from lanescope.blackwell import tmem, umma
from lanescope.blackwell.tmem import LANES, QUARTER, TmemOperandLayout
from lanescope.blackwell.umma import MmaOpcode
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.ptx import fragment_words
from lanescope.ptx.table.descriptors import TCGEN05

Array = NDArray[Any]
LOW = np.uint32(0xFFFF)


class SimulatedTensorDevice:
    """NumPy stand-in for a GPU with tensor memory."""

    def tensor(self, job: TensorJob) -> tuple[Array, Array]:
        memory = job.tensor.astype(np.uint32).copy()
        runs, ctas = memory.shape[:2]
        numbers_read: dict[tuple[str, int], Array] = {}
        registers = np.zeros((runs, ctas, LANES, max(job.loaded_registers, 1)), np.uint32)
        for run in range(runs):
            operation = job.operation
            if isinstance(operation, MmaOperation):
                simulate_mma(operation, memory[run], job.shared[run], numbers_read)
                continue
            for cta in range(ctas):
                if isinstance(operation, MoveOperation):
                    stored = job.registers[run, cta] if job.registers is not None else None
                    self.move(operation, memory[run, cta], registers[run, cta], stored)
                else:
                    self.simulate_copy(operation, memory[run, cta], job.shared[run, cta])
        return memory, registers

    def move(self, operation: MoveOperation, memory: Array, loaded: Array, stored: Array | None) -> None:
        """Load into `loaded` or store from `stored`, warp by warp: [128, registers]."""
        access = operation.access
        lane, column = access.pattern.evaluate()[:2]
        column = tmem.place_columns(access, column) + operation.column
        packed = 2 if access.packed else 1
        for warp in range(LANES // QUARTER):
            lanes = lane + QUARTER * warp + operation.lane
            threads = slice(QUARTER * warp, QUARTER * (warp + 1))
            if access.verb == "ld":
                words = memory[lanes, column].reshape(QUARTER, access.registers, packed)
                loaded[threads] = words[..., 0] if packed == 1 else words[..., 0] & LOW | words[..., 1] << 16
            else:
                assert stored is not None
                word = stored[threads][..., None]
                parts = word if packed == 1 else np.concatenate((word & LOW, word >> 16), axis=2)
                memory[lanes, column] = parts.reshape(column.shape)

    def simulate_copy(self, operation: CopyOperation, memory: Array, shared: Array) -> None:
        """Simulate a copy or a shift."""
        access = operation.access
        if access.verb == "shift":
            columns = slice(operation.column, operation.column + access.columns)
            for quarter in range(LANES // QUARTER):
                lanes = memory[QUARTER * quarter : QUARTER * (quarter + 1), columns]
                lanes[:-1] = lanes[1:].copy()
            return
        row, word = access.pattern.evaluate()
        view = View(int(row.max()) + 1, int(word.max()) + 1, 32, "K", TCGEN05)
        address = desc.reads(Descriptor(operation.word, TCGEN05), view)
        values = shared[address[row, word] // 4]
        lanes = np.arange(LANES) if len(row) == LANES else np.arange(len(row)) * QUARTER + operation.lane
        memory[lanes[:, None], operation.column + np.arange(row.shape[1])[None]] = values


def read_elements(shared: Array, address: Array, name: str, bits: int) -> Array:
    """Read numbers of a type at byte addresses [row, k]; two of 4 bits a byte, the first in its low half."""
    image = shared.view(np.uint8)
    size = max(bits // 8, 1)
    code = sum(image[address + n].astype(np.uint64) << np.uint64(8 * n) for n in range(size))
    if bits == 4:
        half = (np.arange(address.shape[1]) % 2 * 4).astype(np.uint64)
        code = code >> half & np.uint64(15)
    return fragment_words.decode_bits(code, name)


def gather_units(memory: Array, layout: TmemOperandLayout, address: int) -> Array:
    """Gather the units of an operand in tensor memory: uint64 [lane][unit]."""
    per = 32 // layout.bits
    unit = np.arange(layout.pattern.value_count)
    words = memory[:, (address & 0xFFFF) + unit // per].astype(np.uint64)
    return words >> (unit % per * layout.bits).astype(np.uint64) & np.uint64((1 << layout.bits) - 1)


def simulate_mma(
    operation: MmaOperation, memory: Array, shared: Array, numbers_read: dict[tuple[str, int], Array]
) -> None:
    """Compute D over its columns of every CTA: memory [ctas, 128, columns], shared [ctas, words].

    numbers_read: what was read of the same bytes before.
    """
    idesc_word, mma = operation.idesc, operation.mma
    opcode = MmaOpcode(operation.kind, operation.form, idesc_word.sparse)
    sign = {side: -1.0 if idesc_word.format_field(f"negate_{side}") == "yes" else 1.0 for side in "ab"}
    b = (
        np.concatenate([_read_shared_operand(operation, "b", opcode, words, numbers_read) for words in shared])
        * sign["b"]
    )  # [n, k]
    d = tmem.make_tmem_layout(mma, "d")
    coords = d.pattern.evaluate()
    in_d = coords[2] == (operation.at["d"] >> 16 & 16) // 16 if len(coords) == 3 else np.ones(coords[0].shape, bool)
    for cta in range(operation.ctas):
        before = memory[cta].copy()
        a = (
            _gather_a_rows(operation, opcode, before, shared[cta], mma, numbers_read) * sign["a"]
        )  # [lane, k]: of the row that the lane holds
        a_scale, b_scale = (
            _gather_scales(operation, before, "scale_a", mma),
            _gather_scales(operation, before, "scale_b", mma),
        )
        scaled_b = b * b_scale if b_scale is not None else b
        row = coords[0][:, 0]
        scaled_a = a * a_scale[row] if a_scale is not None else a
        value = np.take_along_axis(scaled_a @ scaled_b.T, coords[1], axis=1)
        code = fragment_words.encode_values(value, idesc_word.types["d"]).astype(np.uint32)
        columns = (operation.at["d"] & 0xFFFF) + np.arange(code.shape[1])
        memory[cta][:, columns] = np.where(in_d, code, before[:, columns])


def _read_shared_operand(
    operation: MmaOperation, side: str, opcode: MmaOpcode, words: Array, numbers_read: dict[tuple[str, int], Array]
) -> Array:
    """Read what a descriptor reads of a CTA's shared memory: numbers [row, k]."""
    word = operation.b if side == "b" else operation.a
    assert word is not None
    key = (side, int(words.__array_interface__["data"][0]))
    if key not in numbers_read:
        view = umma.make_view(opcode, operation.idesc, side)
        numbers_read[key] = read_elements(words, _compute_addresses(word, view), operation.idesc.types[side], view.bits)
    return numbers_read[key]


@lru_cache(maxsize=8)
def _compute_addresses(word: int, view: View) -> Array:
    """Compute the byte addresses of a descriptor, once for all runs of a job."""
    return desc.reads(Descriptor(word, TCGEN05), view)


def _gather_a_rows(
    operation: MmaOperation,
    opcode: MmaOpcode,
    memory: Array,
    words: Array,
    mma: tmem.TmemMma,
    numbers_read: dict[tuple[str, int], Array],
) -> Array:
    """Gather dense A of the row that each lane works on: [lane, k]; in tensor memory each lane has its own copy."""
    row = tmem.make_tmem_layout(mma, "d").pattern.evaluate()[0][:, 0]
    if operation.a is not None:
        stored = _read_shared_operand(operation, "a", opcode, words, numbers_read)[row]
    else:
        layout = tmem.make_tmem_layout(mma, "a")
        columns = layout.pattern.evaluate()[1]
        stored = np.zeros(columns.shape)
        code = gather_units(memory, layout, operation.at["a"])
        np.put_along_axis(stored, columns, fragment_words.decode_bits(code, operation.idesc.types["a"]), axis=1)
    return _expand_sparse_a(operation, memory, stored, row, mma) if operation.idesc.sparse else stored


def _expand_sparse_a(operation: MmaOperation, memory: Array, stored: Array, row: Array, mma: tmem.TmemMma) -> Array:
    """Expand a sparse A with its zeros, by the metadata in tensor memory: [lane, k]."""
    layout = tmem.make_tmem_layout(mma, "metadata")
    lane, unit = (index[..., 0] for index in layout.pattern.inverse()[:2])
    if lane.ndim == 3:
        lane, unit = (index[..., (operation.at["metadata"] >> 16 & 16) // 16] for index in (lane, unit))
    nibble = gather_units(memory, layout, operation.at["metadata"])[lane, unit].astype(np.int64)[row]  # [lane, group]
    dense = np.zeros((len(stored), mma.k))
    groups = nibble.shape[1]
    size, kept_per_group = mma.k // groups, stored.shape[1] // groups
    group_starts = np.arange(groups) * size
    lanes = np.arange(len(stored))[:, None]
    pairs = kept_per_group // 2 if kept_per_group > 2 else 1
    for index in range(2 if kept_per_group > 1 else 1):
        position = nibble >> 2 * index & 3 if kept_per_group > 1 else (nibble & 3) // 2
        for offset in range(pairs):
            values = stored[:, (np.arange(groups) * kept_per_group + index * pairs + offset)]
            dense[lanes, group_starts + position * pairs + offset] += values
    return dense


def _gather_scales(operation: MmaOperation, memory: Array, operand: str, mma: tmem.TmemMma) -> Array | None:
    """Gather the factors of each row (or column of B) and k, [row, k], by the bytes that the ids name."""
    if not operation.kind.scaled:
        return None
    layout = tmem.make_tmem_layout(mma, operand)
    number = operation.idesc.get_code(f"sf{operand[-1]}_id")
    code = gather_units(memory, layout, operation.at[operand])
    lane, unit = layout.pattern.inverse()  # [row, scale, copies]
    per = lane.shape[1]
    copy_index = np.argmax(unit % 4 // per == number // per, axis=2)[..., None]
    owner = (np.take_along_axis(lane, copy_index, 2)[..., 0], np.take_along_axis(unit, copy_index, 2)[..., 0])
    factor = fragment_words.decode_bits(code[owner], operation.idesc.format_field("scale_type"))
    repeated: Array = np.repeat(factor, mma.k // per, axis=1)
    return repeated if operand == "scale_a" else repeated[: mma.n]
