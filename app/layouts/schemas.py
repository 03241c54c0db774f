"""Layouts of Triton: bodies."""

from __future__ import annotations

from pydantic import Field

from lanescope.app.tiles.schemas import TritonBody


class ConvertBody(TritonBody):
    """Two layouts of threads over one tensor."""

    to: str = Field(
        max_length=1 << 16, description="The layout that the elements go to, spelled as `text` is.",
        examples=["#ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"],
    )  # fmt: skip
