"""The pictures of a live view: the SVG of an object of the engine and its matrices. Independent of the widget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lanescope.app.kit.maps.bench import BANK_BYTES, BANKS
from lanescope.app.kit.sheets import SheetLayer
from lanescope.app.widget.live_matrix import MOST_CELLS, LiveMatrix, make_lane_matrix, make_memory_matrix, refuse_size
from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.ptx.pattern import Pattern
from lanescope.render.diagram import DiagramStyle, render_diagram
from lanescope.render.figure import GAP, LEFT, TOP, FigurePanel, PanelFigure, make_figure, make_operand_figure
from lanescope.render.notebook import format_operand_title, make_index_sheet, make_offset_sheet
from lanescope.render.sheet import DrawingPlane, TileSheet, make_memory_sheet, make_sheets_figure, make_threads_sheet
from lanescope.render.svg import render_svg
from lanescope.render.view import OperandGrid
from lanescope.shared.tiling import Tile
from lanescope.tiles.copy import TiledCopy, TransferSide
from lanescope.tiles.mma import TiledMMA, TileOperand
from lanescope.tiles.pictures import make_tile_panel
from lanescope.tiles.tv import TV
from lanescope.triton.gluon import TritonLayout

MOST_LABELS = 4096
SHARED = " in shared memory"
ROOM, NARROWEST = 980.0, 42.0  # of A and C side by side; a cell with a label
_BEYOND = 8.0  # right of and below a figure's panels


@dataclass(frozen=True, slots=True)
class LivePicture:
    """The contents of a live view. html: the SVG with the matrices, and the legend below it, if any."""

    title: str
    html: str
    matrices: tuple[LiveMatrix, ...]


def draw_live(shown: object) -> LivePicture:
    """Draw an operand, an instruction, a pattern, a tile, a layout or a copy; LayoutError for anything else."""
    for kind, draw in DRAWN.items():
        if isinstance(shown, kind):
            return draw(shown)
    allowed = ", ".join(kind.__name__ for kind in DRAWN)
    raise LayoutError(
        "bad_view",
        f"A live view shows no {type(shown).__name__}.",
        f"Allowed: {allowed}, Verdict, Verified, and a descriptor with the instruction that reads it.",
        "shown",
    )


# operands -------------------------------------------------------------------------------------------------------------


def _draw_operand(operand: Operand) -> LivePicture:
    return _draw_grids(make_operand_figure(operand), format_operand_title(operand))


def _draw_instruction(instruction: Instruction) -> LivePicture:
    return _draw_grids(make_figure(instruction), instruction.ptx)


def _draw_grids(figure: PanelFigure, title: str) -> LivePicture:
    """Draw panels of operands; those in shared memory have no cells."""
    _require_few_cells(figure.panels)
    alone = len(figure.panels) == 1
    matrices = tuple(
        _make_grid_matrix(panel.grid, panel, panel.grid.operand.name.upper() if alone else panel.title.split(" m×")[0])
        for panel in figure.panels
        if panel.grid
    )
    return LivePicture(title, render_diagram(figure, DiagramStyle(palette=None, legend=True), title, title), matrices)


def _make_grid_matrix(grid: OperandGrid, panel: FigurePanel, title: str) -> LiveMatrix:
    """Make the matrix of an operand: of three axes, that of the grid's product."""
    operand = grid.operand
    cells = np.full((operand.threads, operand.values), -1, dtype=np.int64)
    cells[grid.thread, grid.value] = np.arange(grid.rows * grid.cols).reshape(grid.rows, grid.cols, 1)
    return make_lane_matrix(
        panel.name, panel, cells, unit=grid.unit, letter=operand.name * (len(operand.name) == 1), title=title
    )


# whole tiles ----------------------------------------------------------------------------------------------------------


def _draw_pattern(pattern: Pattern) -> LivePicture:
    if len(pattern.extents) > 2:
        raise LayoutError(
            "bad_view",
            f"'{pattern}' has {len(pattern.extents)} coordinates.",
            "A live view shows a pattern of one or two; show the operand.",
            "shown",
        )
    *rows, cols = pattern.evaluate()
    return _draw_thread_map(rows[0] if rows else np.zeros_like(cols), cols, (1, *pattern.extents)[-2:], str(pattern))


def _draw_tile_operand(operand: TileOperand) -> LivePicture:
    panel = _make_operand_panel(operand)
    return _draw_panels([panel], [_make_tile_matrix(operand, panel)], panel.title)


def _make_operand_panel(operand: TileOperand) -> FigurePanel:
    size = operand.row_count, operand.col_count
    _require_few(*size)
    title = f"{operand.name.upper()}: {size[0]} × {size[1]}{SHARED * operand.shared}"
    if not operand.shared:
        return make_tile_panel(operand.rows, operand.cols, size, title, operand.thread_ids, most=MOST_CELLS)
    team = np.zeros(size, dtype=np.int32)
    return FigurePanel("tile", title, *size, *_size_cells(size), category=team, of=1, x=LEFT + 24)


def _make_tile_matrix(operand: TileOperand, panel: FigurePanel) -> LiveMatrix:
    """Make the matrix of an operand of a tile; one in shared memory has no holders."""
    if operand.shared:
        nowhere = np.full((operand.row_count, operand.col_count), -1, dtype=np.int64)
        says = f"`{operand.name.upper()}[{{row}}][{{col}}]` is in shared memory"
        return make_memory_matrix(operand.name, panel, nowhere, (), says, operand.name.upper())
    cells = np.asarray(operand.rows, np.int64) * operand.col_count + operand.cols
    return make_lane_matrix(
        operand.name, panel, cells, ids=operand.thread_ids, unit="thread", title=operand.name.upper()
    )


def _draw_tiled_mma(tiled_mma: TiledMMA) -> LivePicture:
    """Draw A left of C and B above it."""
    operands = tiled_mma.a, tiled_mma.b, tiled_mma.c
    _require_few(sum(operand.row_count * operand.col_count for operand in operands), 1)
    a, b, c = map(_make_operand_panel, operands)
    wide, high = (min(getattr(panel, side) for panel in (a, b, c)) for side in ("cell_width", "cell_height"))
    if all(panel.texts for panel in (a, b, c) if not panel.title.endswith(SHARED)):
        wide = min(wide, max(NARROWEST, ROOM / (a.cols + c.cols)))
    a, b, c = (replace(panel, cell_width=wide, cell_height=high) for panel in (a, b, c))
    x, y = a.x + max(a.width, 7.6 * len(a.title)) + LEFT + GAP, TOP + b.height + TOP + GAP
    panels = replace(a, y=y), replace(b, x=x), replace(c, x=x, y=y)
    title = f"{tiled_mma.atom.instruction.ptx}, {tiled_mma.threads} threads"
    return _draw_panels(panels, list(map(_make_tile_matrix, operands, panels)), title)


def _draw_tiled_copy(tiled_copy: TiledCopy) -> LivePicture:
    panels: list[FigurePanel] = []
    for name, side in (("source", tiled_copy.source), ("destination", tiled_copy.destination)):
        size = int(side.rows.max()) + 1, int(side.cols.max()) + 1
        _require_few(*size)
        panel = make_tile_panel(side.rows, side.cols, size, f"{name}: {size[0]} × {size[1]}", most=MOST_CELLS)
        reach = panels[-1].x + max(panels[-1].width, 7.6 * len(panels[-1].title)) + GAP if panels else 0.0
        panels.append(replace(panel, name=name, x=panel.x + reach))
    sides = zip((tiled_copy.source, tiled_copy.destination), panels, strict=True)
    matrices = [_make_map_matrix(panel.name, panel, side.rows, side.cols) for side, panel in sides]
    return _draw_panels(panels, matrices, f"TiledCopy, {tiled_copy.threads} threads")


def _draw_map(holder_map: TV | TransferSide) -> LivePicture:
    size = int(holder_map.rows.max()) + 1, int(holder_map.cols.max()) + 1
    if isinstance(holder_map, TV):
        size = holder_map.row_count, holder_map.col_count
    return _draw_thread_map(holder_map.rows, holder_map.cols, size, str(holder_map.layout))


def _draw_thread_map(rows: Any, cols: Any, size: tuple[int, ...], title: str, lanes: int = 32) -> LivePicture:
    height, width = size
    _require_few(height, width)
    panel = make_tile_panel(rows, cols, (height, width), title, lanes=lanes, most=MOST_CELLS)
    return _draw_panels([panel], [_make_map_matrix("tile", panel, rows, cols)], title)


def _make_map_matrix(name: str, panel: FigurePanel, rows: Any, cols: Any) -> LiveMatrix:
    cells = np.asarray(rows, np.int64) * panel.cols + cols
    return make_lane_matrix(name, panel, cells, unit="thread")


# layouts and memory ---------------------------------------------------------------------------------------------------


def _draw_triton(layout: TritonLayout) -> LivePicture:
    """Draw the last two axes, at index 0 of the others."""
    if layout.tensor_memory:
        raise LayoutError(
            "bad_view",
            f"{layout.kind} places elements in tensor memory.",
            "Allowed: layouts of threads and shared memory.",
        )
    if layout.of_threads and len(layout.shape) <= 2:
        return _draw_thread_map(layout.rows, layout.cols, (1, *layout.shape)[-2:], layout.text, layout.lanes)
    plane = DrawingPlane.make_plane(layout.shape)
    _require_few(*plane.get_size(layout.shape))
    if layout.shared:
        return _draw_memory(make_memory_sheet(layout.offset, plane, layout.element_bits), layout.text)
    sheet = make_threads_sheet(layout.coords, layout.shape, plane, layout.element_bits)
    figure = make_sheets_figure([(sheet, "warp", layout.kind)], "R", MOST_CELLS)
    assert sheet.cell is not None
    matrix = make_lane_matrix("tile", figure.panels[0], sheet.cell, unit="thread")
    return _draw_figure(figure, [matrix], layout.text)


def _draw_tile(tile: Tile) -> LivePicture:
    _require_few(tile.mn, tile.k)
    return _draw_memory(*make_offset_sheet(tile))


def _draw_memory(sheet: TileSheet, title: str) -> LivePicture:
    """Draw a sheet of shared memory, coloured by bank. `value` is the offset in elements."""
    assert sheet.place is not None
    figure = make_sheets_figure([(sheet, "bank", title)], most=MOST_CELLS)
    byte = np.where(sheet.place < 0, -1, sheet.place * sheet.element_bits // 8)
    facts = {"value": sheet.place, "byte": byte, "bank": np.where(byte < 0, -1, byte // BANK_BYTES % BANKS)}
    line = SheetLayer("`({row},{col})` is at offset `{value}` in elements, byte `{byte}`, bank `{bank}`", facts)
    matrix = make_memory_matrix("tile", figure.panels[0], sheet.place, (line,), "`Nothing` is stored for ({row},{col})")
    return _draw_figure(figure, [matrix], title)


def _draw_cute(layout: CuteLayout) -> LivePicture:
    if not layout.size:
        raise LayoutError("bad_view", f"'{layout}' has no elements.", "A live view shows at least one.", "shown")
    _require_few(layout.size, 1)
    sheet = make_index_sheet(layout)
    index = sheet.place
    assert index is not None
    if int(index.min()) < 0:
        raise LayoutError("bad_view", f"'{layout}' has negative indices.", "A live view shows indices from 0.", "shown")
    figure = make_sheets_figure([(sheet, "index", str(layout))], most=MOST_CELLS)
    line = SheetLayer("`({row},{col})` has index `{value}`", {"value": index})
    return _draw_figure(figure, [make_memory_matrix("layout", figure.panels[0], index, (line,), "")], str(layout))


# helpers --------------------------------------------------------------------------------------------------------------


def _require_few(rows: int, cols: int) -> None:
    if rows * cols > MOST_CELLS:
        raise refuse_size(f"{rows * cols} elements", MOST_CELLS)


def _require_few_cells(panels: Sequence[FigurePanel]) -> None:
    _require_few(sum(panel.rows * panel.cols for panel in panels if panel.has_cells), 1)


def _size_cells(size: tuple[int, int]) -> tuple[float, float]:
    width = min(58.0, max(2.0, 900 / size[1]))
    return width, min(17.0, width)


def _draw_panels(panels: Sequence[FigurePanel], matrices: Sequence[LiveMatrix], title: str) -> LivePicture:
    """Draw panels at their positions."""
    width = max(panel.x + max(panel.width, 7.6 * len(panel.title)) for panel in panels) + _BEYOND
    height = max(panel.y + panel.height for panel in panels) + _BEYOND
    return _draw_figure(PanelFigure(width, height, tuple(panels)), matrices, title)


def _draw_figure(figure: PanelFigure, matrices: Sequence[LiveMatrix], title: str) -> LivePicture:
    return LivePicture(title, render_svg(figure, title=title, palette=None, labels_up_to=MOST_LABELS), tuple(matrices))


DRAWN: dict[type[Any], Callable[[Any], LivePicture]] = {
    Operand: _draw_operand,
    Instruction: _draw_instruction,
    Pattern: _draw_pattern,
    TiledMMA: _draw_tiled_mma,
    TileOperand: _draw_tile_operand,
    TiledCopy: _draw_tiled_copy,
    TransferSide: _draw_map,
    TV: _draw_map,
    TritonLayout: _draw_triton,
    CuteLayout: _draw_cute,
    Tile: _draw_tile,
}
