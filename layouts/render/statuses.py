"""Cells marked by the result of a check: fills, hatches, signs, and their legend."""

from __future__ import annotations

import zlib
from html import escape

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx.pattern import IntArray
from lanescope.render.figure import FigurePanel, PanelFigure
from lanescope.render.labels import FONT, GLYPH
from lanescope.render.palette import BW, STATUSES, CellStatus, Palette
from lanescope.render.window import format_number

Mask = NDArray[np.bool_]


def get_paint(palette: Palette | None, name: str) -> str:
    """Return a palette colour by name (ok, bad, accent, wrong); without a palette, the page's CSS variable."""
    return str(getattr(palette, name)) if palette else f"var(--{name})"


def _get_status_fill(status: CellStatus, palette: Palette | None, key: str) -> str:
    """Return the fill of a status's cells; "" for plain ones.

    key: makes the hatch ids of two pictures on one page distinct.
    """
    if status.strokes or (status.filled and palette is BW):
        return f"url(#{status.name}-{key})"
    return get_paint(palette, "wrong") if status.filled else ""


def has_hatches(panel: FigurePanel) -> bool:
    """Return whether some cell of a panel has a hatch, on which a label needs a halo."""
    return panel.status is not None and any(n >= 0 and STATUSES[int(n)].strokes for n in np.unique(panel.status))


def render_status_hatches(figure: PanelFigure, palette: Palette | None, key: str) -> list[str]:
    """Return the patterns that the figure's statuses need."""
    used = {int(n) for panel in figure.panels if panel.status is not None for n in np.unique(panel.status) if n >= 0}
    out = []
    for n in sorted(used):
        status = STATUSES[n]
        if not _get_status_fill(status, palette, key).startswith("url"):
            continue
        paths = {"/": "M-1 1L1 -1M0 6L6 0M5 7L7 5", "\\": "M-1 5L1 7M0 0L6 6M5 -1L7 1"}
        strokes = status.strokes or (("bad", "/"), ("bad", "\\"))
        width = 1.3 if status.strokes else 0.5  # thin where it stands for a fill, with the cell's text on it
        lines = "".join(
            f'<path d="{paths[direction]}" fill="none" stroke="{get_paint(palette, colour)}" stroke-width="{width}"/>'
            for colour, direction in strokes
        )
        out.append(
            f'<pattern id="{status.name}-{key}" width="6" height="6" patternUnits="userSpaceOnUse">{lines}</pattern>'
        )
    return ["<defs>", *out, "</defs>"] if out else []


def render_statuses(panel: FigurePanel, statuses: IntArray, palette: Palette | None, key: str) -> list[str]:
    """Return the marked cells of each status.

    A cell has the status's fill or hatch, and its sign where there is room and no label.
    """
    out = []
    for n, status in enumerate(STATUSES):
        mask: Mask = statuses == n
        if not mask.any():
            continue
        fill = _get_status_fill(status, palette, key)
        if fill:
            out.append(f'<path d="{trace_runs(panel, mask)}" fill="{fill}"/>')
        sign, colour = status.mark
        if sign and min(panel.cell_width, panel.cell_height) >= 9:
            if not panel.texts:
                out.append(_draw_signs(panel, mask, sign, get_paint(palette, colour)))
            elif status.name == "right":
                out.append(f'<path d="{_trace_corners(panel, mask)}" fill="{get_paint(palette, colour)}"/>')
    return out


def trace_runs(panel: FigurePanel, mask: Mask) -> str:
    """Return the SVG path of every horizontal run of masked cells."""
    w, h = panel.cell_width, panel.cell_height
    return "".join(
        (
            f"M{format_number(panel.x + c * w)} {format_number(panel.y + r * h)}h{format_number(length * w)}"
            f"v{format_number(h)}h{format_number(-length * w)}z"
        )
        for r, c, length in find_runs(mask)
    )


def _draw_signs(panel: FigurePanel, mask: Mask, sign: str, fill: str) -> str:
    """Return a sign in the middle of every masked cell."""
    w, h = panel.cell_width, panel.cell_height
    size = min(11.0, h - 2, w - 2)
    marks = "".join(
        (
            f'<tspan x="{format_number(panel.x + (c + 0.5) * w)}"'
            f' y="{format_number(panel.y + (r + 0.5) * h + size * 0.36)}">{sign}</tspan>'
        )
        for r, c in np.argwhere(mask).tolist()
    )
    return f'<text font-size="{format_number(size)}" text-anchor="middle" fill="{fill}">{marks}</text>'


def _trace_corners(panel: FigurePanel, mask: Mask) -> str:
    """Return the SVG path of a triangle in the upper left corner of every masked cell."""
    w, h = panel.cell_width, panel.cell_height
    return "".join(
        f"M{format_number(panel.x + c * w + 1)} {format_number(panel.y + r * h + 1)}h4l-4 4z"
        for r, c in np.argwhere(mask).tolist()
    )


def render_swatches(
    statuses: IntArray, palette: Palette | None, words: dict[str, str] | None
) -> tuple[float, str, str]:
    """Return the legend of a picture's statuses as one line of swatches, 17 high: (width, texts, SVG elements).

    words: text → its replacement, by status name.
    """
    used = [STATUSES[int(n)] for n in np.unique(statuses)]
    key = f"{zlib.crc32(' '.join(s.name for s in used).encode()):08x}l"
    x, out = 0.0, []
    muted, line, paper = (
        (palette.muted, palette.line, palette.paper) if palette else ("var(--muted)", "var(--cell-line)", "none")
    )
    for status in used:
        fill = _get_status_fill(status, palette, key) or paper
        sign, colour = status.mark
        out.append(f'<rect x="{format_number(x + 0.5)}" y="1.5" width="14" height="14" fill="{fill}" stroke="{line}"/>')
        if sign:
            out.append(
                f'<text x="{format_number(x + 7.5)}" y="12" font-size="10" text-anchor="middle"'
                f' fill="{get_paint(palette, colour)}">{sign}</text>'
            )
        text = (words or {}).get(status.name, status.words)
        out.append(f'<text x="{format_number(x + 20)}" y="12.5" font-size="11" fill="{muted}">{escape(text)}</text>')
        x += 20 + len(text) * 11 * GLYPH + 18
    row = FigurePanel(
        "",
        "",
        rows=1,
        cols=len(used),
        x=0,
        y=0,
        cell_width=1,
        cell_height=1,
        status=np.unique(statuses)[None, :],
    )
    defs = "".join(render_status_hatches(PanelFigure(0, 0, (row,)), palette, key))
    caption = escape(", ".join((words or {}).get(status.name, status.words) for status in used))
    return x, caption, defs + "".join(out)


def render_status_legend(statuses: IntArray, words: dict[str, str] | None = None) -> str:
    """Return the legend of a picture's statuses as a separate SVG, for below a page's figure."""
    x, caption, drawn = render_swatches(statuses, None, words)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="statuses" viewBox="0 0 {format_number(x)} 17"'
        f' width="{format_number(x)}" height="17"'
        f' role="img" font-family="{FONT}"><title>{caption}</title>{drawn}</svg>'
    )


def find_runs(mask: Mask) -> list[tuple[int, int, int]]:
    """Return (row, first column, length) of every horizontal run."""
    edges = np.diff(np.pad(mask.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    starts, ends = np.argwhere(edges == 1), np.argwhere(edges == -1)
    return [(int(r), int(c), int(e - c)) for (r, c), (_, e) in zip(starts, ends, strict=True)]
