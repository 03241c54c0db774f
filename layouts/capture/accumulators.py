"""Compare recorded accumulators with NumPy: with the expected sum of the steps, and with the sum of the elements read.

A sum begins at zero or at a recorded C. A recorded C must be part of some D; otherwise the D that began at zero or
at an older C is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lanescope.capture.file_format import Record
from lanescope.capture.recorded_operands import MultiplyStep, OperandCodes
from lanescope.capture.slice_order import OperandSlice
from lanescope.capture.tile_sums import (
    SLACK,
    SUMS,
    StepSum,
    SumTile,
    begin_tile,
    decode_registers,
    find_nearest_sum,
    multiply_step,
)
from lanescope.errors import LayoutError
from lanescope.ptx.catalog import find
from lanescope.ptx.instruction import Instruction, Operand

MOST_SUMS = 64  # most tracked tiles of D
MOST_BEGUN = 64  # most stored C's per warp
Group = tuple[int, ...]  # (block, warp) or (block, warpgroup)
Shape = tuple[int, int, str]  # of D: m, n, type
TileKey = tuple[object, ...]  # of a tile of D: its first m and n, and its shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Accumulator:
    """D as recorded by one warp.

    verdict: "match" if it is the expected product; "unknown" if it is not the sum of the elements read either and a
    step is missing; else "mismatch". as_read: whether it is the sum of the elements read; m, n: its first element;
    steps: number of steps in the sum; since: whether the sum starts after D was last recorded.
    """

    number: int
    record: Record
    m: int
    n: int
    steps: int
    total: int
    right: int
    as_read: bool
    complete: bool = True
    since: bool = False

    @property
    def closeness(self) -> tuple[int, bool]:
        """A sort key, greater if more of D is right."""
        return self.right, self.as_read

    @property
    def verdict(self) -> str:
        if self.right == self.total:
            return "match"
        return "mismatch" if self.complete or self.as_read else "unknown"


@dataclass(frozen=True, slots=True)
class _MatchedWithoutC:
    """A D that is right without the C's recorded for it.

    tile: its group, place and shape; waiting: places of the C's; without: the result if no D contains the C's.
    """

    group: Group
    tile: tuple[object, ...]
    shape: Shape
    warp: Group
    waiting: frozenset[int]
    without: Accumulator


@dataclass(frozen=True, slots=True)
class _NearestSum:
    """A recorded D and the nearest sum. key: of the tile; start: the place of its C, -1 for zero."""

    accumulator: Accumulator
    key: tuple[object, ...]
    start: int


@dataclass(frozen=True, slots=True)
class _Fragment:
    """A D recorded by one warp. number: of its record; within: the warp's index in its group; at: position in record
    order.
    """

    number: int
    record: Record
    group: Group
    within: int
    at: int

    @property
    def warp(self) -> Group:
        return (*self.record.block, self.record.warp)


class AccumulatorSums:
    """The tiles of D of all warps and warpgroups, in the order of the records.

    complete: whether no step is missing; missing: (number, group, instruction) of steps that cannot be added; None if
    the instruction is unknown.
    """

    def __init__(
        self,
        records: Sequence[Record],
        complete: bool = True,
        missing: Iterable[tuple[int, Group, Instruction | None]] = (),
    ) -> None:
        self.records = records
        self.complete = complete
        self.missing: dict[tuple[Group, Shape | None], int] = {}  # the first missing step
        for number, group, instruction in missing:
            self._mark_missing(number, group, instruction)
        self.open: dict[Group, dict[tuple[object, ...], SumTile]] = {}
        self.begun: dict[Group, dict[int, NDArray[np.uint32]]] = {}  # for each warp: place → C
        self.fresh: dict[Group, set[int]] = {}  # for each warp: C's not found in a D yet
        self.anew: dict[Group, int] = {}  # where C was last recorded
        self.ended: dict[tuple[object, ...], int] = {}  # the last step of a warp's tile of D
        self.recorded: set[tuple[object, ...]] = set()  # tiles whose D was recorded since their last step
        self.results: dict[tuple[object, ...], Accumulator] = {}
        self.passed: dict[tuple[object, ...], _MatchedWithoutC] = {}
        self.order = _order_records(records)
        self.at = 0

    def add_step(
        self, step: MultiplyStep, codes: Mapping[str, OperandCodes], parts: Mapping[str, OperandSlice]
    ) -> None:
        """Verify the accumulators recorded before this step, then add the step."""
        self._compare_until(step.number)
        if set(codes) != {"a", "b"} or not parts.keys() >= codes.keys() or step.instruction.operand("a").sparsity:
            return self._mark_missing(step.number, step.group, step.instruction)
        tiles = self.open.setdefault(step.group, {})
        key = (parts["a"].mn, parts["b"].mn, *_get_shape(step.instruction))
        inside = all(side.inside.all() for side in codes.values())
        if not inside or (key not in tiles and len(tiles) >= MOST_SUMS):
            return self._mark_missing(step.number, step.group, step.instruction)
        a, b = codes["a"], codes["b"]
        k = parts["a"].k * step.depth // a.depth
        tile = tiles.get(key) or begin_tile(step, (a, b), parts, k)
        tiles[key] = tile = replace(tile, k=k, sums=self._added(tile, key, step, (a, b), parts), step=step)
        self.recorded.discard((step.group, key))
        if step.record.kind == "mma" and "d" in step.record.registers:
            fragment = _Fragment(step.number, step.record, step.group, 0, step.number)
            self._compare_record(fragment, {key: tile})

    def _added(
        self,
        tile: SumTile,
        key: TileKey,
        step: MultiplyStep,
        codes: tuple[OperandCodes, OperandCodes],
        parts: Mapping[str, OperandSlice],
    ) -> dict[str, StepSum]:
        """Return a tile's sums with one more step, including sums that begin at this step if D may have been reset."""
        product = multiply_step(step, codes, parts)
        anew = {
            "again": parts["a"].k * step.depth // codes[0].depth <= tile.k,
            "begun": self.anew.get(step.group, -1) > tile.step.number,
            "recorded": (step.group, key) in self.recorded,
        }
        return {
            name: product if anew.get(name) or name not in tile.sums else tile.sums[name] + product
            for name in SUMS
            if name == "first" or name in tile.sums or anew[name]
        }

    def list_accumulators(self) -> list[Accumulator]:
        """Return all recorded accumulators; for mma, the last one of each tile."""
        self._compare_until(len(self.records))
        for place, matched in self.passed.items():
            left = matched.waiting & self.fresh.get(matched.warp, set())
            without_d = sum(  # other tiles may contain them
                tile.step.number > self.ended.get((matched.warp, key), -1)
                for key, tile in self.open[matched.group].items()
                if key[2:] == matched.shape and key != matched.tile
            )
            if len(left) > without_d and self._has_all_steps(matched.group, matched.shape, len(self.records)):
                self.results[place] = matched.without
        self.passed.clear()
        return list(self.results.values())

    def _mark_missing(self, number: int, group: Group, instruction: Instruction | None) -> None:
        """Mark a group's sums as unknown after a step that cannot be added."""
        key = group, None if instruction is None else _get_shape(instruction)
        self.missing[key] = min(number, self.missing.get(key, number))

    def _has_all_steps(self, group: Group, shape: Shape, at: int) -> bool:
        """Return whether all steps before record `at` that may belong to this D were added."""
        return self.complete and not any(self.missing.get((group, which), at) < at for which in (shape, None))

    def _compare_until(self, number: int) -> None:
        while self.at < len(self.order) and self.order[self.at][0] < number:
            at, record_number = self.order[self.at]
            self.at += 1
            record = self.records[record_number]
            warp = (*record.block, record.warp)
            group, within = _get_group(record)
            if record.label.lower() == "d":
                tiles = self.open.get(group, {})
                shape = _find_shape(record, tiles)
                alike = {key: tile for key, tile in tiles.items() if key[2:] == shape}
                self._compare_record(_Fragment(record_number, record, group, within, at), alike)
                continue
            begun = self.begun.setdefault(warp, {})  # initial values of D
            begun[at] = record.registers["d"]
            self.fresh.setdefault(warp, set()).add(at)
            self.anew[group] = at
            if len(begun) > MOST_BEGUN:
                del begun[next(iter(begun))]

    def _compare_record(self, fragment: _Fragment, tiles: Mapping[TileKey, SumTile]) -> None:
        """Compare one warp's D with every tile that it may be."""
        if not tiles:
            return
        instruction = next(iter(tiles.values())).step.instruction
        operand, registers = instruction.operand("d"), fragment.record.registers["d"]
        if operand.registers != registers.shape[1] or operand.element.name not in SLACK:
            return
        compared = _Compared(
            fragment, tiles, operand, self._has_all_steps(fragment.group, _get_shape(instruction), fragment.at)
        )
        begun = {n: c for n, c in self.begun.get(fragment.warp, {}).items() if c.shape == registers.shape}
        fresh = sorted(self.fresh.get(fragment.warp, set()) & begun.keys())
        with_c = compared.nearest(fresh, begun) if fresh else None
        nearest = with_c
        if with_c is None or with_c.accumulator.verdict != "match":
            other = compared.nearest([-1, *(begun.keys() - set(fresh))], begun)
            if with_c is None or other.accumulator.closeness > with_c.accumulator.closeness:
                nearest = other
        assert nearest is not None
        self._keep(fragment, nearest, with_c, fresh, _get_shape(instruction))

    def _keep(
        self, fragment: _Fragment, nearest: _NearestSum, with_c: _NearestSum | None, fresh: Sequence[int], shape: Shape
    ) -> None:
        """Record the sum nearest to a D, and the recorded C's that it contains.

        fresh: places of C's not found in a D yet; with_c: the nearest sum with one of them.
        """
        accumulator, key, warp, group = nearest.accumulator, nearest.key, fragment.warp, fragment.group
        mma = fragment.record.kind == "mma"
        place = (group, fragment.within, accumulator.m, accumulator.n) if mma else (fragment.number,)
        self.results[place] = accumulator
        before = self.passed.pop(place, None)
        ended, last = self.ended.get((warp, key), -1), self.open[group][key].step.number
        waiting = frozenset(n for n in fresh if ended < n < last) | (before.waiting if before else frozenset())
        since = min(waiting, default=-1)
        open_tiles = self._open_tiles(group, warp, shape, since)
        if nearest is with_c or accumulator.verdict != "match":  # a wrong D also uses up a C
            self._use_up(warp, fresh, nearest.start if nearest is with_c else since, open_tiles)
        elif with_c is not None and waiting and sum(n >= since for n in fresh) >= open_tiles:
            self.passed[place] = _MatchedWithoutC(group, key, shape, warp, waiting, with_c.accumulator)
        self.ended[warp, key] = last
        if not mma:
            self.recorded.add((group, key))

    def _open_tiles(self, group: Group, warp: Group, shape: Shape, since: int) -> int:
        """Return the number of tiles of this shape with a step after both `since` and their last D."""
        return sum(
            tile.step.number > max(since, self.ended.get((warp, key), -1))
            for key, tile in self.open[group].items()
            if key[2:] == shape
        )

    def _use_up(self, warp: Group, fresh: Sequence[int], used: int, open_tiles: int) -> None:
        """Remove a C from those not found in a D yet, and earlier ones unless other tiles may contain them."""
        waiting = {n for matched in self.passed.values() if matched.warp == warp for n in matched.waiting}
        used_up = {n for n in fresh if n < used} - waiting if open_tiles <= 1 else set()
        self.fresh[warp] = self.fresh.get(warp, set()) - used_up - {used}


@dataclass(frozen=True, slots=True)
class _Compared:
    """One warp's D and the tiles that it may be. operand: its register map; complete: whether all steps were added."""

    fragment: _Fragment
    tiles: Mapping[TileKey, SumTile]
    operand: Operand
    complete: bool

    def nearest(self, starts: Sequence[int], begun: Mapping[int, NDArray[np.uint32]]) -> _NearestSum:
        """Return the sum nearest to D that starts from one of these C's; start -1 means zero. begun: place → C."""
        within, record, operand = self.fragment.within, self.fragment.record, self.operand
        rows = np.unique(operand.rows[32 * within : 32 * within + 32])
        values = decode_registers(record.registers["d"], operand, within)[rows]
        c = np.stack(
            [np.zeros(values.shape) if n < 0 else decode_registers(begun[n], operand, within)[rows] for n in starts]
        )
        right, as_read, start, key, name = find_nearest_sum(values, rows, c, starts, self.tiles, operand.element.name)
        tile = self.tiles[key]
        accumulator = Accumulator(
            number=self.fragment.number,
            record=record,
            m=tile.m,
            n=tile.n,
            steps=tile.sums[name].steps,
            total=values.size,
            right=right,
            as_read=as_read,
            complete=self.complete,
            since=name == "recorded",
        )
        return _NearestSum(accumulator, key, start)


def _get_shape(instruction: Instruction) -> Shape:
    return instruction.sizes["m"], instruction.sizes["n"], instruction.types["d"]


def _find_shape(record: Record, tiles: Mapping[tuple[object, ...], SumTile]) -> Shape | None:
    """Return the shape of a recorded D: from its PTX if the number of registers agrees, else from the last step."""
    try:
        instruction = find(record.text)
        if instruction.operand("d").registers == record.registers["d"].shape[1]:
            return _get_shape(instruction)
    except LayoutError:
        pass
    last = max((tile.step for tile in tiles.values()), key=lambda step: step.number, default=None)
    return None if last is None else _get_shape(last.instruction)


def _get_group(record: Record) -> tuple[Group, int]:
    """Return (group, warp of the group) of a record of C or D."""
    warps = 1 if record.text.lstrip().startswith("mma") else 4
    return (*record.block, record.warp // warps), record.warp % warps


def _order_records(records: Sequence[Record]) -> list[tuple[int, int]]:
    """Return (place, record) of every C and D, in program order.

    The first warp of a warpgroup records the steps. Other warps may record earlier operands after it, so their records
    are ordered like those of the first warp.
    """
    by_group: dict[tuple[object, ...], dict[int, list[int]]] = {}
    for number, record in enumerate(records):
        if record.kind == "fragment" and record.label.lower() in ("c", "d") and "d" in record.registers:
            group, within = _get_group(record)
            key = group, record.label.lower(), record.file, record.line, record.text
            by_group.setdefault(key, {}).setdefault(within, []).append(number)
    ordered: list[tuple[int, int]] = []
    for warps in by_group.values():
        first = warps.get(0, [])
        for numbers in warps.values():
            ordered += zip(first if len(first) == len(numbers) else numbers, numbers, strict=True)
    return sorted(ordered)
