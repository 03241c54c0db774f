"""The copies of tensor maps in the loops around them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from lanescope.workbench.copies.transfers import TileCopy

Turns = dict[str, list[TileCopy]]  # the copies of one operand by the value of the loop's variable


def group_by_loop(copies: Iterable[tuple[str, TileCopy, int]]) -> list[dict[str, Turns]]:
    """Return for each loop the copies of each operand in its iterations.

    copies: (operand, copy, the number of the loop among those around it, 0 for the outermost).
    """
    loops: dict[object, dict[str, Turns]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for operand, copy, number in copies:
        variable, value = copy.event.loops[number]
        loop = copy.event.calls[:1], str(copy.event.loops[:number]), variable
        loops[loop][operand][str(value)].append(copy)
    return list(loops.values())
