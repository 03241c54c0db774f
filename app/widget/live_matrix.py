"""A matrix of a live view: where its cells are drawn, the lane and value that hold each cell, and their texts.

app/widget/selection.py selects in it, static/widget/view.js paints it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lanescope.app.kit.maps.bench import Longs
from lanescope.app.kit.sheets import SheetLayer, pack_layer
from lanescope.errors import LayoutError
from lanescope.render.figure import FigurePanel

MOST_CELLS = 1 << 16  # of a view
MOST_HELD = 1 << 20  # lanes times values of a matrix, which all travel to the front end
MOST_COPIES = 4  # holders of an element that are named


@dataclass(frozen=True)
class LiveMatrix:
    """A matrix of a live view. cells: int64 [lanes, values], the number of the cell that each holds, -1 for none.

    lanes: the thread of each row of `cells`; values: the number of each of its columns. unit: the name of a lane, ""
    for memory, where `cells` has one row and a value is an offset. layers: the texts of a cell.
    """

    name: str
    panel: FigurePanel
    cells: Longs
    lanes: Longs
    values: Longs
    unit: str
    layers: tuple[SheetLayer, ...]
    title: str = ""
    empty: str = "Nothing holds ({row},{col})"

    def __post_init__(self) -> None:
        if self.cells.size > MOST_HELD:
            raise refuse_size(f"{self.cells.shape[0]} × {self.cells.shape[1]} values", MOST_HELD)

    @property
    def rows(self) -> int:
        return self.panel.rows

    @property
    def cols(self) -> int:
        return self.panel.cols

    @cached_property
    def _row_of(self) -> dict[int, int]:
        return {lane: row for row, lane in enumerate(self.lanes.tolist())}

    @cached_property
    def _column_of(self) -> dict[int, int]:
        """Return the column of each value; of offsets that several cells have, the first."""
        return {value: col for col, value in reversed(list(enumerate(self.values.tolist())))}

    def has_lane(self, lane: int) -> bool:
        """Return whether a lane holds any element."""
        return bool(self.unit) and lane in self._row_of and bool((self.cells[self._row_of[lane]] >= 0).any())

    def has_value(self, value: int) -> bool:
        """Return whether some lane, or the memory, has this value."""
        return value in self._column_of

    def find_element(self, lane: int | None, value: int) -> tuple[int, int] | None:
        """Return (row, col) of the element in a value of a lane, None if it is empty; lane: None for memory."""
        row, column = 0 if lane is None else self._row_of.get(lane), self._column_of.get(value)
        cell = -1 if row is None or column is None else int(self.cells[row, column])
        return None if cell < 0 else divmod(cell, self.cols)

    def list_holders(self, row: int, col: int) -> list[tuple[int | None, int]]:
        """List (lane, value) of every holder of an element; the lane is None in memory."""
        rows, columns = np.nonzero(self.cells == row * self.cols + col)
        lanes = self.lanes[rows].tolist() if self.unit else [None] * len(rows)
        return list(zip(lanes, self.values[columns].tolist(), strict=True))

    def pack(self) -> dict[str, Any]:
        """Pack the matrix for the script; arrays as little-endian int32."""
        panel = self.panel
        return {
            "name": self.name,
            "title": self.title or self.name,
            "grid": panel.place,
            "unit": self.unit,
            "held": self.cells.astype("<i4").tobytes(),
            "lanes": self.lanes.astype("<i4").tobytes(),
            "values": self.values.astype("<i4").tobytes(),
            "layers": [pack_layer(layer) for layer in self.layers],
            "empty": self.empty,
        }


def refuse_size(what: str, most: int) -> LayoutError:
    """Return the error for an object that is too large for a live view."""
    return LayoutError("too_large", f"{what} are more than a live view shows.", f"At most {most}; show a smaller tile.")


def make_lane_matrix(
    name: str,
    panel: FigurePanel,
    cells: Longs,
    *,
    ids: Longs | None = None,
    unit: str,
    letter: str = "",
    title: str = "",
) -> LiveMatrix:
    """Make a matrix that lanes hold. cells: int64 [lanes, values], the number of the cell that each holds, -1 for none;
    ids: the thread of each lane, if it is not the row's number; letter: prefix of the number of a value; title: name of
    the matrix in sentences.
    """
    lanes, values = cells.shape
    numbers = np.arange(lanes, dtype=np.int64) if ids is None else np.asarray(ids, np.int64)
    element = f"`{title}[{{row}}][{{col}}]`" if title else "`({row},{col})`"
    layers = tuple(_name_holders(panel, cells, numbers, f"{unit} {{lane}}, value {letter}{{value}}", element))
    return LiveMatrix(
        name,
        panel,
        cells=cells,
        lanes=numbers,
        values=np.arange(values, dtype=np.int64),
        unit=unit,
        layers=layers,
        title=title,
        empty=f"`No {unit}` holds {element[1:-1]}",
    )


def _name_holders(
    panel: FigurePanel, cell_of: Longs, numbers: Longs, holder: str, element: str
) -> Iterator[SheetLayer]:
    """Yield the layers that name the first holders of each cell, and count the others."""
    values = cell_of.shape[1]
    order = np.argsort(cell_of.reshape(-1), kind="stable")
    sorted_cells = cell_of.reshape(-1)[order]
    first = np.searchsorted(sorted_cells, np.arange(panel.rows * panel.cols))
    count = np.searchsorted(sorted_cells, np.arange(panel.rows * panel.cols), side="right") - first
    shape = panel.rows, panel.cols
    for copy in range(min(MOST_COPIES, int(count.max(initial=0)))):
        there = count > copy
        places = order[np.minimum(first + copy, len(order) - 1)]
        facts = {
            "lane": np.where(there, numbers[places // values], -1).reshape(shape),
            "value": np.where(there, places % values, -1).reshape(shape),
        }
        yield SheetLayer(f"{element} is in {holder}" if copy == 0 else f"Also in {holder}", facts)
    if (more := count - MOST_COPIES).max(initial=0) > 0:
        yield SheetLayer("Copies beside these: {more}", {"more": np.where(more > 0, more, -1).reshape(shape)})


def make_memory_matrix(
    name: str, panel: FigurePanel, place: Longs, layers: tuple[SheetLayer, ...], empty: str, title: str = ""
) -> LiveMatrix:
    """Make a matrix of elements in memory. place: int64 [rows, cols], the offset of each, -1 for none."""
    if int(place.max(initial=0)) >> 31:
        raise refuse_size(f"Offsets up to {int(place.max())}", (1 << 31) - 1)
    flat = place.reshape(-1)
    there = np.flatnonzero(flat >= 0)
    return LiveMatrix(
        name,
        panel,
        cells=there[None, :],
        lanes=np.zeros(1, dtype=np.int64),
        values=flat[there],
        unit="",
        layers=layers,
        title=title,
        empty=empty,
    )
