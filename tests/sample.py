"""The part of many cases that `make test` asks.

LANESCOPE_THOROUGH=1, as .ci/run sets it, asks every row of the tables that are written out; LANESCOPE_FULL=1, as
`make fuzz` sets it, every generated case too.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")
FULL = os.environ.get("LANESCOPE_FULL") == "1"
THOROUGH = FULL or os.environ.get("LANESCOPE_THOROUGH") == "1"


def choose_count(every: int, part: int) -> int:
    """Return how many generated cases are asked: `every` in a full run, else `part`."""
    return every if FULL else part


def is_chosen(name: str, one_in: int) -> bool:
    """Return whether a case is asked, by a hash of its name: one in so many, every one in a full run. A case that many
    tests have is asked by all of them or by none.
    """
    return FULL or zlib.crc32(name.encode()) % one_in == 0


def take_sample(cases: Sequence[T], part: int) -> list[T]:
    """Return the first, the last and a seeded choice of `part` cases in their order; all of them in a full run."""
    return list(cases) if FULL else _choose(cases, part)


def take_rows(rows: Sequence[T], part: int) -> list[T]:
    """Return `part` rows of a table as `take_sample` does; all of them in a thorough run, as .ci/run is."""
    return list(rows) if THOROUGH else _choose(rows, part)


def _choose(cases: Sequence[T], part: int) -> list[T]:
    if len(cases) <= part:
        return list(cases)
    inner = Random(len(cases)).sample(range(1, len(cases) - 1), max(part - 2, 0))
    return [cases[n] for n in sorted({0, len(cases) - 1, *inner})[:part]]
