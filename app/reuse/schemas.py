"""Reuse of an accumulator: the answer."""

from __future__ import annotations

from pydantic import Field

from app.kit.schemas import ByThread, Closed


class Reuse(Closed):
    """Which of A's values are already in their lane; `tile`, `thread`, `value`: [thread][value] of A in one K step →
    the D that holds the element.
    """

    from_: str = Field(alias="from")
    to: str
    verdict: str = Field(examples=["registers"])
    tiles: int = Field(description="D tiles side by side that make all K steps.")
    steps: int = Field(description="K steps of A that they make.")
    stay: int = Field(description="Elements already in their lane, of all K steps.")
    total: int
    order: list[int] | None = Field(
        description=(
            "For each column of all K steps the column of D in whose place nothing moves; null where no order exists."
        )
    )
    order_period: int = Field(
        description="The order repeats after so many columns, shifted by as many; 0 without an order."
    )
    step: int
    tile: ByThread
    thread: ByThread
    value: ByThread
    conversion: str = Field(description="How a value of D becomes one of A's type.")
    code: str
