"""Any text: the body."""

from __future__ import annotations

from pydantic import Field

from lanescope.app.kit.schemas import ClosedModel
from lanescope.reader import LONGEST


class ReadBody(ClosedModel):
    """A pasted text."""

    text: str = Field(max_length=LONGEST, examples=["SM90_64x128x16_F32BF16BF16_SS", "HMMA.16816.F32"])
    assume: dict[str, str | int] = Field(
        default_factory=dict,
        description="Values for what the text leaves open, by the keys of bench.assumed.",
        examples=[{"at.smem_A": "0x400", "major.b": "MN"}],
    )
