"""A figure as SVG: one path a colour, one text a row with a tspan a cell (a browser opens that in half the time of a
text a cell). Deterministic: equal input gives equal bytes.

Inline pictures take their colours from CSS variables and follow the page's theme; standalone ones carry a palette.
"""

from __future__ import annotations

import zlib
from html import escape

import numpy as np

from lanescope.render.figure import FigurePanel, PanelFigure
from lanescope.render.labels import FONT, fit_labels
from lanescope.render.palette import BW, HATCHES, LIGHT, Palette, list_fill_variables
from lanescope.render.pointing import describe_cells
from lanescope.render.statuses import Mask, find_runs, has_hatches, render_status_hatches, render_statuses
from lanescope.render.view import OperandGrid
from lanescope.render.window import format_number

MOST_LABELS = 900


def render_svg(
    figure: PanelFigure,
    *,
    title: str,
    description: str = "",
    colour: str = "g",
    label: str = "lane:value",
    threads: frozenset[int] | None = None,
    palette: Palette | None = LIGHT,
    labels_up_to: int = MOST_LABELS,
    extra: str = "",
    pointed: bool = False,
) -> str:
    """Return the figure as SVG.

    palette: None writes CSS variables (--fill-0 …). threads: fades the cells of all other owners. extra: elements drawn
    on top. pointed: whether panels carry tooltip data for static/kit/point.js.
    """
    ink, line, muted, shared = (
        ("var(--cell-ink)", "var(--cell-line)", "var(--muted)", "var(--shared)")
        if palette is None
        else (palette.ink, palette.line, palette.muted, palette.paper)
    )
    out = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {format_number(figure.width)}'
            f' {format_number(figure.height)}" '
            f'width="{format_number(figure.width)}" height="{format_number(figure.height)}" role="img"'
            f' font-family="{FONT}">'
        ),
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(description or title)}</desc>",
    ]
    key = f"{zlib.crc32(title.encode()):08x}"
    out += render_status_hatches(figure, palette, key)
    if palette is not None:
        out += render_hatches() if palette is BW else []
        out.append(
            f'<rect width="{format_number(figure.width)}" height="{format_number(figure.height)}"'
            f' fill="{palette.paper}"/>'
        )
    labelled = figure.cells <= labels_up_to and label != "none"
    for panel in figure.panels:
        out.append(f'<g data-operand="{panel.name}"{describe_cells(panel) if pointed else ""}>')
        out.append(
            f'<text x="{format_number(panel.x)}" y="{format_number(panel.y - 20)}" font-size="12" font-weight="600"'
            f' fill="{muted}">{escape(panel.title)}</text>'
        )
        out += _render_ticks(panel, muted)
        if not panel.has_cells:
            out.append(_render_rect(panel, shared, line))
            if panel.width > 120 and panel.height > 14:
                out.append(
                    f'<text x="{format_number(panel.x + panel.width / 2)}"'
                    f' y="{format_number(panel.y + panel.height / 2 + 4)}" font-size="11"'
                    f' text-anchor="middle" fill="{muted}">in shared memory, read through a descriptor</text>'
                )
        else:
            if panel.status is not None:
                out += render_statuses(panel, panel.status, palette, key)
            else:
                out += _render_cells(panel, panel.grid, colour, threads, palette)
            out.append(_render_lines(panel, line))
            if labelled:
                paint = f'fill="{ink}"{_render_halo(panel, palette)}'
                out += _render_labels(panel, panel.grid, label, threads, paint)
        out.append("</g>")
    if extra:
        out.append(extra)
    out.append("</svg>\n")
    return "\n".join(out)


def render_hatches() -> list[str]:
    """Return the patterns that replace fills in black and white."""
    out = ["<defs>"]
    for n, (size, path) in enumerate(HATCHES):
        stroke = f'<path d="{path}" fill="none" stroke="#000000" stroke-width="0.5"/>' if path else ""
        out.append(
            f'<pattern id="hatch-{n}" width="{size}" height="{size}" patternUnits="userSpaceOnUse"><rect width="{size}"'
            f' height="{size}" fill="#ffffff"/>{stroke}</pattern>'
        )
    return [*out, "</defs>"]


def _render_rect(panel: FigurePanel, fill: str, line: str) -> str:
    return (
        f'<rect x="{format_number(panel.x)}" y="{format_number(panel.y)}"'
        f' width="{format_number(panel.width)}" height="{format_number(panel.height)}" '
        f'fill="{fill}" stroke="{line}" stroke-dasharray="4 3"/>'
    )


def choose_colour(grid: OperandGrid, name: str) -> str:
    """Return the requested colouring where this grid has it, else the grid's first.

    B has no i, a one-register D has no j.
    """
    return name if name in grid.colour_names else grid.colour_names[0]


def mask_shown(panel: FigurePanel, threads: frozenset[int] | None) -> Mask:
    """Return bool [rows, cols]: which cells of a panel belong to one of these threads; all for None."""
    if threads is None or panel.grid is None:
        return np.ones((panel.rows, panel.cols), dtype=np.bool_)
    owned: Mask = np.asarray(np.isin(panel.grid.thread, list(threads)).any(axis=2))
    return owned[panel.window]


def _render_cells(
    panel: FigurePanel, grid: OperandGrid | None, colour: str, threads: frozenset[int] | None, palette: Palette | None
) -> list[str]:
    if panel.category is not None:
        category = panel.category
    else:
        assert grid is not None
        category = grid.number_cells(choose_colour(grid, colour))
    count = panel.of or int(category.max()) + 1
    category = category[panel.window]
    variables = list_fill_variables(count)
    place = np.where(mask_shown(panel, threads) & (category >= 0), category % len(variables), -1).astype(np.int32)
    w, h = panel.cell_width, panel.cell_height
    out = []
    for index, variable in enumerate(variables):
        spans = find_runs(place == index)
        if spans:
            path = "".join(
                (
                    f"M{format_number(panel.x + c * w)}"
                    f" {format_number(panel.y + r * h)}h{format_number(length * w)}v{format_number(h)}"
                    f"h{format_number(-length * w)}z"
                )
                for r, c, length in spans
            )
            fill = palette.get_fill(index, count) if palette else f"var({variable})"
            out.append(f'<path d="{path}" fill="{fill}"/>')
    return out


def _render_lines(panel: FigurePanel, line: str) -> str:
    """Return cell borders where cells are large enough, and heavy lines between the warps of a warpgroup."""
    w, h = panel.cell_width, panel.cell_height
    if min(w, h) >= 6:
        steps = [
            f"M{format_number(panel.x)} {format_number(panel.y + r * h)}h{format_number(panel.width)}"
            for r in range(panel.rows + 1)
        ]
        steps += [
            f"M{format_number(panel.x + c * w)} {format_number(panel.y)}v{format_number(panel.height)}"
            for c in range(panel.cols + 1)
        ]
    else:
        steps = [
            (
                f"M{format_number(panel.x)} {format_number(panel.y)}h{format_number(panel.width)}"
                f"v{format_number(panel.height)}h{format_number(-panel.width)}z"
            )
        ]
    heavy = [
        f"M{format_number(panel.x)} {format_number(panel.y + r * h)}h{format_number(panel.width)}"
        for r in panel.warp_edges
    ]
    text = f'<path d="{"".join(steps)}" fill="none" stroke="{line}" stroke-width="0.5"/>'
    if heavy:
        text += f'\n<path d="{"".join(heavy)}" fill="none" stroke="{line}" stroke-width="2"/>'
    return text


def _render_ticks(panel: FigurePanel, muted: str) -> list[str]:
    out = []
    for count, size, across, first in (
        (panel.cols, panel.cell_width, True, panel.col0),
        (panel.rows, panel.cell_height, False, panel.row0),
    ):
        step = next(s for s in (1, 2, 4, 8, 16, 32, 64, 128) if s * size >= (18 if across else 10) or s == 128)
        for index in range(0, count, step):
            middle = (index + 0.5) * size
            x, y = (panel.x + middle, panel.y - 5) if across else (panel.x - 5, panel.y + middle + 3)
            anchor = "middle" if across else "end"
            names = panel.col_names if across else panel.row_names
            name = names[index] if names else first + index
            out.append(
                f'<text x="{format_number(x)}" y="{format_number(y)}" font-size="9" text-anchor="{anchor}"'
                f' fill="{muted}">{name}</text>'
            )
    return out


def _render_halo(panel: FigurePanel, palette: Palette | None) -> str:
    """Return the attributes of labels that cannot be read on their cells' hatches; "" for other labels."""
    if palette is not BW and not has_hatches(panel):
        return ""
    paper = palette.paper if palette else "var(--paper)"
    return f' stroke="{paper}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"'


def _render_labels(
    panel: FigurePanel, grid: OperandGrid | None, kind: str, threads: frozenset[int] | None, paint: str
) -> list[str]:
    texts = panel.texts or (grid.format_labels(kind) if grid else [])
    if not any(map(any, texts)):
        return []
    down, across = panel.window
    texts = [row[across] for row in texts[down]]
    visible = mask_shown(panel, threads)
    return _draw_labels(panel, texts, visible, paint)


def _draw_labels(panel: FigurePanel, texts: list[list[str]], shown: Mask, paint: str) -> list[str]:
    """Return the cell labels, grouped by row where they have one line; nothing where labels would be unreadable."""
    w, h = panel.cell_width, panel.cell_height
    fit = fit_labels([text for row in texts for text in row], w, h)
    if fit is None:
        return []
    size, out = fit.size, [f'<g font-size="{format_number(fit.size)}" text-anchor="middle" {paint}>']
    for r, row in enumerate(texts):
        y = panel.y + (r + 0.5) * h
        cells = [
            (format_number(panel.x + (c + 0.5) * w), fit.list_lines(text))
            for c, text in enumerate(row)
            if shown[r, c] and text
        ]
        if fit.form == "two":
            out += [_draw_pair(x, y, size, lines) for x, lines in cells]
        elif cells:
            spans = "".join(f'<tspan x="{x}">{lines[0]}</tspan>' for x, lines in cells)
            out.append(f'<text y="{format_number(y + size * 0.36)}">{spans}</text>')
    return [*out, "</g>"]


def _draw_pair(x: str, y: float, size: float, lines: tuple[str, ...]) -> str:
    """Return a label of one or two lines, centered at y."""
    if len(lines) == 1:
        return f'<text x="{x}" y="{format_number(y + size * 0.36)}">{lines[0]}</text>'
    below = f'<tspan x="{x}" y="{format_number(y + size - 1)}">{lines[1]}</tspan>'
    return f'<text x="{x}" y="{format_number(y - 1)}">{lines[0]}{below}</text>'
