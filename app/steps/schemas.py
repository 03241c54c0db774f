"""The body of a request for the steps of an mma."""

from __future__ import annotations

from pydantic import Field

from lanescope.app.kit.run_results import Backend
from lanescope.app.kit.schemas import ClosedModel, Number, PtxText
from lanescope.app.runs.schemas import MmaData, SideOptions


class StepsBody(ClosedModel):
    """An mma and the element of D to explain; your own matrices instead of random ones."""

    instruction: PtxText
    data: MmaData = MmaData()
    a: SideOptions = Field(default="", description="wgmma: how A is stored.")
    b: SideOptions = Field(default="", description="wgmma: how B is stored.")
    d: SideOptions = Field(default="", description="wgmma: what becomes of C and D.")
    row: Number = 0
    col: Number = 0
    product: Number = Field(default=0, description="Which of the four products of m8n8k4.")
    seed: Number = 1
    backend: Backend = Backend("numpy")
