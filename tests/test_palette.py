"""Fills stay apart for every kind of vision, and their ink is readable."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

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
    compute_ciede2000,
    compute_contrast,
    convert_to_lab,
    find_least_distance,
    parse_linear_rgb,
)

ROOT = Path(__file__).parents[1]


@for_each("theme", (palette.LIGHT, palette.DARK), ids=lambda p: p.name)
@for_each("vision", VISION)
def test_fills_stay_apart(theme: palette.Palette, vision: str) -> None:
    assert find_least_distance(list(theme.fills), vision) >= theme.least_distance
    assert find_least_distance(list(theme.four), vision) >= theme.least_distance


FROM_PAGE, FROM_WRONG = 10.0, 7.0  # CIEDE2000 between a category and what is behind it, and a wrong cell


def read_page_colours(theme: palette.Palette) -> list[str]:
    """What a category must not look like: the page, a card on it, the paper of a figure, and a right cell's white."""
    css = (ROOT / "static" / "kit" / "colours.css").read_text()
    pairs = [re.findall(rf"--{name}: light-dark\((#\w+), (#\w+)\)", css)[0] for name in ("paper", "raised")]
    return [pair[theme is palette.DARK] for pair in pairs] + [theme.paper]


@for_each("theme", (palette.LIGHT, palette.DARK), ids=lambda p: p.name)
@for_each("vision", VISION)
def test_no_fill_looks_like_the_page_or_like_a_status(theme: palette.Palette, vision: str) -> None:
    for fill in {*theme.fills, *theme.four}:
        for page in read_page_colours(theme):
            assert find_least_distance([fill, page], vision) >= FROM_PAGE, (fill, page)
        assert find_least_distance([fill, theme.wrong], vision) >= FROM_WRONG, fill


@for_each("theme", (palette.LIGHT, palette.DARK), ids=lambda p: p.name)
def test_an_area_of_one_of_four_colours_does_not_look_empty(theme: palette.Palette) -> None:
    """A TiledMMA whose filter leaves one warp is one colour on the page."""
    page = read_page_colours(theme)[0]
    assert min(compute_contrast(fill, page) for fill in theme.four) >= 1.5
    assert min(compute_contrast(fill, page) for fill in theme.fills) >= (1.2 if theme is palette.LIGHT else 1.1)


@for_each("theme", (palette.LIGHT, palette.DARK), ids=lambda p: p.name)
def test_neighbours_in_a_row_differ_more_than_they_must(theme: palette.Palette) -> None:
    for one, other in zip(theme.fills, theme.fills[1:], strict=False):
        assert min(find_least_distance([one, other], vision) for vision in VISION) >= theme.least_distance + 4


@for_each("theme", (palette.LIGHT, palette.DARK), ids=lambda p: p.name)
def test_ink_is_readable_on_every_fill(theme: palette.Palette) -> None:
    for fill in (*theme.fills, *theme.four):
        assert compute_contrast(theme.ink, fill) >= (7 if theme is palette.LIGHT else 4.5), fill
    assert compute_contrast(theme.ink, theme.wrong) >= 7
    assert all(compute_contrast(colour, theme.paper) >= 4.5 for colour in (theme.ok, theme.bad, theme.accent))
    assert compute_contrast(theme.bad, theme.wrong) >= 4.5, "the sign on a wrong cell"
    assert compute_contrast(theme.muted, theme.paper) >= 4.5


@for_each("theme", (palette.LIGHT, palette.DARK), ids=lambda p: p.name)
def test_fills_are_calm(theme: palette.Palette) -> None:
    colours = convert_to_lab(parse_linear_rgb([*theme.fills, *theme.four]))
    assert np.hypot(colours[:, 1], colours[:, 2]).max() <= 40


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


@for_each("theme", (None, *palette.PALETTES.values()), ids=str)
def test_a_status_is_never_drawn_as_a_category(theme: palette.Palette | None) -> None:
    panel = FigurePanel(
        "p", "p", rows=1, cols=len(STATES), x=20, y=30, cell_width=20, cell_height=20, grid=None, status=STATES[None, :]
    )
    drawn = render_svg(PanelFigure(400, 80, (panel,)), title="statuses", palette=theme)
    used = set(re.findall(r'(?:fill|stroke)="([^"]+)"', drawn))
    assert not used & (set(theme.fills) - {theme.wrong} if theme else {f"var(--fill-{n})" for n in range(8)})
    wanted = (theme.wrong, theme.bad, theme.ok) if theme else ("var(--wrong)", "var(--bad)", "var(--ok)")
    assert set(wanted if theme is not palette.BW else ("#000000",)) <= used
    hatches = {status.name for status in palette.STATUSES if status.strokes} | (
        {"wrong"} if theme is palette.BW else set()
    )
    assert {name.split("-")[0] for name in re.findall(r'fill="url\(#([^)]+)\)"', drawn)} == hatches
    assert all(f'id="{name}"' in drawn for name in re.findall(r"url\(#([^)]+)\)", drawn))


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


def test_the_distance_itself_is_right() -> None:
    """Three pairs of Sharma, Wu and Dalal's published test data (2005)."""
    for one, other, expected in [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (58.0, 24.0, 15.0), 19.4535),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ]:
        assert float(compute_ciede2000(np.array(one), np.array(other))) == pytest.approx(expected, abs=1e-4)


def test_css_carries_both_themes() -> None:
    text = palette.render_css()
    for n, (light, dark) in enumerate(zip(palette.LIGHT.four, palette.DARK.four, strict=True)):
        assert f"--four-{n}: light-dark({light}, {dark});" in text
    for n, (light, dark) in enumerate(zip(palette.LIGHT.fills, palette.DARK.fills, strict=True)):
        assert f"--fill-{n}: light-dark({light}, {dark});" in text


def test_the_icon_has_the_colours_of_the_wordmark() -> None:
    """Its files have no style sheet, so the colours stand in it: two fills and the accent."""
    drawn = set(re.findall(r'fill="(#\w+)"', (ROOT / "static" / "kit" / "icon.svg").read_text()))
    assert drawn == {palette.LIGHT.fills[0], palette.LIGHT.fills[5], palette.LIGHT.accent}


def test_more_than_eight_categories_repeat() -> None:
    assert palette.LIGHT.get_fill(9, 32) == palette.LIGHT.fills[1]
    assert palette.LIGHT.get_fill(3, 4) == palette.LIGHT.four[3]


def test_black_and_white_hatches_differ_and_the_first_is_empty() -> None:
    assert len(set(palette.HATCHES)) == len(palette.HATCHES) == 8 and palette.HATCHES[0][1] == ""


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


RIGHT_WORDS, WRONG_WORDS = set("ok right ran match agrees".split()), set("bad wrong differs mismatch".split())


def test_no_style_sheet_paints_what_is_wrong_as_right() -> None:
    """What a selector names as right has no colour of what is wrong, and the reverse."""
    seen = 0
    for path in sorted((ROOT / "static").rglob("*.css")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", text):
            used = set(re.findall(r"--(ok|bad)\b", body))
            for selector in selectors.split(","):
                words = set(re.findall(r"\w+", selector))
                assert not (words & RIGHT_WORDS and "bad" in used), f"{path.name}: {selector.strip()}"
                assert not (words & WRONG_WORDS and "ok" in used), f"{path.name}: {selector.strip()}"
                seen += bool(used and words & (RIGHT_WORDS | WRONG_WORDS))
    assert seen >= 15


@for_each("theme", (palette.LIGHT, palette.DARK), ids=lambda p: p.name)
def test_dimmed_labels_keep_a_contrast_of_3(theme: palette.Palette) -> None:
    """A fill covers the label by its alpha: what is left of the ink stays readable below pointer and pin."""
    css = (ROOT / "static" / "kit" / "colours.css").read_text()
    side = 0 if theme is palette.LIGHT else 1
    for name in ("--fade-hover", "--fade-pin"):
        alpha = float(re.findall(rf"{name}:.*?;", css)[0].split("rgba(0, 0, 0, ")[side + 1].split(")")[0])
        for fill in (*theme.fills, *theme.four):
            parts = [
                round((1 - alpha) * int(theme.ink[at : at + 2], 16) + alpha * int(fill[at : at + 2], 16))
                for at in (1, 3, 5)
            ]
            assert compute_contrast("#{:02x}{:02x}{:02x}".format(*parts), fill) >= 3, (name, fill)
