"""Pictures whose cells have texts: static/kit/sheets.js shows and pins them, and the server does the same without
scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from lanescope.app.kit.answer import Answer, PinnedPlace
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.find_field import FindField, FindMatrix
from lanescope.app.kit.maps.bench import PIN, Longs, split_pin
from lanescope.app.kit.rings import LEAST_RING, draw_ring
from lanescope.errors import LayoutError
from lanescope.inputs import parse_pair, shorten_value

PINS = ("pin", "pin2")
ABSENT = -(1 << 30)  # plus any number of a row it stays negative


@dataclass(frozen=True, slots=True)
class SheetGrid:
    """Where a picture draws a sheet's cells: selector of its SVG, corner of cell (0, 0), size of a cell.

    row, col, rows, cols: first cell and number of cells, if it does not draw all.
    """

    selector: str
    x: float
    y: float
    cell_width: float
    cell_height: float
    row: int = 0
    col: int = 0
    rows: int = 0
    cols: int = 0

    def draws(self, row: int, col: int) -> bool:
        """Return whether a cell is drawn."""
        down, across = row - self.row, col - self.col
        return not self.rows or (0 <= down < self.rows and 0 <= across < self.cols)


@dataclass(frozen=True, slots=True, eq=False)
class SheetLayer:
    """Texts of the cells in a box.

    line: template of a sentence with row, col and numbers. numbers: int64 [rows, cols] each, negative for a cell
    without this layer; row, col: first cell of the box.
    """

    line: str
    numbers: Mapping[str, Longs]
    row: int = 0
    col: int = 0

    def find_facts(self, row: int, col: int) -> dict[str, int] | None:
        """Return the numbers of a cell; None if it has nothing of this layer."""
        rows, cols = next(iter(self.numbers.values())).shape
        down, across = row - self.row, col - self.col
        if not (0 <= down < rows and 0 <= across < cols):
            return None
        facts = {name: int(array[down, across]) for name, array in self.numbers.items()}
        return None if min(facts.values()) < 0 else {**facts, "row": row, "col": col}


@dataclass(frozen=True, slots=True, eq=False)
class PinSheet:
    """A grid of cells.

    name: in a pin; title: in a sentence; empty: template for a cell that holds nothing; group: the number by which two
    pins of sheets with this group are compared.
    """

    name: str
    title: str
    rows: int
    cols: int
    layers: tuple[SheetLayer, ...]
    grids: tuple[SheetGrid, ...]
    empty: str = "Nothing is at ({row},{col})"
    group: str = ""

    def describe(self, row: int, col: int) -> PinnedPlace:
        """Return the description of a cell: the first layer gives the line, the others sentences."""
        found = [(layer.line, facts) for layer in self.layers if (facts := layer.find_facts(row, col))]
        lines = [line.format(**facts) for line, facts in found]
        if not lines or not lines[0].startswith("`"):  # no layer describes the cell
            lines = [self.empty.format(row=row, col=col), *lines]
        line, *more = lines
        holder = next((facts[self.group] for _, facts in found if self.group in facts), None)
        return PinnedPlace(line, " ".join(f"{each}." for each in more).replace("`", ""), holder)


@dataclass(frozen=True, slots=True)
class SheetWords:
    """Texts of the page without a pin, and with two pins whose `group` numbers are equal or differ."""

    nothing: str
    invitation: str
    together: str
    apart: str


@dataclass(frozen=True, slots=True)
class SheetPage:
    """The sheets of a page, and its find field: a function from text to pins, or LayoutError."""

    sheets: tuple[PinSheet, ...]
    words: SheetWords
    example: str
    find: Callable[[str], Sequence[str]] = field(default=lambda text: ())

    def build_context(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Return the template's variables: the answer, the find field, and the script's data."""
        pins, refusal = self.parse_pins(query)
        return {
            "cell_answer": self._build_answer(pins),
            "pins": pins,
            "refusal": refusal,
            "view_wrong": bool(refusal),
            "sought": query.get("find", ""),
            "example": self.example,
            "sheet_data": encode_json(self._build_data()).decode().replace("</", "<\\/"),
        }

    def parse_pins(self, query: Mapping[str, str]) -> tuple[list[str], str]:
        """Return the pins of an address, and why one is ignored."""
        sought = query.get("find", "").strip()
        try:
            if sought:
                return list(self.find(sought)), ""
            return [self._parse_pin(query[name]) for name in PINS if query.get(name)], ""
        except LayoutError as error:
            return [], f"{error.message} {error.hint}".strip()

    def _parse_pin(self, text: str) -> str:
        name, _, place = text.partition(":")
        sheet = next((sheet for sheet in self.sheets if sheet.name == name), None)
        if sheet is None:
            hint = f"Write name:row,column with {', '.join(sheet.name for sheet in self.sheets)}."
            raise LayoutError("bad_pin", f"‘{shorten_value(text, 60)}’ is not a cell here.", hint, "pin")
        try:
            row, col = parse_pair(place, "pin", (sheet.rows - 1, sheet.cols - 1))
        except LayoutError:
            hint = f"{sheet.title} has {sheet.rows} rows and {sheet.cols} columns, from 0."
            raise LayoutError("bad_pin", f"‘{shorten_value(text, 60)}’ is not a cell here.", hint, "pin") from None
        return PIN.format(panel=name, row=row, col=col)

    def _build_answer(self, pins: Sequence[str]) -> Answer:
        if not pins:
            return Answer(lines=(self.words.nothing,), text=self.words.invitation, pinned=False)
        found = [self._find_cell(pin) for pin in pins]
        places = [sheet.describe(row, col) for sheet, row, col in found]
        text = places[0].text
        if len(places) > 1:
            holders, groups = {place.holder for place in places}, {sheet.group for sheet, _, _ in found}
            text = self.words.together if len(holders) == 1 else self.words.apart
            text = "" if None in holders or len(groups) > 1 else text
        return Answer(lines=tuple(place.line for place in places), text=text, pinned=True)

    def _find_cell(self, pin: str) -> tuple[PinSheet, int, int]:
        name, row, col = split_pin(pin)
        assert col is not None  # sheets have cells only, no holders
        return next(sheet for sheet in self.sheets if sheet.name == name), row, col

    def ring(self, svg: str, selector: str, pins: Sequence[str]) -> str:
        """Return a picture with a ring around each pinned cell, as the script draws them."""
        rings = ""
        for sheet, row, col in map(self._find_cell, pins):
            rings += "".join(
                draw_ring(grid, row, col) for grid in sheet.grids if grid.selector == selector and grid.draws(row, col)
            )
        head, end, tail = svg.partition("</svg>")  # a legend may follow
        return f"{head}{rings}{end}{tail}"

    def _build_data(self) -> dict[str, Any]:
        return {
            "sheets": [
                {
                    "name": sheet.name,
                    "rows": sheet.rows,
                    "cols": sheet.cols,
                    "empty": sheet.empty,
                    "group": sheet.group,
                    "grids": [
                        {name: getattr(grid, name) for name in SheetGrid.__slots__} | {"least": LEAST_RING}
                        for grid in sheet.grids
                    ],
                    "layers": [pack_layer(layer) for layer in sheet.layers],
                }
                for sheet in self.sheets
            ],
            "words": {name: getattr(self.words, name) for name in SheetWords.__slots__},
        }


def point_at_sheets(svg: str, sheets: Sequence[PinSheet], group: str = "") -> str:
    """Return a picture that responds to the pointer by itself, as in the guide.

    group: the number that cells share which light up together.
    """
    groups = ""
    for sheet in sheets:
        layers = [pack_layer(layer) for layer in sheet.layers]
        for grid in sheet.grids:
            facts: dict[str, Any] = {"x": grid.x, "y": grid.y, "w": grid.cell_width, "h": grid.cell_height}
            facts |= {"top": grid.row, "left": grid.col, "rows": grid.row + grid.rows if grid.rows else sheet.rows}
            facts |= {"cols": grid.col + grid.cols if grid.cols else sheet.cols}
            facts |= {"empty": sheet.empty, "group": group, "layers": layers}
            groups += f'<g data-cells="{escape(encode_json(facts).decode())}"/>'
    head, end, tail = svg.partition("</svg>")
    return f"{head}{groups}{end}{tail}"


def make_element_finder(sheets: Sequence[PinSheet], example: str, **alike: str) -> Callable[[str], Sequence[str]]:
    """Return a function that finds elements of sheets by name. alike: other names of them."""
    matrices = {sheet.name: FindMatrix(sheet.name, sheet.title, sheet.rows, sheet.cols) for sheet in sheets}
    matrices |= {other: matrices[name] for other, name in alike.items()}
    field = FindField(matrices, example, bare=len(sheets) == 1)
    return lambda text: list(field.find_pins(field.parse_places(text)).values())


def pack_layer(layer: SheetLayer) -> dict[str, Any]:
    """Return a layer as static/kit/layers.js reads it."""
    rows, cols = next(iter(layer.numbers.values())).shape
    numbers = {name: _pack_numbers(array) for name, array in layer.numbers.items()}
    return {"line": layer.line, "row": layer.row, "col": layer.col, "rows": rows, "cols": cols, "numbers": numbers}


def _pack_numbers(array: Longs) -> dict[str, list[int]]:
    """Return numbers as sums of a row term and a column term where possible, as with all maps of digits."""
    there = (array >= 0).all(axis=1)
    if there.any() and (array[~there] < 0).all():
        across = array[there][0]
        down = np.where(there, array[:, 0] - across[0], ABSENT)
        if (array[there] == down[there][:, None] + across).all():
            return {"down": down.tolist(), "across": across.tolist()}
    return {"cells": array.reshape(-1).tolist()}
