"""ldmatrix and stmatrix chains: body."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lanescope.app.kit.enumerations import Major
from lanescope.app.kit.schemas import ClosedModel, PtxText
from lanescope.app.memory.schemas import Storage
from lanescope.app.tiles.schemas import LoopBody


class LoadChainBody(ClosedModel):
    """A load or store, the mma whose operand it moves, and where the operand is stored."""

    storage: Storage
    load: PtxText = Field(examples=["ldmatrix.m8n8.x4.shared.b16"])
    mma: PtxText
    operand: Literal["a", "b", "c", "d"] = Field(default="a", description="a or b of a load, c or d of a store.")
    major: Major = Field(default=Major("K"), description="The storage's, where it is left out.")


ChainBody = LoadChainBody | LoopBody
