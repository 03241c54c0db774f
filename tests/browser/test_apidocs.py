"""/docs narrows while typing, keeps the filter in the address, and opens what a link names."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Open


def test_routes_narrow_while_typing_and_a_link_to_a_model_opens_it(open_page: Open) -> None:
    page = open_page("/docs?q=banks+solve")
    narrowed, shown = page.locator(".route:not(.model):visible"), page.locator(".route:visible")
    expect(narrowed).to_have_count(1)
    page.fill("#filter input", "")
    expect(shown).to_have_count(page.locator(".route").count())
    expect(page).to_have_url(re.compile("/docs$"))
    assert page.evaluate("document.documentElement.scrollHeight") < 30_000
    page.fill("#filter input", "banks solve")
    expect(narrowed).to_have_count(1)
    expect(page).to_have_url(re.compile(r"/docs\?q=banks\+solve$"))
    expect(page.locator("#filter output")).to_contain_text("1 of ")
    link = page.locator(".route[open] a[href^='#']").first
    name = (link.get_attribute("href") or "").removeprefix("#")
    link.click()
    expect(page.locator(f"#{name}")).to_be_visible()
    expect(page.locator(f"#{name}")).to_be_in_viewport()
