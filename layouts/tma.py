"""The TMA boxes that write a tile: CUDA driver API, cuTensorMapEncodeTiled (box of at most 256 elements a side; no type
narrower than a byte).
"""

from __future__ import annotations

from dataclasses import dataclass

from layouts.tiling import Tile

MOST_BOX = 256  # elements of a box along one dimension


@dataclass(frozen=True, slots=True)
class Boxes:
    """`count` equal boxes, one after the other in shared memory, as the tile's atoms are laid.

    inner: the contiguous dimension, "K" or "MN". wide, tall: elements of a box along it and across it (b1: eight a
    byte, so bytes). note: what a reader has to know beside these numbers, or "".
    """

    inner: str
    wide: int
    tall: int
    count: int
    note: str


def boxes(tile: Tile) -> Boxes:
    """The inner box is one atom wide; one box a column of atoms, more where a column is taller than a box may be."""
    inner = 1 if tile.major == "K" else 0
    wide, lines, columns = tile.atom[inner], (tile.mn, tile.k)[1 - inner], tile.atoms[inner]
    notes = []
    if tile.mode.chunks == 1:
        notes.append("Mode none: a box 16 bytes wide for each column of core matrices.")
    tall = max(rows for rows in range(8, min(lines, MOST_BOX) + 1, 8) if not lines % rows)
    if columns > 1 and tile.order != ("mn" if tile.major == "K" else "k"):
        notes = [
            "The atoms are placed along the other dimension first. This takes one box per row of atoms (8 rows high)."
        ]
        tall = 8
    if tile.element_bits < 8:
        wide = wide * tile.element_bits // 8
        notes.append("TMA has no 1-bit type: the box is one of bytes.")
    return Boxes(tile.major, wide, tall, columns * (lines // tall), " ".join(notes))
