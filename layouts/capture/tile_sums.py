"""Sum products for tiles of D (expected, and of the elements read), and compare them with D."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.capture.recorded_operands import MultiplyStep, OperandCodes, registers_to_grid
from lanescope.capture.slice_order import OperandSlice
from lanescope.ptx import codec
from lanescope.ptx.codec import decode_as_read
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.instruction import Instruction, Operand

# relative to the sum of magnitudes: every step rounds; wgmma keeps 14 bits of a sum of FP8 products (measured)
SLACK = {"f16": 2.0**-7, "f32": 2.0**-9, "s32": 0.0}
SLACK_FP8 = 2.0**-7
LEAST = {"f16": 2.0**-24, "f32": 1e-37, "s32": 0.0}  # error per step in a subnormal sum
Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StepSum:
    """The sum of a tile of D from some step on: expected and as read, each with the sum of magnitudes.

    Arrays are [m][n].
    """

    expected: Reals
    read: Reals
    size: Reals
    read_size: Reals
    steps: int = 0

    def __add__(self, other: StepSum) -> StepSum:
        return StepSum(
            self.expected + other.expected,
            self.read + other.read,
            self.size + other.size,
            self.read_size + other.read_size,
            self.steps + other.steps,
        )


@dataclass(frozen=True, slots=True)
class SumTile:
    """A tile of D.

    sums: from the first step, and from each step at which the accumulators may have been reset (K begins again, C or D
    was recorded before); inside: [m][n], whether inside A · B; step: the last step.
    """

    m: int
    n: int
    k: int
    inside: NDArray[np.bool_]
    sums: Mapping[str, StepSum]
    step: MultiplyStep


SUMS = ("first", "again", "begun", "recorded")  # in the order of the comparison


def begin_tile(
    step: MultiplyStep, seen: tuple[OperandCodes, OperandCodes], parts: Mapping[str, OperandSlice], k: int
) -> SumTile:
    """Return a tile of D before its first step, at k."""
    inside_of = [side.known.get_codes(parts[side.operand].mn + np.arange(side.rows), np.array(0)) >= 0 for side in seen]
    inside = inside_of[0][:, None] & inside_of[1][None, :]
    return SumTile(parts["a"].mn, parts["b"].mn, k - step.depth, inside, {}, step)


def find_nearest_sum(
    values: Reals,
    rows: NDArray[np.integer[Any]],
    c: Reals,
    starts: Sequence[int],
    tiles: Mapping[tuple[object, ...], SumTile],
    element: str,
) -> tuple[int, bool, int, tuple[object, ...], str]:
    """Return the sum nearest to a warp's D that starts from one of the C's.

    The result is (number of right elements, whether it is the sum of the elements read, start, tile, sum). Of equally
    near C's the last one is used. values: [m][n] of D; c: [start][m][n].
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
    """Return the tolerance of accumulators of this type, as a fraction of the sum of magnitudes."""
    a = get_dtype(instruction.types["a"])
    return SLACK_FP8 if a.format is not None and a.bits == 8 else SLACK[element]


def multiply_step(
    step: MultiplyStep, seen: tuple[OperandCodes, OperandCodes], parts: Mapping[str, OperandSlice]
) -> StepSum:
    """Return A · B of a step: of the expected slices, and of the elements read."""
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
    return StepSum(sums[0], sums[1], sizes[0], sizes[1], 1)


def decode_registers(registers: NDArray[np.uint32], operand: Operand, warp: int) -> Reals:
    """Return a warp's registers as numbers [m][n] of the fragment."""
    full = np.zeros((operand.threads, operand.registers), np.uint32)
    full[32 * warp : 32 * warp + 32] = registers
    return np.asarray(codec.decode_bits(registers_to_grid(full, operand, "d"), operand.element.name))


def _mask_close(values: Reals, expected: Reals, size: Reals, name: str, slack: float, steps: int) -> NDArray[np.bool_]:
    """Return which numbers equal the sum within the accumulator's rounding; overflow gives infinity."""
    with np.errstate(all="ignore"):
        most = float(np.finfo(np.float16 if name == "f16" else np.float32).max)
        past = ~(size <= most * (1 - slack))
        least = (steps + 1) * LEAST[name]
        near = np.abs(values - expected) <= slack * size + least
        return np.asarray(np.where(past, ~np.isfinite(values) | near, near | (values == expected)))
