"""The part of many cases that `make test` asks: all of them with LANESCOPE_FULL=1, as `make fuzz` sets it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")
FULL = os.environ.get("LANESCOPE_FULL") == "1"


def choose_count(every: int, part: int) -> int:
    """Return how many generated cases are asked: `every` in a full run, else `part`."""
    return every if FULL else part


def take_sample(cases: Sequence[T], part: int) -> list[T]:
    """Return the first, the last and a seeded choice of `part` cases in their order; all of them in a full run."""
    if FULL or len(cases) <= part:
        return list(cases)
    inner = Random(len(cases)).sample(range(1, len(cases) - 1), part - 2)
    return [cases[n] for n in sorted({0, len(cases) - 1, *inner})]
