"""Rings around pinned cells, as a page's script draws them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from lanescope.render.figure import FigurePanel
from lanescope.render.palette import Palette

LEAST_RING = 8.0  # in user units: smaller cells would be invisible
_RING, _HALO = 2.5, 5.5  # same width as in the style sheet


class CellGrid(Protocol):
    """The grid of a picture: the corner of cell (0, 0) and the size of a cell."""

    @property
    def x(self) -> float: ...

    @property
    def y(self) -> float: ...

    @property
    def cell_width(self) -> float: ...

    @property
    def cell_height(self) -> float: ...


def draw_ring(grid: CellGrid, row: int, col: int, palette: Palette | None = None) -> str:
    """Return the ring of a pinned cell, with a minimum size; without a palette in the page's colours."""
    wide, high = max(grid.cell_width, LEAST_RING), max(grid.cell_height, LEAST_RING)
    x = grid.x + (col + 0.5) * grid.cell_width - wide / 2
    y = grid.y + (row + 0.5) * grid.cell_height - high / 2
    box = f'x="{x:.2f}" y="{y:.2f}" width="{wide:.2f}" height="{high:.2f}" fill="none"'
    halo, ring = (palette.paper, palette.ink) if palette else ("var(--raised)", "var(--trace)")
    return (
        f'<rect class="halo ringed" {box} stroke="{halo}" stroke-width="{_HALO}"/>'
        f'<rect class="ringed" {box} stroke="{ring}" stroke-width="{_RING}"/>'
    )


def draw_rings(
    panels: Iterable[FigurePanel], cells: Iterable[tuple[str, int, int]], palette: Palette | None = None
) -> str:
    """Return the rings of cells (matrix, row, column) in the panels that show them."""
    shown = {panel.name: panel for panel in panels}
    rings = ""
    for name, row, col in cells:
        panel = shown.get(name)
        if panel and 0 <= row - panel.row0 < panel.rows and 0 <= col - panel.col0 < panel.cols:
            rings += draw_ring(panel, row - panel.row0, col - panel.col0, palette)
    return rings
