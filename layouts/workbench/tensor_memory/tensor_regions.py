"""The parts of tensor memory that the tcgen05 instructions of a kernel take, and which instruction has used each last.

PTX ISA 9.1, 9.7.16.2.3 (ld, st), 9.7.16.9 (cp), 9.7.16.10.5 (D and A), 9.7.16.10.7 (scale factors).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lanescope.blackwell import idesc
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.tmem.access import mask_touched, parse_access
from lanescope.blackwell.tmem.operands import TmemMma, make_tmem_layout
from lanescope.blackwell.tmem.placement import PlacedOperand
from lanescope.blackwell.umma import find_scale_vector, parse_mma_opcode
from lanescope.descriptor.matrix import Descriptor
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.ptx.table.tmem import COLUMNS, LANES, QUARTER
from lanescope.reader.threads.barriers.tensor_order import OrderedAccess
from lanescope.reader.threads.barriers.tensor_trace import TensorEvent

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]
Earlier = tuple[int, str]  # the number of an access, and what it does
SCALES = ("scale_a", "scale_b")
_WORD = (1 << 64) - 1
_GROUP_BYTES = 8 * 16  # of a core matrix
_UNIT = 16  # lanes: a part of tensor memory is that many lanes of a column
ROWS = LANES // _UNIT


class OpenColumnsError(Exception):
    """It is not known which columns an instruction accesses."""


@dataclass(frozen=True, slots=True)
class Region:
    """The parts of tensor memory that an operand takes. name: of the operand; column: its first one."""

    name: str
    column: int
    parts: Mask
    past: int

    def move(self, column: int) -> Region:
        """Return the same region at another column."""
        by = column - self.column
        parts = np.zeros_like(self.parts)
        if by >= 0:
            parts[:, by:] = self.parts[:, : COLUMNS - by]
        else:
            parts[:, :by] = self.parts[:, -by:]
        return Region(self.name, column, parts, self.past + by)

    def describe(self) -> str:
        return f"columns {self.column}–{self.past - 1}" if self.past > self.column + 1 else f"column {self.column}"


@dataclass(slots=True)
class TensorMemory:
    """The tensor memory of one block: numbers of the access that wrote each part last, of those that have read it since
    by their slots, and of its allocation and deallocation; 0 if there is none.

    sums: the parts of D; loads: how often tcgen05.ld has read each since the last product, and again: the first access
    that did so again; used: the parts that a product has read.
    """

    writers: NDArray[np.int64] = field(default_factory=lambda: np.zeros((ROWS, COLUMNS), np.int64))
    readers: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    allocated: NDArray[np.int64] = field(default_factory=lambda: np.zeros((ROWS, COLUMNS), np.int64))
    freed: NDArray[np.int64] = field(default_factory=lambda: np.zeros((ROWS, COLUMNS), np.int64))
    sums: Mask = field(default_factory=lambda: np.zeros((ROWS, COLUMNS), np.bool_))
    loads: NDArray[np.int64] = field(default_factory=lambda: np.zeros((ROWS, COLUMNS), np.int64))
    again: NDArray[np.int64] = field(default_factory=lambda: np.zeros((ROWS, COLUMNS), np.int64))
    used: Mask = field(default_factory=lambda: np.zeros((ROWS, COLUMNS), np.bool_))

    def note_read(self, slot: int, parts: Mask, number: int) -> None:
        """Note that an access has read some parts. slot: of the threads that did."""
        if slot not in self.readers:
            self.readers[slot] = np.zeros((ROWS, COLUMNS), np.int64)
        self.readers[slot][parts] = number

    def note_write(self, parts: Mask, number: int) -> None:
        """Note that an access has written some parts: what was read before is over."""
        self.writers[parts] = number
        for readers in self.readers.values():
            readers[parts] = 0

    def note_sum(self, parts: Mask) -> None:
        """Note that a product has written D: its loads begin again."""
        self.sums |= parts
        self.loads[parts] = self.again[parts] = 0

    def note_load(self, parts: Mask, number: int) -> None:
        """Note that a load has read some parts."""
        self.again[parts & (self.loads > 0) & (self.again == 0)] = number
        self.loads[parts] += 1

    def find_repeated_load(self, parts: Mask) -> tuple[int, int] | None:
        """Return (an access that loads columns of D again, a column that none loads) if the loads are as many as D has
        columns in the lanes of a warp.
        """
        for row in np.flatnonzero(parts.any(axis=1)):
            columns = np.flatnonzero(parts[row])
            counts, again = self.loads[row, columns], self.again[row, columns]
            if int(counts.sum()) == len(columns) and not counts.all():
                return int(again[again > 0].min()), int(columns[counts == 0][0])
        return None

    def is_read(self, parts: Mask) -> bool:
        """Return whether all of some parts have been read since they were written."""
        read = np.zeros(int(parts.sum()), np.bool_)
        for readers in self.readers.values():
            read |= readers[parts] > 0
        return bool(read.all())

    def list_readers(self, parts: Mask) -> list[Earlier]:
        found = [int(one) for readers in self.readers.values() for one in np.unique(readers[parts]) if one]
        return [(number, "read") for number in found]

    def list_writers(self, parts: Mask) -> list[Earlier]:
        return [(int(one), "write") for one in np.unique(self.writers[parts]) if one]


def list_regions(access: OrderedAccess) -> Iterator[Region]:
    """Yield what an access reads and writes; OpenColumnsError if that is not known."""
    operands = {name: int(value[access.thread]) for name, value in access.event.operands.items()}
    if access.verb == "mma":
        word = operands.get("idesc")
        if word is None or "adds" not in operands:
            raise OpenColumnsError
        for name, parts in _place_operands(access.event.opcode, word & idesc.MOST, _freeze(operands)):
            yield _make_region(name, operands[name], parts)
    elif access.verb in ("ld", "st", "cp"):
        lane, column = divmod(operands["at"], 1 << 16)
        if access.verb != "cp":
            lane = access.thread // 32 % 4 * QUARTER + lane % QUARTER
        yield _make_region("at", operands["at"], _place_access(access.event.opcode, lane % LANES, column))


def count_source_step(before: TensorEvent, after: TensorEvent, thread: int) -> tuple[int, int]:
    """Return (by how many bytes the source of a tcgen05.cp moves, the bytes that it copies); (0, 0) if one is open.

    Of shapes that are 16 bytes wide, without a swizzle, whose groups of 8 rows follow one another.
    """
    rows = re.search(r"\.(32|64|128)x128b(?!\w)", after.opcode)
    words = [int(one.operands["source"][thread]) for one in (before, after) if "source" in one.operands]
    if rows is None or len(words) < 2 or words[0] >> 32 != words[1] >> 32:
        return 0, 0
    old, new = (Descriptor(word & _WORD, TCGEN05) for word in words)
    if old.mode.chunks > 1 or old.get_amount("sbo") != _GROUP_BYTES:
        return 0, 0
    return new.start_address - old.start_address, 16 * int(rows[1])


def _freeze(operands: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple((name, at) for name, at in operands.items() if name not in ("idesc", "adds", "source"))


def _make_region(name: str, address: int, parts: Mask) -> Region:
    columns = np.flatnonzero(parts.any(axis=0))
    first = address % (1 << 16)
    return Region(name, first, parts, int(columns[-1]) + 1 if len(columns) else first)


@lru_cache(maxsize=512)
def _place_access(opcode: str, lane: int, column: int) -> Mask:
    access = parse_access(opcode)
    if access.halves or column + access.columns > COLUMNS:
        raise OpenColumnsError  # the second half may be elsewhere
    return _join_lanes(mask_touched(access, lane, column))


@lru_cache(maxsize=512)
def _place_operands(opcode: str, word: int, places: tuple[tuple[str, int], ...]) -> list[tuple[str, Mask]]:
    """Return the parts of each operand of a product in tensor memory."""
    mma = parse_mma_opcode(opcode)
    descriptor = IdescWord(word, mma.kind)
    if idesc.find_problems(descriptor):
        raise OpenColumnsError
    vector = find_scale_vector(opcode, mma.kind)
    sizes = TmemMma(mma.kind, mma.form, mma.sparse, descriptor.m, descriptor.n, scale_vec=vector)
    found = []
    for name, address in places:
        lane, column = divmod(address, 1 << 16)
        layout = make_tmem_layout(sizes, name)
        wide = layout.columns
        if name == "scale_b" and layout.pattern.value_count:  # its layout pads N to 64: nothing reads the padding
            wide = min(wide, -(-descriptor.n // QUARTER))
        placed = PlacedOperand(name, layout, lane % LANES, column % COLUMNS)
        mask = placed.mask
        mask[:, column + wide :] = False
        found.append((name, _join_lanes(mask)))
    return found


def _join_lanes(mask: NDArray[np.bool_]) -> Mask:
    parts: Mask = np.asarray(mask.reshape(ROWS, _UNIT, COLUMNS).any(axis=1), np.bool_)
    return parts
