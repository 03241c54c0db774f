"""Dumps of shared memory: body."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lanescope.app.dump.facts import LONGEST
from lanescope.app.kit.schemas import Number
from lanescope.app.memory.schemas import ReadsBody, Slice


class DumpBody(ReadsBody):
    """A dump of shared memory, the word and the instruction that read it, and the tile that should be there."""

    dump: str = Field(
        max_length=LONGEST,
        description="The dump's bytes in base64: raw, or a .npy file, whose array's bytes are taken as they lie.",
    )
    base: Number = Field(default=1024, description="The shared-window address of the dump's first byte.")
    expected: str | None = Field(
        default=None,
        max_length=LONGEST,
        description="The expected tile in base64: a .npy file of (m, k) for a, (k, n) for b; null for none.",
    )
    expected_as: Literal["", "values", "bits"] = Field(
        default="",
        description="Whether the file holds numbers or the elements' codes; empty: codes where it holds whole numbers"
        " or raw bytes as wide as a floating-point element.",
    )
    slice: Slice = Field(default=Slice(), description="Where the instruction's slice begins in the expected tile.")
