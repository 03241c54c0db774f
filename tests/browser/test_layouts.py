"""Pages of layouts under the pointer: an element, its thread in every picture, its bits in the matrix; a click pins."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_instruction import find_centre, hover_cell
from tests.browser.waiting import wait_until

pytestmark = pytest.mark.browser


def list_lit_cells(page: Page) -> Any:
    return json.loads(page.locator("#stage").get_attribute("data-lit") or "null")


def test_an_element_lights_its_thread_everywhere_and_its_bits(open_page: Any) -> None:
    page = open_page("/layouts/tv")
    hover_cell(page, "tile", 9, 3)
    expect(page.locator("#panel")).to_contain_text("Tile (9,3): value V3, bank 9.")
    assert list_lit_cells(page) == {"thread": 5, "cells": {"tile": 8, "table": 8}}, (
        "all values of the thread, in both directions"
    )
    assert page.locator("td.lit, th.lit").evaluate_all("(all) => [...new Set(all.map((e) => e.dataset.bit))]") == [
        "register-0",
        "register-1",
        "lane-0",
        "lane-2",
    ]
    expect(page.locator("#panel tbody tr").first).to_have_text("V0(1,2)")
    page.mouse.click(*find_centre(page, "table", 6, 0))
    expect(page).to_have_url(re.compile("pin=table:6,0"))
    expect(page.locator("#panel h2")).to_contain_text("Thread 6")


@pytest.mark.thorough
def test_keys_walk_the_cells_speak_them_and_open_the_table(open_page: Any) -> None:
    page = open_page("/layouts/triton?lanes=0-7&colour=lane")
    page.fill("#view [name=lanes]", "0-15")
    page.press("#view [name=lanes]", "Tab")
    page.locator("#stage").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    expect(page.locator("#spoken")).to_have_text("Tensor row 1 column 1: warp 0, lane 4, register 1")
    page.keyboard.press("l")
    table = page.locator("details[data-table=tile] table")
    expect(table.locator("tbody tr")).to_have_count(32)
    expect(table.locator("tbody tr").nth(4)).to_contain_text("R1 (1,1)")
    page.locator(".ask-layout [name=shape]").fill("64x32")
    with page.expect_navigation():
        page.locator(".ask-layout [name=shape]").press("Enter")
    expect(page).to_have_url(re.compile("shape=64x32.*colour=lane.*lanes=0-15"))


def test_bits_of_a_lane_are_those_within_its_warp(open_page: Any) -> None:
    page = open_page("/layouts/triton")
    thread, row, col = page.evaluate("""(({ cols, operand: { thread, copies } }) => {
      const cell = thread.findIndex((one) => one > 32 && one % 4 !== (one >> 5) % 4) / copies | 0;
      return [thread[cell * copies], Math.floor(cell / cols), cell % cols];
    })(lanescope.stage.panels[0])""")
    hover_cell(page, "tile", row, col)
    lit_bits = "[...new Set([...document.querySelectorAll('[data-bit].lit')].map((one) => one.dataset.bit))]"
    wait_until(page, f"{lit_bits}.length > 0")
    held = {bit for bit in page.evaluate(lit_bits) if not bit.startswith("register")}
    wanted = {f"lane-{bit}" for bit in range(5) if thread % 32 >> bit & 1}
    assert held == wanted | {f"warp-{bit}" for bit in range(3) if thread // 32 >> bit & 1}


@pytest.mark.thorough
def test_an_element_of_many_threads_and_one_of_none(open_page: Any) -> None:
    page = open_page("/layouts/tv?cute=(32,8):(0,1)&tile=9x1&pin=tile:2,0")
    expect(page.locator("#panel")).to_contain_text(re.compile(r"Also in (thread \d+ .*){4} and 27 more\."))
    page.keyboard.press("Escape")
    page.locator("#stage").focus()
    for _ in range(9):
        page.keyboard.press("ArrowDown")
    expect(page.locator("#spoken")).to_have_text("Tile row 8 column 0: nobody")
    expect(page.locator("#panel h2")).to_have_text("No thread holds (8,0)")
