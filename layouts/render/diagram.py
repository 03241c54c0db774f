"""A figure as a diagram: title, legend, caption with formulas, and the options accepted in a picture's URL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

from lanescope.errors import LayoutError
from lanescope.render.figure import FigurePanel, PanelFigure
from lanescope.render.labels import GLYPH
from lanescope.render.names import format_names
from lanescope.render.palette import LIGHT, Palette, list_fill_variables
from lanescope.render.svg import choose_colour, render_svg

# What a caption says, by language: colour, modulo, stored.
WORDS = {
    "en": {"colour": "colour", "modulo": "modulo 8", "where": "where"},
    "de": {"colour": "Farbe", "modulo": "modulo 8", "where": "mit"},
    "fr": {"colour": "couleur", "modulo": "modulo 8", "where": "avec"},
    "zh": {"colour": "颜色", "modulo": "模 8", "where": "其中"},
}
_TITLE, _LINE = 22.0, 15.0
MOST_LABELS = 20000


@dataclass(frozen=True, slots=True)
class DiagramStyle:
    """The options of a diagram.

    title: None for the instruction's own, "" for none. legend, caption: whether they are drawn. lang: one of WORDS.
    """

    colour: str = "g"
    label: str = "lane:value"
    threads: frozenset[int] | None = None
    palette: Palette | None = LIGHT
    title: str | None = None
    legend: bool = False
    caption: bool = False
    lang: str = "en"


def render_diagram(
    figure: PanelFigure,
    style: DiagramStyle,
    title: str,
    description: str = "",
    extra: str = "",
    *,
    pointed: bool = False,
) -> str:
    """Return the figure's SVG with its title above and legend and caption below; equal input gives equal bytes.

    pointed: whether cells carry the data that tooltips need.
    """
    shown = title if style.title is None else style.title
    above = _TITLE if shown and style.title is not None else 0.0
    ink, muted = (style.palette.ink, style.palette.muted) if style.palette else ("var(--ink)", "var(--muted)")
    panels = tuple(replace(panel, y=panel.y + above) for panel in figure.panels)
    moved = PanelFigure(figure.width, figure.height + above, panels)
    out = []
    y, width = moved.height + 10, figure.width
    if above:
        out.append(f'<text x="8" y="17" font-size="14" font-weight="600" fill="{ink}">{escape(shown)}</text>')
        width = max(width, len(shown) * 14 * GLYPH + 16)
    if style.legend:
        lines, wide = _render_legend(moved, style, y, muted)
        out += lines
        y += _LINE * 1.4 * len(_list_legend_rows(moved, style))
        width = max(width, wide)
    if style.caption:
        words = format_caption(moved, style.lang)
        out += _draw_caption(words, y, muted)
        y += _LINE * len(words)
        width = max([width, *(len(line) * 11 * GLYPH + 16 for line in words)])
    tall = y if style.legend or style.caption else moved.height
    body = f'<g transform="translate(0 {above:g})">{extra}</g>' if extra and above else extra
    return render_svg(
        PanelFigure(width, tall, panels),
        title=shown or title,
        description=description,
        colour=style.colour,
        label=style.label,
        threads=style.threads,
        palette=style.palette,
        labels_up_to=MOST_LABELS,
        extra=body + "".join(out),
        pointed=pointed,
    )


def _draw_caption(words: Sequence[str], top: float, fill: str) -> Iterator[str]:
    """Yield the lines of a caption; a line that begins with two spaces is indented."""
    for n, line in enumerate(words):
        indent = 8 + 6 * (len(line) - len(line.lstrip()))
        y = top + _LINE * n + 10
        yield f'<text x="{indent}" y="{y:.1f}" font-size="11" fill="{fill}">{escape(line.strip())}</text>'


def _list_legend_rows(figure: PanelFigure, style: DiagramStyle) -> list[tuple[str, int]]:
    """Return (name, number of categories) of every colouring that the figure's panels use."""
    rows: dict[str, int] = {}
    for panel in figure.panels:
        if panel.grid and panel.category is None:
            name = choose_colour(panel.grid, style.colour)
            rows[name] = max(rows.get(name, 0), int(panel.grid.number_cells(name).max()) + 1)
    return list(rows.items())


def _render_legend(figure: PanelFigure, style: DiagramStyle, top: float, ink: str) -> tuple[list[str], float]:
    out, widest = [], 0.0
    words = WORDS[style.lang]
    formulas = format_names(panel.grid.operand for panel in figure.panels if panel.grid)
    for number, (name, count) in enumerate(_list_legend_rows(figure, style)):
        y = top + number * _LINE * 1.4
        head = f"{words['colour']} = {formulas[name]}" + (f", {words['modulo']}" if count > 8 else "")
        out.append(f'<text x="8" y="{y + 10:.1f}" font-size="11" fill="{ink}">{escape(head)}</text>')
        x = 20 + len(head) * 11 * GLYPH * (2 if style.lang == "zh" else 1)
        for category in range(min(count, 8)):
            variables = list_fill_variables(count)
            index = category % len(variables)
            fill = style.palette.get_fill(index, count) if style.palette else f"var({variables[index]})"
            out.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="12" height="12" fill="{fill}" stroke="{ink}"'
                ' stroke-width="0.5"/>'
            )
            out.append(f'<text x="{x + 16:.1f}" y="{y + 10:.1f}" font-size="11" fill="{ink}">{category}</text>')
            x += 34
        widest = max(widest, x + 8)
    return out, widest


def format_caption(figure: PanelFigure, lang: str = "en") -> list[str]:
    """Return each operand's pattern and the formulas of its row and column, in PTX's words."""
    if lang not in WORDS:
        raise LayoutError("bad_option", f"No language '{lang[:20]}'.", f"Allowed: {', '.join(WORDS)}.", "lang")
    lines: list[str] = []
    seen: set[str] = set()
    for panel in figure.panels:
        if panel.grid is None or panel.grid.operand.name in seen:
            continue
        op = panel.grid.operand
        seen.add(op.name)
        forward = op.formula()["forward"]
        words = [f"{name} = {text}" for name, text in forward.items() if name not in op.axes]
        places = [f"{axis} = {forward[axis]}" for axis in op.axes if axis in forward]
        lines += [f"{_format_panel_name(panel)}  {op.pattern}", "    " + ", ".join(places)]
        if words:
            lines.append(f"    {WORDS[lang]['where']} " + ", ".join(words))
    return lines


def _format_panel_name(panel: FigurePanel) -> str:
    assert panel.grid
    name = panel.grid.operand.name
    return name.upper() if len(name) == 1 else name
