"""The keys that the help page lists: each of them does something on an instruction's page."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Error, Page

from lanescope.app.guide.words import KEYS
from tests.browser.test_instruction import M16
from tests.browser.waiting import is_page_gone, wait_for_rest, wait_until
from tests.sample import take_sample

pytestmark = pytest.mark.browser

# What the list says, as the keyboard's own names, and what is pressed before.
PRESSED = {
    "arrows": ["ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft"],
    "Enter or space": ["Enter", "Space"],
    "Esc": ["Escape"],
    "+  −": ["+", "-"],
}
BEFORE = {"Enter or space": ["d"], "Esc": ["d", "Enter"], "arrows": ["d"], "0": ["+"]}
SNAPSHOT = """() => [location.href, document.activeElement?.id, document.getElementById("spoken")?.textContent,
  document.querySelectorAll("dialog[open], details[open]").length, Boolean(document.fullscreenElement),
  JSON.stringify(globalThis.lanescope?.stage.panels.map((p) => p.window)),
  JSON.stringify(globalThis.lanescope?.state),
  document.documentElement.dataset.theme]"""
# Another page's keys: tests/browser/test_instruction.py presses them there.
ELSEWHERE = {what for _, what in KEYS if what.startswith("in sparsity metadata")}


def has_changed(page: Page, key: str) -> bool:
    before = page.evaluate(SNAPSHOT)
    page.keyboard.press(key)
    for _ in range(50):
        page.wait_for_timeout(20)
        try:
            if "/help" in page.url or page.evaluate(SNAPSHOT) != before:
                return True
        except Error as error:
            if not is_page_gone(error):
                raise
    return False


@pytest.mark.parametrize(
    ("named", "what"), take_sample([row for row in KEYS if row[1] not in ELSEWHERE], 4), ids=lambda text: text[:12]
)
def test_every_listed_key_does_something(open_page: Any, named: str, what: str) -> None:
    page = open_page(f"/i/{M16}", stay=named != "?")  # "?" leaves the page
    for press in BEFORE.get(named, []):
        page.keyboard.press(press)
        page.wait_for_timeout(100)
    for key in PRESSED.get(named) or named.split():
        assert has_changed(page, key), (key, what)
        if key == "z":
            assert page.evaluate("document.fullscreenElement?.id") == "bench"
            page.keyboard.press("z")
            wait_until(page, "!document.fullscreenElement")


def test_a_key_that_is_not_listed_does_nothing(open_page: Any) -> None:
    page = open_page(f"/i/{M16}", stay=True)
    before = page.evaluate(SNAPSHOT)
    page.keyboard.press("q")
    wait_for_rest(page)
    assert page.evaluate(SNAPSHOT) == before
