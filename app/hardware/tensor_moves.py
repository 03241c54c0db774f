"""Where loads, stores and copies find and put every word of tensor memory, told by codes.

Registers, lanes and columns against lanescope.blackwell.tmem's patterns. It runs on a device, or on the simulation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.hardware.tensor_memory import CopyOperation, MoveOperation, TensorDevice, TensorJob
from lanescope.blackwell import tmem
from lanescope.blackwell.tmem import LANES, QUARTER
from lanescope.descriptor.matrix import encode_descriptor
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.ptx.table.tmem import COPIES, MOVES

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """One probe: how many answers it judged, and how many are the maps'."""

    key: str
    ran: int
    agreed: int


def count_agreements(key: str, right: Array) -> ProbeResult:
    return ProbeResult(key, int(right.size), int(right.sum()))


def generate_moves() -> Iterator[tuple[str, TensorJob]]:
    """Every load and store. Loads: a word tells its lane and column; stores: a register tells its thread and number."""
    place = np.arange(LANES)[:, None] << 9 | np.arange(512)[None]
    for move in MOVES:
        for power in range(move.most.bit_length()):
            for pack in ("", "pack::16b"):
                for verb in ("ld", "st"):
                    word = f".un{pack}" if pack and verb == "st" else f".{pack}" if pack else ""
                    found = tmem.parse_access(f"tcgen05.{verb}.{move.shape}.x{1 << power}{word}")
                    key = f"tcgen05.{verb}.{move.shape}{word}"
                    for lane in (0, 16) if move.lanes == 16 else (0,):
                        memory = (place if verb == "ld" else 0 * place)[None, None, :, : max(found.columns, 8)]
                        one = np.arange(LANES)[:, None] << 7 | np.arange(found.registers)[None]
                        code = one << 16 | (1 << 15 | one) if not pack else (2 * one + 1) << 16 | 2 * one
                        given = code[None, None] if verb == "st" else None
                        yield key, TensorJob(MoveOperation(found, lane), memory, np.zeros((1, 1, 4), np.uint32), given)


def judge_move(job: TensorJob, after: Array, registers: Array) -> Array:
    """Where each word of a load came from, and each register of a store went, against the pattern."""
    one = job.operation
    assert isinstance(one, MoveOperation)
    found, packed = one.access, one.access.packed
    lane, column = found.pattern.evaluate()[:2]
    column = tmem.place_columns(found, column)
    right = []
    for warp in range(LANES // QUARTER):
        threads = slice(QUARTER * warp, QUARTER * (warp + 1))
        at = lane + QUARTER * warp + one.lane
        if found.verb == "ld":
            held = registers[0, 0, threads]
            seen = np.stack((held & 0xFFFF, held >> 16), axis=2).reshape(QUARTER, -1) if packed else held
            right.append(seen == at << 9 | column)
        else:
            assert job.registers is not None
            held = job.registers[0, 0, threads].astype(np.int64)
            meant = np.stack((held & 0xFFFF, held >> 16), axis=2).reshape(QUARTER, -1) if packed else held
            right.append(after[0, 0][at, column] == meant)
    if found.verb == "st":  # and nothing else was written
        right.append(np.array([int((after[0, 0] != 0).sum()) <= found.pattern.value_count * LANES]))
    return np.concatenate([part.ravel() for part in right])


def generate_copies() -> Iterator[tuple[str, TensorJob]]:
    """Every copy, of one CTA and of a pair, from words that tell their place in shared memory; and the shift."""
    for ctas in (1, 2):
        words = np.arange(2048 * ctas, dtype=np.uint32).reshape(1, ctas, 2048) + 1
        for shape in COPIES:
            found = tmem.parse_access(f"tcgen05.cp.cta_group::{ctas}.{shape}")
            word = encode_descriptor(TCGEN05, {"lbo_bytes": 4096, "sbo_bytes": 128}).word
            for lane in (0, 3) if found.of_quarters else (0,):
                memory = np.zeros((1, ctas, LANES, 16), np.uint32)
                yield f"tcgen05.cp.{shape}", TensorJob(CopyOperation(found, word, lane, 4, ctas), memory, words)
    place = np.arange(LANES * 16, dtype=np.uint32).reshape(1, 1, LANES, 16)
    yield (
        "tcgen05.shift",
        TensorJob(
            CopyOperation(tmem.parse_access("tcgen05.shift.down"), 0, 0, 4), place, np.zeros((1, 1, 4), np.uint32)
        ),
    )


def judge_copy(job: TensorJob, after: Array) -> Array:
    """Every word of tensor memory after a copy or shift: the one that the map names, or what was there."""
    one = job.operation
    assert isinstance(one, CopyOperation)
    right = []
    row, word = one.access.pattern.evaluate()
    for cta in range(one.ctas):
        meant = job.tensor[0, cta].astype(np.int64).copy()
        columns = slice(one.column, one.column + one.access.columns)
        if one.access.verb == "shift":
            lanes = np.arange(LANES)
            meant[:, columns] = meant[np.where(lanes % QUARTER == QUARTER - 1, lanes, lanes + 1) % LANES][:, columns]
        else:
            # lines of 16 bytes, eight of them 128 bytes; the second 16 bytes of a row LBO further
            place = word // 4 * 1024 + row * 4 + word % 4
            to = np.arange(LANES) if len(row) == LANES else np.arange(len(row)) * QUARTER + one.lane
            meant[to, columns] = job.shared[0, cta][place]
        right.append(after[0, cta] == meant)
    return np.stack(right)


def run_moves(device: TensorDevice) -> Iterator[ProbeResult]:
    """Every load, store, copy and the shift."""
    for key, job in generate_moves():
        after, registers = device.tensor(job)
        yield count_agreements(key, judge_move(job, after.astype(np.int64), registers.astype(np.int64)))
    for key, job in generate_copies():
        yield count_agreements(key, judge_copy(job, device.tensor(job)[0].astype(np.int64)))
