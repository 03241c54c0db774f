"""What one operation on tensor memory does, in NumPy, by the maps of lanescope.blackwell.tmem, the descriptor model
and the fields of the instruction descriptor: a simulation. It shows what those say, and proves nothing about them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.hardware import fragment_words
from lanescope.app.hardware.tensor_memory import CopyOperation, MmaOperation, MoveOperation, TensorJob
from lanescope.blackwell import tmem, umma
from lanescope.blackwell.tmem import LANES, QUARTER, TmemOperandLayout
from lanescope.blackwell.umma import MmaOpcode
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.ptx.table.descriptors import TCGEN05

Array = NDArray[Any]
LOW = np.uint32(0xFFFF)


class SimulatedTensorDevice:
    """NumPy stand-in for a GPU with tensor memory."""

    def tensor(self, job: TensorJob) -> tuple[Array, Array]:
        out = job.tensor.astype(np.uint32).copy()
        runs, ctas = out.shape[:2]
        known: dict[tuple[str, int], Array] = {}
        registers = np.zeros((runs, ctas, LANES, max(job.given, 1)), np.uint32)
        for run in range(runs):
            one = job.operation
            if isinstance(one, MmaOperation):
                simulate_mma(one, out[run], job.shared[run], known)
                continue
            for cta in range(ctas):
                if isinstance(one, MoveOperation):
                    given = job.registers[run, cta] if job.registers is not None else None
                    self.move(one, out[run, cta], registers[run, cta], given)
                else:
                    self.simulate_copy(one, out[run, cta], job.shared[run, cta])
        return out, registers

    def move(self, one: MoveOperation, memory: Array, loaded: Array, stored: Array | None) -> None:
        """A load into `loaded` or a store of `stored`, warp by warp: [128, registers]."""
        found = one.access
        lane, column = found.pattern.evaluate()[:2]
        column = tmem.place_columns(found, column) + one.column
        packed = 2 if found.packed else 1
        for warp in range(LANES // QUARTER):
            at = lane + QUARTER * warp + one.lane
            threads = slice(QUARTER * warp, QUARTER * (warp + 1))
            if found.verb == "ld":
                held = memory[at, column].reshape(QUARTER, found.registers, packed)
                loaded[threads] = held[..., 0] if packed == 1 else held[..., 0] & LOW | held[..., 1] << 16
            else:
                assert stored is not None
                word = stored[threads][..., None]
                parts = word if packed == 1 else np.concatenate((word & LOW, word >> 16), axis=2)
                memory[at, column] = parts.reshape(column.shape)

    def simulate_copy(self, one: CopyOperation, memory: Array, shared: Array) -> None:
        """A copy or a shift."""
        found = one.access
        if found.verb == "shift":
            columns = slice(one.column, one.column + found.columns)
            for quarter in range(LANES // QUARTER):
                lanes = memory[QUARTER * quarter : QUARTER * (quarter + 1), columns]
                lanes[:-1] = lanes[1:].copy()
            return
        row, word = found.pattern.evaluate()
        view = View(int(row.max()) + 1, int(word.max()) + 1, 32, "K", TCGEN05)
        address = desc.reads(Descriptor(one.word, TCGEN05), view)
        values = shared[address[row, word] // 4]
        lanes = np.arange(LANES) if len(row) == LANES else np.arange(len(row)) * QUARTER + one.lane
        memory[lanes[:, None], one.column + np.arange(row.shape[1])[None]] = values


def read_elements(shared: Array, address: Array, name: str, bits: int) -> Array:
    """Numbers of a type at byte addresses [row, k]; two of 4 bits a byte, the first in its low half."""
    held = shared.view(np.uint8)
    size = max(bits // 8, 1)
    code = sum(held[address + n].astype(np.uint64) << np.uint64(8 * n) for n in range(size))
    if bits == 4:
        half = (np.arange(address.shape[1]) % 2 * 4).astype(np.uint64)
        code = code >> half & np.uint64(15)
    return fragment_words.decode_bits(code, name)


def gather_units(memory: Array, held: TmemOperandLayout, at: int) -> Array:
    """The units of an operand in tensor memory: uint64 [lane][unit]."""
    per = 32 // held.bits
    unit = np.arange(held.pattern.value_count)
    words = memory[:, (at & 0xFFFF) + unit // per].astype(np.uint64)
    return words >> (unit % per * held.bits).astype(np.uint64) & np.uint64((1 << held.bits) - 1)


def simulate_mma(one: MmaOperation, memory: Array, shared: Array, known: dict[tuple[str, int], Array]) -> None:
    """D over its columns of every CTA: memory [ctas, 128, columns], shared [ctas, words]. known: what was read already
    of the same bytes.
    """
    given, mma = one.idesc, one.mma
    by = MmaOpcode(one.kind, one.form, given.sparse)
    sign = {side: -1.0 if given.format_field(f"negate_{side}") == "yes" else 1.0 for side in "ab"}
    b = np.concatenate([_read_shared_operand(one, "b", by, words, known) for words in shared]) * sign["b"]  # [n, k]
    d = tmem.make_tmem_layout(mma, "d")
    where = d.pattern.evaluate()
    mine = where[2] == (one.at["d"] >> 16 & 16) // 16 if len(where) == 3 else np.ones(where[0].shape, bool)
    for cta in range(one.ctas):
        own = memory[cta].copy()
        a = (
            _gather_a_rows(one, by, own, shared[cta], mma, known) * sign["a"]
        )  # [lane, k]: of the row that the lane holds
        a_scale, b_scale = _gather_scales(one, own, "scale_a", mma), _gather_scales(one, own, "scale_b", mma)
        right = b * b_scale if b_scale is not None else b
        row = where[0][:, 0]
        left = a * a_scale[row] if a_scale is not None else a
        value = np.take_along_axis(left @ right.T, where[1], axis=1)
        code = fragment_words.encode_values(value, given.types["d"]).astype(np.uint32)
        columns = (one.at["d"] & 0xFFFF) + np.arange(code.shape[1])
        memory[cta][:, columns] = np.where(mine, code, own[:, columns])


def _read_shared_operand(
    one: MmaOperation, side: str, by: MmaOpcode, words: Array, known: dict[tuple[str, int], Array]
) -> Array:
    """What a descriptor reads of a CTA's shared memory: numbers [row, k]."""
    word = one.b if side == "b" else one.a
    assert word is not None
    key = (side, int(words.__array_interface__["data"][0]))
    if key not in known:
        seen = umma.make_view(by, one.idesc, side)
        known[key] = read_elements(words, _compute_addresses(word, seen), one.idesc.types[side], seen.bits)
    return known[key]


@lru_cache(maxsize=8)
def _compute_addresses(word: int, seen: View) -> Array:
    """The byte addresses of a descriptor, once for all runs of a job."""
    return desc.reads(Descriptor(word, TCGEN05), seen)


def _gather_a_rows(
    one: MmaOperation,
    by: MmaOpcode,
    memory: Array,
    words: Array,
    mma: tmem.TmemMma,
    known: dict[tuple[str, int], Array],
) -> Array:
    """Dense A of the row that each lane works on: [lane, k]; from tensor memory each lane has its own copy."""
    row = tmem.make_tmem_layout(mma, "d").pattern.evaluate()[0][:, 0]
    if one.a is not None:
        stored = _read_shared_operand(one, "a", by, words, known)[row]
    else:
        held = tmem.make_tmem_layout(mma, "a")
        where = held.pattern.evaluate()[1]
        stored = np.zeros(where.shape)
        code = gather_units(memory, held, one.at["a"])
        np.put_along_axis(stored, where, fragment_words.decode_bits(code, one.idesc.types["a"]), axis=1)
    return _expand_sparse_a(one, memory, stored, row, mma) if one.idesc.sparse else stored


def _expand_sparse_a(one: MmaOperation, memory: Array, stored: Array, row: Array, mma: tmem.TmemMma) -> Array:
    """A sparse A with its zeros, by the metadata in tensor memory: [lane, k]."""
    held = tmem.make_tmem_layout(mma, "metadata")
    lane, unit = (at[..., 0] for at in held.pattern.inverse()[:2])
    if lane.ndim == 3:
        lane, unit = (at[..., (one.at["metadata"] >> 16 & 16) // 16] for at in (lane, unit))
    nibble = gather_units(memory, held, one.at["metadata"])[lane, unit].astype(np.int64)[row]  # [lane, group]
    out = np.zeros((len(stored), mma.k))
    groups = nibble.shape[1]
    size, kept = mma.k // groups, stored.shape[1] // groups
    at = np.arange(groups) * size
    lanes = np.arange(len(stored))[:, None]
    pairs = kept // 2 if kept > 2 else 1
    for index in range(2 if kept > 1 else 1):
        position = nibble >> 2 * index & 3 if kept > 1 else (nibble & 3) // 2
        for inside in range(pairs):
            taken = stored[:, (np.arange(groups) * kept + index * pairs + inside)]
            out[lanes, at + position * pairs + inside] += taken
    return out


def _gather_scales(one: MmaOperation, memory: Array, operand: str, mma: tmem.TmemMma) -> Array | None:
    """Factors of each row (or column of B) and k, [row, k], by the bytes that the ids name."""
    if not one.kind.scaled:
        return None
    held = tmem.make_tmem_layout(mma, operand)
    number = one.idesc.get_code(f"sf{operand[-1]}_id")
    code = gather_units(memory, held, one.at[operand])
    lane, unit = held.pattern.inverse()  # [row, scale, copies]
    per = lane.shape[1]
    chosen = np.argmax(unit % 4 // per == number // per, axis=2)[..., None]
    at = (np.take_along_axis(lane, chosen, 2)[..., 0], np.take_along_axis(unit, chosen, 2)[..., 0])
    factor = fragment_words.decode_bits(code[at], one.idesc.format_field("scale_type"))
    spread: Array = np.repeat(factor, mma.k // per, axis=1)
    return spread if operand == "scale_a" else spread[: mma.n]
