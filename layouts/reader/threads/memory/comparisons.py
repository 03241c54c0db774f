"""Comparisons of a run: with open numbers, and with the sizes of matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.language.numbers import ThreadNumber, list_size_names
from lanescope.reader.threads.language.quotients import Coefficient
from lanescope.reader.threads.memory.storage import Ints, Span, spread_coefficient

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

MET, UNMET, DIFFERENT = "met", "unmet", "different"  # by all running threads, by none, by some
_ENDS = {"<": slice(1, 2), "<=": slice(1, 2), ">": slice(1), ">=": slice(1)}  # the side of k < K that is the end of k
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
    elif run.sizes is not None and (run.mask is run.running or run.mask.any()):
        _note_limit(run, span, left, right)
        met = _list_active(run, result.const)
        if met is not None:
            outcome = MET if met.all() else DIFFERENT if met.any() else UNMET
            run.outcomes.setdefault(span, set()).add(outcome)
        for value, size in ((left, right.known or 0), (right, left.known or 0)):
            if size >= _LEAST_SIZE and (compared := _list_active(run, value.const)) is not None:
                seen = Compared(int(compared.min()), int(compared.max()))
                run.compared[span, size] = seen.join(run.compared.get((span, size)))


def list_end_names(run: KernelRunner, condition: tree.Expression | None) -> frozenset[str]:
    """Return the open sizes that the end of a loop depends on. condition: that of the loop."""
    at = condition.span if condition is not None else (0, 0)
    side = _ENDS.get(condition.op, slice(2)) if isinstance(condition, tree.Binary) else slice(2)
    pairs = [pair for span, pair in run.limits.items() if at[0] <= span[0] and span[1] <= at[1]]
    return frozenset(name for pair in pairs for number in [*pair][side] for name in list_size_names(number))


def _list_active(run: KernelRunner, value: Coefficient | None) -> Ints | None:
    """Return the values of the running threads, one if they have the same; None if these are not known."""
    if value is None:
        return None
    return spread_coefficient(value, 1) if isinstance(value, int) else spread_coefficient(value, run.threads)[run.mask]


def _note_limit(run: KernelRunner, span: Span, left: ThreadNumber, right: ThreadNumber) -> None:
    """Record a number that is the same for all running threads if each of them compares another one with it."""
    both = [_list_active(run, one.const) for one in (left, right)]
    for value, limit in (both, both[::-1]):
        if value is not None and limit is not None and len(value) > 1 and (value != value[0]).any():
            least, greatest = int(limit.min()), int(limit.max())
            if least == greatest:
                run.guards[span] = Compared(least, greatest).join(run.guards.get(span))
