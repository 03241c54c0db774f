"""/docs narrows while typing, keeps the filter in the address, and opens what a link names. Its closed parts are laid
out when they open; then the keyboard reaches what scrolls in them.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.browser.waiting import wait_for_rest

CLOSED_BOX = """() => {
  const details = document.createElement("details"), box = document.createElement("pre");
  box.textContent = "x".repeat(999);
  box.style.cssText = "white-space: pre; overflow: auto; width: 9rem";
  box.className = "added";
  details.append(box);
  document.querySelector("main").append(details);
  dispatchEvent(new Event("resize"));
  return details;
}"""


@pytest.mark.thorough
def test_routes_narrow_while_typing_and_what_opens_is_reached(open_page: Open) -> None:
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
    closed = page.evaluate_handle(CLOSED_BOX)
    wait_for_rest(page)
    assert page.locator("pre.added").get_attribute("tabindex") is None, "it was laid out to be measured"
    closed.evaluate("(details) => { details.open = true; }")
    expect(page.locator("pre.added")).to_have_attribute("tabindex", "0")
