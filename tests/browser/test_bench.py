"""The matrices under wheel, drag, fingers and keys: what is shown, what the address says, and that no Plotly comes
unasked.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from lanescope import find
from lanescope.render.view import OperandGrid
from tests.browser.test_instruction import M16, WIDE, find_centre, hover_cell, list_thread_cells
from tests.browser.waiting import go_to_query, wait_for_rest, wait_until
from tests.spoken import speak_cell

pytestmark = pytest.mark.browser


def read_windows(page: Page) -> dict[str, dict[str, float]]:
    return page.evaluate("Object.fromEntries(lanescope.stage.panels.map((p) => [p.name, p.window]))")


def check_that_the_wheel_scrolls_the_page_where_there_is_nothing_to_zoom_out(page: Page) -> None:
    page.set_viewport_size({"width": 1440, "height": 600})
    hover_cell(page, "a", 1, 1)
    wait_for_rest(page)
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, 200)
    wait_until(page, f"scrollY > {before}")
    page.evaluate("scrollTo(0, 0)")


@pytest.mark.thorough
def test_the_wheel_zooms_at_the_pointer_and_the_address_restores_it(open_page: Any) -> None:
    page = open_page(f"/i/{M16}", stay=True)
    at = find_centre(page, "d", 12, 6)
    hover_cell(page, "d", 12, 6)
    page.mouse.wheel(0, -300)
    expect(page).to_have_url(re.compile(r"view=m:[\d.]+-[\d.]+,n:[\d.]+-[\d.]+"))
    assert find_centre(page, "d", 12, 6) == pytest.approx(at, abs=0.5)
    seen = read_windows(page)
    d, a, b = seen["d"], seen["a"], seen["b"]
    assert (
        d["y1"] - d["y0"] < 11
        and (a["y0"], a["y1"]) == (d["y0"], d["y1"])
        and (b["x0"], b["x1"])
        == (
            d["x0"],
            d["x1"],
        )
    )
    assert (a["x0"], a["x1"]) == (0, 16), "k is not zoomed"
    again = read_windows(open_page(page.url.split("/", 3)[3].join(("/", ""))))
    assert again["d"] == pytest.approx(d, abs=0.01)
    page.mouse.wheel(0, 3000)
    expect(page).not_to_have_url(re.compile("view"))
    check_that_the_wheel_scrolls_the_page_where_there_is_nothing_to_zoom_out(page)


@pytest.mark.thorough
def test_a_drag_pans_and_pins_nothing(open_page: Any) -> None:
    page = open_page(f"/i/{WIDE}", stay=True)
    x, y = find_centre(page, "d", 8, 16)
    before = read_windows(page)["d"]
    cell = page.evaluate("lanescope.stage.panels.find((p) => p.name === 'd').cellWidth")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y)
    page.mouse.move(x - 10 * cell, y)
    page.mouse.up()
    wait_until(page, lambda: read_windows(page)["d"]["x0"], pytest.approx(before["x0"] + 10, abs=0.1))
    expect(page).to_have_url(re.compile("view="))
    assert "pin" not in page.url
    page.mouse.wheel(3 * cell, 0)
    wait_until(page, lambda: read_windows(page)["d"]["x0"], pytest.approx(before["x0"] + 13, abs=0.1))


def check_that_the_keys_work_from_the_page_s_load(page: Page) -> None:
    found = find(M16)
    page.keyboard.press("d")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#spoken")).to_have_text(speak_cell(OperandGrid(found.operand("d")), 1, 0))
    page.keyboard.press("m")
    expect(page.locator("#spoken")).to_have_text(speak_cell(OperandGrid(found.operand("a")), 0, 0))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("pin=a:0,0"))
    page.keyboard.press("Escape")
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile("view=m:"))
    page.keyboard.press("0")
    expect(page).not_to_have_url(re.compile("view"))
    page.keyboard.press("l")
    expect(page.locator("details[data-table=a] tbody tr").nth(31)).to_be_visible()
    page.keyboard.press("b")
    page.keyboard.press("l")
    expect(page.locator("details[data-table=b] tbody tr").nth(31)).to_be_visible()
    page.fill("input[name=lanes]", "")
    page.type("input[name=lanes]", "0-3")
    wait_for_rest(page)
    assert "view" not in page.url, "digits typed into a field zoom nothing"


def check_that_a_grid_has_one_tab_stop_and_the_patterns_one(page: Page) -> None:
    assert page.locator("#stage[tabindex='0'], #stage canvas[tabindex]").count() == 1
    assert page.locator(".name[tabindex='0']").count() == 1
    page.evaluate("document.querySelectorAll('.tab[hidden]').forEach((tab) => { tab.hidden = false; })")
    page.locator(".name[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    wait_until(page, "document.activeElement.dataset.name", "t")
    page.keyboard.press("ArrowLeft")
    wait_until(page, "document.activeElement.dataset.name", "g")
    assert page.locator(".name[tabindex='0']").count() == 1


def test_a_warpgroup_s_cell_is_spoken_of_as_warp_and_lane(open_page: Any) -> None:
    page, found = open_page(f"/i/{WIDE}?view=all", stay=True), find(WIDE)
    hover_cell(page, "d", 24, 9)
    (thread, _), *_ = found.operand("d").owner(24, 9)
    expect(page.locator("#panel h2")).to_contain_text(f"Warp {thread // 32}, lane {thread % 32}")
    assert (24, 9) in list_thread_cells(found, "d", thread)
    page.keyboard.press("d")
    expect(page.locator("#spoken")).to_contain_text("warp 0, lane 0, value d0, register 0")
    go_to_query(page, "view=all&pin=d:20,0")
    names = "lanescope.stage.drawn.find((one) => one.name === 'lanes').row_names"
    wait_until(page, f"{names}[0] + {names}.at(-1)", "T32T63")  # the lanes of the pinned warp


def test_keys_work_from_the_load_on_and_a_grid_has_one_tab_stop(open_page: Any) -> None:
    page = open_page(f"/i/{M16}")
    check_that_the_keys_work_from_the_page_s_load(page)
    check_that_a_grid_has_one_tab_stop_and_the_patterns_one(page)
