"""One matrix of a page as an SVG that fills its box: cells in percent, text in pixels.

The page's style sheet gives the HTML box its height; labels take their size from it. Colours are CSS variables, so the
picture follows the page's theme.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from lanescope.render.figure import FigurePanel
from lanescope.render.labels import GLYPH, SMALLEST
from lanescope.render.palette import list_fill_variables
from lanescope.render.statuses import find_runs
from lanescope.render.svg import choose_colour, mask_shown
from lanescope.render.window import Range

Mask = NDArray[np.bool_]
MOST_LABELS = 1100  # cells that are still labelled
_TICKS = (1, 2, 4, 8, 16, 32, 64, 128)
_MOST_TICKS = (34, 66)  # down, across
_MOST_LINES = 66  # cells of an axis whose lines are drawn
_LARGEST = 12  # pixels of a label
_MOST_LONG = 20  # above the columns, where they have three digits


def render_matrix(
    panel: FigurePanel,
    rows: Range,
    cols: Range,
    *,
    colour: str,
    label: str,
    threads: frozenset[int] | None = None,
    title: str,
    faint: Mask | None = None,
) -> str:
    """Return the cells of a panel inside a window of rows and columns as SVG.

    threads: fades all other owners; faint: cells drawn lighter than the others. A panel has a grid, or a category (-1:
    not coloured) and texts of its own; LayoutError for a colour or label that its grid does not have.
    """
    (r0, r1), (c0, c1) = rows, cols
    high, wide = r1 - r0, c1 - c0
    visible = mask_shown(panel, threads)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cells" width="100%" height="100%" overflow="visible"'
        f' role="img"><title>{escape(title)}</title>',
        f'<svg viewBox="{c0:g} {r0:g} {wide:g} {high:g}" preserveAspectRatio="none" width="100%" height="100%">',
        *_draw_fills(panel, colour, visible & _find_inside(visible, rows, cols), faint),
        *_draw_lines(panel, rows, cols),
        "</svg>",
        *_render_ticks(rows, cols),
    ]
    if label != "none" and high * wide <= MOST_LABELS:
        out += _draw_labels(panel, label, visible, rows, cols)
    return "\n".join([*out, "</svg>"])


def _find_inside(visible: Mask, rows: Range, cols: Range) -> Mask:
    """Return which cells lie at least partly inside a window."""
    inside = np.zeros_like(visible)
    inside[floor(rows[0]) : ceil(rows[1]), floor(cols[0]) : ceil(cols[1])] = True
    return inside


def _draw_fills(panel: FigurePanel, colour: str, drawn: Mask, faint: Mask | None) -> Iterator[str]:
    """Yield a path for each colour of the drawn cells, faint cells separately."""
    if panel.category is not None:
        category, count = panel.category, panel.of
    else:
        assert panel.grid is not None
        numbers = choose_colour(panel.grid, colour)
        category, count = panel.grid.number_cells(numbers), panel.grid.categories[numbers].count
    variables = list_fill_variables(count)
    for index, variable in enumerate(variables):
        mask = (category % len(variables) == index) & (category >= 0) & drawn
        for part, weak in ((mask, ""),) if faint is None else ((mask & ~faint, ""), (mask & faint, ' opacity=".35"')):
            if where := find_runs(part):
                path = "".join(f"M{c} {r}h{length}v1h-{length}z" for r, c, length in where)
                yield f'<path d="{path}" fill="var({variable})"{weak}/>'


def _draw_lines(panel: FigurePanel, rows: Range, cols: Range) -> Iterator[str]:
    """Yield the lines between cells, omitted where there are too many, and the heavy ones between warps."""
    (r0, r1), (c0, c1) = rows, cols
    high, wide = r1 - r0, c1 - c0
    lines = "".join(f"M{c0:g} {r}H{c1:g}" for r in range(ceil(r0), floor(r1) + 1) if high <= _MOST_LINES)
    lines += "".join(f"M{c} {r0:g}V{r1:g}" for c in range(ceil(c0), floor(c1) + 1) if wide <= _MOST_LINES)
    lines += f"M{c0:g} {r0:g}h{wide:g}v{high:g}h{-wide:g}z"
    yield f'<path class="line" d="{lines}"/>'
    heavy = "".join(f"M{c0:g} {r}h{wide:g}" for r in panel.warp_edges if r0 < r < r1)
    if heavy:
        yield f'<path class="line heavy" d="{heavy}"/>'


def _draw_labels(panel: FigurePanel, label: str, visible: Mask, rows: Range, cols: Range) -> Iterator[str]:
    """Yield the labels of a window's cells, one text element per row."""
    (r0, r1), (c0, c1) = rows, cols
    down, across = slice(floor(r0), ceil(r1)), slice(floor(c0), ceil(c1))
    if panel.grid and (panel.category is None or not panel.texts):
        texts = panel.grid.format_labels(label, down, across)
    else:
        texts = [row[across] for row in (panel.texts or [])[down]]
    places = [f'<tspan x="{_format_percent(c + 0.5 - c0, c1 - c0)}">' for c in range(across.start, across.stop)]
    longest = max((len(text) for line in texts for text in line), default=0)
    yield f'<g class="labels" font-size="{_format_label_size(longest, c1 - c0, r1 - r0)}">'
    for r, line in enumerate(texts, down.start):
        cells = zip(places, line, visible[r, across].tolist(), strict=True)
        spans = "".join(f"{place}{text}</tspan>" for place, text, is_visible in cells if is_visible and text)
        if spans:
            yield f'<text y="{_format_percent(r + 0.5 - r0, r1 - r0)}" dy=".35em">{spans}</text>'
    yield "</g>"


def _format_label_size(longest: int, across: float, down: float) -> str:
    """Return the labels' size as a CSS expression of the box's cell size, zero where it would be unreadable."""
    size = f"min({_LARGEST}px, 100cqh / {down:g} - 2.5px, 100cqw / {across * (longest + 1) * GLYPH:.2f})"
    return f"min({size}, max(0px, ({size} - {SMALLEST - 0.1:g}px) * 99))"


def _render_ticks(rows: Range, cols: Range) -> list[str]:
    """Return the row and column numbers that fit beside the rows and above the columns."""
    out = ['<g class="ticks">']
    for (first, last), most, across in ((rows, _MOST_TICKS[0], False), (cols, _MOST_TICKS[1], True)):
        span = last - first
        most = min(most, _MOST_LONG) if across and last > 100 else most
        step = next(s for s in _TICKS if span <= s * most or s == _TICKS[-1])
        for n in range(ceil(first / step) * step, ceil(last), step):
            middle = _format_percent(min(n + 0.5, last) - first, span)
            place = f'x="{middle}" y="-5" text-anchor="middle"' if across else f'x="-5" y="{middle}" dy=".35em"'
            out.append(f"<text {place}>{n}</text>")
    return [*out, "</g>"]


def _format_percent(part: float, extent: float) -> str:
    return f"{100 * part / extent:.3f}".rstrip("0").rstrip(".") + "%"
