"""The base class of maps from (thread, value) to an element of a tile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]


class ThreadMap:
    """A map with rows and cols, int32 [threads, values]."""

    __slots__ = ()
    rows: Ints
    cols: Ints

    @property
    def threads(self) -> int:
        return int(self.rows.shape[0])

    @property
    def values(self) -> int:
        return int(self.rows.shape[1])

    def owner(self, row: int, col: int) -> list[tuple[int, int]]:
        """Return every (thread, value) that holds element (row, col)."""
        thread, value = np.nonzero((self.rows == row) & (self.cols == col))
        return list(zip(thread.tolist(), value.tolist(), strict=True))
