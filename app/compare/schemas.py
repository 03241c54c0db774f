"""Reuse of an accumulator, comparison of operands, and the state of the server: answers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.kit.schemas import ByThread, Closed, Grid


class Reuse(Closed):
    """Which of A's values are already in their lane; `tile`, `thread`, `value`: [thread][value] of A in one K step → the D that holds the element."""

    from_: str = Field(alias="from")
    to: str
    verdict: str = Field(examples=["registers"])
    tiles: int = Field(description="D tiles side by side that make all K steps.")
    steps: int = Field(description="K steps of A that they make.")
    stay: int = Field(description="Elements already in their lane, of all K steps.")
    total: int
    order: list[int] | None = Field(
        description="For each column of all K steps the column of D in whose place nothing moves; null where no order exists."
    )
    order_period: int = Field(description="The order repeats after so many columns, shifted by as many; 0 without an order.")
    step: int
    tile: ByThread
    thread: ByThread
    value: ByThread
    conversion: str = Field(description="How a value of D becomes one of A's type.")
    code: str


class Comparison(Closed):
    """How many elements two operands hold in another place."""

    total: int
    other_lane: int
    other_value: int
    moved: Grid = Field(description="[row][col]: 0 the same place, 1 another value of the same lane, 2 another lane.")


class Health(Closed):
    status: Literal["ok"]


class Ready(Closed):
    status: Literal["ready"]
    instructions: int
    assembler: str = Field(description="The ptxas that wrote the targets.")
