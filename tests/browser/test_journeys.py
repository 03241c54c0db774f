"""Whole ways through the product, counted in actions, and what an instruction's page keeps on every screen."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from lanescope import find
from tests.browser.test_instruction import M16, WIDE, hover_cell
from tests.browser.waiting import read_texts

pytestmark = pytest.mark.browser


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
