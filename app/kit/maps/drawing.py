"""Parts of pictures of whole tiles: cell sizes, title, legend, matrices as text."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from lanescope.errors import LayoutError
from lanescope.render import tables
from lanescope.render.figure import FigurePanel, PanelFigure
from lanescope.render.palette import Palette
from lanescope.render.svg import render_svg

MOST_LABELS, MOST_TEXT = 8192, 1 << 15
STYLE = {
    "theme": "light, dark or bw (hatches)",
    "title": "text above; empty for none",
    "legend": "1: what the colours mean",
    "scale": "PNG pixels a unit, 0.25 to 8; 2 or what fits",
    "embed": "TeX: 1 for a tikzpicture to \\input",
}
FORMS = {
    "svg": "SVG",
    "png": "PNG",
    "pdf": "PDF",
    "tex": "TikZ",
    "txt": "Text",
    "md": "Markdown",
    "csv": "CSV",
    "json": "JSON",
}
ABOVE = 22.0  # height of a title
_WIDE = 1080.0
Legend = Sequence[tuple[str, Sequence[tuple[str, str]]]]  # (name of a colouring, [(fill variable, its text)])


def link_forms(path: str, query: str) -> list[tuple[str, str, str]]:
    """Return (format, text, address) for every format of a page's picture."""
    return [(form, text, f"{path}.{form}{'?' * bool(query)}{query}") for form, text in FORMS.items()]


def compute_cell_size(labelled: bool, cols: int) -> tuple[float, float]:
    """Return width and height of a cell in a picture of `cols` columns."""
    width = 44.0 if labelled else max(2.0, min(14.0, _WIDE / cols))
    return width, 17.0 if labelled else width


def draw_panels(
    panels: tuple[FigurePanel, ...],
    theme: Palette | None,
    *,
    title: str,
    description: str,
    legend: Legend,
    labelled: bool,
    extra: str = "",
    least: tuple[float, float] = (200.0, 0.0),
    pointed: bool = False,
) -> str:
    """Return the SVG of panels below an optional title, with the legend under them. least: minimum width and height;
    pointed: whether cells respond to the pointer.
    """
    width = max((p.x + p.width + 8 for p in panels), default=0.0)
    height = max((p.y + p.height + 8 for p in panels), default=least[1])
    parts = [extra]
    if title:
        parts.append(
            f'<text x="8" y="17" font-size="14" font-weight="600" fill="{get_colour(theme)}">'
            f"{escape(title, quote=False)}</text>"
        )
    for number, (text, fills) in enumerate(legend):
        parts += _draw_swatches(text, fills, height + 4 + 20 * number, theme)
    figure = PanelFigure(
        max(width, least[0], len(title) * 8.5 + 16), height + 20 * len(legend) + 4 * bool(legend), panels
    )
    return render_svg(
        figure,
        title=title or description,
        description=description,
        palette=theme,
        labels_up_to=MOST_LABELS,
        extra="".join(parts),
        label="lane:value" if labelled else "none",
        pointed=pointed,
    )


def get_colour(theme: Palette | None, name: str = "ink") -> str:
    """Return a colour of the theme, or the page's CSS variable without a theme."""
    return str(getattr(theme, name)) if theme else f"var(--{name})"


def _draw_swatches(text: str, fills: Sequence[tuple[str, str]], y: float, theme: Palette | None) -> list[str]:
    muted = get_colour(theme, "muted")
    out = [f'<text x="8" y="{y + 10:.1f}" font-size="11" fill="{muted}">{escape(text, quote=False)}</text>']
    x = 20 + len(text) * 6.7
    for number, (name, text) in enumerate(fills):
        fill = theme.get_fill(number, len(fills)) if theme else f"var(--{name})"
        out.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="12" height="12" fill="{fill}" stroke="{muted}" stroke-width="0.5"/>'
        )
        out.append(f'<text x="{x + 16:.1f}" y="{y + 10:.1f}" font-size="11" fill="{muted}">{escape(text)}</text>')
        x += 20 + max(2, len(text)) * 7
    return out


def format_matrix(form: str, title: str, body: Sequence[Sequence[str]], rows: range, cols: range) -> str:
    """Return a matrix as txt or md with row and column numbers, or as csv. body: [row][column]."""
    shown = [[body[r][c] for c in cols] for r in rows]
    if form == "csv":
        return tables.format_csv(shown)
    if form == "md":
        return f"**{title}**\n\n{tables.format_markdown_grid(rows, cols, shown)}"
    return f"{title}\n{tables.format_plain_grid(rows, cols, shown)}"


def check_text_size(what: str, rows: range, cols: range, hint: str) -> None:
    """Raise LayoutError for a matrix that is too large as text."""
    if len(rows) * len(cols) > MOST_TEXT:
        raise LayoutError(
            "too_large", f"{what} has {len(rows) * len(cols)} elements; as text at most {MOST_TEXT}.", hint, "view"
        )
