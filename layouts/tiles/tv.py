"""Any thread-value layout: (thread, value) → element of a tile of rows × columns, the row running fastest.

tv("((4,8),(2,2,2)):((32,1),(16,8,128))", (16, 16))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from layouts.cute import CuteLayout
from layouts.cutetext import read_layout
from layouts.errors import LayoutError
from layouts.reading import number, shown
from layouts.tiles.held import ByThread, Ints
from layouts.tiles.mma import MOST_SIZE, MOST_VALUES


@dataclass(frozen=True, slots=True, eq=False)
class TV(ByThread):
    """A thread-value layout over a tile: rows and cols are int32 [threads, values].

    copies: how many (thread, value) pairs hold the element that most do; covered: elements that some hold.
    """

    layout: CuteLayout
    row_count: int
    col_count: int
    rows: Ints
    cols: Ints
    copies: int
    covered: int

    def _repr_svg_(self) -> str:
        """How a notebook shows it."""
        from layouts.tiles.draw import tile_svg  # the drawing loads when something is drawn

        return tile_svg(self.rows, self.cols, (self.row_count, self.col_count), str(self.layout))


def tv(text: str | CuteLayout, tile: Sequence[Any]) -> TV:
    """A thread-value layout of two modes over a tile (rows, columns); LayoutError where it leaves the tile.

    >>> made = tv("((4,8),(2,2)):((32,1),(16,8))", (16, 8))
    >>> made.owner(9, 3), made.covered
    ([(5, 3)], 128)
    """
    read = text if isinstance(text, CuteLayout) else read_layout(text, "cute")
    if read.rank != 2 or isinstance(read.shape, int):
        raise LayoutError(
            "bad_cute",
            f"'{shown(str(read), 80)}' has {read.rank} mode{'s' * (read.rank != 1)}.",
            "Two: (thread, value), e.g. ((4,8),(2,2)):((32,1),(16,8)).",
            "cute",
        )
    if len(tile) != 2:
        raise LayoutError("bad_tile", f"tile has {len(tile)} numbers.", "Two: rows and columns.", "tile")
    rows, cols = (number(size, f"tile[{at}]", 1, MOST_SIZE, "bad_tile") for at, size in enumerate(tile))
    if max(read.size, rows * cols) > MOST_VALUES:
        raise LayoutError(
            "too_large", f"'{shown(str(read), 80)}' has {read.size} values.", f"At most {MOST_VALUES}.", "cute"
        )
    threads = read.modes[0].size
    index = read.indices().reshape(-1, threads).T
    last = int(index.max())
    if last >= rows * cols:
        thread, value = (int(at[0]) for at in np.nonzero(index == last))
        raise LayoutError(
            "outside_tile",
            f"Thread {thread} value {value} has the index {last}, outside the {rows * cols} elements of {rows}×{cols}.",
            f"Give a tile of at least {last + 1} elements.",
            "tile",
        )
    counts = np.bincount(index.reshape(-1))
    down, across = (index % rows).astype(np.int32), (index // rows).astype(np.int32)
    return TV(read, rows, cols, down, across, int(counts.max()), int(np.count_nonzero(counts)))
