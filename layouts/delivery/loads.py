"""Loads from memory: the place bits that must be the lowest address bits (for ldmatrix derived from its maps)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lanescope.delivery.memory import Memory
from lanescope.delivery.places import LANE_BITS, Fragment, count_inner_bits
from lanescope.delivery.program import Load
from lanescope.ptx import catalog
from lanescope.shared.pieces import MatrixMove, make_matrix_move

NAMES = ("ld.32", "ld.64", "ld.128", "ldmatrix", "ldmatrix.trans", "ldmatrix.b8")
_MATRIX = {
    "ldmatrix": "ldmatrix.sync.aligned.m8n8.x{}.shared.b16",
    "ldmatrix.trans": "ldmatrix.sync.aligned.m8n8.x{}.trans.shared.b16",
    "ldmatrix.b8": "ldmatrix.sync.aligned.m16n16.x{}.trans.shared.b8",
}


@dataclass(frozen=True, slots=True)
class LoadKind:
    """A kind of load.

    fixed: place bit (inside a register, lane) → address bit in elements; words: consecutive registers per access of a
    lane; run: number of address bits that must be contiguous; registers: number of registers per instruction.
    """

    name: str
    fixed: tuple[tuple[int, int], ...]
    words: int
    run: int
    registers: int
    matrix: MatrixMove | None = None

    @property
    def text(self) -> str:
        return self.matrix.instruction.ptx if self.matrix else f"{self.name[:2]}.b{self.name[3:]}"


@lru_cache(maxsize=64)
def list_loads(width: int, registers: int, allowed: tuple[str, ...]) -> tuple[LoadKind, ...]:
    """Return the allowed loads for `registers` registers, those with fewer instructions first."""
    inner = count_inner_bits(width)
    kinds = []
    for name in allowed:
        if name.startswith("ld."):
            words = int(name[3:]) // 32
            if words <= registers:
                run = inner + words.bit_length() - 1
                kinds.append(LoadKind(name, tuple((n, n) for n in range(inner)), words, run, words))
            continue
        for count in (4, 2, 1) if name != "ldmatrix.b8" else (2, 1):
            move = make_matrix_move(catalog.find(_MATRIX[name].format(count)))
            if move.registers <= registers:
                kinds += _make_matrix_kind(name, move, width)
                break
    return tuple(sorted(kinds, key=lambda kind: -kind.registers))


def _make_matrix_kind(name: str, move: MatrixMove, width: int) -> list[LoadKind]:
    """Return the kind of an ldmatrix as a list; [] if it would split an element."""
    inner, size = count_inner_bits(width), max(1, width // 8)
    weights = [int(move.byte[0, 0, 1]), int(move.byte[0, 0, 2])]  # by the byte's index in the register
    if any(weights[n] != 1 << n for n in range(size.bit_length() - 1)):
        return []
    fixed = [(0, 0)] if width == 4 else []
    weights_of_bytes = weights[size.bit_length() - 1 :]
    for n, weight in enumerate(weights_of_bytes):
        place = n + (width == 4)
        fixed += [(place, (weight * 8 // width).bit_length() - 1)] if weight else []
    for n in range(LANE_BITS):
        weight = int(move.byte[1 << n, 0, 0])
        fixed += [(inner + n, (weight * 8 // width).bit_length() - 1)] if weight else []
    return [LoadKind(name, tuple(fixed), 1, (128 // width).bit_length() - 1, move.registers, move)]


def match_load(kind: LoadKind, fragment: Fragment, memory: Memory, low: Sequence[int]) -> tuple[int, ...] | None:
    """Return the order of register bits in which the load delivers the fragment; None if it cannot.

    low: the address bits inside an aligned run that each coordinate bit changes (Memory.list_low_bits).
    """
    if len(memory.runs) < kind.run:
        return None
    first = fragment.inner + LANE_BITS
    fixed = dict(kind.fixed)
    if any(fragment.vectors[place] != memory.runs[bit] for place, bit in fixed.items()):
        return None
    registers = list(range(first, len(fragment.vectors)))
    front = []
    for bit in range(fragment.inner, kind.run) if kind.words > 1 else ():
        found = next((p for p in registers if fragment.vectors[p] == memory.runs[bit]), None)
        if found is None:
            return None
        registers.remove(found)
        front.append(found)
    mask = (1 << kind.run) - 1
    free = [p for p in range(first) if p not in fixed] + registers
    if any(_find_low(fragment.vectors[p], low) & mask for p in free):
        return None
    return (*front, *registers)


def _find_low(vector: int, low: Sequence[int]) -> int:
    value = 0
    for n, bits in enumerate(low):
        value ^= bits if vector >> n & 1 else 0
    return value


def make_loads(kind: LoadKind, fragment: Fragment, memory: Memory) -> list[Load]:
    """Return the loads of a fragment with registers in the load's order; targets are numbered from 0."""
    at = memory.address[fragment.list_elements()] * memory.width // 8  # [lane, register, place]
    loads = []
    for begin in range(0, fragment.registers, kind.registers):
        targets = tuple(range(begin, begin + kind.registers))
        if kind.matrix is None:
            loads.append(Load(targets, tuple(at[:, begin, 0].tolist())))
            continue
        move, address = kind.matrix, kind.matrix.instruction.address
        assert address is not None
        lanes = []
        for matrix, row in zip(*(address.coords[axis][:, 0].tolist() for axis in ("matrix", "row")), strict=True):
            place = np.argwhere((move.matrix == matrix) & (move.row == row) & (move.byte == 0))[0]
            lane, register, byte = (int(n) for n in place)
            lanes.append(int(at[lane, begin + register, byte * 8 // memory.width]))
        loads.append(Load(targets, tuple(lanes), move))
    return loads
