"""The preview picture of a link in chats and issue trackers: 1200 × 630 pixels with title, verdict and picture."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from html import escape

from lanescope.app.kit.assets import STATIC
from lanescope.app.kit.picture import LAST_GLYPH, SERVED_LABELS, measure_picture
from lanescope.app.kit.share import CARD_SIZE, PageCard
from lanescope.app.share.draw import drop_labels, list_colours
from lanescope.render.labels import FONT
from lanescope.render.palette import PALETTES

WIDTH, HEIGHT = CARD_SIZE
EDGE, ADVANCE = 50.0, 0.602  # of the content; width of a letter relative to its size
FOOT = 586.0  # top of the bottom line
SMALLEST, CROPPED = 0.45, 0.7  # below the first scale a picture is cropped and drawn at the second
MARKS = {"ok": "✓ ", "bad": "✗ ", "warn": "! ", "plain": ""}
_RING = re.compile(r'class="ringed" x="([-\d.]+)" y="([-\d.]+)" width="([\d.]+)" height="([\d.]+)"')
INKS = {"ok": "--ok", "bad": "--bad", "warn": "--warn", "plain": "--ink"}


def draw_card(card: PageCard, picture: str) -> str:
    """Draw a card as SVG. picture: the picture of the page as a file (`draw_alone`), "" for none."""
    colours, headline = list_colours("light"), card.verdict or card.title
    out = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{PALETTES["light"].paper}"/>']
    y = 56.0
    if card.adds_verdict:
        out += _draw_lines(card.title, y, 22, 1, colours["--muted"])
        y += 46
    ink = colours[INKS[card.look]] if card.adds_verdict else colours["--ink"]
    mark = MARKS[card.look] if card.verdict else ""
    lines = list(_draw_lines(mark + headline, y, 34 if len(headline) < 56 else 28, 2, ink, bold=True))
    out += lines
    y += 42 * (len(lines) - 1) + 28
    if picture:
        out.append(_place_picture(picture, y, FOOT - y - 18))
    else:
        out += _draw_lines(card.summary, y + 40, 28, 5, colours["--muted"])
    out += _draw_foot(colours)
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        f' role="img" font-family="{FONT}"><title>{escape(card.headline)}</title>{"".join(out)}</svg>\n'
    )
    return "".join(letter if letter <= LAST_GLYPH else "·" for letter in text)  # characters that the font lacks


def _draw_lines(text: str, y: float, size: float, most: int, ink: str, bold: bool = False) -> Iterator[str]:
    """Draw a text in lines as wide as the card; the last ends with … if the text is longer."""
    room = int((WIDTH - 2 * EDGE) / (size * ADVANCE))
    weight = ' font-weight="700"' if bold else ""
    for n, line in enumerate(textwrap.wrap(text, room, max_lines=most, placeholder=" …")):
        place = f'x="{EDGE:g}" y="{y + 1.25 * size * n:g}" font-size="{size:g}"'
        yield f'<text {place} fill="{ink}"{weight}>{escape(line)}</text>'


def _place_picture(picture: str, top: float, high: float) -> str:
    """Place a picture in the middle of a box as wide as the card.

    If it would be too small, show its upper left part, or the part around a pinned cell.
    """
    if picture.count("<text") + picture.count("<tspan") > SERVED_LABELS["png"] - 64:
        picture = drop_labels(picture)
    wide = WIDTH - 2 * EDGE
    width, height = measure_picture(picture)
    scale = min(wide / width, high / height, 2.2)
    if scale < SMALLEST:
        scale = CROPPED
    shown = (min(width, wide / scale), min(height, high / scale))
    opening, rest = picture.split(">", 1)
    box = re.search(r'viewBox="([-\d.]+) ([-\d.]+)', opening)
    x, y = (float(box[1]), float(box[2])) if box else (0.0, 0.0)
    if ring := _RING.search(picture):
        across, down = (float(ring[at]) + float(ring[at + 2]) / 2 for at in (1, 2))
        x = min(max(x, across - shown[0] / 2), x + width - shown[0])
        y = min(max(y, down - shown[1] / 2), y + height - shown[1])
    drawn = (shown[0] * scale, shown[1] * scale)
    opening = re.sub(r'\s(?:xmlns|viewBox|width|height|x|y)="[^"]*"', "", opening)
    return (
        f'{opening} x="{EDGE + (wide - drawn[0]) / 2:.1f}" y="{top + (high - drawn[1]) / 2:.1f}" width="{drawn[0]:.1f}"'
        f' height="{drawn[1]:.1f}" viewBox="{x:g} {y:g} {shown[0]:.1f} {shown[1]:.1f}">{rest}'
    )


def _draw_foot(colours: dict[str, str]) -> Iterator[str]:
    """Draw the name and the logo of the site."""
    yield f'<path d="M{EDGE:g} {FOOT:g}H{WIDTH - EDGE:g}" stroke="{colours["--rule"]}" stroke-width="1.5"/>'
    sign = (STATIC / "kit" / "icon.svg").read_text().split(">", 1)[1]
    yield f'<svg x="{EDGE:g}" y="{FOOT + 10:g}" width="26" height="26" viewBox="0 0 16 16">{sign.strip()}'
    yield (
        f'<text x="{EDGE + 38:g}" y="{FOOT + 30:g}" font-size="20" font-weight="700" fill="{colours["--ink"]}">'
        "Lanescope</text>"
    )
    yield (
        f'<text x="{WIDTH - EDGE:g}" y="{FOOT + 30:g}" font-size="17" text-anchor="end" fill="{colours["--muted"]}">'
        "layouts of NVIDIA tensor cores</text>"
    )
