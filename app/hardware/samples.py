"""Cases of a verification: a few of every kind, and how many ran and agreed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

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


class CaseCounts(dict[str, dict[str, Any]]):
    """How many cases of each key ran and agreed, and what differs."""

    def add(self, key: str, agrees: bool, differs: Any = None, **also: bool) -> None:
        """Count a case. differs: what names it, if it disagrees; also: what else is counted of it.

        >>> counts = CaseCounts()
        >>> counts.add("ld", True), counts.add("ld", False, "ld 3")
        (None, None)
        >>> counts
        {'ld': {'ran': 2, 'agreed': 1, 'differs': ['ld 3']}}
        """
        row = self.setdefault(key, dict.fromkeys(("ran", "agreed", *also), 0))
        for name, count in {"ran": True, "agreed": agrees, **also}.items():
            row[name] += count
        if not agrees and differs is not None:
            row.setdefault("differs", []).append(differs)
