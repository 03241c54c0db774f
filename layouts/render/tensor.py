"""Tensor memory as a grid: 128 lanes down, 32-bit columns across, with the elements of a Triton layout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanescope import triton
from lanescope.render.sheet import TileSheet
from lanescope.triton.linear import LinearLayout

Longs = NDArray[np.int64]
COLUMN_BITS = 32


@dataclass(frozen=True, slots=True, eq=False)
class TensorSheet(TileSheet):
    """A grid of tensor memory.

    down, across: row and column of the first element of each cell, -1 for an empty cell.
    """

    down: Longs | None = None
    across: Longs | None = None

    @property
    def colours(self) -> dict[str, Longs]:
        assert self.down is not None and self.across is not None
        return {"row": self.down, "column": self.across}


def make_tensor_sheet(layout: LinearLayout, element_bits: int) -> TensorSheet:
    """Return the lanes and columns of the first CTA of the cluster; each cell is a 32-bit column with its elements."""
    names = ("block", "row", "col")
    rows, cols = (
        layout.list_coordinates(axis, names).reshape(-1, layout.count_values("row"), layout.count_values("col"))[0]
        for axis in (0, 1)
    )
    full = triton.mask_occupied(layout)
    rows, cols = np.where(full, rows, -1), np.where(full, cols, -1)
    each = max(1, COLUMN_BITS // element_bits)
    if rest := -rows.shape[1] % each:
        rows, cols = (np.pad(coordinates, ((0, 0), (0, rest)), constant_values=-1) for coordinates in (rows, cols))
    says = tuple(
        tuple(
            _format_elements(list(zip(m[at : at + each], n[at : at + each], strict=True)))
            for at in range(0, len(m), each)
        )
        for m, n in zip(rows.tolist(), cols.tolist(), strict=True)
    )
    down, across = rows[:, ::each], cols[:, ::each]
    place = np.where(down < 0, -1, down * layout.sizes[1] + across)
    return TensorSheet(
        down.shape[0],
        down.shape[1],
        place=place,
        element_bits=element_bits,
        memory="tensor",
        says=says,
        down=down,
        across=across,
        wide=layout.sizes[1],
    )


def _format_elements(elements: list[tuple[int, int]]) -> str:
    """Return the text of a cell's elements: 3,8–9 for a run, else each by itself."""
    present = [element for element in elements if element[0] >= 0]
    if not present:
        return ""
    rows, cols = {m for m, _ in present}, [n for _, n in present]
    if len(rows) == 1 and cols == list(range(cols[0], cols[0] + len(cols))):
        return f"{present[0][0]},{cols[0]}" + (f"–{cols[-1]}" if len(cols) > 1 else "")
    return " ".join(f"{m},{n}" for m, n in present)
