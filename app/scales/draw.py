"""The picture of a factor's way: rows as stored, atoms of 512 bytes, columns of tensor memory.

A fill marks 32 rows; the selected factor has the colour of a pin in each panel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from lanescope.blackwell.scale_atoms import ATOM_FACTORS, ATOM_LINES, ATOM_ROWS, LINE_BYTES, compute_factor_offset
from lanescope.blackwell.scaling import FactorLocation, ScaleOperand
from lanescope.render.palette import list_fill_variables

HIGH, TOP, CELL = 224.0, 44.0, 13.0  # pixels: height of 128 rows, space above them, width of a factor
GAP, LEFT = 76.0, 52.0
UNIT = 2.2 * CELL  # width of a column of tensor memory
BANDS = ATOM_ROWS // ATOM_LINES
MOST_ROWS, MOST_WORDS = 2, 4  # atoms drawn along the rows and along K


@dataclass(frozen=True, slots=True)
class ScaleWindow:
    """The atoms of an operand that are drawn: first row and column of atoms, and their numbers."""

    side: ScaleOperand
    first_r: int
    first_k: int
    row_atoms: int
    k_atoms: int

    @property
    def widths(self) -> tuple[float, float, float]:
        tensor = max(self.k_atoms * self.row_atoms * BANDS, 4) * UNIT
        return max(self.k_atoms * ATOM_FACTORS * CELL, 150), 16 * CELL, tensor

    @property
    def lefts(self) -> tuple[float, float, float]:
        """Return the left edge of each panel."""
        rows, atom, _ = self.widths
        return LEFT, LEFT + rows + GAP, LEFT + rows + atom + 2 * GAP

    @property
    def columns(self) -> list[int]:
        """Return the columns of tensor memory that are drawn, relative to the operand's first."""
        return _list_shown_columns(self.side, self.row_atoms, self.k_atoms, self.first_r, self.first_k)


def find_window(side: ScaleOperand, row: int, factor: int) -> ScaleWindow:
    """Return the atoms to draw: those around the selected factor if the tile is large."""
    row_atoms, k_atoms = (min(n, most) for n, most in zip(side.atoms, (MOST_ROWS, MOST_WORDS), strict=True))
    first_r = min(row // ATOM_ROWS, side.atoms[0] - row_atoms)
    return ScaleWindow(side, first_r, min(factor // ATOM_FACTORS, side.atoms[1] - k_atoms), row_atoms, k_atoms)


def draw_scales(side: ScaleOperand, row: int, factor: int, location: FactorLocation) -> str:
    """Draw three panels, left to right; of a large tile the atoms around the selected factor."""
    window = find_window(side, row, factor)
    row_atoms, k_atoms, first_r, first_k = window.row_atoms, window.k_atoms, window.first_r, window.first_k
    parts: list[str] = []
    widths, lefts = window.widths, window.lefts
    height = TOP + row_atoms * HIGH + 12
    titles = ("Row-major", "One atom" if side.split else "Shared memory: one atom", "Tensor memory")
    notes = ("rows down, factors across", "lines of 16 B, first byte of each", "lanes down, columns across")
    for left, title, note in zip(lefts, titles, notes, strict=True):
        parts.append(_draw_text(left, 12, title, 12, "var(--ink)"))
        parts.append(_draw_text(left, 27, note, 9.5))
    parts += _draw_rows(lefts[0], row_atoms, k_atoms, first_r, first_k)
    parts += _draw_atom(lefts[1], row_atoms * HIGH, row, _find_first_byte(side, row, factor))
    parts += _draw_columns(lefts[2], side, row_atoms, k_atoms, first_r, first_k)
    scale = HIGH / ATOM_ROWS
    lines = row_atoms * HIGH / ATOM_LINES
    place = compute_factor_offset(row % ATOM_ROWS, factor % ATOM_FACTORS, ATOM_FACTORS) % LINE_BYTES
    marks = [
        (
            lefts[0] + (factor - first_k * ATOM_FACTORS) * CELL,
            TOP + (row - first_r * ATOM_ROWS) * scale,
            CELL,
            max(scale, 3),
        ),
        (lefts[1] + place * CELL, TOP + row % ATOM_LINES * lines, CELL, max(lines, 3)),
    ]
    unit, shown = UNIT, window.columns
    column = location.column - side.column
    if column in shown:
        x_of_lane = lefts[2] + shown.index(column) * unit + location.byte * unit / ATOM_FACTORS
        marks += [
            (x_of_lane, TOP + lane * row_atoms * scale, unit / ATOM_FACTORS, max(row_atoms * scale, 3))
            for lane in location.lanes
        ]
    parts += [
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" fill="var(--trace)" stroke="var(--trace)"'
        ' stroke-width="2.4"/>'
        for x, y, w, h in marks
    ]
    width = lefts[2] + widths[2] + 14
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
        f' height="{height:.0f}" role="img" class="scale-way" font-family="\'DejaVu Sans Mono\', ui-monospace,'
        ' monospace"><title>One scale factor in global, shared and tensor memory</title>' + "\n".join(parts) + "</svg>"
    )


def _draw_text(x: float, y: float, text: str, size: float, fill: str = "var(--muted)", anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _draw_box(x: float, y: float, w: float, h: float, band: int, tooltip: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" fill="var({list_fill_variables(BANDS)[band]})"'
        f' stroke="var(--cell-line)" stroke-width=".6"><title>{escape(tooltip)}</title></rect>'
    )


def _draw_rows(left: float, row_atoms: int, k_atoms: int, first_r: int, first_k: int) -> Iterator[str]:
    """Draw row-major factors: a box is 32 rows by 4 factors."""
    band_height = HIGH / BANDS
    for band in range(row_atoms * BANDS):
        row = first_r * ATOM_ROWS + band * ATOM_LINES
        yield _draw_text(left - 6, TOP + band * band_height + band_height / 2 + 3, f"{row}", 9, anchor="end")
        for k in range(k_atoms):
            factor = (first_k + k) * ATOM_FACTORS
            tooltip = f"rows {row} to {row + ATOM_LINES - 1}, factors {factor} to {factor + ATOM_FACTORS - 1}"
            x = left + k * ATOM_FACTORS * CELL
            yield _draw_box(x, TOP + band * band_height, ATOM_FACTORS * CELL, band_height, band % BANDS, tooltip)
    for k in range(k_atoms):
        yield _draw_text(left + k * ATOM_FACTORS * CELL, TOP - 5, f"{(first_k + k) * ATOM_FACTORS}", 9)


def _find_first_byte(side: ScaleOperand, row: int, factor: int) -> int:
    """Return the first byte of a factor's atom in shared memory; 0 if its order there is not documented."""
    first = side.shared_offset(row - row % ATOM_ROWS, factor - factor % ATOM_FACTORS)
    return 0 if side.split else side.shared + first


def _draw_atom(left: float, high: float, row: int, start: int) -> Iterator[str]:
    """Draw the atom of a row, from byte `start`: 32 lines of 16 bytes, four bytes for each band of rows."""
    for band in range(BANDS):
        x = left + band * ATOM_FACTORS * CELL
        first = row // ATOM_ROWS * ATOM_ROWS + band * ATOM_LINES
        tooltip = f"bytes {4 * band} to {4 * band + 3} of line l: row {first} + l, four factors"
        yield _draw_box(x, TOP, ATOM_FACTORS * CELL, high, band, tooltip)
        yield _draw_text(x, TOP - 5, f"+{4 * band}" if band else "0", 9)
    marked = row % ATOM_LINES
    for line in (marked, *(line for line in range(0, ATOM_LINES, 8) if abs(line - marked) > 1)):
        yield _draw_text(
            left - 6, TOP + (line + 0.8) * high / ATOM_LINES, f"{start + LINE_BYTES * line}", 9, anchor="end"
        )


def _list_shown_columns(side: ScaleOperand, row_atoms: int, k_atoms: int, first_r: int, first_k: int) -> list[int]:
    """Return the columns that are drawn, relative to the operand's first."""
    if side.split:
        return list(range(side.group_columns * k_atoms))
    return [
        (first_k + k) * side.group_columns + (first_r + r) * BANDS + band
        for k in range(k_atoms)
        for r in range(row_atoms)
        for band in range(BANDS)
    ]


def _draw_columns(
    left: float, side: ScaleOperand, row_atoms: int, k_atoms: int, first_r: int, first_k: int
) -> Iterator[str]:
    """Draw tensor memory: a column per 32 rows, repeated in all four quarters."""
    unit, quarter_height = UNIT, row_atoms * HIGH / 4
    for position, column in enumerate(_list_shown_columns(side, row_atoms, k_atoms, first_r, first_k)):
        for quarter in range(4):
            band = column % BANDS
            tooltip = f"column {side.column + column}, lanes {32 * quarter} to {32 * quarter + 31}"
            yield _draw_box(left + position * unit, TOP + quarter * quarter_height, unit, quarter_height, band, tooltip)
        if position % 4 == 0 or side.split:
            yield _draw_text(left + position * unit, TOP - 5, f"{side.column + column}", 9)
    for quarter in range(4):
        yield _draw_text(left - 6, TOP + quarter * quarter_height + 10, f"{32 * quarter}", 9, anchor="end")
