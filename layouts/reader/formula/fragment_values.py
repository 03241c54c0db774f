"""Count the values that a pasted formula distinguishes, and find clashes beyond an operand's values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx.threads import WARP, WARPGROUP
from lanescope.reader.formula.lane_places import Values

BITS = 7  # values of i examined: no fragment has more than 256
MOST_VALUES = 2 << BITS


@dataclass(frozen=True, slots=True)
class ValueClash:
    """A value (value, lane, place) at the place of an earlier value of another lane, and that other value."""

    value: int
    lane: int
    place: tuple[int, int]
    other_value: int
    other_lane: int


def _count_digits(axes: Sequence[NDArray[np.int64]]) -> int:
    """Return the number of values that a formula's digits distinguish; the last digit counts as two."""
    steps = [[int(axis[0, 1 << bit] - axis[0, 0]) for axis in axes] for bit in range(BITS + 1)]
    bit = BITS
    while bit and steps[bit] == [2 * step for step in steps[bit - 1]]:
        bit -= 1
    return 2 << bit if any(steps[bit]) else 1 << bit


def count_distinguished(rows: Values, cols: Values) -> int:
    """Return the minimum number of values that a formula distinguishes, from its rows and columns of MOST_VALUES.

    For a periodic formula such as `i % 3` this is its period. Otherwise the bits of i are grouped into digits: a bit
    whose step is twice that of the bit below belongs to the same digit, so `8 * (i / 2)` has one digit from bit 1 on.
    """
    axes = [np.broadcast_to(axis, (axis.shape[0], WARPGROUP, MOST_VALUES))[0] for axis in (rows, cols)]
    period = _find_period(axes)
    if period and all((axis[:, period] == axis[:, 0]).all() for axis in axes):
        return period
    if period & (period - 1):
        return 2 * period  # the last digit has at least two values
    count = _count_digits(axes)
    if period:
        return count
    places = (axes[0][:WARP] << 32) + axes[1][:WARP]
    while count > 1 and len(np.unique(places[:, :count])) < WARP * count:
        count //= 2  # beyond its last value, a formula repeats places
    rows, cols = (axis[None, :, : 2 * count] for axis in axes)
    beyond = find_clash(rows, cols, count)
    return beyond.value + 1 if beyond else count


def _find_period(axes: Sequence[NDArray[np.int64]]) -> int:
    """Return the period of a formula in values, possibly shifted to another place; 0 if it is not periodic."""
    count = axes[0].shape[1]
    for period in range(1, count // 2 + 1):
        moved = [axis[:, period:] - axis[:, :-period] for axis in axes]
        if all((axis == axis[:, :1]).all() for axis in moved):
            return period
    return 0


def find_clash(rows: Values, cols: Values, past: int) -> ValueClash | None:
    """Return the first value, from `past` on, at the place of an earlier value of another lane; None without one."""
    count = max(rows.shape[2], cols.shape[2])
    places = [np.broadcast_to(axis, (axis.shape[0], WARPGROUP, count))[0, :WARP] for axis in (rows, cols)]
    seen: dict[tuple[int, int], tuple[int, int]] = {}
    for value in range(count):
        for lane in range(WARP):
            place = int(places[0][lane, value]), int(places[1][lane, value])
            other_value, other_lane = seen.setdefault(place, (value, lane))
            if value >= past and other_lane != lane:
                return ValueClash(value, lane, place, other_value, other_lane)
    return None
