"""The workbench in a browser: paste, first wrong step, repair; values changed in place; without scripts, too."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Open
from tests.test_workbench import CASES

pytestmark = pytest.mark.browser

TEXT = next(case.text for case in CASES if case.title.startswith("the tensor map, the builder"))
LONG = TEXT + "".join(f"// a comment that says nothing, number {n}\n" for n in range(400))


def test_from_a_paste_to_the_first_wrong_step_and_its_repair(open_page: Open) -> None:
    page = open_page("/read")
    page.get_by_role("textbox").first.fill(TEXT)
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("heading", name="K steps 4 to 7 of A read past the swizzle atom")).to_be_visible()
    rows = page.locator(".steps").first.locator("tbody tr")
    right, wrong = "step-match", "step-mismatch"
    assert [row.get_attribute("class") for row in rows.all()] == [*[right] * 4, wrong, "cause", *[wrong] * 3]
    page.get_by_role("link", name="Show the fix").click()
    expect(page.locator("#verdict")).to_have_attribute("data-verdict", "mismatch")
    page.locator("#apply").click()
    expect(page.locator("#verdict")).to_have_attribute("data-verdict", "match")
    assert "0x4000004000010440" in page.url


def test_a_part_and_its_row_light_together(open_page: Open) -> None:
    page = open_page("/read?" + urlencode({"text": TEXT}))
    page.locator(".found div[data-piece='0']").hover()
    expect(page.locator(".lines mark[data-piece='0']").first).to_have_class(re.compile(r"\blit\b"))
    page.locator(".lines mark.k-instruction").first.hover()
    expect(page.locator(".found .k-instruction")).to_have_class(re.compile(r"\blit\b"))
    expect(page.locator(".lines mark[data-piece='0']").first).not_to_have_class(re.compile(r"\blit\b"))


@pytest.mark.parametrize("scripts", [True, False])
def test_edit_and_assume_work_with_and_without_scripts(browser: Browser, site: str, scripts: bool) -> None:
    context = browser.new_context(java_script_enabled=scripts)
    page = context.new_page()
    try:
        page.goto(site + "/read?" + urlencode({"text": TEXT}))
        page.locator(".assumed summary").click()
        page.get_by_label("sA", exact=True).fill("0x2000")
        page.get_by_role("button", name="Apply").click()
        expect(page.locator(".steps td", has_text="0x2000").first).to_be_visible()
        assert parse_qs(urlsplit(page.url).query)["at.sA"] == ["0x2000"]
        page.get_by_text("Edit", exact=True).click()
        page.locator("textarea#text").fill(LONG)
        page.get_by_role("button", name="Verify").click()
        expect(page.get_by_role("heading", name="K steps 4 to 7 of A")).to_be_visible()
        assert list(parse_qs(urlsplit(page.url).query)) == ["z"]
        assert page.locator(".lines li").count() == len(LONG.rstrip("\n").split("\n"))
    finally:
        context.close()


def test_a_long_paste_in_the_bar_leads_to_its_address(open_page: Open) -> None:
    page = open_page("/read")
    page.get_by_role("textbox").first.fill(LONG)
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("heading", name="K steps 4 to 7 of A")).to_be_visible()
    assert "z=" in page.url
