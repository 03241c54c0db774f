"""Sparsity metadata: the answer."""

from __future__ import annotations

from pydantic import Field

from app.kit.schemas import ByThread, Closed, Word32


class Metadata(Closed):
    """A stored A under given metadata words; the maps are [thread][value]."""

    ptx: str
    selector: int
    selectors: int
    words: list[Word32] = Field(description="One a thread.")
    used: list[int] = Field(description="The threads whose words are read.")
    row: ByThread
    stored_col: ByThread
    col: ByThread = Field(description="The dense column the stored element stands for.")
    meta_thread: ByThread
    meta_bit: ByThread
