"""/docs narrows while typing, keeps the filter in the address, and opens what a link names."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Open


def test_routes_narrow_while_typing_and_a_link_to_a_model_opens_it(open_page: Open) -> None:
    page = open_page("/docs")
    total = page.locator(".route:visible").count()
    assert page.evaluate("document.documentElement.scrollHeight") < 30_000
    page.fill("#filter input", "banks solve")
    expect(page.locator(".route:not(.model):visible")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"/docs\?q=banks\+solve$"))
    expect(page.locator("#filter output")).to_contain_text("1 of ")
    page.reload()
    expect(page.locator(".route:not(.model):visible")).to_have_count(1)
    link = page.locator(".route[open] a[href^='#']").first
    name = (link.get_attribute("href") or "").removeprefix("#")
    link.click()
    expect(page.locator(f"#{name}")).to_be_visible()
    expect(page.locator(f"#{name}")).to_be_in_viewport()
    page.fill("#filter input", "")
    expect(page.locator(".route:visible")).to_have_count(total)
