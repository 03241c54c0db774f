"""A few cases of every kind, for a verification that does not run all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Case = TypeVar("Case")


def take_first_of_each(cases: Iterable[Case], kind: Callable[[Case], Hashable], most: int) -> list[Case]:
    """Return the first `most` cases of each kind, in their order; all of them if `most` is 0.

    >>> take_first_of_each([1, 2, 3, 4, 5], lambda n: n % 2, 1), take_first_of_each([1, 2, 3], lambda n: n % 2, 0)
    ([1, 2], [1, 2, 3])
    """
    counts: Counter[Hashable] = Counter()
    chosen = []
    for case in cases:
        counts[kind(case)] += 1
        if not most or counts[kind(case)] <= most:
            chosen.append(case)
    return chosen
