"""ldmatrix and stmatrix chains: body and answer."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.kit.names import Major, Verdict
from app.kit.schemas import Closed, PtxText
from app.memory.schemas import Storage


class ChainBody(Closed):
    """A load or store, the mma whose operand it moves, and where the operand is stored."""

    storage: Storage
    load: PtxText = Field(examples=["ldmatrix.m8n8.x4.shared.b16"])
    mma: PtxText
    operand: Literal["a", "b", "c", "d"] = Field(default="a", description="a or b of a load, c or d of a store.")
    major: Major = Field(default=Major("K"), description="The storage's, where it is left out.")


class ChainMismatch(Closed):
    """The first register that gets (or the first element stored from) another place."""

    thread: int
    register_: int = Field(alias="register")
    byte: int
    row: int
    col: int
    read: int | None = None
    expected: int


class MatrixPlace(Closed):
    """Where a matrix of the load begins: a line of the storage and a byte inside it."""

    line: int
    byte: int


class ChainVerdict(Closed):
    """Whether the load feeds the operand from this storage, or the store puts it there."""

    verdict: Verdict
    matched: int
    total: int
    first_mismatch: ChainMismatch | None
    lane_addresses: list[int] = Field(
        description="The byte address each lane gives in the first turn; on a mismatch the best one there is."
    )
    turns: list[list[int]] = Field(description="[turn][lane]")
    starts: list[list[list[int] | None]] = Field(
        description="[turn][lane] of the first warp: row and column of the element at that address."
    )
    matrices: list[list[MatrixPlace]] = Field(description="[turn][matrix]")
    feeds: bool = Field(description="Whether the load feeds the operand: the verdict.")
    notes: list[str]
    instead: list[str] = Field(description="PTX texts that would feed the operand, best first.")
    wavefronts: int | None
    ways: int | None
    code: str
