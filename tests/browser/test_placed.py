"""The map of tensor memory on the page of a tcgen05.mma: what is clicked above is ringed where it lies."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_instruction import find_centre
from tests.browser.waiting import wait_until

pytestmark = pytest.mark.browser
MMA = "/i/tcgen05.mma.cta_group::1.kind::f16?idesc="


BOXES = """(page) => [...page.querySelectorAll("#placed svg .ringed:not(.halo)")].map((ring) =>
  ["x", "y", "width", "height"].map((name) => Number(ring.getAttribute(name))))"""
SERVED = f"""async () => ({BOXES})(
  new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html"))"""


def list_ringed(page: Page, served: bool = False) -> list[tuple[int, int]]:
    """List the lane and the column at the middle of each ring: as it is drawn, or as the server sends it."""
    place = json.loads(page.get_attribute("#placed", "data-place") or "")
    boxes = page.evaluate(SERVED if served else f"({BOXES})(document)")
    middles = [(y + high / 2, x + wide / 2) for x, y, wide, high in boxes]
    return [
        (int((y - place["y"]) // place["cell_height"]), int((x - place["x"]) // place["cell_width"]))
        for y, x in middles
    ]


def click_cell(page: Page, row: int, col: int, modifiers: list[Any] | None = None) -> None:
    page.locator(".mat[data-panel='d'] .slot").scroll_into_view_if_needed()
    for key in modifiers or []:
        page.keyboard.down(key)
    page.mouse.click(*find_centre(page, "d", row, col))
    for key in modifiers or []:
        page.keyboard.up(key)


def test_a_clicked_element_of_d_is_ringed_in_its_lane_and_column_until_it_is_freed(open_page: Any) -> None:
    """PTX: of M = 64 each warp has 16 rows of D, so that row 16 begins lane 32 and row 21 is lane 37."""
    page = open_page(f"{MMA}m=64,n=64,a=bf16,b=bf16,d=f32")
    assert list_ringed(page) == []
    click_cell(page, 21, 9)
    wait_until(page, lambda: list_ringed(page), [(37, 9)])
    expect(page).to_have_url(re.compile("pin=d:21,9"))
    assert list_ringed(page, served=True) == [(37, 9)]
    click_cell(page, 21, 10, ["Shift"])
    wait_until(page, lambda: list_ringed(page), [(37, 9), (37, 10)])
    page.keyboard.press("Escape")
    wait_until(page, lambda: list_ringed(page), [])
    assert not re.search("pin=", page.url)
    page.go_back()
    wait_until(page, lambda: list_ringed(page), [(37, 9), (37, 10)])
