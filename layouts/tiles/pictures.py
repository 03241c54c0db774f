"""Draw tiles: each element with its thread and value, coloured by warp."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.render.figure import FigurePanel
from lanescope.render.palette import LIGHT, Palette
from lanescope.render.sheet import (
    MOST_DRAWN,
    DrawingPlane,
    TileSheet,
    draw_sheets,
    make_sheets_figure,
    make_threads_sheet,
)

MOST_LABELS, LABELLED = 2048, 58.0  # cells of a tile that all have texts, and the width of one


def render_tile_svg(
    rows: NDArray[Any],
    cols: NDArray[Any],
    size: tuple[int, int],
    title: str,
    ids: NDArray[Any] | None = None,
    palette: Palette | None = LIGHT,
    *,
    lanes: int = 32,
) -> str:
    """Return an SVG of the thread and value that hold each element of a tile; of copies the first, marked `+`.

    rows, cols: [threads, values]; ids: the thread of each row of the arrays, by default its index; palette: None for
    the page's colours; lanes: threads per warp.
    """
    parts = [(_make_sheet(rows, cols, size, ids, lanes), "warp", title)]
    return draw_sheets(parts, title, palette, room=_find_room(size))


def make_tile_panel(
    rows: NDArray[Any],
    cols: NDArray[Any],
    size: tuple[int, int],
    title: str,
    ids: NDArray[Any] | None = None,
    *,
    lanes: int = 32,
    most: int = MOST_DRAWN,
) -> FigurePanel:
    """Return the panel of a tile. most: how many cells are drawn; lanes: threads per warp."""
    parts = [(_make_sheet(rows, cols, size, ids, lanes), "warp", title)]
    return make_sheets_figure(parts, most=most, room=_find_room(size)).panels[0]


def _find_room(size: tuple[int, int]) -> float | None:
    """Return the width that the texts of a small tile need, however wide it is."""
    return LABELLED * size[1] if size[0] * size[1] <= MOST_LABELS else None


def _make_sheet(
    rows: NDArray[Any], cols: NDArray[Any], size: tuple[int, int], ids: NDArray[Any] | None, lanes: int
) -> TileSheet:
    coords = rows.astype(np.int64), cols.astype(np.int64)
    sheet = make_threads_sheet(coords, size, DrawingPlane.make_plane(size), 32, lanes)
    if ids is None or sheet.thread is None:
        return sheet
    return replace(sheet, thread=np.where(sheet.thread < 0, -1, np.asarray(ids)[sheet.thread]))
