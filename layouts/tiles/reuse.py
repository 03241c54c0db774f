"""Reuse an accumulator as A of the next instruction: which elements stay in their lane, and whether K can be reordered.

The columns of D are the K of A: several D tiles side by side if A is wider, several K steps of A if D is wider (flash
attention: S = Q·Kᵀ becomes A of S·V).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np

from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.ptx.pattern import IntArray

MOST_COLUMNS = 1024  # at most: enough for every N of wgmma with every K but the 256 of b1


@dataclass(frozen=True, kw_only=True)
class AccumulatorReuse:
    """The source of every value of A, by K steps.

    tile, lane, value: int arrays [steps, threads, A values]: the D tile, the thread and the value that hold the
    element; order: for each column of all K steps, the column of all D tiles to use instead so that no element leaves
    its lane, None if there is none; the rows of B must be reordered likewise.
    """

    source: Operand
    target: Operand
    tiles: int
    tile: IntArray
    lane: IntArray
    value: IntArray
    order: tuple[int, ...] | None

    @property
    def steps(self) -> int:
        """The number of A fragments (K steps) from the tiles of D."""
        return int(self.tile.shape[0])

    @property
    def stays(self) -> IntArray:
        """1 for elements that are already in their thread, else 0: [steps, threads, A values]."""
        stays: IntArray = (self.lane == np.arange(self.target.threads)[:, None]).astype(np.int32)
        return stays

    @property
    def verdict(self) -> str:
        """ "registers", "reordered" or "shuffle"."""
        if bool(self.stays.all()):
            return "registers"
        return "reordered" if self.order else "shuffle"

    @property
    def period(self) -> int:
        """The number of columns after which the order repeats, shifted; 0 without an order."""
        if self.order is None:
            return 0
        count, order = len(self.order), np.array(self.order)
        return next(p for p in range(1, count + 1) if count % p == 0 and (order[p:] == order[:-p] + p).all())

    @cached_property
    def taken(self) -> tuple[IntArray, IntArray, IntArray]:
        """(tile, lane, value) of the D element that is packed, after reordering: [steps, threads, values] each."""
        if self.verdict != "reordered":
            return self.tile, self.lane, self.value
        step = np.arange(self.steps)[:, None, None] * self.target.col_count
        return _find_holders(self.source, self.target, np.array(self.order)[step + self.target.cols])


def match_accumulator(first: Instruction, second: Instruction) -> AccumulatorReuse:
    """Return the reuse of D of `first` as A of `second`; LayoutError says why it is impossible."""
    source, target = first.operand("d"), second.operand("a")
    for operand, instruction, field in ((source, first, "from"), (target, second, "to")):
        if operand.element.kind == "bits" and operand.element.bits > 1:
            raise LayoutError(
                "no_reuse",
                f"{instruction.ptx} moves {operand.element.name} units and has no product.",
                "Choose an mma.",
                field,
            )
    if target.sparsity:
        raise LayoutError(
            "no_reuse", f"A of {second.ptx} is stored compressed.", "Choose an instruction with a dense A.", "to"
        )
    if source.threads != target.threads:
        raise LayoutError(
            "no_reuse",
            f"D belongs to {source.threads} threads, A to {target.threads}.",
            "Both must be warp or warpgroup level.",
            "to",
        )
    if len(source.axes) != len(target.axes):
        four = first if len(source.axes) > len(target.axes) else second
        raise LayoutError(
            "no_reuse", f"{four.ptx} computes four products, the other one.", "Choose two of a kind.", "to"
        )
    if source.row_count != target.row_count:
        raise LayoutError(
            "no_reuse", f"D has {source.row_count} rows, A has {target.row_count}.", "They must be equal.", "to"
        )
    wide, deep = source.col_count, target.col_count
    columns = lcm(wide, deep)
    if columns > MOST_COLUMNS:
        raise LayoutError(
            "no_reuse",
            f"D has {wide} columns and A has {deep} per K step: only {columns // wide} tiles of D ({columns}"
            f" columns) fill complete K steps. At most {MOST_COLUMNS} columns are supported.",
            f"With K = {deep}, use N = {', '.join(str(n) for n in range(8, 257, 8) if lcm(n, deep) <= MOST_COLUMNS)}.",
            "to",
        )
    step = np.arange(columns // deep)[:, None, None] * deep
    tile, lane, value = _find_holders(source, target, step + target.cols)
    if (lane // 32 != np.arange(target.threads)[:, None] // 32).any():
        raise LayoutError("no_reuse", "Elements would change their warp.", "Go through shared memory.", "to")
    return AccumulatorReuse(
        source=source,
        target=target,
        tiles=columns // wide,
        tile=tile,
        lane=lane,
        value=value,
        order=_find_column_order(source, target, columns),
    )


def _find_holders(source: Operand, target: Operand, cols: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return (tile, thread, value) of D that hold the element of each A value's row and column `cols`."""
    tile, inside = np.divmod(cols, source.col_count)
    thread, value = source.pattern.inverse()
    at: Any = (target.rows, inside, *(target.coords[a] for a in target.axes[2:]), 0)
    return tile, thread[at], value[at]


def _find_column_order(source: Operand, target: Operand, columns: int) -> tuple[int, ...] | None:
    """Return, for each column of A's K steps, a column of D held by the same lanes row by row; None if there is none.

    The search is exact: D has no copies, so a column can only replace columns with the same holders, and there must be
    as many of each kind. Columns are reordered within the smallest number of K steps for which that holds.
    """
    kinds_needed, kinds_available = _number_columns(target, source)
    needed = [kinds_needed[at % len(kinds_needed)] for at in range(columns)]
    available = [kinds_available[at % len(kinds_available)] for at in range(columns)]
    for size in range(len(kinds_needed), columns + 1, len(kinds_needed)):
        if columns % size == 0 and all(
            sorted(needed[at : at + size]) == sorted(available[at : at + size]) for at in range(0, columns, size)
        ):
            return tuple(
                at + col
                for at in range(0, columns, size)
                for col in _match_positions(needed[at : at + size], available[at : at + size])
            )
    return None


def _number_columns(*operands: Operand) -> list[list[int]]:
    """Return a number for each column of each operand; columns held by the same threads row by row are equal."""
    number_of: dict[bytes, int] = {}
    numbered = []
    for operand in operands:
        others = [operand.coords[axis] for axis in operand.axes if axis != "col"]
        who = np.broadcast_to(np.arange(operand.threads, dtype=np.int64)[:, None], operand.cols.shape)
        for coord in others:  # the thread and every coordinate but the column's as one number
            who = who << 14 | coord
        who = who | len(others) << 42
        keys = np.sort((operand.cols.astype(np.int64) << 44 | who).ravel())
        keys = keys[np.diff(keys, prepend=-1) != 0]
        ends = np.searchsorted(keys >> 44, np.arange(1, operand.col_count))
        columns = np.split(keys & (1 << 44) - 1, ends)
        numbered.append([number_of.setdefault(column.tobytes(), len(number_of)) for column in columns])
    return numbered


def _match_positions(needed: list[int], available: list[int]) -> list[int]:
    """Return the positions of the needed kinds in `available`, equal kinds in order."""
    free: dict[int, list[int]] = defaultdict(list)
    for at, kind in enumerate(available):
        free[kind].append(at)
    positions = {kind: iter(places) for kind, places in free.items()}
    return [next(positions[kind]) for kind in needed]
