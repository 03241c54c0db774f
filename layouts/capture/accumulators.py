"""Accumulators against NumPy: D beside the sum of the slices that the recorded steps should multiply, and beside the
sum of what they really read.

A sum begins at zero or at a C that was recorded. A C that was recorded must be in some D: where it is in none, the D
that began at zero, or at an older C, in its place is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.capture.file_format import Record
from lanescope.capture.recorded_operands import MultiplyStep, OperandCodes, registers_to_grid
from lanescope.capture.slice_order import OperandSlice
from lanescope.errors import LayoutError
from lanescope.ptx import codec
from lanescope.ptx.catalog import find
from lanescope.ptx.codec import decode_as_read
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.instruction import Instruction, Operand

MOST_SUMS = 64  # tiles of D that are followed
MOST_BEGUN = 64  # C's of one warp that are kept
# of the sum of magnitudes: an accumulator rounds every step; wgmma keeps 14 bits of a sum of FP8 products (measured)
SLACK = {"f16": 2.0**-7, "f32": 2.0**-9, "s32": 0.0}
SLACK_FP8 = 2.0**-7
LEAST = {"f16": 2.0**-24, "f32": 1e-37, "s32": 0.0}  # what one step may lose of a subnormal sum
Reals = NDArray[np.float64]
Group = tuple[int, ...]  # block and warp, or block and warpgroup
Shape = tuple[int, int, str]  # of D: m, n, type
TileKey = tuple[object, ...]  # of a tile of D: its first m and n, and its shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Accumulator:
    """D as one warp recorded it. verdict: match where it is the product that it should be; unknown if it is not even
    that of what was read, and not every step is here; else mismatch. as_read: whether it is the sum of what the steps
    read. m, n: its first element; steps: that are in the sum; since: whether it is the sum only of those after D was
    last recorded.
    """

    number: int
    record: Record
    m: int
    n: int
    steps: int
    total: int
    right: int
    as_read: bool
    whole: bool = True
    since: bool = False

    @property
    def closeness(self) -> tuple[int, bool]:
        """More where more of D is right."""
        return self.right, self.as_read

    @property
    def verdict(self) -> str:
        if self.right == self.total:
            return "match"
        return "mismatch" if self.whole or self.as_read else "unknown"


@dataclass(frozen=True, slots=True)
class _StepSum:
    """What steps add to a tile of D, from one of them on: the sums that it should be and of what was read, each with
    that of magnitudes; [m][n].
    """

    expected: Reals
    read: Reals
    size: Reals
    read_size: Reals
    steps: int = 0

    def __add__(self, other: _StepSum) -> _StepSum:
        return _StepSum(
            self.expected + other.expected,
            self.read + other.read,
            self.size + other.size,
            self.read_size + other.read_size,
            self.steps + other.steps,
        )


@dataclass(frozen=True, slots=True)
class _SumTile:
    """A tile of D. sums: from the first step on, and from the last one on where the accumulators may have begun anew:
    where K begins again, after C was recorded, and after D was. inside: [m][n], what lies in A · B; step: the last one.
    """

    m: int
    n: int
    k: int
    inside: NDArray[np.bool_]
    sums: Mapping[str, _StepSum]
    step: MultiplyStep


SUMS = ("first", "again", "begun", "recorded")  # in the order in which they are tried


@dataclass(frozen=True, slots=True)
class _MatchedWithoutC:
    """A D that is right without the C's that were recorded for it. tile: which one it is, by group, place and shape;
    waiting: places of the C's; without: what it is where none of the D's has them.
    """

    group: Group
    tile: tuple[object, ...]
    shape: Shape
    warp: Group
    waiting: frozenset[int]
    without: Accumulator


@dataclass(frozen=True, slots=True)
class _NearestSum:
    """A recorded D beside the sum that it is nearest to. key: of the tile; start: the place of its C, -1 for zero."""

    accumulator: Accumulator
    key: tuple[object, ...]
    start: int


@dataclass(frozen=True, slots=True)
class _Fragment:
    """A D that one warp recorded. number: of its record; within: which warp of its group; at: where it stands in the
    order of the records.
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
    """The tiles of D of every warp or warpgroup, in the order of the records. whole: whether every step is recorded;
    missing: (number, group, instruction) of steps that are not added; None if the instruction is not known.
    """

    def __init__(
        self,
        records: Sequence[Record],
        whole: bool = True,
        missing: Iterable[tuple[int, Group, Instruction | None]] = (),
    ) -> None:
        self.records = records
        self.whole = whole
        self.missing: dict[tuple[Group, Shape | None], int] = {}  # the first one
        for number, group, instruction in missing:
            self._mark_missing(number, group, instruction)
        self.open: dict[Group, dict[tuple[object, ...], _SumTile]] = {}
        self.begun: dict[Group, dict[int, NDArray[np.uint32]]] = {}  # of each warp: C by its place
        self.fresh: dict[Group, set[int]] = {}  # of each warp: the C's that are in no D yet
        self.anew: dict[Group, int] = {}  # where C was last recorded
        self.ended: dict[tuple[object, ...], int] = {}  # the last step in a warp's tile of D
        self.recorded: set[tuple[object, ...]] = set()  # tiles whose D was, since their last step
        self.judged: dict[tuple[object, ...], Accumulator] = {}
        self.passed: dict[tuple[object, ...], _MatchedWithoutC] = {}
        self.order = _order_records(records)
        self.at = 0

    def add_step(self, step: MultiplyStep, seen: Mapping[str, OperandCodes], parts: Mapping[str, OperandSlice]) -> None:
        """Add one step, after judging the accumulators that were recorded before it."""
        self._judge_until(step.number)
        if set(seen) != {"a", "b"} or not parts.keys() >= seen.keys() or step.instruction.operand("a").sparsity:
            return self._mark_missing(step.number, step.group, step.instruction)
        tiles = self.open.setdefault(step.group, {})
        key = (parts["a"].mn, parts["b"].mn, *_get_shape(step.instruction))
        inside = all(side.inside.all() for side in seen.values())
        if not inside or (key not in tiles and len(tiles) >= MOST_SUMS):
            return self._mark_missing(step.number, step.group, step.instruction)
        a, b = seen["a"], seen["b"]
        k = parts["a"].k * step.depth // a.depth
        tile = tiles.get(key) or _begun_tile(step, (a, b), parts, k)
        tiles[key] = tile = replace(tile, k=k, sums=self._added(tile, key, step, (a, b), parts), step=step)
        self.recorded.discard((step.group, key))
        if step.record.kind == "mma" and "d" in step.record.registers:
            fragment = _Fragment(step.number, step.record, step.group, 0, step.number)
            self._judge_record(fragment, {key: tile})

    def _added(
        self,
        tile: _SumTile,
        key: TileKey,
        step: MultiplyStep,
        seen: tuple[OperandCodes, OperandCodes],
        parts: Mapping[str, OperandSlice],
    ) -> dict[str, _StepSum]:
        """Return the sums of a tile with one more step, and with sums that begin at it if the accumulators may have
        been reset.
        """
        product = _multiply_step(step, seen, parts)
        anew = {
            "again": parts["a"].k * step.depth // seen[0].depth <= tile.k,
            "begun": self.anew.get(step.group, -1) > tile.step.number,
            "recorded": (step.group, key) in self.recorded,
        }
        return {
            name: product if anew.get(name) or name not in tile.sums else tile.sums[name] + product
            for name in SUMS
            if name == "first" or name in tile.sums or anew[name]
        }

    def list_accumulators(self) -> list[Accumulator]:
        """Return every recorded accumulator; for mma, the last one of each tile."""
        self._judge_until(len(self.records))
        for place, matched in self.passed.items():
            left = matched.waiting & self.fresh.get(matched.warp, set())
            without_d = sum(  # other tiles, whose D may have them
                tile.step.number > self.ended.get((matched.warp, key), -1)
                for key, tile in self.open[matched.group].items()
                if key[2:] == matched.shape and key != matched.tile
            )
            if len(left) > without_d and self._has_all_steps(matched.group, matched.shape, len(self.records)):
                self.judged[place] = matched.without
        self.passed.clear()
        return list(self.judged.values())

    def _mark_missing(self, number: int, group: Group, instruction: Instruction | None) -> None:
        """Mark a group's sums as unknown from a step on that cannot be added."""
        key = group, None if instruction is None else _get_shape(instruction)
        self.missing[key] = min(number, self.missing.get(key, number))

    def _has_all_steps(self, group: Group, shape: Shape, at: int) -> bool:
        """Return whether every step before record `at` that may belong to this D was added."""
        return self.whole and not any(self.missing.get((group, which), at) < at for which in (shape, None))

    def _judge_until(self, number: int) -> None:
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
                self._judge_record(_Fragment(record_number, record, group, within, at), alike)
                continue
            begun = self.begun.setdefault(warp, {})  # what D begins with
            begun[at] = record.registers["d"]
            self.fresh.setdefault(warp, set()).add(at)
            self.anew[group] = at
            if len(begun) > MOST_BEGUN:
                del begun[next(iter(begun))]

    def _judge_record(self, fragment: _Fragment, tiles: Mapping[TileKey, _SumTile]) -> None:
        """Compare one warp's D with every tile that it may hold."""
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
        """Keep what a D is nearest to, and which of the recorded C's are in it. fresh: places of those that are in none
        yet; with_c: the nearest with one of them.
        """
        accumulator, key, warp, group = nearest.accumulator, nearest.key, fragment.warp, fragment.group
        mma = fragment.record.kind == "mma"
        place = (group, fragment.within, accumulator.m, accumulator.n) if mma else (fragment.number,)
        self.judged[place] = accumulator
        before = self.passed.pop(place, None)
        ended, last = self.ended.get((warp, key), -1), self.open[group][key].step.number
        waiting = frozenset(n for n in fresh if ended < n < last) | (before.waiting if before else frozenset())
        since = min(waiting, default=-1)
        open_tiles = self._open_tiles(group, warp, shape, since)
        if nearest is with_c or accumulator.verdict != "match":  # one that is wrong has a C for itself, too
            self._use_up(warp, fresh, nearest.start if nearest is with_c else since, open_tiles)
        elif with_c is not None and waiting and sum(n >= since for n in fresh) >= open_tiles:
            self.passed[place] = _MatchedWithoutC(group, key, shape, warp, waiting, with_c.accumulator)
        self.ended[warp, key] = last
        if not mma:
            self.recorded.add((group, key))

    def _open_tiles(self, group: Group, warp: Group, shape: Shape, since: int) -> int:
        """Return how many tiles of this shape have a step after `since` and after their last D."""
        return sum(
            tile.step.number > max(since, self.ended.get((warp, key), -1))
            for key, tile in self.open[group].items()
            if key[2:] == shape
        )

    def _use_up(self, warp: Group, fresh: Sequence[int], used: int, open_tiles: int) -> None:
        """Take a C from those that are in no D yet, and those before it where no other tile may have them."""
        kept = {n for matched in self.passed.values() if matched.warp == warp for n in matched.waiting}
        done = {n for n in fresh if n < used} - kept if open_tiles <= 1 else set()
        self.fresh[warp] = self.fresh.get(warp, set()) - done - {used}


@dataclass(frozen=True, slots=True)
class _Compared:
    """One warp's D and the tiles that it may be. operand: its register map; whole: whether every step is added."""

    fragment: _Fragment
    tiles: Mapping[TileKey, _SumTile]
    operand: Operand
    whole: bool

    def nearest(self, starts: Sequence[int], begun: Mapping[int, NDArray[np.uint32]]) -> _NearestSum:
        """Return the sum nearest to D that starts from one of these C's; start -1 means zero. begun: place → C."""
        within, record, operand = self.fragment.within, self.fragment.record, self.operand
        rows = np.unique(operand.rows[32 * within : 32 * within + 32])
        values = _decode_registers(record.registers["d"], operand, within)[rows]
        c = np.stack(
            [np.zeros(values.shape) if n < 0 else _decode_registers(begun[n], operand, within)[rows] for n in starts]
        )
        right, as_read, start, key, name = _find_nearest_sum(values, rows, c, starts, self.tiles, operand.element.name)
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
            whole=self.whole,
            since=name == "recorded",
        )
        return _NearestSum(accumulator, key, start)


def _begun_tile(
    step: MultiplyStep, seen: tuple[OperandCodes, OperandCodes], parts: Mapping[str, OperandSlice], k: int
) -> _SumTile:
    """Return a tile of D before its first step, which begins at k."""
    inside_of = [side.known.get_codes(parts[side.operand].mn + np.arange(side.rows), np.array(0)) >= 0 for side in seen]
    inside = inside_of[0][:, None] & inside_of[1][None, :]
    return _SumTile(parts["a"].mn, parts["b"].mn, k - step.depth, inside, {}, step)


def _find_nearest_sum(
    values: Reals,
    rows: NDArray[np.integer[Any]],
    c: Reals,
    starts: Sequence[int],
    tiles: Mapping[tuple[object, ...], _SumTile],
    element: str,
) -> tuple[int, bool, int, tuple[object, ...], str]:
    """Find the sum, started from one of the C's, that is nearest to a warp's D.

    Return (right elements, whether it is the sum of what was read, start, tile, sum). Of equally near C's the last one
    counts. values: [m][n] of D; c: [start][m][n].
    """
    best = None
    for key, tile in tiles.items():
        slack = _get_slack(tile.step.instruction, element)
        for name, total in tile.sums.items():
            right, as_read = (
                ~tile.inside[rows]
                | _mask_close(values, sums[rows] + c, size[rows] + abs(c), element, slack, total.steps)
                for sums, size in ((total.expected, total.size), (total.read, total.read_size))
            )
            rank = max(
                (int(good.sum()), bool(read.all()), n) for good, read, n in zip(right, as_read, starts, strict=True)
            )
            if best is None or rank > best[:3]:
                best = (*rank, key, name)
    assert best is not None
    return best


def _get_slack(instruction: Instruction, element: str) -> float:
    """Return how much accumulators of this type may lose, as a fraction of the sum of magnitudes."""
    a = get_dtype(instruction.types["a"])
    return SLACK_FP8 if a.format is not None and a.bits == 8 else SLACK[element]


def _get_shape(instruction: Instruction) -> Shape:
    return instruction.sizes["m"], instruction.sizes["n"], instruction.types["d"]


def _find_shape(record: Record, tiles: Mapping[tuple[object, ...], _SumTile]) -> Shape | None:
    """Return the shape of a recorded D: by its PTX text if that has as many registers, else the last step's."""
    try:
        instruction = find(record.text)
        if instruction.operand("d").registers == record.registers["d"].shape[1]:
            return _get_shape(instruction)
    except LayoutError:
        pass
    last = max((tile.step for tile in tiles.values()), key=lambda step: step.number, default=None)
    return None if last is None else _get_shape(last.instruction)


def _get_group(record: Record) -> tuple[Group, int]:
    """Return (group, warp of the group): the warp or warpgroup whose registers of C or D these are."""
    warps = 1 if record.text.lstrip().startswith("mma") else 4
    return (*record.block, record.warp // warps), record.warp % warps


def _order_records(records: Sequence[Record]) -> list[tuple[int, int]]:
    """Return (place, record) of every C and D, in program order.

    A warpgroup's first warp records the steps. The others may record what precedes a step after it, so their records
    take the place of the first warp's.
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


def _multiply_step(
    step: MultiplyStep, seen: tuple[OperandCodes, OperandCodes], parts: Mapping[str, OperandSlice]
) -> _StepSum:
    """Return A · B of one step: of the slices that it should multiply, and of what it read."""
    sign = step.record.immediates.get("scale_a", 1) * step.record.immediates.get("scale_b", 1)
    read = [decode_as_read(side.codes[0], side.known.element) for side in seen]
    expected = []
    for side in seen:
        part = parts[side.operand]
        codes = side.known.get_codes(part.mn + np.arange(side.rows)[:, None], part.k + np.arange(side.depth)[None, :])
        expected.append(codec.decode_bits(np.maximum(codes, 0).astype(np.uint64), side.known.element.name))
    with np.errstate(all="ignore"):
        sums = [sign * (pair[0] @ pair[1].T) for pair in (expected, read)]
        sizes = [np.abs(pair[0]) @ np.abs(pair[1]).T for pair in (expected, read)]
    return _StepSum(sums[0], sums[1], sizes[0], sizes[1], 1)


def _decode_registers(registers: NDArray[np.uint32], operand: Operand, warp: int) -> Reals:
    """Return one warp's registers as numbers of the whole fragment, [m][n]."""
    full = np.zeros((operand.threads, operand.registers), np.uint32)
    full[32 * warp : 32 * warp + 32] = registers
    return np.asarray(codec.decode_bits(registers_to_grid(full, operand, "d"), operand.element.name))


def _mask_close(values: Reals, expected: Reals, size: Reals, name: str, slack: float, steps: int) -> NDArray[np.bool_]:
    """Return which numbers equal the sum within the accumulator's rounding; overflow is infinite."""
    with np.errstate(all="ignore"):
        most = float(np.finfo(np.float16 if name == "f16" else np.float32).max)
        past = ~(size <= most * (1 - slack))
        least = (steps + 1) * LEAST[name]
        near = np.abs(values - expected) <= slack * size + least
        return np.asarray(np.where(past, ~np.isfinite(values) | near, near | (values == expected)))
