"""A page answers an action a moment later: what is read after one is read until it says what is wanted."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Error, Page

# Seconds; a page that is right answers in hundredths, on a loaded machine in seconds.
PATIENCE = float(os.environ.get("LANESCOPE_PATIENCE", "30"))


def is_page_gone(error: Error) -> bool:
    """Whether a page could not be read because it went to another one meanwhile."""
    return "navigat" in str(error) or "context was destroyed" in str(error)


def wait_until(page: Page, read: str | Callable[[], Any], wanted: Any = True) -> None:
    """Read (a JavaScript expression, or a function of the test) again and again until it equals what is wanted.

    AssertionError: it did not in PATIENCE, with both values. Not wait_for_function: that polls with eval, which the
    pages' policy forbids; and page.url moves only while Playwright waits.
    """
    end, pause = time.monotonic() + PATIENCE, 20.0
    while True:
        try:
            seen = page.evaluate(read) if isinstance(read, str) else read()
        except Error as error:  # the page was left while it was read
            if not is_page_gone(error):
                raise
            seen = error
        if seen == wanted:
            return
        if time.monotonic() > end:
            assert seen == wanted
        page.wait_for_timeout(pause)
        pause = min(200.0, 1.5 * pause)  # a busy machine is not asked more often for it


def wait_for_rest(page: Page) -> None:
    """Let handlers, frames and the timers of the page (150 ms) run: for what must not change, or was drawn."""
    page.evaluate(
        "() => new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 200))"
    )


def wait_for_analysis(page: Page, word: str) -> None:
    """Until the page of a descriptor has the server's answer to this word."""
    page.wait_for_selector(f"html[data-analysed='{word}']")


SERVED = """async (selectors) => {
  const text = await (await fetch(location.href)).text(), page = new DOMParser().parseFromString(text, "text/html");
  return selectors.map((css) => [...page.querySelectorAll(css)].map((found) => found.textContent));
}"""
SHOWN = """(selectors) => selectors.map((css) =>
  [...document.querySelectorAll(css)].map((found) => found.textContent))"""


def read_texts(page: Page, *selectors: str, served: bool = False) -> list[list[str]]:
    """Return the texts, without white space, of the parts that match each selector: as the page shows them, or as the
    server sends them to its address, which is what a browser without scripts shows.
    """
    found: list[list[str]] = page.evaluate(SERVED if served else SHOWN, list(selectors))
    return [["".join(text.split()) for text in texts] for texts in found]


def go_to_query(page: Page, query: str) -> None:
    """Show the state of a query as Back does, in one task: the page writes its own state a moment after a change."""
    page.evaluate(
        """(query) => { history.replaceState(null, "", "?" + query); dispatchEvent(new PopStateEvent("popstate")); }""",
        query,
    )
