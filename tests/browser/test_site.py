"""The exported site opened from files, without any server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.test_cli import lanescope


@pytest.mark.browser
def test_it_works_from_a_file(tmp_path: Path, browser: Browser) -> None:
    assert lanescope("export", str(tmp_path), "--family", "ldmatrix", "--family", "stmatrix").returncode == 0
    complaints: list[str] = []
    page: Page = browser.new_context(viewport={"width": 1300, "height": 900}).new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"file://{tmp_path}/index.html")
    page.locator("input[type=search]").fill("stmatrix x2 trans b16")
    expect(page.locator(".count")).to_contain_text("1 of")
    page.locator("#results tbody tr:visible a").first.click()
    page.wait_for_selector("html[data-zoom=ready]", timeout=15000)
    page.locator("select[name=colour]").select_option("t")
    expect(page).to_have_url(re.compile(r"#colour=t$"))
    box = page.locator("#stage").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + box["height"] * 0.6)
    expect(page.locator("#panel h2")).to_contain_text("lane")
    page.reload()
    expect(page.locator("select[name=colour]")).to_have_value("t")
    page.goto(f"file://{tmp_path}/i/ldmatrix.sync.aligned.m8n8.x1.shared.b16.html")
    page.locator("select[data-picker]").last.select_option(index=1)
    expect(page).to_have_url(re.compile(r"/i/ldmatrix\.sync\.aligned\.m8n8\.x2\.shared\.b16\.html"))
    page.goto(f"file://{tmp_path}/guide/swizzle.html")
    page.get_by_role("link", name="base offset").click()
    expect(page.get_by_role("heading", name="The matrix descriptor")).to_be_visible()
    assert complaints == []
