"""Grids of cells marked right, wrong or elsewhere: the result of a run, a load or a comparison, with a legend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx.pattern import IntArray
from lanescope.render.figure import LEFT, TOP, FigurePanel, PanelFigure, make_row_figure
from lanescope.render.palette import RIGHT, STATUSES, WRONG
from lanescope.render.statuses import render_status_legend
from lanescope.render.svg import render_svg
from lanescope.render.view import OperandGrid

MOST_LABELS = 4200


def draw_grid(title: str, wrong: NDArray[np.bool_], texts: list[list[str]]) -> dict[str, str]:
    """Return {"title", "svg"} of a grid of labelled cells, with the wrong ones marked."""
    rows, cols = wrong.shape
    longest = max(len(text) for row in texts for text in row)
    width = min(max(18.0, 7.0 * longest + 6), 64.0) if rows * cols <= MOST_LABELS else max(2.6, 1040 / cols)
    width = min(width, max(1040 / cols, 16.0))
    height = 17.0 if rows * cols <= MOST_LABELS else max(2.6, 700 / rows)
    status = np.where(wrong, WRONG, RIGHT).astype(np.int32)
    panel = FigurePanel(
        "measured",
        title,
        rows=rows,
        cols=cols,
        cell_width=width,
        cell_height=height,
        texts=texts,
        status=status,
    )
    return {"title": title, "svg": render_status_panel(panel, 9.0 * len(title))}


def render_status_panel(panel: FigurePanel, title_width: float, words: dict[str, str] | None = None) -> str:
    """Render a panel of cells with statuses and its legend. words: status → its text in the legend."""
    assert panel.status is not None
    width = max(LEFT + panel.width + 8, title_width)
    figure = PanelFigure(width, TOP + panel.height + 8, (panel,))
    drawing = render_svg(figure, title=panel.title, palette=None, labels_up_to=MOST_LABELS, pointed=True)
    return drawing + render_status_legend(panel.status, words)


def draw_statuses(
    grid: OperandGrid, kinds: IntArray, texts: list[list[str]], title: str, words: Mapping[int, str]
) -> str:
    """Draw an operand's matrix with a status for each element. words: number of palette.STATUSES → its text in the
    legend.
    """
    status = np.array(list(words), np.int32)[kinds]
    figure = make_row_figure([(f"{grid.operand.name.upper()} {grid.rows}×{grid.cols}", grid)])
    panel = replace(figure.panels[0], status=status, texts=texts)
    drawing = render_svg(replace(figure, panels=(panel,)), title=title, palette=None, labels_up_to=1100, pointed=True)
    return drawing + render_status_legend(status, {STATUSES[number].name: text for number, text in words.items()})
