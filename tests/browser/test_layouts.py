"""Pages of layouts under the pointer: an element, its thread in every picture, its bits in the matrix; a click pins."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def point(page: Page, number: int, row: int, col: int) -> dict[str, float]:
    """Where a cell of the n-th picture lies on the screen."""
    at: dict[str, float] = page.evaluate(
        """([number, row, col]) => {
          const figure = document.querySelectorAll("[data-sheet]")[number], data = JSON.parse(figure.dataset.sheet);
          const svg = figure.querySelector("svg");
          svg.scrollIntoView({ block: "center" });
          const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
          const x = data.x + (col + .5) * data.w, y = data.y + (row + .5) * data.h;
          return { x: box.x + x * scale, y: box.y + y * scale };
        }""",
        [number, row, col],
    )
    return at


def test_an_element_lights_its_thread_everywhere_and_its_bits(open_page: Any) -> None:
    page = open_page("/layouts/tv")
    at = point(page, 0, 9, 3)
    page.mouse.move(at["x"], at["y"])
    expect(page.locator("#said")).to_have_text("Element (9,3): thread 5 (warp 0, lane 5), value 3")
    for number in range(2):
        drawn = page.locator("path.follows").nth(number).get_attribute("d") or ""
        assert drawn.count("M") == 8, "all values of the thread, in both directions"
    assert page.locator("td.lit, th.lit").evaluate_all("(all) => [...new Set(all.map((e) => e.dataset.bit))]") == [
        "register-0", "register-1", "lane-0", "lane-2",
    ]  # fmt: skip
    expect(page.locator("#held tbody tr").first).to_have_text("V0(1,2)")
    page.mouse.move(2, 2)
    expect(page.locator("#said")).to_contain_text("Point at an element")
    at = point(page, 0, 9, 3)
    page.mouse.click(at["x"], at["y"])
    expect(page).to_have_url(re.compile("thread=5"))
    expect(page.locator("#held h2")).to_contain_text("Thread 5")


def test_a_conversion_says_who_holds_an_element_before_and_after(open_page: Any) -> None:
    page = open_page("/layouts/tv?cute=((4,8),(2,2)):((32,1),(16,8))&tile=16x8&to=((8,4),(2,2)):((1,32),(8,16))")
    at = point(page, 0, 9, 3)
    page.mouse.move(at["x"], at["y"])
    expect(page.locator("#said")).to_have_text(
        "Element (9,3): thread 5 (warp 0, lane 5), value 3. Then thread 9 (warp 0, lane 9), value 3"
    )


def test_an_index_is_shown_in_every_picture_of_its_step(open_page: Any) -> None:
    page = open_page("/cute?expression=zipped_divide((8,16):(16,1),(4,8))")
    at = point(page, 0, 5, 9)
    page.mouse.move(at["x"], at["y"])
    expect(page.locator("#said")).to_have_text("Coordinate (5,9): index 89")
    assert page.locator("path.follows").evaluate_all("(all) => all.map((e) => e.getAttribute('d').length > 0)") == [
        True, True,
    ]  # fmt: skip
