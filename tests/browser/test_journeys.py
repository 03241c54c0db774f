"""Whole ways through the product, counted in actions, and what an instruction's page keeps on every screen."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from lanescope import find
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import Tile
from tests.browser.test_instruction import M16, WIDE, hover_cell
from tests.browser.waiting import read_texts

pytestmark = pytest.mark.browser


def read_labels(page: Page) -> dict[str, float]:
    sizes: dict[str, float] = page.evaluate(
        "Object.fromEntries(lanescope.stage.panels.filter((p) => p.operand).map((p) => [p.name, p.labelled]))"
    )
    return sizes


def check_that_a_wgmma_opens_with_labels(page: Page) -> None:
    assert min(read_labels(page).values()) >= 6.5
    shown = page.evaluate("lanescope.stage.panels.find((p) => p.name === 'd').window")
    texts = page.locator(".mat[data-panel=b] svg .labels text").first.locator("tspan")
    expect(texts).to_have_count(shown["x1"] - shown["x0"])
    assert "view" not in page.url and page.locator("#zoom [aria-current]").inner_text() == "Warp 0"


def test_a_wgmma_opens_on_a_phone_with_labels_and_four_rows_of_d_above_the_fold(open_page: Any) -> None:
    page = open_page(f"/i/{WIDE}", width=320, height=844)
    check_that_a_wgmma_opens_with_labels(page)
    top = page.evaluate("document.querySelector('.mat[data-panel=d] .slot').getBoundingClientRect().top")
    assert top < 844 - 4 * 21


def test_b_of_a_wgmma_is_its_tile_and_opens_its_descriptor(open_page: Any) -> None:
    """16 rows of 32 bf16: each column is two chunks of 16 bytes, which have a number each."""
    page = open_page(f"/i/{WIDE}", height=844)
    check_that_a_wgmma_opens_with_labels(page)
    texts = page.locator(".mat[data-panel=b] svg .labels text")
    expect(texts).to_have_count(2)
    tile = Tile(16, "K", get_mode("128B"), 256, 64)
    for number, column in enumerate((0, 8)):
        offsets = texts.nth(number).locator("tspan").all_text_contents()
        assert [int(at) for at in offsets] == [int(tile.address(n, column)) for n in range(32)]
    size = page.locator(".mat[data-panel=b] .labels").evaluate("(g) => parseFloat(getComputedStyle(g).fontSize)")
    assert size >= 8
    page.click(".mat[data-panel=b] figcaption > a")
    expect(page).to_have_url(re.compile(f"/descriptor/wgmma/{tile.descriptor()}.*operand=b"))
    expect(page.locator("main")).to_contain_text("256")


def test_64_rows_of_b_leave_room_for_d(open_page: Any) -> None:
    page = open_page("/i/mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", height=930)  # the answer stands above
    bottoms = [page.locator(css).bounding_box() for css in (".mat[data-panel=d] .slot", "#panel")]
    assert all(box["y"] + box["height"] <= 930 for box in bottoms)
    assert min(read_labels(page).values()) >= 6.5
    assert page.evaluate("Math.min(...lanescope.stage.panels.map((p) => p.cellHeight))") >= 11


SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"


@pytest.mark.parametrize("path", [f"{SPARSE}?pin=d:8,5", f"{WIDE}?pin=d:9,4&colour=i"])
def test_the_legend_and_the_terms_are_those_that_the_server_sends(open_page: Any, path: str) -> None:
    """A sparse term names the group that the metadata chooses from."""
    page, parts = open_page(f"/i/{path}"), ("#legend", "#trace")
    shown = read_texts(page, *parts)
    assert shown == read_texts(page, *parts, served=True) and all(len(text) > 15 for (text,) in shown)
    fills = "[...document.querySelectorAll('#legend i')].map((box) => getComputedStyle(box).backgroundColor)"
    assert len(set(page.evaluate(fills))) > 1
    lines = page.inner_text("#trace").splitlines()
    if path.startswith(SPARSE):
        assert len(lines) == 17 and lines[1].endswith("B[0–3][5]") and lines[16].endswith("B[28–31][5]")


def test_from_home_to_a_lanes_registers_is_a_paste_and_a_hover(open_page: Any) -> None:
    page, found = open_page("/"), find(M16)
    line = f"  {M16} {{%f0,%f1,%f2,%f3}}, {{%r0,%r1,%r2,%r3}}, {{%r4,%r5}}, {{%f0,%f1,%f2,%f3}};"
    page.evaluate("text => navigator.clipboard.writeText(text)", line)
    page.locator("main [name=q], main [name=text]").first.focus()
    page.keyboard.press("Control+V")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/i/{M16}*")
    page.wait_for_selector("html[data-zoom=ready]")
    hover_cell(page, "a", 11, 2)
    (thread, _), *_ = found.operand("a").owner(11, 2)
    expect(page.locator("#panel h2")).to_contain_text(f"Lane {thread}")
    expect(page.locator("#panel table.registers").first).to_contain_text("A[11][2]")


def test_the_figure_page_gets_the_pin(open_page: Any) -> None:
    page = open_page(f"/i/{M16}")
    page.fill("[name=lanes]", "0-3")
    page.press("[name=lanes]", "Tab")
    hover_cell(page, "d", 0, 2)
    page.mouse.down()
    page.mouse.up()
    expect(page.locator("a[data-figure]")).to_have_attribute("href", re.compile("lanes=0-3&.*pin=d"))
    page.keyboard.press("Escape")
    expect(page.locator("a[data-figure]")).not_to_have_attribute("href", re.compile("pin="))
