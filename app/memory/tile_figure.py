"""Pictures of tiles: the tile as a grid, memory beside or below it, atoms outlined, LBO and SBO as brackets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanescope.app.kit.maps.bench import split_pin
from lanescope.app.kit.rings import draw_ring
from lanescope.app.memory.options import LOOK
from lanescope.errors import LayoutError
from lanescope.render.figure import FigurePanel, PanelFigure
from lanescope.render.palette import Palette
from lanescope.shared.banks import compute_banks
from lanescope.shared.tile_map import DOWN, NUMBERS, UNITS, TileMap, TileStride, list_tile_strides
from lanescope.shared.tiling import Tile

SHOWN = ("both", "tile", "memory")
LABELLED = 2200  # cells of a picture that still get numbers
_LEFT, _TOP, _GAP, _WIDEST = 34.0, 36.0, 150.0, 560.0
_TOP_UNTITLED = 18.0


@dataclass(frozen=True, slots=True)
class TileLook:
    """The options of LOOK, parsed."""

    down: str = ""
    unit: str = "chunk"
    number: str = "logical"
    show: str = "both"
    plain: bool = False


LOOKS = {"down": ("", *DOWN), "unit": UNITS, "number": NUMBERS, "show": SHOWN, "plain": ("0", "1")}


def parse_look(query: Mapping[str, str]) -> TileLook:
    """Parse the drawing options of a query. LayoutError names an unknown option."""
    options = {name: query.get(name) or default for name, (default, _) in LOOK.items()}
    for name, value in options.items():
        if value not in LOOKS[name]:
            raise LayoutError(
                "bad_option", f"{name} is '{value[:40]}'.", f"Allowed: {', '.join(filter(None, LOOKS[name]))}.", name
            )
    return TileLook(options["down"], options["unit"], options["number"], options["show"], options["plain"] == "1")


@dataclass(frozen=True)
class TileDrawing:
    """A figure, its overlay, and the addresses of its cells."""

    figure: PanelFigure
    extra: str
    map: TileMap
    place: Any  # int64 [rows, cols]: cell number in the memory panel
    first: int  # byte address of the memory panel's first cell

    def build_script_data(self) -> dict[str, Any]:
        """Return the script's data: the numbers of every cell, row by row, and templates that describe a cell."""
        cells, tile = self.map, self.map.tile
        size, swizzle = cells.bits // 8, tile.mode.swizzle()
        before, after = (tile.base + cells.list_cell_offsets(plain) * size for plain in (True, False))
        banks, last_banks = compute_banks(after, size)
        along = "{k}" if tile.major == "K" else "{mn}"
        reach = f"{along} to {{last}}" if cells.span > 1 else along
        numbers = {
            "mn": cells.mn,
            "k": cells.k,
            "last": (cells.k if tile.major == "K" else cells.mn) + cells.span - 1,
            "before": before,
            "after": after,
            "bank": banks,
            "last_bank": last_banks,
        }
        xor = (
            ", ".join(f"bit {bit} ^= bit {other}" for bit, other in swizzle.list_terms())
            or "no swizzle: the address is not changed"
        )
        return {
            "cells": {name: array.ravel() for name, array in numbers.items()},
            "place": self.place.ravel(),
            "cols": cells.cols,
            "along": tile.major.lower(),
            "span": cells.span,
            "groups": [swizzle.base, swizzle.shift, swizzle.shift],  # bits of an address, low first: byte, chunk, row
            "digits": 12,
            "says": {
                "place": f"row {{mn}}, k {reach}" if tile.major == "K" else f"k {{k}}, mn {reach}",
                "bank": "bank {bank}",
                "banks": "banks {bank} to {last_bank}",
                "cell": (
                    f"{cells.unit}: {{place}} · {{banks}}\nbefore {{before_bits}} = 0x{{before_hex}} = {{before}}\n"
                    f"after  {{after_bits}} = 0x{{after_hex}} = {{after}}\n{xor}"
                ),
                "spoken": f"{cells.unit} {{place}}: address {{after}}, {{banks}}",
            },
        }


def draw_tile(
    tile: Tile,
    look: TileLook | None = None,
    rows: int = 0,
    ink: str = "var(--trace)",
    line: str = "var(--ink)",
    titled: bool = True,
) -> TileDrawing:
    """Return the drawing of a tile and its memory.

    rows: of one instruction, which decide whether a stride is read; 0: those of the whole tile, at most 256.
    """
    look = look or TileLook()
    cells = TileMap(tile, look.down, look.unit)
    first = tile.base // 128 * 128
    memory = cells.list_cell_offsets(look.plain)
    place = memory + (tile.base - first) * 8 // cells.bits
    cell = "16 B" if look.unit == "chunk" else f"one {tile.element_bits}-bit element"
    numbers = {"logical": cells.logical, "memory": memory, "none": None}[look.number]
    panels: list[FigurePanel] = []
    if look.show != "memory":
        panels.append(_build_tile_panel(cells, numbers, cell, titled))
    if look.show != "tile":
        before = " before the swizzle" if look.plain else ""
        title = f"memory{before}, 1 row = 128 B, 1 cell = {cell}" if titled else ""
        panels.append(_build_memory_panel(cells, place, numbers, title, panels[0] if panels else None))
    strides = list_tile_strides(tile, rows or min(tile.mn, 256))
    extra = "".join(_draw_overlay(panel, tile, cells, rows, ink, line) for panel in panels)
    size = _measure_figure(panels, cells, strides)
    return TileDrawing(PanelFigure(*size, tuple(panels)), extra, cells, place, first)


def _build_tile_panel(cells: TileMap, numbers: Any, cell: str, titled: bool) -> FigurePanel:
    """Return the panel of a tile, coloured by chunk."""
    down, across = ("M or N", "K") if cells.rows_are_mn else ("K", "M or N")
    wide, tall = _compute_cell_size(cells.rows, cells.cols)
    return FigurePanel(
        "logical",
        f"tile: {down} down, {across} across, 1 cell = {cell}" if titled else "",
        rows=cells.rows,
        cols=cells.cols,
        x=_LEFT,
        y=_TOP if titled else _TOP_UNTITLED,
        cell_width=wide,
        cell_height=tall,
        category=_number_colours(cells),
        texts=None if numbers is None else [[str(n) for n in row] for row in numbers.tolist()],
        of=8,
    )


def _build_memory_panel(
    cells: TileMap, place: Any, numbers: Any, title: str, beside: FigurePanel | None
) -> FigurePanel:
    """Return the panel of memory, 128 bytes per row, to the right of the tile's panel or below it.

    place: the cell of this panel that holds each cell of the tile.
    """
    per_line = 1024 // cells.bits
    high = int(place.max()) // per_line + 1
    cell_of = np.full(high * per_line, -1)
    cell_of[place.ravel()] = np.arange(place.size)
    category = (
        np.where(cell_of >= 0, _number_colours(cells).ravel()[cell_of], -1).reshape(high, per_line).astype(np.int32)
    )
    x, y = _LEFT, _TOP if title else _TOP_UNTITLED
    wide, tall = _compute_cell_size(high, per_line)
    if beside is not None and beside.width > _WIDEST:
        y = _TOP + beside.height + 78
    elif beside is not None:
        x = _LEFT + max(beside.width + _GAP, 7.4 * len(beside.title) + 24)
        tall = beside.cell_height if high <= cells.rows else tall
    return FigurePanel(
        "memory",
        title,
        rows=high,
        cols=per_line,
        x=x,
        y=y,
        cell_width=wide,
        cell_height=tall,
        category=category,
        texts=None if numbers is None else _format_stored_numbers(cell_of.reshape(high, per_line), numbers.ravel()),
        of=8,
    )


def _number_colours(cells: TileMap) -> Any:
    return (cells.chunk % 8).astype(np.int32)


def _format_stored_numbers(cell_of: Any, numbers: Any) -> list[list[str]]:
    """Return the number of the tile's cell in each cell of memory, "" if it has none."""
    return [["" if n < 0 else str(int(numbers[n])) for n in row] for row in cell_of.tolist()]


def _measure_figure(panels: list[FigurePanel], cells: TileMap, found: Sequence[TileStride]) -> tuple[float, float]:
    """Return width and height of a figure with room for titles and stride labels."""
    across = any(cells.find_cell(stride.mn, stride.k)[1] for stride in found)
    below = {"logical": 34 if across else 10, "memory": 10}
    titles = max(max(panel.width, 7.3 * len(panel.title)) + panel.x for panel in panels)
    labels = max(panel.x + panel.width + (130 if found else 10) for panel in panels)
    return max(titles, labels), max(panel.y + panel.height + below[panel.name] for panel in panels)


def _compute_cell_size(rows: int, cols: int) -> tuple[float, float]:
    """Return width and height of a cell: large enough for a number unless there are too many cells."""
    wide, tall = min(34.0, 500 / cols), min(19.0, max(3.0, 620 / rows))
    if has_numbers(rows, cols):
        return max(wide, 22.0), max(tall, 11.0)
    return wide, tall


def has_numbers(rows: int, cols: int) -> bool:
    """Return whether cells of a picture of rows × cols are large enough for a number."""
    return rows * cols <= LABELLED and cols * 22 <= 1500 and rows <= 256


def _draw_overlay(panel: FigurePanel, tile: Tile, cells: TileMap, rows: int, ink: str, line: str) -> str:
    """Draw the edges of the atoms, the outline of the first, and the strides of one panel."""
    strides = list_tile_strides(tile, rows or min(tile.mn, 256))
    if panel.name == "logical":
        high, wide = cells.find_cell(tile.atom[0], tile.atom[1])
        return _draw_atoms(panel, high, wide, ink, line) + "".join(
            _draw_stride_in_tile(panel, cells, stride, rows, ink) for stride in strides
        )
    if tile.base % 128:
        return ""
    brackets = "".join(_draw_bracket(panel, stride, number, ink) for number, stride in enumerate(strides))
    return _draw_atoms(panel, tile.mode.chunks, panel.cols, ink, line) + brackets


def _draw_atoms(panel: FigurePanel, high: int, wide: int, ink: str, line: str) -> str:
    """Draw lines between atoms of high × wide cells, and outline the first."""
    steps = [
        f"M{panel.x:.2f} {panel.y + r * panel.cell_height:.2f}h{panel.width:.2f}" for r in range(high, panel.rows, high)
    ]
    steps += [
        f"M{panel.x + c * panel.cell_width:.2f} {panel.y:.2f}v{panel.height:.2f}" for c in range(wide, panel.cols, wide)
    ]
    edges = f'<path d="{"".join(steps)}" fill="none" stroke="{line}" stroke-width="1.3"/>' if steps else ""
    size = f'width="{wide * panel.cell_width:.2f}" height="{high * panel.cell_height:.2f}"'
    return f'{edges}<rect x="{panel.x:.2f}" y="{panel.y:.2f}" {size} fill="none" stroke="{ink}" stroke-width="2"/>'


def _draw_stride_in_tile(panel: FigurePanel, cells: TileMap, stride: TileStride, rows: int, ink: str) -> str:
    """Draw a stride between two places of the tile: at the right if it leads down, below if it leads across."""
    row, col = cells.find_cell(stride.mn, stride.k)
    dashed, note = "", ""
    if not stride.read:
        dashed, note = ' stroke-dasharray="4 3"', f"not read by {rows} rows" if rows else "not read"
    if row:
        x, start, end = (
            panel.x + panel.width + 14,
            panel.y + 0.5 * panel.cell_height,
            panel.y + (row + 0.5) * panel.cell_height,
        )
        path = f"M{x - 10:.1f} {start:.1f}h10V{end:.1f}h-10"
        head = f"M{x - 5:.1f} {end - 4:.1f}l-6 4 6 4"
        return _draw_arrow(stride, path, head, dashed, ink) + _draw_label(stride, x + 4, (start + end) / 2, note, ink)
    y, start, end = (
        panel.y + panel.height + 14,
        panel.x + 0.5 * panel.cell_width,
        panel.x + (col + 0.5) * panel.cell_width,
    )
    path = f"M{start:.1f} {y - 10:.1f}v10H{end:.1f}v-10"
    head = f"M{end - 4:.1f} {y - 5:.1f}l4 -6 4 6"
    note = f", {note}" if note else ""
    text = (
        f'<text x="{end + 8:.1f}" y="{y + 4:.1f}" font-size="10" fill="{ink}">{stride.name} {stride.bytes}'
        f" B{note}</text>"
    )
    return _draw_arrow(stride, path, head, dashed, ink) + text


def _draw_bracket(panel: FigurePanel, stride: TileStride, number: int, ink: str) -> str:
    """Draw a stride in memory as a bracket from the first byte to the byte it leads to."""
    start, end = panel.y + 0.5 * panel.cell_height, panel.y + (stride.bytes // 128 + 0.5) * panel.cell_height
    x = panel.x + panel.width + 14 + 58 * number
    path, head = f"M{x - 10:.1f} {start:.1f}h10V{end:.1f}h-10", f"M{x - 5:.1f} {end - 4:.1f}l-6 4 6 4"
    dashed = "" if stride.read else ' stroke-dasharray="4 3"'
    return _draw_arrow(stride, path, head, dashed, ink) + _draw_label(stride, x + 4, (start + end) / 2, "", ink)


def _draw_arrow(stride: TileStride, path: str, head: str, dashed: str, ink: str) -> str:
    return (
        f'<g stroke="{ink}" fill="none" stroke-width="1.6" data-stride="{stride.name.lower()}"><path'
        f' d="{path}"{dashed}/><path d="{head}"/></g>'
    )


def _draw_label(stride: TileStride, x: float, y: float, note: str, ink: str) -> str:
    lines = [stride.name, f"{stride.bytes} B", *([note] if note else [])]
    first = y - 5.5 * (len(lines) - 1) + 3.5
    spans = "".join(f'<tspan x="{x:.1f}" y="{first + 11 * n:.1f}">{text}</tspan>' for n, text in enumerate(lines))
    return f'<text font-size="10" fill="{ink}">{spans}</text>'


def draw_pins(drawing: TileDrawing, pins: Iterable[str], palette: Palette | None = None) -> str:
    """Draw rings around pinned elements in each panel; those outside the drawn part of the tile are skipped."""
    cells, rings = drawing.map, ""
    for _, mn, k in map(split_pin, pins):
        if k is None or mn >= cells.tile.mn or k >= cells.tile.k:
            continue
        row, col = cells.find_cell(mn, k)
        for panel in drawing.figure.panels:
            at = divmod(int(drawing.place[row, col]), panel.cols) if panel.name == "memory" else (row, col)
            rings += draw_ring(panel, *at, palette)
    return rings
