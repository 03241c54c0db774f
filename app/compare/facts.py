"""Two operands of one size: which elements another lane or another value holds. No framework."""

from __future__ import annotations

from typing import Annotated, Any

from app.kit.fact import Integers, fact
from layouts.errors import LayoutError
from layouts.instruction import Operand
from layouts.view import Grid


@fact
class Comparison:
    """How many elements two operands hold in another place."""

    total: int
    other_lane: int
    other_value: int
    moved: Annotated[
        Any, Integers(2, "[row][col]: 0 the same place, 1 another value of the same lane, 2 another lane.")
    ]


def compare(left: Operand, right: Operand) -> Comparison:
    """How many elements two operands of one size hold in another lane, or in another place of the same lane."""
    a, b = Grid(left), Grid(right)
    if (a.rows, a.cols) != (b.rows, b.cols):
        raise LayoutError(
            "cannot_compare",
            f"The left is {a.rows}×{a.cols}, the right {b.rows}×{b.cols}.",
            "Both must be of one size.",
            "right",
        )
    lane = a.thread[:, :, 0] != b.thread[:, :, 0]
    place = ~lane & (a.value[:, :, 0] != b.value[:, :, 0])
    return Comparison(
        total=a.rows * a.cols, other_lane=int(lane.sum()), other_value=int(place.sum()), moved=lane * 2 + place
    )
