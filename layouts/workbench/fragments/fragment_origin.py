"""Where the elements of an operand come from, and what its rows and columns have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import gcd

import numpy as np
from numpy.typing import NDArray

from lanescope.workbench.fragments.computed_operands import is_computed
from lanescope.workbench.text.known_values import find_common_value

Ints = NDArray[np.int64]
REGISTER_BITS = 32
FACTOR_GROUP = 8  # elements along K that have the same scale, at least


@dataclass(frozen=True, eq=False)
class FragmentOrigin:
    """Where an operand's elements of one warp come from. places: for each product of open names the byte offsets,
    [rows of A or columns of B, K]; names: these products; array: the one array, "" if they are several; filled: the
    elements that a thread has written; zeros: in a run with known sizes, those that are 0, None if none is.
    """

    array: str
    names: tuple[str, ...]
    places: tuple[Ints, ...]
    filled: NDArray[np.bool_]
    unit: int = 8  # bits that offsets count
    unpacked: int = 0  # bits of the elements that threads take out of words; 0 if they do not
    zeros: NDArray[np.bool_] | None = None

    @property
    def empty(self) -> int:
        return self.total - int(np.count_nonzero(self.filled))

    @property
    def total(self) -> int:
        return int(self.filled.size)

    @cached_property
    def separable(self) -> bool:
        """Whether every offset is the sum of a row term and a K term."""
        if not self.array or self.empty or self.zeros is not None:
            return False
        return all(map(_is_separable, self.places))

    @cached_property
    def padded(self) -> bool:
        """Whether complete rows are never written and the others are rows and columns of one array. The kernel may
        ignore the results in these rows.
        """
        rows = self.filled.any(axis=1)
        if not self.array or rows.all() or not rows.any() or not self.filled[rows].all():
            return False
        return all(_is_separable(g[rows]) for g in self.places)

    @cached_property
    def k_order(self) -> tuple[int, ...] | None:
        """The K that each column counts, from 0 and without a common factor; None if ambiguous."""
        steps = {name: g[0] - g[0, 0] for name, g in zip(self.names, self.places, strict=True)}
        moving = {name: step for name, step in steps.items() if step.any()}
        if len(moving) == 2 and "" in moving and self.unit * int(np.ptp(moving[""])) < REGISTER_BITS:
            within, apart = moving.pop(""), *moving.values()
            return None if self.repeats_elements else _rank_columns(within, apart)
        return find_common_value(_reduce_steps(step) for step in moving.values())

    @cached_property
    def repeated_rows(self) -> bool:
        """Whether rows 8 to 15 are rows 0 to 7 again."""
        rows = np.stack([g[:, 0] for g in self.places])
        if rows.shape[1] != 16 or _count_columns(rows[:, :8]) < 8:
            return False
        return bool((rows[:, :8] == rows[:, 8:]).all())

    @cached_property
    def has_even_rows(self) -> bool:
        """Whether each 8 rows that one matrix holds are equally far apart."""
        steps = (np.diff(g[:, 0].reshape(-1, 8), axis=1) for g in self.places if g.shape[0] % 8 == 0)
        return all(bool((step == step[:, :1]).all()) for step in steps)

    @cached_property
    def has_rows_twice(self) -> bool:
        """Whether some rows occur twice, but not only one."""
        rows = np.stack([g[:, 0] for g in self.places])
        return bool(1 < _count_columns(rows) < rows.shape[1])

    @cached_property
    def has_uneven_starts(self) -> bool:
        """Whether rows begin at different K: they are not multiples of one pitch apart, although each has its own."""
        along = np.stack([g[:, 0] - g[:, 0].min() for g, step in zip(self.places, self.k_step, strict=True) if step])
        apart = [g[:, 0] - g[0, 0] for g, step in zip(self.places, self.k_step, strict=True) if not step]
        if any(line.any() for line in apart):
            own = _count_columns(np.stack(apart)) == along.shape[1]
            rank = [int(np.linalg.matrix_rank(np.stack(lines))) for lines in (apart, [*apart, *along])]
            return own and rank[0] < rank[1]
        steps = np.diff(np.unique(along[0]))
        return len(along) == 1 and bool(steps.size) and bool((along[0] % steps.min()).any())

    @cached_property
    def repeats_rows(self) -> bool:
        """Whether any row occurs twice."""
        rows = np.stack([g[:, 0] for g in self.places])
        return bool(_count_columns(rows) < rows.shape[1])

    @cached_property
    def repeats_elements(self) -> bool:
        """Whether any element occurs twice, also in another row."""
        return bool(_count_columns(np.stack([g.ravel() for g in self.places])) < self.total)

    @cached_property
    def is_factor(self) -> bool:
        """Whether each row has one element, or each group of at least 8 along K: scales or zero points."""
        columns = np.stack(self.places, axis=-1)
        changes = np.flatnonzero((columns[:, 1:] != columns[:, :-1]).any(axis=(0, 2)))
        return self.unit == 8 and all(int(at + 1) % FACTOR_GROUP == 0 for at in changes)

    @cached_property
    def computed(self) -> bool:
        """Whether the elements are those of an earlier product."""
        return is_computed(self.array)

    @cached_property
    def lines(self) -> dict[str, tuple[int, int]]:
        """The offset of the first element and the step along K, by name."""
        return dict(zip(self.names, zip(self.base, self.k_step, strict=True), strict=True))

    @cached_property
    def element_bits(self) -> int:
        """The bits of an element in memory: at most the distance of the two that are closest to each other; 0 if there
        are no two.
        """
        if self.unpacked:
            return self.unpacked
        steps = (np.diff(np.sort(g[self.filled])) for g in self.places)
        return self.unit * min((int(of[of > 0].min()) for of in steps if of.any()), default=0)

    @cached_property
    def has_neighbours(self) -> bool:
        """Whether elements that follow each other along K, or in the next row, are next to each other in memory."""
        steps = (int(step) for g in self.places for step in (g[0, 1] - g[0, 0], g[1, 0] - g[0, 0]))
        return any(abs(step) * self.unit == self.element_bits for step in steps)

    @cached_property
    def repeated_k(self) -> bool:
        """Whether a position along K occurs twice."""
        columns = np.stack([g[0] for g in self.places])
        return bool(_count_columns(columns) < columns.shape[1])

    @cached_property
    def base(self) -> tuple[int, ...]:
        """The offset of the first element."""
        return tuple(int(g[0, 0]) for g in self.places)

    @cached_property
    def k_step(self) -> tuple[int, ...]:
        """The offset from the first element to the next along K."""
        return tuple(int(g[0, 1] - g[0, 0]) for g in self.places)

    @cached_property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """The offset from the first row to every other."""
        return _keep_rows(tuple(tuple((g[:, 0] - g[0, 0]).tolist()) for g in self.places))

    def is_same_rows(self, other: FragmentOrigin) -> bool:
        """Return whether another fragment is some whole fragments further along K."""
        if not self.has_terms_of(other) or self.base == other.base:
            return False
        width = self.places[0].shape[1]
        step = [width * n for n in self.k_step]
        difference = [b - a for a, b in zip(self.base, other.base, strict=True)]
        count = next((b // a for a, b in zip(step, difference, strict=True) if a), 0)
        return 0 < abs(count) <= 16 and all(b == count * a for a, b in zip(step, difference, strict=True))

    def follows_along_k(self, difference: Sequence[int]) -> bool:
        """Return whether an offset leads along K."""
        step = self.k_step
        return all(
            a * y == b * x for a, x in zip(step, difference, strict=True) for b, y in zip(step, difference, strict=True)
        )

    def has_terms_of(self, other: FragmentOrigin) -> bool:
        """Return whether offsets of both are in one array and of the same open names, so that they can be compared."""
        return self.names == other.names and self.array == other.array

    def count_k(self, later: FragmentOrigin) -> int | None:
        """Return by how many elements along K another fragment starts later; None if it is elsewhere."""
        if not self.has_terms_of(later) or self.k_step != later.k_step:
            return None
        difference = tuple(b - a for a, b in zip(self.base, later.base, strict=True))
        counts = {b / a for a, b in zip(self.k_step, difference, strict=True) if a}
        count = counts.pop() if len(counts) == 1 else 0.5
        along = all(b == count * a for a, b in zip(self.k_step, difference, strict=True))
        return int(count) if along and count == int(count) else None

    def has_rows_within(self, count: int) -> bool:
        """Return whether other rows begin between its first element and the element `count` positions later along K."""
        for row in zip(*self.rows, strict=True):
            ratio = find_common_value(b / a if a else None for a, b in zip(self.k_step, row, strict=True) if a or b)
            if ratio is not None and 0 < abs(ratio) < abs(count):
                return True
        return False

    def find_misplaced(self) -> NDArray[np.bool_]:
        """Find the elements that are not where the most common steps from row to row and along K put them."""
        wrong = np.zeros(self.places[0].shape, np.bool_)
        for g in self.places:
            rows = g[0, 0] + _find_usual(np.diff(g, axis=0)) * np.arange(g.shape[0])[:, None]
            wrong |= g != rows + _find_usual(np.diff(g, axis=1)) * np.arange(g.shape[1])[None]
        return wrong & self.filled


@lru_cache(maxsize=1 << 10)
def _keep_rows(rows: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Return rows as one object, which is quickly compared."""
    return rows


def _reduce_steps(steps: Ints) -> tuple[int, ...]:
    """Return steps from the first column without a common factor."""
    return _fix_sign(tuple((steps // gcd(*map(int, steps))).tolist()))


def _rank_columns(within: Ints, apart: Ints) -> tuple[int, ...]:
    """Return the place of each column along K where those of one register lie side by side, and others an unknown pitch
    apart.

    >>> _rank_columns(np.array([0, 2, 0, 2]), np.array([0, 0, 4, 4]))
    (0, 1, 2, 3)
    """
    rank = np.lexsort((within, apart)).argsort()
    return _reduce_steps(rank - rank[0])


def _fix_sign(order: tuple[int, ...]) -> tuple[int, ...]:
    first = next((n for n in order if n), 1)
    return tuple(-n for n in order) if first < 0 else order


def _is_separable(grid: Ints) -> bool:
    """Return whether every element is the sum of a row term and a column term."""
    steps = grid[1:] - grid[:-1]
    return bool((steps == steps[:, :1]).all())


def _count_columns(values: Ints) -> int:
    """Return how many different columns there are."""
    return len(set(map(tuple, values.T.tolist())))


def _find_usual(steps: Ints) -> int:
    values, counts = np.unique(steps, return_counts=True)
    return int(values[counts.argmax()]) if len(values) else 0
