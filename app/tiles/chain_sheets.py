"""Texts of the cells of a chain's picture, for pointing, pins and the find field."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from lanescope.app.kit.find_field import FindField, FindMatrix, HeldCell
from lanescope.app.kit.maps.bench import CellHolders
from lanescope.app.kit.sheets import PinSheet, SheetGrid, SheetLayer, SheetPage, SheetWords
from lanescope.render.figure import FigurePanel

EXAMPLE = "C(5,9), T13, T13:2"
SELECTOR = ".chained > svg"
WORDS = SheetWords(
    nothing="Which element?",
    invitation=f"Click a cell, or type one: {EXAMPLE}. Shift and a click pin a second one.",
    together="C has both in the same thread.",
    apart="C has them in different threads.",
)


def make_sheet_page(panels: tuple[FigurePanel, ...], c: CellHolders, a: CellHolders) -> SheetPage:
    """Return the sheet of all elements, which the panels of C and A share."""
    high, wide = c.thread.shape
    numbers = {"thread": c.thread, "value": c.value, "wanted": a.thread, "place": a.value}
    arrays = {name: array.astype(np.int64) for name, array in numbers.items()}
    line = "`C({row},{col})` is in `thread {thread}`, value `{value}`; A needs it in `thread {wanted}`, value `{place}`"
    sheet = PinSheet("c", "C", high, wide, (SheetLayer(line, arrays),), tuple(map(_make_grid, panels)), group="thread")
    return SheetPage((sheet,), WORDS, EXAMPLE, lambda text: find_pins(sheet, text))


def _make_grid(panel: FigurePanel) -> SheetGrid:
    wide, high, row, col = panel.cell_width, panel.cell_height, panel.row0, panel.col0
    return SheetGrid(SELECTOR, panel.x - col * wide, panel.y - row * high, wide, high, row, col, panel.rows, panel.cols)


def find_pins(sheet: PinSheet, text: str) -> list[str]:
    """Return the pins of the elements that a text names (a thread: its first value). LayoutError names the legal
    range.
    """
    threads = range(int(sheet.layers[0].numbers["thread"].max()) + 1)
    matrices = dict.fromkeys("acd", FindMatrix(sheet.name, sheet.title, sheet.rows, sheet.cols))
    field = FindField(matrices, EXAMPLE, threads, list_cells=partial(_list_held, sheet))
    places = [
        replace(place, value=place.value or 0) if place.thread is not None and place.register is None else place
        for place in field.parse_places(text)
    ]
    return list(field.find_pins(places).values())


def _list_held(sheet: PinSheet, thread: int) -> list[HeldCell]:
    """Return a thread's values of C."""
    numbers = sheet.layers[0].numbers
    cells = [(int(numbers["value"][row, col]), row, col) for row, col in np.argwhere(numbers["thread"] == thread)]
    return [HeldCell(sheet.name, "C", value, value, int(row), int(col)) for value, row, col in sorted(cells)]
