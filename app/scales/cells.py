"""Texts of the cells in a scale factor's picture; the same factor lights up in all three memories."""

from __future__ import annotations

import numpy as np

from lanescope.app.kit.maps.bench import Longs
from lanescope.app.kit.sheets import PinSheet, SheetGrid, SheetLayer
from lanescope.app.scales.draw import BANDS, CELL, HIGH, TOP, UNIT, ScaleWindow
from lanescope.blackwell import tmem
from lanescope.blackwell.scale_atoms import ATOM_FACTORS, ATOM_LINES, ATOM_ROWS
from lanescope.blackwell.scaling import FactorLocation

SELECTOR, GROUP = ".scale-way", "place"  # the same factor: the same byte in row-major order
NUMBERS = ("place", "row_of", "factor", "atoms", "column", "byte", "step")


def list_sheets(window: ScaleWindow, name: str, row: int, factor: int) -> tuple[PinSheet, ...]:
    """Return the sheets of the three panels. name: A or B; row, factor: the selected ones, whose atom is drawn."""
    places = _locate_factors(window)
    lanes = len(next(iter(places.values())).lanes)
    line = _make_line(name, lanes)
    rows_left, atom_left, tensor_left = window.lefts
    first_row, first_factor = window.first_r * ATOM_ROWS, window.first_k * ATOM_FACTORS
    rows = [
        [(first_row + down, first_factor + across) for across in range(window.k_atoms * ATOM_FACTORS)]
        for down in range(window.row_atoms * ATOM_ROWS)
    ]
    start, column = row // ATOM_ROWS * ATOM_ROWS, factor // ATOM_FACTORS * ATOM_FACTORS
    atom = [
        [
            (start + ATOM_LINES * (byte // ATOM_FACTORS) + down, column + byte % ATOM_FACTORS)
            for byte in range(BANDS * ATOM_FACTORS)
        ]
        for down in range(ATOM_LINES)
    ]
    factor_at = {(lane, at.column, at.byte): key for key, at in places.items() for lane in at.lanes}
    tensor = [
        [
            factor_at.get((lane, window.side.column + shown, byte), (-1, -1))
            for shown in window.columns
            for byte in range(ATOM_FACTORS)
        ]
        for lane in range(tmem.LANES)
    ]
    high = window.row_atoms * HIGH
    panels = (
        ("rows", rows, rows_left, CELL, HIGH / ATOM_ROWS),
        ("atom", atom, atom_left, CELL, high / ATOM_LINES),
        ("tensor", tensor, tensor_left, UNIT / ATOM_FACTORS, high / tmem.LANES),
    )
    return tuple(
        PinSheet(
            panel,
            "Scale factors",
            len(keys),
            len(keys[0]),
            (SheetLayer(line, _number_cells(keys, places, lanes)),),
            (SheetGrid(SELECTOR, x, TOP, wide, tall),),
            empty="`Padding`",
        )
        for panel, keys, x, wide, tall in panels
    )


def _locate_factors(window: ScaleWindow) -> dict[tuple[int, int], FactorLocation]:
    """Return the positions of all factors that are drawn, without padding."""
    side = window.side
    first_row, first_factor = window.first_r * ATOM_ROWS, window.first_k * ATOM_FACTORS
    last_row = min(side.rows, first_row + window.row_atoms * ATOM_ROWS)
    last_factor = min(side.k // side.block, first_factor + window.k_atoms * ATOM_FACTORS)
    return {
        (row, factor): side.locate_factor(row, factor)
        for row in range(first_row, last_row)
        for factor in range(first_factor, last_factor)
    }


def _make_line(name: str, lanes: int) -> str:
    index = "[{row_of}][{factor}]" if name == "A" else "[{factor}][{row_of}]"
    copies = ", ".join(f"{{lane{n}}}" for n in range(lanes))
    where = "byte {place} of row-major factors, byte {atoms} of the atoms"
    return f"`SF{name}{index}`: {where}; byte {{byte}} of column {{column}} in lanes {copies}"


def _number_cells(
    keys: list[list[tuple[int, int]]], places: dict[tuple[int, int], FactorLocation], lanes: int
) -> dict[str, Longs]:
    names = (*NUMBERS, *(f"lane{n}" for n in range(lanes)))
    out = np.full((len(names), len(keys), len(keys[0])), -1, np.int64)
    for down, line in enumerate(keys):
        for across, key in enumerate(line):
            if at := places.get(key):
                numbers = (at.row_major, *key, at.atoms, at.column, at.byte, at.step)
                out[:, down, across] = (*numbers, *at.lanes)
    return dict(zip(names, out, strict=True))
