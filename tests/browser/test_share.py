"""Share: what is copied is what the menu shows, also after the page has moved on; and a page in another site."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.sample import FULL

M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
TEXTS = ("link", "markdown", "latex", "embed")
PAGES = (f"/i/{M16}?pin=a:5,9", "/banks?row_bytes=128", "/guide/swizzle", "/smem", "/tiles/mma")


def open_menu(page: Page, form: str = "") -> None:
    page.click("details.share > summary")
    expect(page.locator("details.share > div")).to_be_visible()
    if form:
        choose_form(page, form)


def choose_form(page: Page, form: str) -> None:
    page.locator(f"details.share label:has([value={form}])").click()
    expect(page.locator(f"[data-share-form={form}]")).to_be_visible()
    expect(page.locator("[data-share-form]:visible")).to_have_count(1)


@pytest.mark.parametrize("path", PAGES if FULL else PAGES[:1])
def test_every_text_is_copied_as_the_menu_shows_it(open_page: Open, path: str) -> None:
    page = open_page(path)
    open_menu(page)
    for name in TEXTS:
        choose_form(page, name)
        shown = page.locator(f"[data-share-text={name}]")
        button = page.locator(".copyable", has=shown).locator("button")
        button.click()
        expect(button).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == shown.text_content()
    assert page.locator("[data-share-text=link]").text_content() == page.url
    expect(page.locator(".copyable .copyable")).to_have_count(0)


def check_that_the_picture_is_copied_as_png_and_as_svg(page: Page) -> None:
    choose_form(page, "png")
    expect(page.locator("[data-share-form=png] [data-size]")).to_have_text(re.compile(r"^\d+ × \d+ pixels$"))
    page.click("[data-copy-picture=png]")
    expect(page.locator("[data-copy-picture=png]")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.read().then(([item]) => item.types)") == ["image/png"]
    expect(page.locator("[data-copy-picture=png]")).to_have_text("Copy PNG")
    choose_form(page, "svg")
    page.click("[data-copy-picture=svg]")
    expect(page.locator("[data-copy-picture=svg]")).to_have_text("Copied")
    address = page.locator("[data-share-link=svg]").evaluate("(link) => link.href")
    assert page.evaluate("navigator.clipboard.readText()") == page.request.get(address).text()
    image = page.locator("[data-picture=svg]")
    assert (
        image.evaluate("(image) => image.src") == address
        and image.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 100
    )


def check_that_the_frame_is_shown_as_it_is_embedded(page: Page) -> None:
    choose_form(page, "embed")
    expect(page.frame_locator(".share iframe").locator("figcaption")).to_contain_text("8-way bank conflicts")


def check_that_the_menu_stays_on_the_screen(page: Page) -> None:
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 1000})
        box = page.locator("details.share > div").bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= width


@pytest.mark.thorough
def test_the_menu_shows_the_frame_and_copies_the_picture(open_page: Open) -> None:
    page = open_page("/banks?row_bytes=128")
    open_menu(page)
    check_that_the_menu_stays_on_the_screen(page)
    check_that_the_frame_is_shown_as_it_is_embedded(page)
    check_that_the_picture_is_copied_as_png_and_as_svg(page)
