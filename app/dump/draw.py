"""The operand as read from a dump: the value of each element, right, wrong or outside the dump."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.dump import Examined
from lanescope.render import read_pictures
from lanescope.render.figure import LEFT, TOP, FigurePanel, PanelFigure
from lanescope.render.palette import IDLE, READ, RIGHT, WRONG
from lanescope.render.statuses import render_status_legend
from lanescope.render.svg import render_svg

MOST_LABELS = 4200
OUTSIDE = READ  # hatched: read, but not in the dump
WORDS = {"right": "as expected", "wrong": "another value", "read": "outside the dump", "idle": "read"}


def draw_operand(examined: Examined) -> str:
    """Draw the operand as (m, k) or (k, n), with the legend of its cells."""
    turned = examined.operand == "b"
    values, status = examined.values, _compute_status(examined)
    if turned:
        values, status = values.T, status.T
    rows, cols = values.shape
    texts = _format_texts(values, status) if rows * cols <= MOST_LABELS else None
    width, height = _measure_cell(cols, texts) if texts else (max(2.6, 1040 / cols), max(2.6, 700 / rows))
    name = f"{examined.operand.upper()} ({'k × n' if turned else 'm × k'}), {rows}×{cols}: the values that are read"
    panel = FigurePanel(
        "dump",
        name,
        rows=rows,
        cols=cols,
        cell_width=width,
        cell_height=height,
        texts=texts,
        status=status,
    )
    figure = PanelFigure(max(LEFT + panel.width + 8, 7.6 * len(name)), TOP + panel.height + 8, (panel,))
    drawing = render_svg(figure, title=name, palette=None, labels_up_to=MOST_LABELS)
    return drawing + (
        render_status_legend(status, WORDS) if examined.right is not None or not examined.inside.all() else ""
    )


def _compute_status(examined: Examined) -> NDArray[np.int32]:
    """Return the status of each element: right, wrong, outside the dump, or read without an expected value."""
    if examined.right is None:
        return np.where(examined.inside, IDLE, OUTSIDE).astype(np.int32)
    return np.where(examined.right, RIGHT, np.where(examined.inside, WRONG, OUTSIDE)).astype(np.int32)


def _format_texts(values: NDArray[Any], status: NDArray[np.int32]) -> list[list[str]]:
    return [
        [_format_cell(v, s) for v, s in zip(line, states, strict=True)]
        for line, states in zip(values.tolist(), status.tolist(), strict=True)
    ]


def _measure_cell(cols: int, texts: list[list[str]]) -> tuple[float, float]:
    """Return width and height of a cell that holds the longest text."""
    longest = max((len(text) for line in texts for text in line), default=1)
    return max(min(max(18.0, 7.0 * longest + 6), 64.0), min(1040 / cols, 48.0)), 17.0


def _format_cell(value: float, status: int) -> str:
    text = "·" if status == OUTSIDE else "NaN" if value != value else f"{value:.4g}"
    return f"✗{text}" if status == WRONG else text


def draw_memory(examined: Examined) -> read_pictures.MemoryPicture | None:
    """Return the picture of shared memory; None if the tile's place does not follow from one layout."""
    if examined.where is None or examined.where.by != "layout":
        return None
    cells = read_pictures.make_chunks(examined.address, examined.where.address, examined.seen, examined.operand.upper())
    return read_pictures.draw_memory(cells)
