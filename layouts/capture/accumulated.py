"""Accumulators against NumPy: D beside the sum of the slices that the recorded steps should multiply, and beside the
sum of what they really read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layouts import codec
from layouts.capture.form import Record
from layouts.capture.order import Slice
from layouts.capture.seen import Side, Step, grid
from layouts.codec import numbers

MOST_SUMS = 64  # tiles of D that are followed
# of the sum of magnitudes: an accumulator rounds every step; wgmma keeps 14 bits of a sum of FP8 products (measured)
SLACK = {"f16": 2.0**-7, "f32": 2.0**-9, "s32": 0.0}
SLACK_FP8 = 2.0**-7
Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Accumulator:
    """D as one warp recorded it. verdict: match where it is the product that it should be; mismatch otherwise.
    as_read: whether it is the sum of what the steps read. m, n: its first element.
    """

    number: int
    record: Record
    m: int
    n: int
    steps: int
    total: int
    right: int
    as_read: bool

    @property
    def verdict(self) -> str:
        return "match" if self.right == self.total else "mismatch"


@dataclass(frozen=True, slots=True)
class _Sum:
    """A tile of D that steps add to: the sums that it should be and of what was read, each with that of magnitudes."""

    m: int
    n: int
    wanted: Reals
    read: Reals
    size: Reals
    read_size: Reals
    steps: int = 0


class Sums:
    """The tiles of D of every warp or warpgroup, in the order of the records."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records
        self.open: dict[tuple[int, ...], dict[tuple[int, int], _Sum]] = {}
        self.last: dict[tuple[int, ...], Step] = {}
        self.told: dict[tuple[object, ...], Accumulator] = {}
        self.at = 0

    def add(self, step: Step, seen: Mapping[str, Side], parts: Mapping[str, Slice]) -> None:
        """One step; the accumulators that were recorded before it are judged first."""
        self._until(step.number)
        a, b = seen["a"], seen["b"]
        if step.instruction.operand("a").sparsity is not None or not a.inside.all() or not b.inside.all():
            return
        sign = step.record.immediates.get("scale_a", 1) * step.record.immediates.get("scale_b", 1)
        read = [numbers(side.codes[0], side.known.element) for side in (a, b)]
        wanted = []
        for side in (a, b):
            part = parts[side.operand]
            codes = side.known.at(part.mn + np.arange(side.rows)[:, None], part.k + np.arange(side.depth)[None, :])
            if (codes < 0).any():
                return
            wanted.append(codec.decode(codes.astype(np.uint64), side.known.element.name))
        with np.errstate(all="ignore"):
            sums = [sign * (pair[0] @ pair[1].T) for pair in (wanted, read)]
            sizes = [np.abs(pair[0]) @ np.abs(pair[1]).T for pair in (wanted, read)]
        tiles = self.open.setdefault(step.group, {})
        key = parts["a"].mn, parts["b"].mn
        if key not in tiles:
            if len(tiles) >= MOST_SUMS:
                return
            zero = np.zeros(sizes[0].shape)
            tiles[key] = _Sum(*key, zero, zero, zero, zero)
        had = tiles[key]
        one = _Sum(
            *key, had.wanted + sums[0], had.read + sums[1], had.size + sizes[0], had.read_size + sizes[1], had.steps + 1
        )
        tiles[key] = one
        self.last[step.group] = step
        if step.record.kind == "mma" and "d" in step.record.registers:
            self._judge(step.number, step.record, step.group, 0, (key, one))

    def judged(self) -> list[Accumulator]:
        """Every accumulator that was recorded; of an mma's, the last of each tile."""
        self._until(len(self.records))
        return list(self.told.values())

    def _until(self, number: int) -> None:
        for at in range(self.at, number):
            record = self.records[at]
            if record.kind == "fragment" and record.label.lower() in ("d", "c") and "d" in record.registers:
                group = (*record.block, record.thread // 128)
                self._judge(at, record, group, record.warp % 4, None)
        self.at = max(self.at, number)

    def _judge(
        self, number: int, record: Record, group: tuple[int, ...], warp: int,
        only: tuple[tuple[int, int], _Sum] | None,
    ) -> None:  # fmt: skip
        step, tiles = self.last.get(group), [only[1]] if only else list(self.open.get(group, {}).values())
        if step is None or not tiles:
            return
        own = step.instruction.operand("d")
        held = record.registers["d"]
        if own.registers != held.shape[1] or own.element.name not in SLACK:
            return
        full = np.zeros((own.threads, own.registers), np.uint32)
        full[32 * warp : 32 * warp + 32] = held
        codes = grid(full, own, "d")
        rows = np.unique(own.rows[32 * warp : 32 * warp + 32])
        values = codec.decode(codes[rows], own.element.name)
        slack = SLACK_FP8 if step.instruction.types["a"] in ("e4m3", "e5m2") else SLACK[own.element.name]
        best: Accumulator | None = None
        for one in tiles:
            right, as_read = (
                _close(values, sums[rows], size[rows], own.element.name, slack)
                for sums, size in ((one.wanted, one.size), (one.read, one.read_size))
            )
            made = Accumulator(
                number, record, one.m, one.n, one.steps, right.size, int(right.sum()), bool(as_read.all())
            )  # fmt: skip
            if best is None or (made.right, made.as_read) > (best.right, best.as_read):
                best = made
        assert best is not None
        key = (group, warp, best.m, best.n) if only else (number,)
        self.told[key] = best


def _close(values: Reals, wanted: Reals, size: Reals, name: str, slack: float) -> NDArray[np.bool_]:
    """Which numbers are the sum, as far as the accumulator's rounding leaves it open; what overflows is infinite."""
    with np.errstate(all="ignore"):
        most = float(np.finfo(np.float16 if name == "f16" else np.float32).max)
        past = ~(size <= most * (1 - slack))
        near = np.abs(values - wanted) <= slack * size + (1e-37 if slack else 0)
        return np.asarray(np.where(past, ~np.isfinite(values) | near, near | (values == wanted)))
