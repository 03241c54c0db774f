"""The gallery follows the page's theme: its pictures hold no colour of their own, unless they show a theme."""

from __future__ import annotations

from lanescope.app.diagram.gallery import PICTURES, draw_in_page_colours
from lanescope.render.palette import LIGHT
from tests.cases import for_each


@for_each("slug", ["mma", "wgmma", "descriptor"])
def test_a_picture_takes_the_colours_of_the_page(slug: str) -> None:
    svg = draw_in_page_colours(slug)
    assert "var(--" in svg
    assert not any(colour in svg for colour in (*LIGHT.fills, *LIGHT.four, LIGHT.ink, LIGHT.paper, LIGHT.muted))


def test_a_picture_that_shows_a_theme_keeps_it() -> None:
    assert dict(PICTURES["dark"].options)["theme"] == "dark"
    assert "var(--" not in draw_in_page_colours("dark")
