"""The picture of metadata in memory: word and bits of each row and group of A."""

from __future__ import annotations

import numpy as np

from lanescope.ptx.compressed_metadata import CompressedOrder
from lanescope.render.figure import LEFT, TOP, FigurePanel, PanelFigure
from lanescope.render.svg import render_svg

ROWS, GROUPS, FILLS = 16, 32, 8  # rows and groups that are drawn, colours of words
WIDE, HIGH = 38.0, 19.0  # size of a cell in pixels
INDEX_BITS = 4


def draw_order(order: CompressedOrder, row: int, group: int) -> str:
    """Draw the rows and groups around the selected one, each with its word and first bit; the selected one is
    framed.
    """
    first = row // ROWS * ROWS, group // GROUPS * GROUPS
    size = min(ROWS, order.rows - first[0]), min(GROUPS, order.groups - first[1])
    rows, groups = order.coords
    at = rows - first[0], groups - first[1]
    inside = (at[0] >= 0) & (at[0] < size[0]) & (at[1] >= 0) & (at[1] < size[1])
    words = np.zeros(size, np.int32)
    texts = [[""] * size[1] for _ in range(size[0])]
    for word, index in np.argwhere(inside).tolist():
        r, c = int(at[0][word, index]), int(at[1][word, index])
        words[r, c] = word
        texts[r][c] = f"w{word}:{INDEX_BITS * index}"
    title = f"Rows of A down, groups of {order.group} columns across: word w and first of four bits of each index"
    panel = FigurePanel(
        "order",
        title,
        rows=size[0],
        cols=size[1],
        x=LEFT + 8,
        cell_width=WIDE,
        cell_height=HIGH,
        category=(words % FILLS).astype(np.int32),
        texts=texts,
        row_names=tuple(str(first[0] + n) for n in range(size[0])),
        col_names=tuple(str(first[1] + n) for n in range(size[1])),
        of=FILLS,
    )
    x, y = panel.x + (group - first[1]) * WIDE, panel.y + (row - first[0]) * HIGH
    figure = PanelFigure(max(panel.x + panel.width, 7.4 * len(title) + LEFT) + 8, TOP + panel.height + 8, (panel,))
    return render_svg(
        figure,
        title=title,
        palette=None,
        labels_up_to=ROWS * GROUPS,
        extra=f'<rect x="{x:g}" y="{y:g}" width="{WIDE:g}" height="{HIGH:g}" fill="none" stroke="var(--trace)"'
        ' stroke-width="2.5"/>',
        pointed=True,
    )
