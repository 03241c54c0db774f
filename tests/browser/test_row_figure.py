"""The live figure of the page "128 bytes": its script computes what the engine does; keys and drags move it."""

from __future__ import annotations

import random
import re
from dataclasses import asdict

import pytest
from playwright.sync_api import Page, expect

from lanescope.app.guide import row_figure
from lanescope.app.guide.row_figure import RowState
from tests.browser.conftest import Open
from tests.browser.waiting import wait_until
from tests.sample import choose_count

pytestmark = pytest.mark.browser
PAGE = "/guide/128-bytes"
ASK = """async (states) => {
  const row = await import("/static/guide/row.js");
  const all = (state, at, columns) => Array.from({ length: row.ROWS }, (_, r) =>
    Array.from({ length: columns }, (_, c) => at(state, r, c)));
  return states.map((state) => [
    all(state, row.stored, row.CHUNKS), all(state, row.read, row.STEP_CHUNKS), row.groups(state),
    row.describeXor(state), row.describeRead(state), row.describeBanks(state),
  ]);
}"""


DRAWN = """async () => {
  const served = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  const facts = (node) => [node.getAttribute("class"), node.textContent,
    ...["x", "y", "height", "d"].map((name) => node.getAttribute(name))];
  return [document, served].map((page) =>
    [...page.querySelectorAll("#row-figure :is(rect, path, text)")].map(facts));
}"""


def _pick_states(count: int) -> list[RowState]:
    chooser = random.Random(128)
    return [
        RowState(
            start=16 * chooser.randrange(64),
            pitch=chooser.choice((128, 128, 144, 160)),
            swizzle=chooser.choice(row_figure.NAMES),
            by=chooser.choice(row_figure.SWIZZLED_BY),
            row=chooser.randrange(8),
            chunk=chooser.randrange(8),
        )
        for _ in range(count)
    ]


def test_the_script_computes_what_the_engine_does(open_page: Open) -> None:
    """Addresses, reads, banks and sentences of many states."""
    page = open_page(PAGE)
    states = _pick_states(choose_count(400, 100))
    answers = page.evaluate(ASK, [asdict(state) for state in states])
    for state, answer in zip(states, answers, strict=True):
        expected = [
            row_figure.list_stored(state),
            row_figure.list_read(state),
            row_figure.count_groups(state),
            row_figure.describe_xor(state),
            row_figure.describe_read(state),
            row_figure.describe_banks(state),
        ]
        assert answer == expected, state


@pytest.mark.thorough
def test_the_script_draws_what_the_server_draws(open_page: Open) -> None:
    """Moved there by script or asked by address, a state has the same picture."""
    for state in _pick_states(2):
        query = "&".join(f"{name}={value}" for name, value in asdict(state).items())
        live, served = open_page(f"{PAGE}?{query}").evaluate(DRAWN)
        assert live and live == served, state


@pytest.mark.thorough
def test_keys_and_sliders_move_it_and_the_address_follows(open_page: Open) -> None:
    page = open_page(PAGE)
    page.locator(".row-figure").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("]")
    expect(page).to_have_url(re.compile(re.escape(f"{PAGE}?start=16&pitch=144&row=4") + "$"))
    expect(page.locator("#row-read")).to_contain_text("from the wrong place")
    page.get_by_label("Row pitch, bytes").focus()
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile(re.escape(f"{PAGE}?start=16&row=4") + "$"))
    expect(page.locator("#row-read")).to_contain_text("reads all 16 chunks")
    page.reload()
    expect(page.locator("#row-xor")).to_contain_text("row 4, chunk 0: 0x210")
    check_that_arrows_scroll_the_figure_where_it_is_wider_than_the_screen(page)


def check_that_arrows_scroll_the_figure_where_it_is_wider_than_the_screen(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator(".row-figure").focus()
    page.keyboard.press("ArrowRight")
    wait_until(page, "document.querySelector('.row-figure').scrollLeft > 0")
    expect(page.get_by_label("Start address, bytes")).to_have_value("16")
