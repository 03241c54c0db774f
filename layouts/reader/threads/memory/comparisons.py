"""Comparisons of a run: with open numbers, and with the sizes of matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.memory.storage import spread_coefficient

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

Span = tuple[int, int]
_LEAST_SIZE = 128  # of a matrix, in a run with known sizes


@dataclass(frozen=True, slots=True)
class Compared:
    """The least and the greatest number that a comparison compared with one."""

    least: int
    greatest: int

    def join(self, other: Compared | None) -> Compared:
        """Return what both compared."""
        if other is None:
            return self
        return Compared(min(self.least, other.least), max(self.greatest, other.greatest))


def note_comparison(
    run: KernelRunner, span: Span, left: ThreadNumber, right: ThreadNumber, result: ThreadNumber | None
) -> None:
    """Record what a comparison compares if that is open, or if sizes are known and it is with a large number."""
    if result is None:
        run.limits[span] = left, right
    elif run.sizes is not None and run.mask.any():
        for value, size in ((left, right.known or 0), (right, left.known or 0)):
            if size >= _LEAST_SIZE and value.const is not None:
                compared = spread_coefficient(value.const, run.threads)[run.mask]
                seen = Compared(int(compared.min()), int(compared.max()))
                run.compared[span, size] = seen.join(run.compared.get((span, size)))
