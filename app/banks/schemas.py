"""What accesses cost in banks: bodies and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import Field

from app.banks.facts import MOST_ACCESSES
from app.kit.names import SwizzleMode, words
from app.kit.schemas import Closed, Number
from layouts.banks import ACCESSES, REACHES

if TYPE_CHECKING:
    AccessName: TypeAlias = str
    AccessPattern: TypeAlias = str
else:
    AccessName = words("AccessName", ACCESSES, "One warp-wide access to shared memory.")
    AccessPattern = words("AccessPattern", REACHES, "How the lanes of an access reach rows of shared memory.")


SwizzleText = Annotated[str, Field(max_length=60, examples=["none", "128B", "3,4,3"])]


Address = Annotated[list[Number | None], Field(max_length=32, description="A byte address a lane; null for an inactive one.")]


class OneAccess(Closed):
    """An access at addresses, or at rows by a pattern."""

    access: AccessName = AccessName("ldmatrix.x4")
    address: Address | None = Field(default=None, description="A byte address a lane; null for an inactive one.")
    pattern: AccessPattern = Field(default=AccessPattern("ldmatrix"), description="Instead of addresses.")


class RowsOf(Closed):
    row_bytes: Number = Field(default=128, description="With a pattern: bytes from row to row.")
    pad: Number = Field(default=0, description="With a pattern: bytes between two rows.")


class BanksBody(OneAccess, RowsOf):
    """One access at the addresses of its lanes, or at rows by a pattern."""

    swizzle: SwizzleText = Field(default="none", description="Applied to the byte addresses.")


class Phase(Closed):
    """Lanes whose requests can share a wavefront, and the words each of the 32 banks serves them."""

    lanes: list[int]
    wavefronts: int
    ideal: int
    ways: int
    words: list[int]


class BankCost(Closed):
    """What an access costs: `ideal` wavefronts without conflicts."""

    access: AccessName
    address: list[int | None] = Field(description="[lane], after the swizzle.")
    swizzle: str
    wavefronts: int
    ideal: int
    ways: int
    phases: list[Phase]


class SolveMany(RowsOf):
    """Accesses that one swizzle shall free of conflicts."""

    accesses: list[OneAccess] = Field(min_length=1, max_length=MOST_ACCESSES)


class SolveOne(OneAccess, RowsOf):
    """One access that a swizzle shall free of conflicts."""

    access: AccessName


SolveBody = SolveMany | SolveOne


class SwizzleBits(Closed):
    """Swizzle<bits, base, shift> on byte addresses."""

    bits: int
    base: int
    shift: int
    text: str = Field(examples=["Sw<3,4,3>"])


class SolvedAccess(Closed):
    """What an access costs under the swizzle found."""

    access: AccessName
    pattern: AccessPattern | None
    given: list[int | None] = Field(description="[lane], before the swizzle.")
    address: list[int | None] = Field(description="[lane], under it.")
    wavefronts: int
    ideal: int
    ways: int
    ways_before: int


class Solved(Closed):
    """The smallest swizzle that frees all accesses, or why there is none."""

    free: bool
    swizzle: SwizzleBits
    mode: SwizzleMode | None = Field(description="wgmma's name of it; null where it has none.")
    why: str
    tried: int = Field(description="Swizzles that can change a bank of these addresses.")
    accesses: list[SolvedAccess]
