"""A tool's page in a browser: a copy button beside its text, a form that is sent at once, paper without forms."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open

pytestmark = pytest.mark.browser


def check_that_copy_buttons_leave_their_text_free(page: Page) -> None:
    for holder in page.locator(".copyable:not(.share *)").all():
        text, button = holder.locator("pre").bounding_box(), holder.locator("button").bounding_box()
        assert text and button and text["x"] + text["width"] <= button["x"]
    first = page.locator(".copyable:not(.share *)").first
    first.locator("button").click()
    expect(first.locator("button")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == first.locator("pre").text_content()


def check_that_what_is_blank_is_left_out_of_the_address(page: Page) -> None:
    form = page.locator("form[data-auto]").first
    assert form.evaluate("""(form) => {
      const blank = form.appendChild(Object.assign(document.createElement("input"), { name: "blank" }));
      form.addEventListener("submit", (event) => event.preventDefault(), { once: true });
      form.requestSubmit();
      return blank.disabled && [...form.elements].some((one) => one.name && !one.disabled);
    }""")
    page.reload()


def check_that_text_is_sent_when_the_focus_leaves_the_form(page: Page) -> None:
    """Nothing that is typed into the next field is lost; with the keyboard, the field keeps the focus."""
    typed = {"lanes": "0-3", "rows": "8-11"}
    for name, text in typed.items():
        page.locator(f"form[data-auto] [name={name}]").focus()
        page.keyboard.press("Control+A")
        page.keyboard.type(text)
    page.keyboard.press("Tab")
    for name, text in typed.items():
        expect(page.locator(f"form[data-auto] [name={name}]")).to_have_value(text)
    with page.expect_navigation():
        page.locator("#theme").focus()
    query = parse_qs(urlsplit(page.url).query)
    assert {name: query[name] for name in typed} == {name: [text] for name, text in typed.items()}
    expect(page.locator("[name=rows]")).to_be_focused()


def check_that_a_choice_is_sent_at_once_and_keeps_the_focus(page: Page) -> None:
    page.locator("[name=label]").focus()
    with page.expect_navigation(url=re.compile("label=register&.*lanes=0-3")):
        page.keyboard.press("ArrowDown")
    expect(page.locator("[name=label]")).to_be_focused()


def check_that_paper_has_no_forms(page: Page) -> None:
    page.emulate_media(media="print", color_scheme="dark")
    for kind in ("form", "header", ".next", ".btn"):
        for element in page.locator(kind).all():
            expect(element).to_be_hidden()
    black = "getComputedStyle(document.body).color + getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(black) == "rgb(0, 0, 0)rgb(255, 255, 255)"


@pytest.mark.thorough
def test_a_tool_copies_its_text_sends_its_form_and_is_printed_without_it(open_page: Open) -> None:
    page = open_page("/diagram", wait=False)
    check_that_copy_buttons_leave_their_text_free(page)
    check_that_what_is_blank_is_left_out_of_the_address(page)
    check_that_text_is_sent_when_the_focus_leaves_the_form(page)
    check_that_a_choice_is_sent_at_once_and_keeps_the_focus(page)
    check_that_paper_has_no_forms(page)
