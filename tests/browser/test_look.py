"""Large pictures: they open so that labels can be read, lead to their other parts, and show where they are cut."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from lanescope.render.labels import SMALLEST
from tests.browser.test_instruction import M16
from tests.browser.waiting import wait_until
from tests.sample import take_sample

pytestmark = pytest.mark.browser
REUSE = f"/reuse?from={M16}&to={M16}"
TILES = ("/tiles/mma", "/tiles/copy", "/layouts/triton")


def read_window(page: Page, panel: str) -> dict[str, float]:
    window: dict[str, float] = page.evaluate(
        "(name) => lanescope.stage.panels.find((p) => p.name === name).window", panel
    )
    return window


@pytest.mark.parametrize(("width", "path"), take_sample([*product((390, 1440), TILES)], 2))
def test_a_whole_tile_opens_with_labels(open_page: Any, path: str, width: int) -> None:
    page = open_page(path, width=width)
    sizes = page.evaluate("lanescope.stage.panels.filter((p) => p.operand && !p.operand.shared).map((p) => p.labelled)")
    assert sizes and min(sizes) >= SMALLEST, sizes


def test_fit_shows_the_whole_and_the_map_leads_to_a_part(open_page: Any) -> None:
    page = open_page("/tiles/mma")
    assert read_window(page, "c")["x1"] < 64 and "view" not in page.url
    fit = page.locator("#zoom [data-view=all]")
    expect(fit).not_to_have_attribute("aria-current", "true")
    before = read_window(page, "c")
    box = page.locator(".minimap").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 0.9)
    page.mouse.down()
    page.mouse.up()
    width = before["x1"] - before["x0"]
    wait_until(page, lambda: [read_window(page, "c")[name] for name in ("x0", "x1")], [64 - width, 64])
    fit.click()
    wait_until(page, lambda: read_window(page, "c"), {"x0": 0, "x1": 64, "y0": 0, "y1": 64})
    expect(fit).to_have_attribute("aria-current", "true")
    expect(page.locator(".minimap")).to_be_hidden()
    page.wait_for_url("**view=all**")


def test_a_pinned_link_still_shows_the_whole_tile(open_page: Any) -> None:
    assert read_window(open_page("/tiles/mma?pin=c:60,60"), "c") == {"x0": 0, "x1": 64, "y0": 0, "y1": 64}


CUTS = "(box) => ['left', 'right'].map((edge) => parseFloat(getComputedStyle(box).getPropertyValue(`--cut-${edge}`)))"


def test_a_picture_larger_than_its_box_fades_at_its_edge_and_can_be_fitted_and_enlarged(open_page: Any) -> None:
    page = open_page(REUSE, width=390)
    picture, box = page.locator(".figure > svg").first, page.locator(".figure").first
    assert box.evaluate(CUTS) == [0, 24]
    box.evaluate("(box) => box.scrollTo(box.scrollWidth, 0)")
    wait_until(page, lambda: box.evaluate(CUTS), [24, 0])

    def read_width() -> float:
        width: float = picture.evaluate("(svg) => svg.getBoundingClientRect().width")
        return width

    natural = read_width()
    assert natural > 390
    page.get_by_role("button", name="Zoom in").click()
    wait_until(page, read_width, pytest.approx(natural * 1.25, rel=0.01))
    expect(page.locator(".picture-map")).to_be_visible()
    box.press("0")
    wait_until(page, read_width, pytest.approx(box.evaluate("(box) => box.clientWidth"), abs=1))
    box.press("1")
    wait_until(page, read_width, pytest.approx(natural, rel=0.01))


def test_a_picture_that_fits_has_no_zoom_and_no_edge_that_fades(open_page: Any) -> None:
    page = open_page(REUSE, width=1440)
    assert page.locator(".picture-tools").count() == 0
    assert page.locator(".figure").first.evaluate(CUTS)[1] == 0


@pytest.mark.parametrize(
    "path, width",
    take_sample(
        [("/dump?example=swizzle", 1440), ("/capture?example=k-step", 1440), ("/tmem", 1440), ("/chain", 390)], 2
    ),
)
def test_the_zoom_covers_nothing_of_its_picture(open_page: Any, path: str, width: int) -> None:
    tools = open_page(path, width=width).locator(".picture-tools .segments")
    assert tools.count() > 0
    assert (
        tools.evaluate_all("""(all) => all.map((each) => each.getBoundingClientRect().bottom
        - each.closest(".figure, .box").querySelector(":scope > svg").getBoundingClientRect().top)
        .filter((covered) => covered > 0)""")
        == []
    )
