"""A grid of right and wrong cells: what a run or a load got, drawn as every page draws it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from layouts.pattern import IntArray
from layouts.render.svg import svg
from layouts.view import LEFT, TOP, Figure, Grid, Panel, row_figure

MOST_LABELS = 4200


def drawn(title: str, wrong: NDArray[np.bool_], texts: list[list[str]]) -> dict[str, str]:
    rows, cols = wrong.shape
    longest = max(len(text) for row in texts for text in row)
    width = min(max(18.0, 7.0 * longest + 6), 64.0) if rows * cols <= MOST_LABELS else max(2.6, 1040 / cols)
    width = min(width, max(1040 / cols, 16.0))
    height = 17.0 if rows * cols <= MOST_LABELS else max(2.6, 700 / rows)
    panel = Panel(
        "measured", title, rows, cols, LEFT, TOP, width, height, None, np.where(wrong, 0, 7).astype(np.int32), texts
    )
    figure = Figure(max(LEFT + panel.width + 8, 9.0 * len(title)), TOP + panel.height + 8, (panel,))
    return {"title": title, "svg": svg(figure, title=title, palette=None, labels_up_to=MOST_LABELS)}


def marked(grid: Grid, category: IntArray, texts: list[list[str]], title: str) -> str:
    figure = row_figure([(f"{grid.operand.name.upper()} {grid.rows}×{grid.cols}", grid)])
    panel = replace(figure.panels[0], category=category, texts=texts)
    return svg(replace(figure, panels=(panel,)), title=title, palette=None, labels_up_to=1100)
