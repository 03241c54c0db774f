"""Reuse of an accumulator, comparison of operands, and the state of the server: answers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.schemas.base import ByThread, Closed, Grid


class Reuse(Closed):
    """Which of A's values are already in their lane; `tile`, `thread`, `value`: [thread][value] of A → the D that holds the element."""

    from_: str = Field(alias="from")
    to: str
    verdict: str = Field(examples=["registers"])
    tiles: int = Field(description="D tiles that one A takes.")
    stay: int
    total: int
    order: list[int] | None = Field(description="The order of K in which nothing moves; null where there is none.")
    tile: ByThread
    thread: ByThread
    value: ByThread
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
