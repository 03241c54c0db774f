"""The selection in a live view: a matrix, and in it a lane, a value and an element that belong together.

Independent of the widget.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lanescope.app.widget.live_matrix import LiveMatrix
from lanescope.errors import LayoutError
from lanescope.inputs import quote_value

Matrices = Mapping[str, LiveMatrix]


@dataclass(frozen=True, slots=True)
class Selection:
    """A lane without a value selects all its elements, a value without a lane that value of every lane; an element has
    both, if it has a holder. Memory has no lanes: there a value is an offset.
    """

    matrix: str
    lane: int | None = None
    value: int | None = None
    element: tuple[int, int] | None = None


def is_consistent(matrix: LiveMatrix, now: Selection) -> bool:
    """Return whether lane, value and element belong together."""
    if now.element is None:
        return now.value is None or (bool(matrix.unit) and now.lane is None)
    holders = matrix.list_holders(*now.element)
    return (now.lane, now.value) in holders if holders else now.lane is now.value is None


def settle_selection(matrices: Matrices, now: Selection, changed: str) -> Selection:
    """Return the selection after one of its parts has changed: the others follow from the map."""
    matrix = matrices[now.matrix]
    if is_consistent(matrix, now):
        return now
    if changed == "matrix":
        return replace(now, value=None, element=None)
    if changed == "element":
        return _follow_element(matrix, now)
    if changed == "lane" and now.lane is None:
        return Selection(now.matrix)
    if now.value is None:
        return replace(now, element=None)
    if matrix.unit and now.lane is None:
        return replace(now, element=None)
    element = matrix.find_element(now.lane, now.value)
    return replace(now, element=element) if element else replace(now, value=None, element=None)


def _follow_element(matrix: LiveMatrix, now: Selection) -> Selection:
    """Select a holder of the element: of several the one in the selected lane, otherwise the first."""
    if now.element is None:
        return Selection(now.matrix)
    holders = matrix.list_holders(*now.element)
    if not holders:
        return replace(now, lane=None, value=None)
    lane, value = next((holder for holder in holders if holder[0] == now.lane), holders[0])
    return replace(now, lane=lane, value=value)


def select_part(matrices: Matrices, matrix: str, part: str, wanted: Any, lane: int | None = None) -> Selection:
    """Select one part in a matrix, and the parts that follow from it; LayoutError if the matrix does not have it.

    lane: of an element's copies, the one in this lane is selected.
    """
    start = Selection(matrix, lane if part == "element" else None)
    chosen = replace(start, **{part: check_part(matrices, start, part, wanted)})
    return settle_selection(matrices, chosen, part)


# what may be set ------------------------------------------------------------------------------------------------------


def check_part(matrices: Matrices, now: Selection, part: str, wanted: Any) -> Any:
    """Return the checked value of a part of a selection; LayoutError names the allowed values."""
    if part == "matrix":
        return check_matrix(matrices, wanted)
    if part == "lane":
        return check_lane(matrices, wanted)
    if part == "value":
        return check_value(matrices[now.matrix], wanted, now.lane)
    return check_element(matrices[now.matrix], wanted)


def check_matrix(matrices: Matrices, name: object) -> str:
    """Return a matrix's name; LayoutError lists the names."""
    if name not in matrices:
        raise LayoutError(
            "bad_selection", f"matrix is {quote_value(name)}.", f"Allowed: {', '.join(matrices)}.", "matrix"
        )
    return str(name)


def check_lane(matrices: Matrices, lane: Any) -> int | None:
    """Return a lane that holds elements; LayoutError names the range."""
    if lane is None:
        return None
    number = _check_integer("lane", lane)
    if any(matrix.has_lane(number) for matrix in matrices.values()):
        return number
    bounds = [int(n) for matrix in matrices.values() if matrix.unit for n in (matrix.lanes.min(), matrix.lanes.max())]
    hint = f"From {min(bounds)} to {max(bounds)}." if bounds else "Memory has no lanes: set element or value."
    raise LayoutError("bad_selection", f"lane is {number}.", hint, "lane")


def check_value(matrix: LiveMatrix, value: Any, lane: int | None) -> int | None:
    """Return a value that the lane, or any lane, has in a matrix; LayoutError names the range."""
    if value is None:
        return None
    number = _check_integer("value", value)
    known = matrix.has_value(number)
    if known and (not matrix.unit or lane is None or matrix.find_element(lane, number)):
        return number
    if not matrix.values.size:
        hint = "These elements have no values: set element."
    elif known:
        hint = f"{matrix.unit.capitalize()} {lane} holds no element of {matrix.title or matrix.name} there."
    elif matrix.unit:
        hint = f"From 0 to {int(matrix.values.max())}."
    else:
        hint = f"An offset of an element, from {int(matrix.values.min())} to {int(matrix.values.max())}."
    raise LayoutError("bad_selection", f"value is {number}.", hint, "value")


def check_element(matrix: LiveMatrix, element: Any) -> tuple[int, int] | None:
    """Return (row, column) of a matrix; LayoutError names its size."""
    if element is None:
        return None
    hint = f"(row, column) of {matrix.title or matrix.name}: {matrix.rows} rows, {matrix.cols} columns, from 0."
    try:
        row, col = (_check_integer("element", part) for part in element)
    except (TypeError, ValueError):
        raise LayoutError("bad_selection", f"element is {quote_value(element)}.", hint, "element") from None
    if not (0 <= row < matrix.rows and 0 <= col < matrix.cols):
        raise LayoutError("bad_selection", f"element is ({row}, {col}).", hint, "element")
    return row, col


def _check_integer(name: str, value: Any) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise LayoutError("bad_selection", f"{name} is {quote_value(value)}.", "An integer, or None.", name) from None
