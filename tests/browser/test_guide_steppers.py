"""The guide's steppers in a browser: the reader steps inside the page, which does not move."""

from __future__ import annotations

import re
from itertools import product

from playwright.sync_api import Page, expect

from lanescope.app.guide import index, rendering
from tests.browser.conftest import Open
from tests.browser.waiting import wait_until
from tests.cases import for_each
from tests.sample import take_sample

READY = "document.documentElement.dataset.stepper === 'ready'"
SHIFT = """(() => { window.moved = 0; new PerformanceObserver((list) => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) window.moved += one.value;
}).observe({ type: "layout-shift", buffered: true }); })()"""


def opened(open_page: Open, address: str, **more: object) -> Page:
    page = open_page(address, **more)
    wait_until(page, READY)
    return page


def test_keys_step_only_where_the_stepper_has_the_focus(open_page: Open) -> None:
    page = opened(open_page, "/guide/ldmatrix")
    count = page.locator("#step-count")
    expect(count).to_have_text("6 / 39")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    expect(count).to_have_text("6 / 39")
    page.locator("#scene canvas[role=img]").click()
    page.keyboard.press("ArrowRight")
    expect(count).to_have_text("7 / 39")
    expect(page).to_have_url(re.compile(r"/guide/ldmatrix\?step=7"))
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("Home")
    expect(page).to_have_url(re.compile(r"\?step=1"))


def test_an_address_opens_its_step_and_the_usual_one_needs_none(open_page: Open) -> None:
    page = opened(open_page, "/guide/lanes-and-fragments?step=5&pin=a:3,2")
    expect(page.locator("#life")).to_contain_text("A[3][2] =")
    page.get_by_role("button", name="Step back").click()
    expect(page).to_have_url(re.compile(r"lanes-and-fragments\?pin=a:3,2$"))


def list_screens() -> list[tuple[int, str]]:
    """Widths, and pages of the guide that have a stepper."""
    return take_sample([*product((390, 1000, 1440), filter(rendering.find_stepper, index.ORDER))], 2)


@for_each(("width", "slug"), list_screens)
def test_nothing_moves_while_the_page_loads(open_page: Open, slug: str, width: int) -> None:
    page = opened(open_page, f"/guide/{slug}", width=width, height=844)
    page.evaluate(SHIFT)
    page.locator(".stepper").scroll_into_view_if_needed()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("window.moved") < 0.02
