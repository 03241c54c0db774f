"""What accesses cost in banks: bodies."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from lanescope.app.banks.facts import MOST_ACCESSES
from lanescope.app.kit.enumerations import AccessName, AccessPattern
from lanescope.app.kit.schemas import ClosedModel, Number
from lanescope.app.tiles.schemas import LoopBody

SwizzleText = Annotated[str, Field(max_length=60, examples=["none", "128B", "3,4,3"])]
Address = Annotated[
    list[Number | None], Field(max_length=32, description="A byte address a lane; null for an inactive one.")
]


class OneAccess(ClosedModel):
    """An access at addresses, or at rows by a pattern."""

    access: AccessName = AccessName("ldmatrix.x4")
    address: Address | None = Field(default=None, description="A byte address a lane; null for an inactive one.")
    pattern: AccessPattern = Field(default=AccessPattern("ldmatrix"), description="Instead of addresses.")


class RowsOf(ClosedModel):
    row_bytes: Number = Field(default=128, description="With a pattern: bytes from row to row.")
    pad: Number = Field(default=0, description="With a pattern: bytes between two rows.")


class AccessBody(OneAccess, RowsOf):
    """One access at the addresses of its lanes, or at rows by a pattern."""

    swizzle: SwizzleText = Field(default="none", description="Applied to the byte addresses.")


class SolveMany(RowsOf):
    """Accesses that one swizzle shall free of conflicts."""

    accesses: list[OneAccess] = Field(min_length=1, max_length=MOST_ACCESSES)


class SolveOne(OneAccess, RowsOf):
    """One access that a swizzle shall free of conflicts."""

    access: AccessName


BanksBody = AccessBody | LoopBody
SolveBody = SolveMany | SolveOne
