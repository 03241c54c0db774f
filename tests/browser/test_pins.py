"""Pins of the server's pictures: pointing, clicking, finding, comparing and undoing, and the zoom in the address."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.waiting import read_texts, wait_until
from tests.sample import take_sample

pytestmark = pytest.mark.browser
UMMA = "/tiles/mma?atom=SM100_MMA_F16BF16_SS%3Chalf_t,half_t,float,128,256,UMMA::Major::K,UMMA::Major::K%3E"
PINNED = (
    "/tmem?pin=cta0:70,40&pin2=cta0:100,3",
    "/tmem?m=64&n=128&a_at=128&pin=cta0:3,130",
    "/tmem?m=128&n=64&access=tcgen05.ld.32x32b.x4&at=64:300&pin=cta0:70,301",
    "/tmem?kind=mxf4nvf4&n=256&scale_vec=4X&scale_a_at=256&scale_b_at=260&pin=cta0:5,257",
    "/smem?pin=tile:5,9&pin2=tile:6,9",
    "/smem?major=MN&swizzle=64B&mn=64&k=16&pin=tile:21,3",
    "/smem?element_bits=8&unit=element&mn=16&k=64&pin=tile:5,9",
    "/tiles/mma/chain?pin=c:5,9&pin2=c:3,12",
    "/tiles/loop?pin=a:5,9&pin2=b:3,4",
    f"{UMMA}&pin=d:70,3&pin2=tmem:70,3",
)


def open_pins(open_page: Any, path: str, **options: Any) -> Page:
    page: Page = open_page(path, wait=False, **options)
    page.wait_for_selector("html[data-pins]")
    return page


FREE = """() => {
  const query = new URLSearchParams(location.search);
  for (const name of ["pin", "pin2"]) query.delete(name);
  history.pushState(null, "", `?${query}`);
  dispatchEvent(new PopStateEvent("popstate"));
}"""


RINGS = "(page) => [...page.querySelectorAll('svg .ringed')].map((ring) => Number(ring.getAttribute('y')))"
SERVED_RINGS = f"""async () => ({RINGS})(
  new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html"))"""


@pytest.mark.parametrize("path", take_sample(PINNED, 2))
def test_the_script_says_of_a_pin_what_the_server_says(open_page: Any, path: str) -> None:
    def read_answer() -> tuple[list[list[str]], list[float]]:
        return read_texts(page, "#answer .says"), sorted(page.evaluate(f"({RINGS})(document)"))

    page = open_pins(open_page, path)
    said, rings = read_texts(page, "#answer .says", served=True), sorted(page.evaluate(SERVED_RINGS))
    want = said, pytest.approx(rings, abs=0.02)
    assert said[0] and rings and read_answer() == want
    page.evaluate(FREE)
    expect(page.locator("svg .ringed")).to_have_count(0)
    page.go_back()
    wait_until(page, read_answer, want)


FIND_CELL = """([name, row, col]) => {
  const { sheets } = JSON.parse(document.getElementById("sheets").textContent);
  const [grid] = sheets.find((sheet) => sheet.name === name).grids, svg = document.querySelector(grid.selector);
  const at = new DOMPoint(grid.x + (col + .5) * grid.cell_width, grid.y + (row + .5) * grid.cell_height);
  const { x, y } = at.matrixTransform(svg.getScreenCTM());
  return [x, y];
}"""


def find_cell(page: Page, sheet: str, row: int, col: int) -> tuple[float, float]:
    """Find the middle of a cell in the window."""
    x, y = page.evaluate(FIND_CELL, [sheet, row, col])
    return x, y


def test_a_click_pins_shift_compares_and_back_undoes(open_page: Any) -> None:
    page = open_pins(open_page, "/tiles/mma/chain")
    first, second = find_cell(page, "c", 5, 9), find_cell(page, "c", 9, 3)
    page.mouse.move(*first)
    expect(page.locator("#pointed")).to_contain_text("C(5,9) is in thread 20, value 5")
    expect(page.locator("svg .pointed")).to_have_count(2)  # in C and in A
    page.mouse.click(*first)
    expect(page.locator("#answer h2")).to_contain_text(["C(5,9) is in thread 20"])
    page.keyboard.down("Shift")
    page.mouse.click(*second)
    page.keyboard.up("Shift")
    expect(page.locator("#answer h2")).to_contain_text(["C(5,9)", "C(9,3) is in thread 5, value 3"])
    expect(page).to_have_url(re.compile(r"pin=c:5,9&pin2=c:9,3$"))
    page.go_back()
    expect(page.locator("#answer h2")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator("#answer")).to_have_class(re.compile("none"))
    page.go_back()
    expect(page.locator("#answer h2")).to_contain_text(["C(5,9)"])


def check_that_arrows_move_and_enter_pins(page: Page) -> None:
    page.locator(".tmem-map").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#spoken")).to_have_text("D[1][1] is in lane 1, column 1")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"pin=cta0:1,1$"))


def test_arrows_move_and_enter_pins(open_page: Any) -> None:
    check_that_arrows_move_and_enter_pins(open_pins(open_page, "/tmem"))
