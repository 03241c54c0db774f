"""A page's picture as a file: with a theme's colours instead of CSS variables, and a background."""

from __future__ import annotations

import re
from functools import cache

from lanescope.app.kit.folders import find_folder
from lanescope.app.kit.picture import SERVED_LABELS, DrawingJob, limit_scale
from lanescope.errors import LayoutError
from lanescope.render.labels import FONT
from lanescope.render.palette import PALETTES, list_theme_colours

THEMES = ("light", "dark")
_BOTH = re.compile(r"(--[\w-]+): light-dark\(((?:[^(),]|\([^)]*\))+), ((?:[^(),]|\([^)]*\))+)\)")
_USED = re.compile(r"var\((--[\w-]+)(?:, ?([^()]*))?\)")


@cache
def list_colours(theme: str) -> dict[str, str]:
    """Return the colours of a theme by their CSS variables: the palette's, and those of the page."""
    sheet = (find_folder("static") / "kit" / "colours.css").read_text()
    rows = [*(found.groups() for found in _BOTH.finditer(sheet)), *list_theme_colours()]
    return {name: (light, dark)[THEMES.index(theme)] for name, light, dark in rows}


def check_theme(theme: str) -> None:
    """Raise LayoutError for an unknown theme."""
    if theme not in THEMES:
        raise LayoutError("bad_option", f"No theme '{theme[:20]}'.", f"Allowed: {', '.join(THEMES)}.", "theme")


def draw_alone(svg: str, theme: str, title: str) -> str:
    """Draw a page's picture as a file. LayoutError for an unknown theme."""
    check_theme(theme)
    colours = list_colours(theme)
    opening, rest = svg.split(">", 1)
    box = re.search(r'viewBox="([^"]+)"', opening)
    x, y, width, height = box[1].split() if box else ("0", "0", *_read_sizes(opening))
    opening = re.sub(r'\s(?:xmlns|width|height|class|id|tabindex|style)="[^"]*"', "", opening)
    for name, value in (("fill", colours["--ink"]), ("font-family", FONT)):
        if f" {name}=" not in opening:
            opening += f' {name}="{value}"'
    paper = f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{PALETTES[theme].paper}"/>'
    start = f'{opening} xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
    if not box:
        start = f'{start[:-1]} viewBox="0 0 {width} {height}">'
    if "<title>" not in rest:
        start += f"<title>{title.replace('&', '&amp;').replace('<', '&lt;')}</title>"
    text = start + paper + re.sub(r' data-cells="[^"]*"', "", rest)  # which responds to the pointer on the page
    return _USED.sub(lambda used: colours.get(used[1]) or used[2] or colours["--ink"], text) + "\n"


def _read_sizes(opening: str) -> tuple[str, str]:
    width, height = (re.search(rf'\s{side}="([\d.]+)"', opening) for side in ("width", "height"))
    return (width[1] if width else "100"), (height[1] if height else "100")


def drop_labels(svg: str) -> str:
    """Return a picture without its texts."""
    return re.sub(r"<text\b.*?</text>", "", svg, flags=re.S)


def make_drawing(form: str, svg: str) -> DrawingJob:
    """Return the job that draws a file as PNG or PDF.

    A picture with too many labels for one request is drawn without them; its cells suffice for a card.
    """
    if svg.count("<text") + svg.count("<tspan") > SERVED_LABELS[form]:
        svg = drop_labels(svg)
    return DrawingJob(form, svg, limit_scale(svg, 2.0) if form == "png" else 1.0)
