"""Texts of the cells of tensor memory, for pointing, pins and the find field."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lanescope.app.kit.find import parse_places
from lanescope.app.kit.maps.bench import PIN, Longs
from lanescope.app.kit.sheets import PinSheet, SheetGrid, SheetLayer, SheetPage, SheetWords
from lanescope.app.kit.sought_place import SoughtPlace
from lanescope.app.tmem import draw, placement
from lanescope.app.tmem.placement import Placement, PlacementQuestion
from lanescope.blackwell import tmem
from lanescope.blackwell.tmem import PlacedOperand, TensorAccess, TmemMma
from lanescope.errors import LayoutError

EXAMPLE = "D[70][3], row 70 of D, lane 70 column 3"
SELECTOR = ".tmem-map"
WORDS = SheetWords(
    nothing="Where is an element of D?",
    invitation=f"Click a cell, or type one: {EXAMPLE}. Shift and a click pin a second one.",
    together="The same warp of a warpgroup reaches both.",
    apart="No warp reaches both: each reaches its own 32 lanes.",
)
_LINE = re.compile(r"lane\s*(?P<lane>\d{1,6})|col(?:umn)?\s*(?P<column>\d{1,6})", re.IGNORECASE)
_CELL = re.compile(r"lane\s*(\d{1,6})\s*,?\s*col(?:umn)?\s*(\d{1,6})|(\d{1,6})\s*:\s*(\d{1,6})", re.IGNORECASE)


def make_sheet_page(answer: Placement) -> SheetPage:
    """Return the page's sheets: the tensor memory of each CTA."""
    sheets = tuple(
        PinSheet(
            f"cta{cta}",
            "Tensor memory",
            tmem.LANES,
            tmem.COLUMNS,
            tuple(_list_layers(answer, cta)),
            (SheetGrid(SELECTOR, *grid),),
            empty="Nothing is placed in `lane {row}`, `column {col}`",
            group="reader",
        )
        for cta, grid in enumerate(draw.list_grids(answer.mma.ctas))
    )
    return SheetPage(sheets, WORDS, EXAMPLE, lambda text: find_pins(answer, sheets, text))


def _list_layers(answer: Placement, cta: int) -> list[SheetLayer]:
    out = []
    for placed, mma in answer.placed:
        element, row_layers = _make_operand_layers(placed, mma, cta)
        out += [element, *row_layers]
    if answer.access and answer.access.by_warp:
        out.append(_make_access_layer(answer.access, *answer.where))
    return [
        *(layer for layer in out if layer.line.startswith("`")),
        *(layer for layer in out if not layer.line.startswith("`")),
    ]


def _make_operand_layers(placed: PlacedOperand, mma: TmemMma, cta: int) -> tuple[SheetLayer, list[SheetLayer]]:
    """Return the layer of an operand's elements, and the one about its row if each lane has one row."""
    numbers, counted = _number_elements(placed, mma, cta)
    names = [
        f"{{{name}}}" if (numbers[name] == numbers[f"{name}_last"]).all() else f"{{{name}}}–{{{name}_last}}"
        for name in ("first", "second")
    ]
    whole_cta = "" if counted or mma.ctas == 1 else " of this CTA"
    if placed.layout.operand in ("d", "a"):
        element = f"`{placed.name}[{names[0]}][{names[1]}]`{whole_cta}"
    else:
        axes = ", ".join(f"{axis} {name}" for axis, name in zip(placed.layout.axes[:2], names, strict=True))
        element = f"`{placed.name}`, {axes}{whole_cta},"
    where = f"CTA {cta}, " if mma.ctas > 1 else ""
    line = f"{element} is in {where}`lane {{row}}`, `column {{col}}`"
    there = (numbers["first"] >= 0).any(axis=1)
    first = numbers["first"][there]
    if not (first == first[:, :1]).all() or placed.layout.operand not in ("d", "a"):
        return SheetLayer(line, numbers, 0, placed.column), []
    last = placed.column + numbers["first"].shape[1] - 1
    lane = f"Lane {{row}}, columns {placed.column}–{last}, has row {{first}} of {placed.name}"
    text = f"{lane}; warp {{warp}} of a warpgroup reaches it"
    return SheetLayer(line, numbers, 0, placed.column), [SheetLayer(text, numbers, 0, placed.column)]


def _number_elements(placed: PlacedOperand, mma: TmemMma, cta: int) -> tuple[dict[str, Longs], bool]:
    """Return both coordinates of the first and last unit of each cell, and whether rows are numbered across the
    pair.
    """
    rows, seconds = list(placed.layout.coords.values())[:2]
    per = 32 // placed.layout.bits
    columns = min(placed.layout.columns, tmem.COLUMNS - placed.column)
    firsts = np.arange(columns) * per
    lasts = np.minimum(firsts + per - 1, rows.shape[1] - 1)
    counted = placed.layout.operand in ("d", "a") and int(rows.max()) + 1 == mma.place.rows
    shift = cta * mma.place.rows if counted else 0
    mask = placed.mask[:, placed.column : placed.column + columns]
    warp: Longs = np.broadcast_to(np.arange(tmem.LANES)[:, None] // tmem.QUARTER, mask.shape)
    numbers: dict[str, Any] = {
        "first": rows[:, firsts] + shift,
        "first_last": rows[:, lasts] + shift,
        "second": seconds[:, firsts],
        "second_last": seconds[:, lasts],
        "warp": warp,
        "reader": warp + cta * tmem.LANES // tmem.QUARTER,
    }
    return {name: np.where(mask, array, -1).astype(np.int64) for name, array in numbers.items()}, counted


def _make_access_layer(access: TensorAccess, lane: int, column: int) -> SheetLayer:
    """Return the thread and register between which a load or store moves each cell."""
    lanes, columns = access.pattern.evaluate()[:2]
    lanes, columns = lanes + lane, tmem.place_columns(access, columns) + column
    at_thread, at_value = (np.arange(size) for size in lanes.shape)
    thread, value = np.meshgrid(at_thread, at_value, indexing="ij")
    there = (lanes < tmem.LANES) & (columns < tmem.COLUMNS)
    low, left = int(lanes.min()), int(columns.min())
    shape = (max(int(lanes[there].max(initial=0)) - low, 0) + 1, max(int(columns[there].max(initial=0)) - left, 0) + 1)
    numbers = {name: np.full(shape, -1, np.int64) for name in ("thread", "register")}
    at = lanes[there] - low, columns[there] - left
    numbers["thread"][at] = thread[there]
    numbers["register"][at] = value[there] // (2 if access.packed else 1)
    way = "to" if access.verb == "ld" else "from"
    return SheetLayer(
        f"{access.ptx} moves it {way} thread {{thread}} of the warp, register {{register}}", numbers, low, left
    )


def _pin_cell(sheets: Sequence[PinSheet], lane: int, column: int) -> str:
    """Return the pin of a cell of the first CTA. LayoutError `bad_find` names the legal range."""
    if lane >= tmem.LANES or column >= tmem.COLUMNS:
        hint = f"Lanes run from 0 to {tmem.LANES - 1}, columns from 0 to {tmem.COLUMNS - 1}."
        raise LayoutError("bad_find", f"There is no lane {lane}, column {column}.", hint, "find")
    return PIN.format(panel=sheets[0].name, row=lane, col=column)


def find_pins(answer: Placement, sheets: Sequence[PinSheet], text: str) -> list[str]:
    """Return the cells that a text names: an element, a row's first element, or a lane and column (the other is 0 if
    left out).

    LayoutError `bad_find` names the legal range.
    """
    if cell := _CELL.fullmatch(text.strip()):
        lane, column = (int(number) for number in cell.groups() if number is not None)
        return [_pin_cell(sheets, lane, column)]
    if line := _LINE.fullmatch(text.strip()):
        lane, column = (int(line["lane"] or 0), int(line["column"] or 0))
        return [_pin_cell(sheets, lane, column)]
    operands = [operand.name.lower().replace(" ", "") for operand in answer.operands]
    found = []
    places = parse_places(text, {*operands, "a", "d"}, EXAMPLE, bare=True)
    for place in places:
        cells = _find_cells(answer, sheets, place.matrix or "d", _find_element(place))
        found += cells[: 3 - len(places)]  # an element may have several copies: pin the first two
    return found


def _find_element(place: SoughtPlace) -> tuple[int, int]:
    """Return the element of a place; of a row, the first. LayoutError for any other place."""
    if place.index is not None:
        hint = f"Write row {place.index} of {(place.matrix or 'd').upper()}, or an element as in {EXAMPLE}."
        raise LayoutError("bad_find", f"{place.text} has one number, of a row or of an element.", hint, "find")
    row = place.line[1] if place.line else None
    if (row is None and place.coords is None) or (place.line and place.line[0] != "row"):
        raise LayoutError("bad_find", "Only an element, a row or a cell is found here.", f"Try {EXAMPLE}.", "find")
    return place.coords or (row or 0, 0)


def _find_cells(answer: Placement, sheets: Sequence[PinSheet], name: str, place: tuple[int, int]) -> list[str]:
    """Return the cells of an element in every CTA."""
    named = [(placed, mma) for placed, mma in answer.placed if placed.name.lower().replace(" ", "") == name]
    if not named:
        names = ", ".join(operand.name for operand in answer.operands) or "nothing"
        raise LayoutError("bad_find", f"{name.upper()} is not placed here.", f"Placed: {names}.", "find")
    placed, mma = named[0]
    row, col = place
    out, high, wide = [], 0, 0
    for cta, sheet in enumerate(sheets):
        numbers, _ = _number_elements(placed, mma, cta)
        hit = (numbers["first"] <= row) & (row <= numbers["first_last"])
        hit &= (numbers["second"] <= col) & (col <= numbers["second_last"]) & (numbers["first"] >= 0)
        out += [
            PIN.format(panel=sheet.name, row=lane, col=placed.column + column)
            for lane, column in np.argwhere(hit).tolist()
        ]
        high, wide = max(high, int(numbers["first_last"].max()) + 1), max(wide, int(numbers["second_last"].max()) + 1)
    if not out:
        most = f"rows 0–{high - 1}, columns 0–{wide - 1}"
        raise LayoutError("bad_find", f"{placed.name} is {high} × {wide}: {most}.", "", "find")
    return out


def build_placement_context(question: PlacementQuestion, answer: Placement) -> dict[str, Any]:
    """Return the template's variables, with the sheets and the answer about the pins."""
    page = make_sheet_page(answer)
    query: Mapping[str, str] = {name: getattr(question, name) for name in ("find", "pin", "pin2")}
    return placement.build_placement_context(question, answer) | page.build_context(query)


def draw_placement(question: PlacementQuestion, answer: Placement) -> str:
    """Return the picture with its pins."""
    page = make_sheet_page(answer)
    pins, _ = page.parse_pins({name: getattr(question, name) for name in ("find", "pin", "pin2")})
    return page.ring(placement.draw_placement(question, answer), SELECTOR, pins)
