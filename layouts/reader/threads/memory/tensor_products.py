"""D of tcgen05.mma in a run that follows tiles: the products that add to it, and what tcgen05.ld returns of it.

Followed are products of 128 or 64 rows by one CTA, and of 256 rows by two, of which each has 128: a lane of tensor
memory is a row of D, a column of 32 bits is one of its columns. Tiles may take turns in the same columns if each is
loaded once. PTX ISA 9.1, 9.7.16.8 and 9.7.16.10.5.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lanescope.blackwell.described_mma import Tcgen05Mma, find_described_mma
from lanescope.blackwell.tmem.access import parse_access
from lanescope.reader.threads.barriers.barrier_trace import TraceLostError, require_known
from lanescope.reader.threads.barriers.tensor_trace import TensorEvent
from lanescope.reader.threads.memory.records import ProductResult
from lanescope.reader.threads.memory.storage import OPEN, DataBytes, Ints, Mask

if TYPE_CHECKING:
    from lanescope.reader.threads.instructions.asm_code import AsmCode

LANES, COLUMNS = 128, 512
_LANE = np.arange(LANES)
_ROWS = {LANES: _LANE, LANES // 2: np.where(_LANE % 32 < 16, _LANE // 32 * 16 + _LANE % 16, -1)}  # by M, -1: no row
_LOAD = re.compile(r"tcgen05\.ld\.sync\.aligned\.(?:32x32b|16x(?:64|128|256)b)\.x\d+\.b32")
UNFOLLOWED = ("st", "shift")  # instructions that may change D


@dataclass(slots=True)
class TensorSums:
    """The D in tensor memory.

    owner: of each column the number of its result, -1 for none; first: the first column of each result, rows: the row
    of D in each of its lanes; turns: the results that begin at a column, in their order; loads: how often each warp has
    loaded (its first lane, its first column); scaled: whether tcgen05.cp has copied scale factors, which are not
    followed; paired: whether its products are those of a pair of CTAs.
    """

    owner: Ints = field(default_factory=lambda: np.full(COLUMNS, -1, np.int64))
    first: dict[int, int] = field(default_factory=dict)
    rows: dict[int, Ints] = field(default_factory=dict)
    turns: dict[int, list[int]] = field(default_factory=dict)
    scaled: bool = False
    paired: bool = False
    loads: Counter[tuple[int, int, int]] = field(default_factory=Counter)

    def add_product(self, code: AsmCode, event: TensorEvent) -> tuple[int, Tcgen05Mma]:
        """Return (the number of the result that a product adds to or begins, the instruction)."""
        lane = int(event.mask.argmax())
        instruction = find_described_mma(event.opcode.partition(event.verb)[2], int(event.operands["idesc"][lane]))
        if instruction is None:
            raise TraceLostError("the instruction descriptor of a tcgen05.mma is not legal, or of a sparse product")
        reason = _explain_unfollowed(event, instruction)
        if reason:
            raise TraceLostError(reason)
        start = int(event.operands["d"][lane])
        columns = slice(start, start + instruction.n)
        owners = set(self.owner[columns].tolist()) if 0 <= start <= COLUMNS - instruction.n else set()
        if event.operands["adds"][lane]:
            (result,) = owners if len(owners) == 1 else (-1,)
            if not self._are_all_of(owners, start, instruction.n):
                raise TraceLostError("a tcgen05.mma adds to columns of tensor memory that no other has set")
            return result, instruction
        if owners != {-1} and not self._are_all_of(owners, start, instruction.n):
            raise TraceLostError("its tiles use parts of the same columns of tensor memory in turn")
        result = len(code.run.results)
        code.run.results.append(ProductResult(instruction.ptx, code.assembly.span, None, True))
        rows = _ROWS[LANES if instruction.pair else instruction.m]
        self.owner[columns], self.first[result], self.rows[result] = result, start, rows
        self.turns.setdefault(start, []).append(result)
        self.paired |= instruction.pair
        return result, instruction

    def take_results(self, other: TensorSums) -> None:
        """Take the results of the other block of a pair, which has issued the products of both."""
        self.owner, self.paired = other.owner.copy(), True
        self.first, self.rows = dict(other.first), dict(other.rows)
        self.turns = {start: list(results) for start, results in other.turns.items()}

    def _are_all_of(self, owners: set[int], start: int, count: int) -> bool:
        """Return whether some columns have one owner, which has no others."""
        (result,) = owners if len(owners) == 1 else (-1,)
        return result >= 0 and self.first[result] == start and np.count_nonzero(self.owner == result) == count

    @property
    def is_even(self) -> bool:
        """Return whether each result of columns that have several in turn is loaded once, so that it is known which."""
        columns = {column for column in range(COLUMNS) if len(self.turns.get(self._find_first(column), ())) > 1}
        loads = ((column, count) for (_, _, column), count in self.loads.items() if column in columns)
        return all(count == len(self.turns[self._find_first(column)]) for column, count in loads)

    def _find_first(self, column: int) -> int:
        return self.first.get(int(self.owner[column]), -1)

    def load(self, code: AsmCode, event: TensorEvent, outputs: Sequence[str]) -> None:
        """Write the elements of D that tcgen05.ld returns to its registers."""
        if not _LOAD.fullmatch(event.opcode):
            raise TraceLostError("tcgen05.ld of this shape is not followed")
        threads = np.arange(code.run.threads)
        address = _choose_quarters(event)
        lanes, columns = parse_access(event.opcode).pattern.evaluate()  # [thread of a warp, register]
        for n, output in enumerate(outputs):
            lane = ((address >> 16) + lanes[threads % 32, n]) % LANES  # kernels count on: a second CTA, or warp 4
            mine = event.mask & (lane // 32 == threads // 32 % 4)
            column = (address & 0xFFFF) + columns[threads % 32, n]
            code.put_value(output, self._read_column(lane, column, mine))

    def _read_column(self, lane: Ints, column: Ints, mask: Mask) -> DataBytes:
        """Return a register of each thread: the element of D in a lane and a column of tensor memory."""
        inside = mask & (column < COLUMNS)
        owner = np.where(inside, self.owner[np.where(inside, column, 0)], -1)
        self._choose_turns(owner, lane, column, inside)
        first, row = np.zeros_like(owner), np.full_like(owner, -1)
        for one in np.unique(owner).tolist():
            here = owner == one
            first[here] = self.first.get(one, 0)
            row[here] = self.rows[one][lane[here]] if one >= 0 else -1
        record = np.where(row >= 0, -owner - 1, OPEN)
        four = np.arange(4)
        return DataBytes(
            np.repeat(record[:, None], 4, axis=1),
            np.repeat(row.clip(0)[:, None], 4, axis=1),
            4 * (column - first)[:, None] + four,
        )

    def _choose_turns(self, owner: Ints, lane: Ints, column: Ints, mask: Mask) -> None:
        """Set the owner of what each warp loads to the result whose turn it is."""
        for warp in np.unique(np.flatnonzero(mask) // 32).tolist():
            first = 32 * warp + int(mask[32 * warp : 32 * warp + 32].argmax())
            key = warp, int(lane[first]), int(column[first])
            turn, of_column = self.loads[key], self.turns.get(self._find_first(key[2]), [])
            self.loads[key] += 1
            if len(of_column) > 1:
                chosen = of_column[turn] if turn < len(of_column) else -1
                threads = slice(32 * warp, 32 * warp + 32)
                owner[threads] = np.where(owner[threads] == owner[first], chosen, -1)


def _choose_quarters(event: TensorEvent) -> Ints:
    """Return the addresses of a load; lane 0 in all warps is taken for the hardware's choice of a warp's own lanes."""
    address = event.operands["at"]
    if (address[event.mask] >> 16).any():
        return address
    return address + (np.arange(len(address)) // 32 % 4 * 32 << 16)


def _explain_unfollowed(event: TensorEvent, instruction: Tcgen05Mma) -> str:
    """Return why D of a product is not followed, "" if it is."""
    if instruction.pair and instruction.m != 2 * LANES:
        return f"products of pairs of CTAs with M = {instruction.m} are not followed"
    if not instruction.pair and instruction.m not in _ROWS:
        return f"products with M = {instruction.m} are not followed"
    if instruction.d not in ("f32", "s32"):
        return f"D of the type {instruction.d} is not followed"
    if "a" in event.operands:
        return "products with A in tensor memory are not followed"
    alone = np.count_nonzero(event.mask) == 1 and "adds" in event.operands
    return "" if alone else "several threads issue its products"


def spread_issued(code: AsmCode, event: TensorEvent, token: str) -> Ints:
    """Return the value that the issuing thread has, for all threads."""
    values = require_known(code.find_lanes(token))
    return np.full(code.run.threads, values[int(event.mask.argmax())], np.int64)
