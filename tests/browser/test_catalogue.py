"""The catalogue narrows while typing and leads on."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def test_typing_narrows_and_the_url_keeps_it(open_page: Any) -> None:
    page = open_page("/")
    assert page.evaluate("document.activeElement.type") == "search"
    assert page.locator(".thumbs li").count() == 12
    page.keyboard.type("wgmma e4m3 e5m2 k32 n64")
    expect(page.locator(".count strong")).to_have_text("4")
    assert page.locator(".list tbody tr").count() == 4
    expect(page).to_have_url(re.compile(r"q=wgmma\+e4m3\+e5m2\+k32\+n64"))
    page.select_option("select[name=target]", "sm_80")
    expect(page.locator(".count strong")).to_have_text("0")
    page.select_option("select[name=target]", "")
    page.fill("input[type=search]", "")
    expect(page.locator(".thumbs li")).to_have_count(12)


def test_a_pasted_line_leads_to_its_page(open_page: Any) -> None:
    page = open_page("/")
    page.fill("input[type=search]", f'    "{M16} " {{%0,%1,%2,%3}}, {{%4}}')
    expect(page.locator("#guess")).to_have_text(M16)
    page.press("input[type=search]", "Enter")
    page.wait_for_url(f"**/i/{M16}")


def test_a_wrong_line_keeps_what_was_typed_and_names_the_part(open_page: Any) -> None:
    page = open_page("/")
    page.fill("input[type=search]", "mma.m16n8k12.row.col.f32.f16.f16.f32")
    expect(page.locator("#results .notice")).to_contain_text("shape 'm16n8k12'")
    assert page.input_value("input[type=search]") == "mma.m16n8k12.row.col.f32.f16.f16.f32"


def test_without_scripts(open_page: Any) -> None:
    page = open_page("/", scripts=False)
    page.select_option("select[name=family]", "wgmma")
    page.fill("input[name=shape]", "m64n96k16")
    page.click("#filters button")
    assert page.locator(".list tbody tr").count() == 3
