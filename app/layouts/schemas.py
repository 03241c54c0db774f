"""Thread-value layouts and layouts of Triton: bodies."""

from __future__ import annotations

from pydantic import Field

from lanescope.app.kit.schemas import ClosedModel, CuteText, Number


class TvBody(ClosedModel):
    """A thread-value layout over a tile."""

    cute: CuteText = Field(examples=["((4,8),(2,2,2)):((32,1),(16,8,128))"])
    tile: list[Number] = Field(min_length=2, max_length=2, description="Rows and columns.")


class TritonBody(ClosedModel):
    """A layout of Triton or Gluon over a tensor."""

    text: str = Field(
        max_length=1 << 16,
        description="#ttg.…<{…}> with the aliases it names, a module, or a Gluon class with its arguments.",
        examples=[
            "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
        ],
    )
    shape: list[Number] | None = Field(
        default=None, min_length=1, max_length=8, description="The tensor's sizes; those of tensor<…> in the text."
    )
    element_bits: Number | None = Field(default=None, description="Those of tensor<…> in the text, else 16.")


class ConvertBody(TritonBody):
    """Two layouts of threads over one tensor."""

    to: str = Field(
        max_length=1 << 16,
        description="The layout that the elements go to, spelled as `text` is.",
        examples=["#ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"],
    )
