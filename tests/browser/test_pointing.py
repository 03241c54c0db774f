"""Pictures of pages without a stage answer the pointer and the arrow keys."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser
# The middle of a cell of a picture's panel on the screen: picture, panel, row, column.
CENTRE = """([picture, panel, row, col]) => {
  const svg = document.querySelectorAll("svg:has([data-cells])")[picture];
  const group = svg.querySelectorAll("[data-cells]")[panel], data = JSON.parse(group.dataset.cells);
  svg.scrollIntoView({ block: "center" });
  const at = new DOMPoint(data.x + (col + .5) * data.w, data.y + (row + .5) * data.h);
  const { x, y } = at.matrixTransform(svg.getScreenCTM());
  return [x, y]; }"""


def point(page: Page, *cell: int) -> None:
    page.wait_for_selector(".cell-tip", state="attached")
    page.mouse.move(*page.evaluate(CENTRE, list(cell)))
    page.mouse.move(*page.evaluate(CENTRE, list(cell)))


def test_a_lane_of_a_chain_is_framed_in_memory_and_in_the_operand(open_page: Any) -> None:
    """Lane 17 addresses the chunk at 0xA0, row 1 of matrix 2, and holds eight elements of A."""
    page = open_page("/chain")
    point(page, 0, 0, 1, 2)
    expect(page.locator(".cell-tip")).to_have_text("row 0x80, column 2: T17")
    frames = page.locator("path.under-pointer").evaluate_all(
        "all => all.map((one) => (one.getAttribute('d') || '').split('M').length - 1)"
    )
    assert frames[:2] == [2, 8]  # the cell under the pointer, again as the lane's; its eight values of A


def test_the_arrow_keys_go_where_the_pointer_does(open_page: Any) -> None:
    """From the first cell to row 0x80, column 2, whose words stay beside it when the page scrolls."""
    page = open_page("/chain")
    page.wait_for_selector(".cell-tip", state="attached")
    picture, tip = page.locator("svg:has([data-cells])").first, page.locator(".cell-tip")
    page.keyboard.press("Tab")  # from here on the focus is the keyboard's
    picture.focus()
    expect(tip).to_have_text("row 0x0, column 0: T0")
    for key in ("ArrowLeft", "ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    expect(tip).to_have_text("row 0x80, column 2: T17")
    above = tip.bounding_box()
    page.mouse.wheel(0, -20)
    page.wait_for_timeout(200)
    assert tip.is_visible() and above is not None
    page.keyboard.press("Tab")
    expect(tip).to_be_hidden()


def test_the_arrow_keys_outline_an_index_of_a_layout(open_page: Any) -> None:
    """The complement of (2,2):(1,4) in 16 is (2,2):(2,8)."""
    page = open_page("/cute?op=complement&layout=(2,2):(1,4)&size=16")
    page.locator("[data-sheet] svg").first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#said")).to_have_text("Coordinate (1,0): index 2")
