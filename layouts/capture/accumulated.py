"""Accumulators against NumPy: D beside the sum of the slices that the recorded steps should multiply, and beside the
sum of what they really read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from layouts import codec
from layouts.capture.form import Record
from layouts.capture.order import Slice
from layouts.capture.seen import Side, Step, grid
from layouts.codec import numbers
from layouts.instruction import Operand

MOST_SUMS = 64  # tiles of D that are followed
# of the sum of magnitudes: an accumulator rounds every step; wgmma keeps 14 bits of a sum of FP8 products (measured)
SLACK = {"f16": 2.0**-7, "f32": 2.0**-9, "s32": 0.0}
SLACK_FP8 = 2.0**-7
LEAST = {"f16": 2.0**-24, "f32": 1e-37, "s32": 0.0}  # what one step may lose of a subnormal sum
Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Accumulator:
    """D as one warp recorded it. verdict: match where it is the product that it should be; unknown where it is not even
    that of what was read, and not every step is here; else mismatch. as_read: whether it is the sum of what the steps
    read. m, n: its first element; steps: that are in the sum.
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

    @property
    def verdict(self) -> str:
        if self.right == self.total:
            return "match"
        return "mismatch" if self.whole or self.as_read else "unknown"


@dataclass(frozen=True, slots=True)
class _Sum:
    """What steps add to a tile of D, from one of them on: the sums that it should be and of what was read, each with
    that of magnitudes; [m][n].
    """

    wanted: Reals
    read: Reals
    size: Reals
    read_size: Reals
    steps: int = 0

    def __add__(self, other: _Sum) -> _Sum:
        return _Sum(
            self.wanted + other.wanted, self.read + other.read, self.size + other.size,
            self.read_size + other.read_size, self.steps + other.steps,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Tile:
    """A tile of D. sums: from the first step on, and from the last one on where the accumulators may have begun anew:
    after they were recorded, and where K begins again. inside: [m][n], what lies in A · B.
    """

    m: int
    n: int
    k: int
    inside: NDArray[np.bool_]
    sums: Mapping[str, _Sum]


class Sums:
    """The tiles of D of every warp or warpgroup, in the order of the records. whole: whether every step is recorded."""

    def __init__(self, records: Sequence[Record], whole: bool = True) -> None:
        self.records = records
        self.whole = whole
        self.open: dict[tuple[int, ...], dict[tuple[int, int], _Tile]] = {}
        self.begun: dict[tuple[int, ...], list[NDArray[np.uint32]]] = {}
        self.recorded: set[tuple[tuple[int, ...], tuple[int, int]]] = set()  # tiles whose D was, since their last step
        self.last: dict[tuple[int, ...], Step] = {}
        self.told: dict[tuple[object, ...], Accumulator] = {}
        self.at = 0

    def add(self, step: Step, seen: Mapping[str, Side], parts: Mapping[str, Slice]) -> None:
        """One step; the accumulators that were recorded before it are judged first."""
        self._until(step.number)
        if set(seen) != {"a", "b"} or step.instruction.operand("a").sparsity is not None:
            return
        a, b = seen["a"], seen["b"]
        if not a.inside.all() or not b.inside.all():
            return
        made = _product(step, (a, b), parts)
        tiles = self.open.setdefault(step.group, {})
        key = parts["a"].mn, parts["b"].mn
        k = parts["a"].k * step.depth // a.depth
        if key not in tiles:
            if len(tiles) >= MOST_SUMS:
                return
            held = [side.known.at(parts[side.operand].mn + np.arange(side.rows), np.array(0)) >= 0 for side in (a, b)]
            tiles[key] = _Tile(*key, k - step.depth, held[0][:, None] & held[1][None, :], {})
        tile = tiles[key]
        anew = {"recorded": (step.group, key) in self.recorded, "again": k <= tile.k}
        self.recorded.discard((step.group, key))
        sums = {
            name: made if anew.get(name) or name not in tile.sums else tile.sums[name] + made
            for name in {"first", *tile.sums, *(name for name, now in anew.items() if now)}
        }
        tiles[key] = tile = replace(tile, k=k, sums=sums)
        self.last[step.group] = step
        if step.record.kind == "mma" and "d" in step.record.registers:
            self._judge(step.number, step.record, step.group, 0, tile)

    def judged(self) -> list[Accumulator]:
        """Every accumulator that was recorded; of an mma's, the last of each tile."""
        self._until(len(self.records))
        return list(self.told.values())

    def _until(self, number: int) -> None:
        for at in range(self.at, number):
            record = self.records[at]
            label = record.label.lower()
            if record.kind != "fragment" or label not in ("c", "d") or "d" not in record.registers:
                continue
            if label == "c":  # what D begins with
                self.begun.setdefault((*record.block, record.warp), []).append(record.registers["d"])
                continue
            warps = 1 if record.text.lstrip().startswith("mma") else 4
            self._judge(at, record, (*record.block, record.warp // warps), record.warp % warps, None)
        self.at = max(self.at, number)

    def _judge(self, number: int, record: Record, group: tuple[int, ...], warp: int, only: _Tile | None) -> None:
        step, tiles = self.last.get(group), [only] if only else list(self.open.get(group, {}).values())
        if step is None or not tiles:
            return
        own, held = step.instruction.operand("d"), record.registers["d"]
        if own.registers != held.shape[1] or own.element.name not in SLACK:
            return
        rows = np.unique(own.rows[32 * warp : 32 * warp + 32])
        values = _values(held, own, warp)[rows]
        begun = [np.zeros(values.shape)] + [
            _values(one, own, warp)[rows] for one in self.begun.get((*record.block, record.warp), [])
            if one.shape == held.shape
        ]  # fmt: skip
        slack = SLACK_FP8 if step.instruction.types["a"] in ("e4m3", "e5m2") else SLACK[own.element.name]
        best: tuple[tuple[int, bool], Accumulator, _Tile] | None = None
        for tile in tiles:
            for one in tile.sums.values():
                for start in begun:
                    right, as_read = (
                        _close(values, sums[rows] + start, size[rows] + abs(start), own.element.name, slack, one.steps)
                        | ~tile.inside[rows]
                        for sums, size in ((one.wanted, one.size), (one.read, one.read_size))
                    )  # fmt: skip
                    made = Accumulator(
                        number, record, tile.m, tile.n, one.steps, right.size, int(right.sum()), bool(as_read.all()),
                        self.whole,
                    )  # fmt: skip
                    rank = made.right, made.as_read
                    if best is None or rank > best[0]:
                        best = rank, made, tile
        assert best is not None
        if only is None:
            self.recorded.add((group, (best[2].m, best[2].n)))
        key = (group, warp, best[1].m, best[1].n) if only else (number,)
        self.told[key] = best[1]


def _product(step: Step, seen: tuple[Side, Side], parts: Mapping[str, Slice]) -> _Sum:
    """A · B of one step: of the slices that it should multiply, and of what it read."""
    sign = step.record.immediates.get("scale_a", 1) * step.record.immediates.get("scale_b", 1)
    read = [numbers(side.codes[0], side.known.element) for side in seen]
    wanted = []
    for side in seen:
        part = parts[side.operand]
        codes = side.known.at(part.mn + np.arange(side.rows)[:, None], part.k + np.arange(side.depth)[None, :])
        wanted.append(codec.decode(np.maximum(codes, 0).astype(np.uint64), side.known.element.name))
    with np.errstate(all="ignore"):
        sums = [sign * (pair[0] @ pair[1].T) for pair in (wanted, read)]
        sizes = [np.abs(pair[0]) @ np.abs(pair[1]).T for pair in (wanted, read)]
    return _Sum(sums[0], sums[1], sizes[0], sizes[1], 1)


def _values(held: NDArray[np.uint32], own: Operand, warp: int) -> Reals:
    """One warp's registers as numbers of the whole fragment, [m][n]."""
    full = np.zeros((own.threads, own.registers), np.uint32)
    full[32 * warp : 32 * warp + 32] = held
    return np.asarray(codec.decode(grid(full, own, "d"), own.element.name))


def _close(
    values: Reals, wanted: Reals, size: Reals, name: str, slack: float, steps: int
) -> NDArray[np.bool_]:  # fmt: skip
    """Which numbers are the sum, as far as the accumulator's rounding leaves it open; what overflows is infinite."""
    with np.errstate(all="ignore"):
        most = float(np.finfo(np.float16 if name == "f16" else np.float32).max)
        past = ~(size <= most * (1 - slack))
        least = (steps + 1) * LEAST[name]
        near = np.abs(values - wanted) <= slack * size + least
        return np.asarray(np.where(past, ~np.isfinite(values) | near, near | (values == wanted)))
