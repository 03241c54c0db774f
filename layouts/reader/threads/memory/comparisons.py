"""Comparisons of a run: with open numbers, and with the sizes of matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.memory.storage import spread_coefficient

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

Span = tuple[int, int]
MET, UNMET, DIFFERENT = "met", "unmet", "different"  # by all running threads, by none, by some
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
        _note_limit(run, span, left, right)
        met = spread_coefficient(result.const, run.threads)[run.mask] != 0 if result.const is not None else None
        if met is not None:
            outcome = MET if met.all() else DIFFERENT if met.any() else UNMET
            run.outcomes.setdefault(span, set()).add(outcome)
        for value, size in ((left, right.known or 0), (right, left.known or 0)):
            if size >= _LEAST_SIZE and value.const is not None:
                compared = spread_coefficient(value.const, run.threads)[run.mask]
                seen = Compared(int(compared.min()), int(compared.max()))
                run.compared[span, size] = seen.join(run.compared.get((span, size)))


def _note_limit(run: KernelRunner, span: Span, left: ThreadNumber, right: ThreadNumber) -> None:
    """Record a number that is the same for all running threads if each of them compares another one with it."""
    if left.const is None or right.const is None:
        return
    both = [spread_coefficient(one.const, run.threads)[run.mask] for one in (left, right)]
    for value, limit in (both, both[::-1]):
        least, greatest = int(limit.min()), int(limit.max())
        if least == greatest and (value != value[0]).any():
            run.guards[span] = Compared(least, greatest).join(run.guards.get(span))
