"""The bench of whole tiles as a person uses it: one thread lit in A, B and C, steps, regions, warps, other tiles."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from lanescope.app.tiles import presets
from tests.browser.test_instruction import find_centre, hover_cell
from tests.browser.test_layouts import list_lit_cells
from tests.browser.waiting import wait_until
from tests.sample import take_rows
from tests.test_tiles_page import build_tiled_mma

pytestmark = pytest.mark.browser

OWNERS = """async () => {
  const { owners } = await import("/static/instruction/owners.js");
  return Object.fromEntries(lanescope.stage.panels.map((panel) => [panel.name,
    Array.from({ length: panel.rows * panel.cols }, (_, cell) => owners({ panel, row: Math.floor(cell / panel.cols),
      col: cell % panel.cols }).map(({ thread, value }) => [thread, value]))]));
}"""


@pytest.mark.parametrize("name", take_rows(["volta", "fa3_pv"], 1))
def test_the_page_says_of_every_element_who_holds_it(open_page: Any, name: str) -> None:
    fields = next((one.fields for one in presets.PRESETS if one.name == name), {})
    fields = fields | ({"tile": "128x128x16"} if name == "fa3_pv" else {})
    made = build_tiled_mma(fields)
    page = open_page("/tiles/mma?" + "&".join(f"{k}={v}" for k, v in fields.items()))
    said = page.evaluate(OWNERS)
    for letter in "abc":
        op = made.operand(letter)
        for cell in range(0, op.row_count * op.col_count, 7):
            row, col = divmod(cell, op.col_count)
            assert [tuple(one) for one in said[letter][cell]] == op.owner(row, col)


def check_that_a_drag_lights_the_threads_of_a_region(page: Page) -> None:
    end, start = find_centre(page, "c", 8, 8), find_centre(page, "c", 15, 11)
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=3)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"sel=c:8-15,8-11"))
    found = {t for row in range(8, 16) for col in range(8, 12) for t, _ in build_tiled_mma({}).c.owner(row, col)}
    assert list_lit_cells(page)["threads"] == len(found) == 16
    expect(page.locator("#panel h2")).to_contain_text("16 threads")
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("sel="))


@pytest.mark.thorough
def test_a_thread_is_lit_in_all_three_and_its_registers_are_listed(open_page: Any) -> None:
    page = open_page("/tiles/mma?view=all")
    check_that_a_drag_lights_the_threads_of_a_region(page)
    hover_cell(page, "c", 19, 2)
    wait_until(page, lambda: list_lit_cells(page), {"thread": 45, "cells": {"a": 32, "b": 32, "c": 32}})
    panel = page.locator("#panel")
    expect(panel).to_contain_text("Thread 45")
    expect(panel.locator("tr").first).to_have_text("R0(19,2) (19,3)")
    page.mouse.click(*find_centre(page, "a", 19, 2))
    expect(page).to_have_url(re.compile(r"pin=a:19,2"))
    expect(panel).to_contain_text("A (19,2): register R0. Also in thread 109 (warp 3) as value 0.")
    page.keyboard.press("l")
    rows = page.locator("details[data-table=a] tbody tr")
    expect(rows).to_have_count(32)
    assert rows.nth(1).inner_text().split()[:2] == ["33", "1"], "warp 1: thread, lane"
    tints = """((a) => new Set(new Uint32Array(
      a.image.getContext("2d").getImageData(0, 0, a.cols, a.rows).data.buffer)).size)(lanescope.stage.panels[0])"""
    full = page.evaluate(tints)
    page.locator("[name=k]").fill("1")
    expect(page.locator("label:has([name=k]) output")).to_have_text("1 of 0–1")
    wait_until(page, lambda: list_lit_cells(page)["cells"], {"a": 16, "b": 16, "c": 32})
    expect(page).to_have_url(re.compile(r"k=1.*pin=a:19,2|pin=a:19,2.*k=1"))
    assert page.evaluate(tints) > full, "the other step is drawn lighter"
    page.reload()
    assert list_lit_cells(page)["cells"] == {"a": 16, "b": 16, "c": 32}
