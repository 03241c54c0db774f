"""Where loads, stores and copies find and put every word of tensor memory, shown by codes.

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
    """One probe: how many answers it judged, and how many agree with the maps."""

    key: str
    ran: int
    agreed: int


def count_agreements(key: str, right: Array) -> ProbeResult:
    return ProbeResult(key, int(right.size), int(right.sum()))


def generate_moves() -> Iterator[tuple[str, TensorJob]]:
    """Yield every load and store. Loads: a word holds its lane and column; stores: a register holds its thread and
    number.
    """
    codes = np.arange(LANES)[:, None] << 9 | np.arange(512)[None]
    for move in MOVES:
        for power in range(move.most.bit_length()):
            for pack in ("", "pack::16b"):
                for verb in ("ld", "st"):
                    word = f".un{pack}" if pack and verb == "st" else f".{pack}" if pack else ""
                    access = tmem.parse_access(f"tcgen05.{verb}.{move.shape}.x{1 << power}{word}")
                    key = f"tcgen05.{verb}.{move.shape}{word}"
                    for lane in (0, 16) if move.lanes == 16 else (0,):
                        memory = (codes if verb == "ld" else 0 * codes)[None, None, :, : max(access.columns, 8)]
                        register_code = np.arange(LANES)[:, None] << 7 | np.arange(access.registers)[None]
                        code = (
                            register_code << 16 | (1 << 15 | register_code)
                            if not pack
                            else (2 * register_code + 1) << 16 | 2 * register_code
                        )
                        stored = code[None, None] if verb == "st" else None
                        yield (
                            key,
                            TensorJob(MoveOperation(access, lane), memory, np.zeros((1, 1, 4), np.uint32), stored),
                        )


def judge_move(job: TensorJob, after: Array, registers: Array) -> Array:
    """Compare where each word of a load came from, or each register of a store went, with the pattern."""
    operation = job.operation
    assert isinstance(operation, MoveOperation)
    access, packed = operation.access, operation.access.packed
    lane, column = access.pattern.evaluate()[:2]
    column = tmem.place_columns(access, column)
    right = []
    for warp in range(LANES // QUARTER):
        threads = slice(QUARTER * warp, QUARTER * (warp + 1))
        lanes = lane + QUARTER * warp + operation.lane
        if access.verb == "ld":
            words = registers[0, 0, threads]
            halves = np.stack((words & 0xFFFF, words >> 16), axis=2).reshape(QUARTER, -1) if packed else words
            right.append(halves == lanes << 9 | column)
        else:
            assert job.registers is not None
            words = job.registers[0, 0, threads].astype(np.int64)
            expected = np.stack((words & 0xFFFF, words >> 16), axis=2).reshape(QUARTER, -1) if packed else words
            right.append(after[0, 0][lanes, column] == expected)
    if access.verb == "st":  # and nothing else was written
        right.append(np.array([int((after[0, 0] != 0).sum()) <= access.pattern.value_count * LANES]))
    return np.concatenate([part.ravel() for part in right])


def generate_copies() -> Iterator[tuple[str, TensorJob]]:
    """Yield every copy, of one CTA and of a pair, from words that hold their place in shared memory; and the shift."""
    for ctas in (1, 2):
        words = np.arange(2048 * ctas, dtype=np.uint32).reshape(1, ctas, 2048) + 1
        for shape in COPIES:
            access = tmem.parse_access(f"tcgen05.cp.cta_group::{ctas}.{shape}")
            word = encode_descriptor(TCGEN05, {"lbo_bytes": 4096, "sbo_bytes": 128}).word
            for lane in (0, 3) if access.of_quarters else (0,):
                memory = np.zeros((1, ctas, LANES, 16), np.uint32)
                yield f"tcgen05.cp.{shape}", TensorJob(CopyOperation(access, word, lane, 4, ctas), memory, words)
    codes = np.arange(LANES * 16, dtype=np.uint32).reshape(1, 1, LANES, 16)
    yield (
        "tcgen05.shift",
        TensorJob(
            CopyOperation(tmem.parse_access("tcgen05.shift.down"), 0, 0, 4), codes, np.zeros((1, 1, 4), np.uint32)
        ),
    )


def judge_copy(job: TensorJob, after: Array) -> Array:
    """Compare every word of tensor memory after a copy or shift with the word that the map names, or the old one."""
    operation = job.operation
    assert isinstance(operation, CopyOperation)
    right = []
    row, word = operation.access.pattern.evaluate()
    for cta in range(operation.ctas):
        expected = job.tensor[0, cta].astype(np.int64).copy()
        columns = slice(operation.column, operation.column + operation.access.columns)
        if operation.access.verb == "shift":
            lanes = np.arange(LANES)
            expected[:, columns] = expected[np.where(lanes % QUARTER == QUARTER - 1, lanes, lanes + 1) % LANES][
                :, columns
            ]
        else:
            # lines of 16 bytes, eight of them 128 bytes; the second 16 bytes of a row LBO further
            place = word // 4 * 1024 + row * 4 + word % 4
            target = np.arange(LANES) if len(row) == LANES else np.arange(len(row)) * QUARTER + operation.lane
            expected[target, columns] = job.shared[0, cta][place]
        right.append(after[0, cta] == expected)
    return np.stack(right)


def run_moves(device: TensorDevice) -> Iterator[ProbeResult]:
    """Run every load, store, copy and the shift."""
    for key, job in generate_moves():
        after, registers = device.tensor(job)
        yield count_agreements(key, judge_move(job, after.astype(np.int64), registers.astype(np.int64)))
    for key, job in generate_copies():
        yield count_agreements(key, judge_copy(job, device.tensor(job)[0].astype(np.int64)))
