"""Tell from the first products of a run which edits are not worth running the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lanescope.reader.threads.memory.storage import Ints
from lanescope.workbench.products.broken_products import D
from lanescope.workbench.products.known_runs import KnownRun
from lanescope.workbench.products.known_sums import KnownFragment, WrongPart, are_of_lines, read_sum
from lanescope.workbench.products.matrix_orders import MatrixOrder

_COUNTS = 1, 8, 64, 512
_OF_STORES = 8  # products, if D is stored elsewhere
_Lines = Sequence[tuple[Ints, Ints]]  # rows of A and columns of B of each sum


@dataclass(frozen=True, slots=True, eq=False)
class FirstProducts:
    """The first products of a run, one of which is wrong, or which are stored elsewhere. order: of the matrices;
    choices: the rows and columns that the sums may be of: their own, and those that they are stored at; none if the
    products are wrong.
    """

    count: int
    order: MatrixOrder | None = None
    choices: Sequence[_Lines] = ()

    def may_be_right(self, run: KnownRun) -> bool:
        """Return whether D of an edited text may be A·B. An edit that moves loads and stores alike is not tried."""
        sums = run.list_first_sums(self.count)
        if self.order is None or sums is None:
            return sums is not None and are_of_lines(sums, run.known)
        lines = _read_sums(self.order, sums)
        return lines is not None and any(_are_equal(lines, choice) for choice in self.choices)


def find_first_products(run: KnownRun) -> FirstProducts | None:
    """Return the first products of a short run that show its mistake; None if they do not."""
    for count in _COUNTS:
        sums = run.list_first_sums(count)
        if sums == []:  # wgmma
            return None
        if sums is None or not are_of_lines(sums, run.known):
            return FirstProducts(count)
    verdict = next(run.list_verdicts())
    part, sums = verdict.wrong, run.list_first_sums(_OF_STORES)
    if part is None or D not in part.sides or part.order is None or len(verdict.fragments) > 1 or sums is None:
        return None
    own, stored = _read_sums(part.order, sums), _list_stored(part, sums, verdict.every)
    return FirstProducts(_OF_STORES, part.order, (own, stored)) if own is not None and stored is not None else None


def _read_sums(order: MatrixOrder, sums: Sequence[KnownFragment]) -> _Lines | None:
    """Return the rows and columns of sums, None if those of one are not known."""
    found = [lines for lines in (read_sum(order, one) for one in sums) if lines is not None]
    return found if len(found) == len(sums) else None


def _list_stored(part: WrongPart, sums: Sequence[KnownFragment], fragments: Sequence[KnownFragment]) -> _Lines | None:
    """Return the rows and columns that sums of first products are stored at, by the fragments of the whole run."""
    left: dict[object, list[KnownFragment]] = {}
    for one in reversed(fragments):
        left.setdefault(_get_key(one), []).append(one)
    found = []
    for one in sums:
        of = left.get(_get_key(one))
        whole = of.pop() if of else None
        lines = read_sum(part.order, whole) if whole is not None and part.order is not None else None
        if whole is None or lines is None or part.order is None:
            return None
        _, row, column = part.order.split(whole.place)
        rows, columns = (of.copy() for of in lines)
        rows[whole.row], columns[whole.column] = row, column
        found.append((rows, columns))
    return found


def _get_key(one: KnownFragment) -> object:
    """Return what the first product of a sum has in common in all warps."""
    first = one.products[-1]
    return first.span, first.calls, first.turns


def _are_equal(one: _Lines, other: _Lines) -> bool:
    pairs = zip(one, other, strict=False)
    return len(one) == len(other) and all(all(map(np.array_equal, pair, like)) for pair, like in pairs)
