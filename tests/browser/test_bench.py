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
from tests.browser.test_instruction import M16, WIDE, find_centre, hover_cell, list_thread_cells, read_lit_thread
from tests.browser.waiting import PATIENCE, go_to_query, wait_for_rest, wait_until
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


def test_a_double_click_fits_and_leaves_the_pin_as_it_was(open_page: Any) -> None:
    for pin in ("", "&pin=d:0,0"):
        page = open_page(f"/i/{M16}?view=m:0-8,n:0-4{pin}", stay=True)
        page.mouse.dblclick(*find_centre(page, "d", 2, 2))
        wait_until(page, lambda page=page: read_windows(page)["d"], {"x0": 0, "x1": 8, "y0": 0, "y1": 16})
        expect(page).to_have_url(re.compile(f"{pin[-5:]}$" if pin else f"{re.escape(M16)}$"))
        assert page.evaluate("lanescope.state.pin") == pin[5:]


def test_a_tap_pins_and_two_fingers_zoom(site: str, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{site}/i/{M16}")
    page.wait_for_selector("html[data-zoom=ready]")
    page.touchscreen.tap(*find_centre(page, "d", 3, 2))
    expect(page).to_have_url(re.compile("pin=d:3,2"))
    assert page.evaluate("getComputedStyle(document.querySelector('.slot')).touchAction") == "pan-x pan-y"
    x, y = find_centre(page, "d", 3, 4)
    touches = context.new_cdp_session(page)
    for kind, apart in (("touchStart", 30), ("touchMove", 60), ("touchMove", 90)):
        points = [{"x": x - apart, "y": y}, {"x": x + apart, "y": y}]
        touches.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    touches.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(page).to_have_url(re.compile("view="))
    assert read_windows(page)["d"]["y1"] - read_windows(page)["d"]["y0"] == pytest.approx(16 / 3, abs=0.1)
    assert "pin=d:3,2" in page.url
    assert page.evaluate("getComputedStyle(document.querySelector('.slot')).touchAction") == "none"
    context.close()


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


def test_enter_frees_a_pin_that_the_address_gave(open_page: Any) -> None:
    page = open_page(f"/i/{M16}?pin=d:3,2", stay=True)
    page.keyboard.press("Enter")
    expect(page).not_to_have_url(re.compile("pin"))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("pin=d:3,2"))


def test_the_keyboard_takes_the_view_along(open_page: Any) -> None:
    page = open_page(f"/i/{WIDE}?pin=d:15,31", stay=True)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    wait_until(page, lambda: read_windows(page)["d"], {"y0": 1, "y1": 17, "x0": 1, "x1": 33})
    wait_until(page, lambda: read_lit_thread(page), find(WIDE).operand("d").owner(16, 32)[0][0])


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


def check_that_the_buttons_and_the_minimap_move_what_is_shown(page: Page) -> None:
    legend, svg = page.locator("#legend"), page.locator("a[data-form=svg]")
    page.select_option("select[name=label]", "register")
    for link in ("#zoom [data-view=all]", "a[data-state='b_major=MN']"):
        expect(page.locator(link)).to_have_attribute("href", re.compile("label=register&"))
    page.select_option("select[name=label]", "lane:value")
    expect(legend).to_contain_text("Colour = lane group (lane / 4)")  # one warp's rows
    page.click("#zoom [aria-label='Warp 2']")
    wait_until(page, lambda: (read_windows(page)["a"]["y0"], read_windows(page)["d"]["y1"]), (32, 48))
    expect(page.locator("#zoom [aria-current=true]")).to_have_text("2")
    expect(legend).to_contain_text("Colour = lane group (lane / 4)")
    stored = page.inner_html(".mat[data-panel=b] .slot")
    page.click("#zoom [data-view=all]")
    wait_until(page, lambda: page.inner_html(".mat[data-panel=b] .slot") != stored)
    wait_until(page, lambda: read_windows(page)["d"], {"x0": 0, "x1": 256, "y0": 0, "y1": 64})
    expect(legend).to_contain_text("Colour = warp (thread / 32)")
    expect(svg).to_have_attribute("href", re.compile(r"\.svg\?colour=w$"))
    page.click("#zoom [data-zoom=one]")
    wait_until(page, "(({ cellWidth, cellHeight }) => cellWidth >= 43 && cellHeight >= 20)(lanescope.stage.panels[2])")
    expect(page).to_have_url(re.compile("view="))
    box, shown = page.locator(".minimap").bounding_box(), read_windows(page)
    page.mouse.move(box["x"] + box["width"] - 9, box["y"] + box["height"] - 9)
    wait_for_rest(page)
    assert read_windows(page) == shown, "no button is down"
    for down, edges in (
        (box["height"] - 1, (256, 64)),
        (1, (256, read_windows(page)["d"]["y1"] - read_windows(page)["d"]["y0"])),
    ):
        page.mouse.click(box["x"] + box["width"] - 1, box["y"] + down)
        wait_until(page, lambda: (read_windows(page)["d"]["x1"], read_windows(page)["d"]["y1"]), pytest.approx(edges))


def test_plotly_comes_where_a_chart_is_in_sight_and_the_policy_refuses_none_of_it(open_page: Any) -> None:
    """The page fails on any complaint of its console: none of plotly.js's styles is refused, pointed at or saved."""
    page = open_page(f"/i/{M16}?colour=g")
    loaded = "performance.getEntriesByType('resource').filter((r) => r.name.includes('/vendor/')).length"
    page.wait_for_load_state("networkidle")
    assert page.evaluate(loaded) == 0
    wire = page.evaluate(
        "[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]"
        ".reduce((sum, r) => sum + r.transferSize, 0)"
    )
    assert wire <= 150_000
    page.locator("figure.chart[data-spread]").scroll_into_view_if_needed()
    page.wait_for_selector(
        "[data-spread] .modebar", state="attached", timeout=2000 * PATIENCE
    )  # four megabytes of script
    assert page.evaluate(loaded) == 1
    bar, figure = (page.locator(f"figure.chart[data-spread]{part}").bounding_box() for part in (" .modebar", ""))
    assert bar and figure and figure["x"] <= bar["x"] and bar["x"] + bar["width"] <= figure["x"] + figure["width"]
    page.locator("[data-spread] .plot").hover()
    page.locator("[name=spread-over][value=registers]").check()
    page.locator("[data-spread] .plot").press("ArrowRight")
    expect(page.locator("[data-spread] [data-spoken]")).to_have_text("row 0 of D, register 1 of all lanes: 4 elements")
    with page.expect_download() as download:
        page.locator("[data-spread] [data-title^='Download']").click()
    assert download.value.suggested_filename.endswith(".svg")


def check_that_nothing_moves_after_the_first_paint(page: Page) -> None:
    page.wait_for_load_state("networkidle")
    moved = page.evaluate(
        "() => new Promise((done) => { let sum = 0; new PerformanceObserver((list) => { for (const e of"
        " list.getEntries()) sum += e.value; }).observe({ type: 'layout-shift', buffered: true });"
        " setTimeout(() => done(sum), 100); })"
    )
    assert moved < 0.01


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


def test_a_wide_page_holds_still_and_follows_its_buttons(open_page: Any) -> None:
    page = open_page(f"/i/{WIDE}")
    check_that_nothing_moves_after_the_first_paint(page)
    check_that_the_buttons_and_the_minimap_move_what_is_shown(page)
