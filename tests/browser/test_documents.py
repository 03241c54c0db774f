"""Figures as a person uses them: the builder, the strides of a tile, the links to pictures; the header."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open

pytestmark = pytest.mark.browser


@pytest.mark.thorough
def test_the_builder_follows_every_choice_and_keeps_a_wrong_one(open_page: Open) -> None:
    page = open_page("/diagram")
    page.locator("select[name=operand]").select_option("a")
    expect(page).to_have_url(re.compile("operand=a"))
    page.locator("select[name=theme]").select_option("bw")
    expect(page).to_have_url(re.compile("theme=bw"))
    page.get_by_label("legend").check()
    expect(page.locator(".paper svg text", has_text="colour = lane / 4")).to_be_visible()
    page.locator("select[name=form]").select_option("md")
    expect(page.locator("pre", has_text="lanescope diagram")).to_contain_text("--theme bw --legend -o")
    with page.expect_download() as download:
        page.get_by_role("link", name="download").click()
    assert "| **0** |" in download.value.path().read_text()
    page.locator("input[name=rows]").fill("9-99")
    page.locator("input[name=rows]").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Rows is 9-99, not inside A")
    expect(page.locator("input[name=rows]")).to_have_value("9-99")
