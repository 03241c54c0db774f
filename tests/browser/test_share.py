"""Share: what is copied is what the menu shows, also after the page has moved on; and a page in another site."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Open
from tests.browser.waiting import wait_until
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


def check_that_the_menu_follows_what_is_pinned_after_the_page_was_sent(page: Page) -> None:
    page.fill("#find", "A[5][9]")
    page.press("#find", "Enter")
    expect(page).to_have_url(re.compile("pin=a:5,9"))
    open_menu(page)
    wait_until(page, "document.querySelector('[data-share-text=link]').textContent === location.href")
    expect(page.locator("[data-share-text=markdown]")).to_contain_text("is in lane 20, register R2, bits 31:16")
    expect(page.locator("[data-share-text=embed]")).to_contain_text("pin=a:5,9")


def check_that_the_frame_is_shown_as_it_is_embedded(page: Page) -> None:
    choose_form(page, "embed")
    expect(page.frame_locator(".share iframe").locator("figcaption")).to_contain_text("8-way bank conflicts")


def test_what_to_copy_is_chosen_by_arrow_keys_and_without_scripts(open_page: Open) -> None:
    page = open_page("/banks?row_bytes=128", scripts=False)
    page.click("details.share > summary")
    page.locator(".share [value=link]").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.locator("[data-share-text=markdown]")).to_be_visible()
    expect(page.locator("[data-share-form]:visible")).to_have_count(1)


def check_that_the_menu_stays_on_the_screen(page: Page) -> None:
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 1000})
        box = page.locator("details.share > div").bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= width


@contextmanager
def serve_blog(body: str) -> Iterator[str]:
    """Another site, of one page."""

    class Post(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Post)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_another_site_frames_the_picture_and_no_other_page(browser: Browser, site: str) -> None:
    page, frames = browser.new_context().new_page(), ("embed/banks?row_bytes=128", "banks?row_bytes=128")
    refused: list[str] = []
    page.on("requestfailed", lambda request: refused.append(request.url))
    with serve_blog("".join(f'<iframe src="{site}/{path}"></iframe>' for path in frames)) as blog:
        page.goto(blog)
        frame = page.frame_locator("iframe >> nth=0")
        expect(frame.locator("figcaption")).to_contain_text("8-way bank conflicts")
        assert frame.locator("img").evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 100
        back = frame.get_by_role("link", name="Open in Lanescope", exact=True)
        assert back.get_attribute("href") == "/banks?row_bytes=128" and back.get_attribute("target") == "_blank"
        assert refused == [f"{site}/{frames[1]}"]
    page.context.close()


def test_a_frame_follows_the_reader_s_theme_without_scripts(open_page: Open) -> None:
    page = open_page("/embed/tmem", scripts=False)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        wait_until(page, "document.images[0].currentSrc.split('?')[1]", f"theme={theme}")
    expect(page.locator("script")).to_have_count(0)


def test_the_menu_shows_the_frame_and_copies_the_picture(open_page: Open) -> None:
    page = open_page("/banks?row_bytes=128")
    open_menu(page)
    check_that_the_menu_stays_on_the_screen(page)
    check_that_the_frame_is_shown_as_it_is_embedded(page)
    check_that_the_picture_is_copied_as_png_and_as_svg(page)


def test_the_menu_follows_what_is_pinned_after_the_page_was_sent_and_stays_on_the_screen(open_page: Open) -> None:
    page = open_page(f"/i/{M16}", scheme="dark")
    check_that_the_menu_follows_what_is_pinned_after_the_page_was_sent(page)
    check_that_the_menu_stays_on_the_screen(page)
