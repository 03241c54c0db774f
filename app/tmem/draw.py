"""The picture of tensor memory: 128 lanes down, 512 columns across, a fill per operand, an outline for the access."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

import numpy as np

from lanescope.blackwell.tmem import COLUMNS, LANES, QUARTER, Allocation, Mask, PlacedOperand

LEFT, TOP, LANE = 58.0, 30.0, 2.7  # pixels: space left of the columns and above the lanes, height of a lane
WIDE, NARROW = 2.0, 1.05  # width of a column: for one CTA, and for each of a pair
GAP = 70.0
FILLS = 8
_NARROWEST = 5.6  # pixels of a rectangle for each letter of its name


def find_rectangles(mask: Mask) -> list[tuple[int, int, int, int]]:
    """Return (first lane, last lane, first column, last column) of rectangles that cover a mask, from the top."""
    out: list[tuple[int, int, int, int]] = []
    open_: dict[tuple[int, int], int] = {}
    for lane in range(LANES + 1):
        runs = _find_runs(mask[lane]) if lane < LANES else set()
        for run in [run for run in open_ if run not in runs]:
            out.append((open_.pop(run), lane - 1, *run))
        for run in runs:
            open_.setdefault(run, lane)
    return sorted(out)


def _find_runs(row: Mask) -> set[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], row.astype(np.int8), [0]))))
    return {(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)}


def list_grids(count: int) -> list[tuple[float, float, float, float]]:
    """Return (x, y, cell width, cell height) of each panel's lanes and columns."""
    wide = WIDE if count == 1 else NARROW
    return [(LEFT + n * (LEFT + COLUMNS * wide + GAP), TOP, wide, LANE) for n in range(count)]


def draw_tmem(
    panels: list[tuple[str, list[tuple[PlacedOperand, str]]]],
    allocation: Allocation,
    touched: Mask | None,
    overlap: Mask,
) -> str:
    """Draw the memory of one CTA or a pair. Each panel: its title, and operands with their tooltips."""
    wide = WIDE if len(panels) == 1 else NARROW
    across = LEFT + COLUMNS * wide + GAP
    width, height = across * len(panels) - GAP + 8, TOP + LANES * LANE + 26
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
        f' height="{height:.0f}" role="img" class="tmem-map"'
        " font-family=\"'DejaVu Sans Mono', ui-monospace, monospace\">",
        "<title>Tensor memory, 128 lanes by 512 columns</title>",
        '<defs><pattern id="both" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M0 6L6 0" fill="none"'
        ' stroke="var(--bad)" stroke-width="1.4"/></pattern></defs>',
    ]
    for (x, *_), (title, placed) in zip(list_grids(len(panels)), panels, strict=True):
        out += _draw_panel(x, wide, title, placed=placed, allocation=allocation, touched=touched, overlap=overlap)
    return "\n".join([*out, "</svg>"])


def _draw_panel(
    x: float,
    wide: float,
    title: str,
    *,
    placed: list[tuple[PlacedOperand, str]],
    allocation: Allocation,
    touched: Mask | None,
    overlap: Mask,
) -> list[str]:
    def box(lane: int, last: int, column: int, to: int, more: str) -> str:
        size = f'width="{(to - column + 1) * wide:.1f}" height="{(last - lane + 1) * LANE:.1f}"'
        return f'<rect x="{x + column * wide:.1f}" y="{TOP + lane * LANE:.1f}" {size} {more}'

    out = [
        f'<text x="{x:.1f}" y="11" font-size="11" fill="var(--ink)">{escape(title)}</text>',
        box(0, LANES - 1, 0, COLUMNS - 1, 'fill="var(--soft)" stroke="var(--rule)"/>'),
        box(
            0,
            LANES - 1,
            allocation.first,
            min(allocation.first + allocation.columns, COLUMNS) - 1,
            'fill="var(--raised)" stroke="var(--edge)"/>',
        ),
    ]
    for column in range(0, COLUMNS + 1, 64 if wide > NARROW else 128):
        at = x + column * wide
        out.append(
            f'<text x="{at:.1f}" y="24" font-size="9.6" text-anchor="middle" fill="var(--muted)">{column}</text>'
        )
    for n, (operand, text) in enumerate(placed):
        boxes = find_rectangles(operand.mask)
        for lane, last, column, to in boxes:
            tooltip = f"<title>{escape(text)}</title></rect>"
            look = f'fill="var(--fill-{n % FILLS})" stroke="var(--cell-line)" stroke-width=".6">'
            out.append(box(lane, last, column, to, look + tooltip))
    out += [
        box(*rectangle, 'fill="url(#both)" stroke="var(--bad)"><title>two operands</title></rect>')
        for rectangle in find_rectangles(overlap)
    ]
    if touched is not None:
        edge = 'fill="var(--accent)" fill-opacity=".16" stroke="var(--accent)" stroke-width="1.6"/>'
        out += [box(*rectangle, edge) for rectangle in find_rectangles(touched)]
    out += _draw_names([operand for operand, _ in placed], x, wide)
    for quarter in range(LANES // QUARTER):
        y = TOP + quarter * QUARTER * LANE
        if quarter:
            out.append(
                f'<path d="M{x - 6:.1f} {y:.1f}H{x + COLUMNS * wide:.1f}" stroke="var(--edge)" stroke-dasharray="3 3"'
                ' fill="none"/>'
            )
        middle = y + QUARTER * LANE / 2
        out.append(
            f'<text x="{x - 8:.1f}" y="{middle:.1f}" font-size="9.5" text-anchor="end" fill="var(--muted)">warp'
            f' {quarter}</text><text x="{x - 8:.1f}" y="{middle + 12:.1f}" font-size="9.5" text-anchor="end"'
            f' fill="var(--muted)">{quarter * QUARTER}–{quarter * QUARTER + QUARTER - 1}</text>'
        )
    return out


class _Name(NamedTuple):
    """An operand's name and the first rectangle that it has: its lanes and columns."""

    text: str
    lane: int
    last: int
    column: int
    to: int

    @property
    def middle(self) -> float:
        """The pixel in the middle of its first quarter."""
        return TOP + (self.lane + min(self.last - self.lane, QUARTER) / 2) * LANE


def _draw_names(operands: list[PlacedOperand], x: float, wide: float) -> list[str]:
    """Write each operand's name into its first rectangle; if it has no room, a line lower each time beside all that
    touch each other, at the end of a line from the rectangle.
    """
    out = []
    names = [_Name(operand.name, *find_rectangles(operand.mask)[0]) for operand in operands]
    narrow = [name for name in names if (name.to - name.column + 1) * wide < _NARROWEST * len(name.text)]
    for name in names:
        middle = x + (name.column + name.to + 1) / 2 * wide
        if name not in narrow:
            font = 12 if (name.to - name.column + 1) * wide > 7.4 * len(name.text) else 9
            look = f'x="{middle:.1f}" text-anchor="middle" fill="var(--cell-ink)" font-size="{font}"'
            out.append(f'<text {look} y="{name.middle + 4:.1f}">{escape(name.text)}</text>')
            continue
        y = name.middle + 12 * narrow.index(name)
        first, past = (x + column * wide for column in _find_neighbours(name, narrow))
        after = past + 10 + 6 * len(name.text) < x + COLUMNS * wide
        end, at, anchor = (past + 8, past + 10, "start") if after else (first - 8, first - 10, "end")
        look = f'x="{at:.1f}" y="{y + 3:.1f}" text-anchor="{anchor}" font-size="10" fill="var(--ink)"'
        out.append(
            f'<path d="M{middle:.1f} {y:.1f}H{end:.1f}" stroke="var(--ink)"/>'
            f'<circle cx="{middle:.1f}" cy="{y:.1f}" r="2" fill="var(--ink)"/>'
            f'<text {look} stroke="var(--raised)" stroke-width="3" paint-order="stroke">{escape(name.text)}</text>'
        )
    return out


def _find_neighbours(name: _Name, narrow: list[_Name]) -> tuple[int, int]:
    """Return (first, past) of the columns of narrow rectangles that touch each other around a name's."""
    first, past = name.column, name.to + 1
    for one in sorted(narrow, key=lambda other: other.column):
        past = one.to + 1 if one.column <= past <= one.to else past
    for one in sorted(narrow, key=lambda other: -other.to):
        first = one.column if one.column < first <= one.to + 1 else first
    return first, past
