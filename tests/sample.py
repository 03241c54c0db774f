"""The part of many cases that `make test` asks: all of them with LANESCOPE_FULL=1, as `make fuzz` sets it."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")
FULL = os.environ.get("LANESCOPE_FULL") == "1"


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
    if FULL or len(cases) <= part:
        return list(cases)
    inner = Random(len(cases)).sample(range(1, len(cases) - 1), part - 2)
    return [cases[n] for n in sorted({0, len(cases) - 1, *inner})]
