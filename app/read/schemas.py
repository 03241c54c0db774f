"""Any text: the body."""

from __future__ import annotations

from pydantic import Field

from app.kit.schemas import Closed
from layouts.reader import LONGEST


class ReadBody(Closed):
    """A pasted text."""

    text: str = Field(max_length=LONGEST, examples=["SM90_64x128x16_F32BF16BF16_SS", "HMMA.16816.F32"])
