"""Thread-value layouts: (thread, value) → element of a tile of rows × columns, rows fastest.

tv("((4,8),(2,2,2)):((32,1),(16,8,128))", (16, 16))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.cute.text import parse_cute_layout
from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer, shorten_value
from lanescope.tiles.mma import MOST_SIZE, MOST_VALUES
from lanescope.tiles.thread_map import Ints, ThreadMap

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TV(ThreadMap):
    """A thread-value layout over a tile: rows and cols are int32 [threads, values].

    copies: the maximum number of (thread, value) pairs that hold an element; covered: the number of elements held.
    """

    layout: CuteLayout
    row_count: int
    col_count: int
    rows: Ints
    cols: Ints
    copies: int
    covered: int

    def _repr_svg_(self) -> str:
        """Return the picture for a notebook."""
        from lanescope.tiles.pictures import render_tile_svg  # the drawing loads when something is drawn

        return render_tile_svg(self.rows, self.cols, (self.row_count, self.col_count), str(self.layout))


def tv(text: object, tile: Sequence[Any]) -> TV:
    """Return a thread-value layout of two modes over a tile (rows, columns); LayoutError if it leaves the tile.

    A layout object of cutlass.cute or pycute is read by its text.

    >>> made = tv("((4,8),(2,2)):((32,1),(16,8))", (16, 8))
    >>> made.owner(9, 3), made.covered
    ([(5, 3)], 128)
    """
    read = text if isinstance(text, CuteLayout) else parse_cute_layout(str(text), "cute")
    if len(tile) != 2:
        raise LayoutError(
            "bad_tile", f"tile has {len(tile)} number{'s' * (len(tile) != 1)}.", "Two: rows and columns.", "tile"
        )
    index, (rows, cols) = map_elements(read, tile)
    counts = np.bincount(index.reshape(-1))
    down, across = (index % rows).astype(np.int32), (index // rows).astype(np.int32)
    return TV(
        layout=read,
        row_count=rows,
        col_count=cols,
        rows=down,
        cols=across,
        copies=int(counts.max()),
        covered=int(np.count_nonzero(counts)),
    )


def map_elements(layout: CuteLayout, tile: Sequence[Any]) -> tuple[Longs, tuple[int, ...]]:
    """Return (element of every thread and value: int64 [threads, values], sizes of the tile as integers).

    The tile may have any rank; its first axis is fastest. LayoutError if the layout does not have two modes or exceeds
    the tile.
    """
    if layout.rank != 2 or isinstance(layout.shape, int):
        raise LayoutError(
            "bad_cute",
            f"'{shorten_value(str(layout), 80)}' has {layout.rank} mode{'s' * (layout.rank != 1)}.",
            "Two: (thread, value), e.g. ((4,8),(2,2)):((32,1),(16,8)).",
            "cute",
        )
    sizes = tuple(parse_integer(size, f"tile[{at}]", 1, MOST_SIZE, "bad_tile") for at, size in enumerate(tile))
    if max(layout.size, prod(sizes)) > MOST_VALUES:
        raise LayoutError(
            "too_large",
            f"'{shorten_value(str(layout), 80)}' has {layout.size} values.",
            f"At most {MOST_VALUES}.",
            "cute",
        )
    threads = layout.modes[0].size
    index = layout.list_indices().reshape(-1, threads).T
    last = int(index.max())
    if last >= prod(sizes):
        thread, value = (int(at[0]) for at in np.nonzero(index == last))
        raise LayoutError(
            "outside_tile",
            f"Thread {thread} value {value} has the index {last}, outside the {prod(sizes)} elements of"
            f" {'×'.join(map(str, sizes))}.",
            f"Give a tile of at least {last + 1} elements.",
            "tile",
        )
    return index, sizes


def slice_layout(layout: CuteLayout, coord: Any) -> tuple[CuteLayout, int]:
    """Return (layout of the modes at underscores, element that its indices start from) for a coordinate such as (_,3).

    LayoutError for a coordinate outside the shape.
    """
    try:
        algebra.require_inside(coord, layout.shape)
    except LayoutError as error:
        raise error.move_to_field("slice") from None
    return algebra.slice_and_offset(layout, coord)
