"""Fills stay apart for every kind of vision, and their ink is readable."""

from __future__ import annotations

import re

import numpy as np

from lanescope.app.kit.assets import render_style_sheet
from lanescope.app.kit.page import render_palette_css
from lanescope.descriptor.matrix import Descriptor
from lanescope.ptx.table.descriptors import TCGEN05, TCGEN05_RUBIN, WGMMA
from lanescope.render import palette
from lanescope.render.descriptor_bits import render_descriptor_bits
from lanescope.render.figure import FigurePanel, PanelFigure
from lanescope.render.statuses import render_status_legend
from lanescope.render.svg import render_svg
from tests.cases import for_each
from tests.colour import (
    VISION,
    compute_contrast,
    find_least_distance,
)


@for_each("theme", (palette.LIGHT, palette.DARK), ids=lambda p: p.name)
@for_each("vision", VISION)
def test_fills_stay_apart(theme: palette.Palette, vision: str) -> None:
    assert find_least_distance(list(theme.fills), vision) >= theme.least_distance
    assert find_least_distance(list(theme.four), vision) >= theme.least_distance


@for_each("theme", (palette.LIGHT, palette.DARK), ids=lambda p: p.name)
def test_ink_is_readable_on_every_fill(theme: palette.Palette) -> None:
    for fill in (*theme.fills, *theme.four):
        assert compute_contrast(theme.ink, fill) >= (7 if theme is palette.LIGHT else 4.5), fill
    assert compute_contrast(theme.ink, theme.wrong) >= 7
    assert all(compute_contrast(colour, theme.paper) >= 4.5 for colour in (theme.ok, theme.bad, theme.accent))
    assert compute_contrast(theme.bad, theme.wrong) >= 3, "the sign on a wrong cell"
    assert compute_contrast(theme.muted, theme.paper) >= 4.5


@for_each("theme", (palette.LIGHT, palette.DARK), ids=lambda p: p.name)
@for_each("vision", VISION)
def test_right_and_wrong_stay_apart(theme: palette.Palette, vision: str) -> None:
    """By the fill, and by a sign for whoever sees no red; the strokes of the hatches stay apart, too."""
    assert find_least_distance([theme.wrong, theme.paper], vision) >= 12
    assert find_least_distance([theme.bad, theme.accent], vision) >= 12
    assert [status.mark[0] for status in palette.STATUSES[:2]] == ["✓", "✗"]
    shapes = [(status.filled, tuple(way for _, way in status.strokes)) for status in palette.STATUSES[:6]]
    assert len(set(shapes)) == 5, "right and idle are both plain"


STATES = np.arange(len(palette.STATUSES), dtype=np.int32)


def test_right_cells_are_plain_and_wrong_ones_red() -> None:
    """Whichever way round: no red without a wrong cell, no green without a right one."""
    for number, wanted, other in ((palette.RIGHT, "--ok", "--bad"), (palette.WRONG, "--bad", "--ok")):
        for texts in (None, [["x"]]):
            panel = FigurePanel(
                "p",
                "p",
                rows=1,
                cols=1,
                x=20,
                y=30,
                cell_width=30,
                cell_height=20,
                texts=texts,
                status=np.array([[number]], np.int32),
            )
            drawn = render_svg(PanelFigure(80, 80, (panel,)), title="one", palette=None)
            assert other not in drawn and ("--wrong" in drawn) == (number == palette.WRONG)
            assert wanted in drawn or texts
    legend = render_status_legend(STATES, {"moved": "in another lane"})
    assert "in another lane" in legend and "held elsewhere" not in legend and "✗" in legend


@for_each("theme", (None, palette.LIGHT, palette.DARK), ids=str)
def test_a_field_has_one_colour_in_editor_and_picture(theme: palette.Palette | None) -> None:
    """The picture's 64 rectangles against the page's rules; the style sheet has no colour of its own for a field."""
    rules = dict(re.findall(r"\.bit\.(\w+) \{ background: var\(--fill-(\d)\); \}", render_palette_css()))
    edges = dict(re.findall(r"\.fields \.(\w+) \{ border-color: var\(--fill-(\d)\); \}", render_palette_css()))
    assert rules == edges and set(rules) == {f.name for form in (WGMMA, TCGEN05, TCGEN05_RUBIN) for f in form.fields}
    assert len(WGMMA.fields) == len({rules[f.name] for f in WGMMA.fields})
    assert len({rules[f.name] for f in TCGEN05.fields}) == len(TCGEN05.fields)
    drawn = re.findall(
        r'<rect x="[\d.]+" y="\d+" width="23.7" height="24" fill="([^"]+)"',
        render_descriptor_bits(Descriptor(0), theme),
    )
    assert len(drawn) == 64
    for bit, fill in zip(range(63, -1, -1), drawn, strict=True):
        name = Descriptor(0).format.get_field_name(bit)
        if name:
            assert fill == (theme.fills[int(rules[name])] if theme else f"var(--fill-{rules[name]})"), (bit, name)
    own = render_style_sheet()
    assert not re.search(rf"\.(?:{'|'.join(rules)})\b[^}}]*fill", own)
