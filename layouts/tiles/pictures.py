"""Draw tiles: each element with its thread and value, coloured by warp."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.render.figure import LEFT, TOP, FigurePanel, PanelFigure
from lanescope.render.palette import LIGHT, Palette
from lanescope.render.svg import render_svg

MOST_DRAWN = 1 << 14  # cells of a picture; a larger tile shows its first rows and columns
MOST_LABELS = 2048


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
    width = min(size[1], 256)
    panel = make_tile_panel(rows, cols, size, title, ids, (max(8, MOST_DRAWN // width), width), lanes=lanes)
    figure = PanelFigure(panel.x + panel.width + 8, TOP + panel.height + 8, (panel,))
    return render_svg(figure, title=title, palette=palette, labels_up_to=MOST_LABELS, pointed=palette is None)


def make_tile_panel(
    rows: NDArray[Any],
    cols: NDArray[Any],
    size: tuple[int, int],
    title: str,
    ids: NDArray[Any] | None = None,
    most: tuple[int, int] | None = None,
    *,
    lanes: int = 32,
) -> FigurePanel:
    """Return the panel of a tile. most: the rows and columns to draw, None for all; lanes: threads per warp."""
    height, width = (min(size[0], most[0]), min(size[1], most[1])) if most else size
    thread, value = np.indices(rows.shape)
    flat = rows.reshape(-1).astype(np.int64) * size[1] + cols.reshape(-1)
    owner = np.full(size[0] * size[1], -1, dtype=np.int64)
    owner[flat[::-1]] = np.arange(flat.size)[::-1]  # so that the first of several copies is kept
    copies = np.bincount(flat, minlength=owner.size).reshape(size)[:height, :width]
    owner = owner.reshape(size)[:height, :width]
    numbers = thread.reshape(-1) if ids is None else np.asarray(ids)[thread.reshape(-1)]
    category = np.where(owner < 0, -1, numbers[owner] // lanes).astype(np.int32)
    texts = None
    if owner.size <= MOST_LABELS:
        number = value.reshape(-1)
        texts = [["" for _ in range(width)] for _ in range(height)]
        for (row, col), at in np.ndenumerate(owner):
            if at >= 0:
                texts[row][col] = f"T{numbers[at]}:V{number[at]}{'+' * bool(copies[row, col] > 1)}"
    cell = (58.0, 17.0) if texts else (max(2.0, 900 / width), max(2.0, 900 / width))
    return FigurePanel(
        "tile", title, height, width, *cell, category=category, texts=texts, of=int(category.max()) + 1, x=LEFT + 24
    )
