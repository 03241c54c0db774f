"""A tile as a grid of cells: each cell's first element, number and place in memory; and where LBO and SBO lead.

A cell is a 16-byte chunk or one element. Rows of the grid are M or N, or K. Cells are numbered along the contiguous
dimension first, or by their place in memory, in cells from the tile's start.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lanescope.errors import LayoutError
from lanescope.shared.slices import describe_strides
from lanescope.shared.tiling import Tile

Ints = NDArray[np.int64]
DOWN = ("mn", "k")
UNITS = ("chunk", "element")
NUMBERS = ("logical", "memory", "none")
MOST_CELLS = 32768


@dataclass(frozen=True)
class TileMap:
    """A tile as a grid of cells; all arrays are int64 [rows, cols].

    down: the dimension of the grid's rows; "" for the one that is not contiguous. LayoutError for an unknown option and
    for a grid of too many cells.
    """

    tile: Tile
    down: str = ""
    unit: str = "chunk"

    def __post_init__(self) -> None:
        for field, value, allowed in (("down", self.down, ("", *DOWN)), ("unit", self.unit, UNITS)):
            if value not in allowed:
                raise LayoutError(
                    "bad_option", f"{field} is '{value[:40]}'.", f"Allowed: {', '.join(filter(None, allowed))}.", field
                )
        if self.unit == "element" and self.tile.element_bits < 8:
            raise LayoutError(
                "bad_option", "b1 elements share bytes: a cell holds at least one.", "Draw chunks.", "unit"
            )
        if self.rows * self.cols > MOST_CELLS:
            hint = "Draw chunks, or a smaller tile." if self.unit == "element" else "Draw a smaller tile."
            raise LayoutError(
                "bad_option", f"{self.rows} × {self.cols} cells are more than {MOST_CELLS}.", hint, "unit"
            )

    @property
    def bits(self) -> int:
        """Bits per cell."""
        return 128 if self.unit == "chunk" else self.tile.element_bits

    @property
    def span(self) -> int:
        """Elements per cell, along the contiguous dimension."""
        return self.bits // self.tile.element_bits

    @property
    def rows_are_mn(self) -> bool:
        return self.down == "mn" or (not self.down and self.tile.major == "K")

    @property
    def _sizes(self) -> tuple[int, int]:
        """Cells along mn and along k."""
        mn, k = self.tile.mn, self.tile.k
        return (mn, k // self.span) if self.tile.major == "K" else (mn // self.span, k)

    @property
    def rows(self) -> int:
        return self._sizes[0 if self.rows_are_mn else 1]

    @property
    def cols(self) -> int:
        return self._sizes[1 if self.rows_are_mn else 0]

    @property
    def steps(self) -> tuple[int, int]:
        """The elements from one cell to the one below it, and to the one right of it."""
        steps = (1, self.span) if self.tile.major == "K" else (self.span, 1)
        return steps if self.rows_are_mn else (steps[1], steps[0])

    @cached_property
    def mn(self) -> Ints:
        """The first row of M or N of each cell."""
        return self._make_coordinates(self.rows_are_mn)

    @cached_property
    def k(self) -> Ints:
        """The first K of each cell."""
        return self._make_coordinates(not self.rows_are_mn)

    def _make_coordinates(self, down: bool) -> Ints:
        count, step = (self.rows, self.steps[0]) if down else (self.cols, self.steps[1])
        line: Ints = np.arange(count, dtype=np.int64) * step
        return np.broadcast_to(line[:, None] if down else line[None, :], (self.rows, self.cols))

    @cached_property
    def logical(self) -> Ints:
        """The number of each cell, counted along the contiguous dimension first."""
        along, across = (self.k, self.mn) if self.tile.major == "K" else (self.mn, self.k)
        size = self.tile.k if self.tile.major == "K" else self.tile.mn
        chunk_index: Ints = across * (size // self.span) + along // self.span
        return chunk_index

    def list_cell_offsets(self, before_xor: bool = False) -> Ints:
        """Return each cell's place in memory, in cells from the tile's start; before_xor: without the XOR."""
        offset = (
            self.tile.compute_offset_before(self.mn, self.k)
            if before_xor
            else self.tile.address(self.mn, self.k) - self.tile.base
        )
        units: Ints = offset * 8 // self.bits
        return units

    @property
    def chunk(self) -> Ints:
        """The 16-byte chunk of each cell, counted along the contiguous dimension."""
        chunks: Ints = (self.k if self.tile.major == "K" else self.mn) // self.tile.per
        return chunks

    def find_cell(self, mn: int, k: int) -> tuple[int, int]:
        """Return (row, col) of the cell that holds an element."""
        down, across = (mn, k) if self.rows_are_mn else (k, mn)
        return down // self.steps[0], across // self.steps[1]


@dataclass(frozen=True, slots=True)
class TileStride:
    """LBO or SBO of a tile: `bytes` from element (0, 0) to element (mn, k) before the XOR.

    read: whether an instruction reads it.
    """

    name: Literal["LBO", "SBO"]
    bytes: int
    mn: int
    k: int
    read: bool
    words: str


def list_tile_strides(tile: Tile, rows: int) -> list[TileStride]:
    """Return the strides that lead to another part of this tile; rows: those of one instruction."""
    words, (lbo, sbo), (lbo_read, sbo_read) = (
        describe_strides(tile),
        tile.get_lbo_sbo_bytes(),
        tile.get_used_strides(rows),
    )
    if tile.major == "K":
        to = {"LBO": (0, tile.per), "SBO": (8, 0)}
    else:
        to = {"LBO": (0, 8), "SBO": (8, 0)} if tile.mode.chunks == 1 else {"LBO": (tile.atom[0], 0), "SBO": (0, 8)}
    strides = [
        TileStride("LBO", lbo, *to["LBO"], lbo_read, words["lbo"]),
        TileStride("SBO", sbo, *to["SBO"], sbo_read, words["sbo"]),
    ]
    return [stride for stride in strides if stride.words and stride.mn < tile.mn and stride.k < tile.k]
