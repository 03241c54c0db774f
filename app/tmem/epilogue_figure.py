"""The picture of an epilogue's load: the lane and register of each element of D."""

from __future__ import annotations

import numpy as np

from lanescope.blackwell.epilogue import Epilogue
from lanescope.render.figure import LEFT, TOP, FigurePanel, PanelFigure
from lanescope.render.svg import render_svg

MOST_COLUMNS = 32  # rows and columns of D that are drawn of one load
GROUP, FILLS = 4, 8  # lanes per colour, number of colours
WIDE, HIGH = 40.0, 19.0  # size of a cell in pixels


def draw_load(epilogue: Epilogue, warp: int, thread: int) -> str:
    """Draw the rows and first columns of D that a warp's first load returns; the selected thread's elements are
    framed.
    """
    load = next(candidate for candidate in epilogue.loads if candidate.warp == warp)
    row, col = epilogue.locate_elements(load)
    rows, cols = np.unique(row[row >= 0]), np.unique(col[row >= 0])
    drawn = cols[:MOST_COLUMNS]
    texts = [[""] * len(drawn) for _ in rows]
    lane_of = np.full((len(rows), len(drawn)), -1, np.int32)
    for lane, value in np.argwhere((row >= 0) & np.isin(col, drawn)).tolist():
        at = int(np.searchsorted(rows, row[lane, value])), int(np.searchsorted(drawn, col[lane, value]))
        texts[at[0]][at[1]] = f"T{lane}:r{value // epilogue.per_register}"
        lane_of[at] = lane
    part = f", its first {len(drawn)} columns of {len(cols)}" if len(drawn) < len(cols) else ""
    title = f"Rows and columns of D that warp {warp}'s first load brings{part}: lane and register of each"
    panel = FigurePanel(
        "load",
        title,
        rows=len(rows),
        cols=len(drawn),
        x=LEFT + 4,
        cell_width=WIDE,
        cell_height=HIGH,
        category=np.where(lane_of >= 0, lane_of // GROUP % FILLS, -1).astype(np.int32),
        texts=texts,
        row_names=tuple(map(str, rows.tolist())),
        col_names=tuple(map(str, drawn.tolist())),
        of=FILLS,
    )
    frames = "".join(
        f"M{panel.x + c * WIDE:g} {panel.y + r * HIGH:g}h{WIDE:g}v{HIGH:g}h{-WIDE:g}z"
        for r, c in np.argwhere(lane_of == thread).tolist()
    )
    figure = PanelFigure(max(panel.x + panel.width, 7.4 * len(title) + LEFT) + 8, TOP + panel.height + 8, (panel,))
    return render_svg(
        figure,
        title=title,
        palette=None,
        labels_up_to=32 * MOST_COLUMNS,
        extra=f'<path d="{frames}" fill="none" stroke="var(--trace)" stroke-width="2.5"/>',
        pointed=True,
    )
