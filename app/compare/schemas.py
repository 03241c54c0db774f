"""Comparison of two operands: the answer."""

from __future__ import annotations

from pydantic import Field

from app.kit.schemas import Closed, Grid


class Comparison(Closed):
    """How many elements two operands hold in another place."""

    total: int
    other_lane: int
    other_value: int
    moved: Grid = Field(description="[row][col]: 0 the same place, 1 another value of the same lane, 2 another lane.")
