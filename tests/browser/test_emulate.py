"""The page /emulate in a browser: from a kernel to its timeline, with pointer, keys and without scripts."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from lanescope.app.emulate.examples import build_example
from lanescope.app.emulate.feature import ADD
from tests.browser.conftest import Open

LAUNCH = 'grid = [1]\nblock = [32]\nargs = ["C"]\n[buffer.C]\nshape = [4, 8]\ntype = "u32"\nfill = 5\n'
ENDED = re.compile(r"^wait for phase \d of (?:full|empty)\[\d\].*; ended by (?:TMA loads|warp \d), step \d+$")


def find_wait(page: Page, of: str) -> Locator:
    """The first wait for the end of a phase of an mbarrier, which something ended."""
    title = re.compile(rf"^wait for phase \d of {re.escape(of)}")
    return page.locator("[data-timeline] .span.run-wait").filter(has=page.locator("title", has_text=title)).first


def test_a_pasted_kernel_gets_a_launch_and_runs(open_page: Open) -> None:
    page = open_page("/emulate")
    page.locator("[name=ptx]").fill(ADD)
    page.get_by_role("button", name="Fill in the launch").click()
    launch = page.locator("[name=launch]")
    expect(launch).to_have_value(re.compile(r'"A",  # out: \.u64, a pointer'))
    expect(page.locator("[data-verdict]")).to_have_count(0)
    launch.fill(LAUNCH)
    page.get_by_role("button", name="Run one cluster").click()
    expect(page.locator("[data-verdict=finished]")).to_be_visible()
    rows = page.get_by_role("region", name="First elements of C").get_by_role("row")
    expect(rows).to_have_count(4)
    expect(rows.first).to_have_text("66666666")
    expect(launch).to_have_value(LAUNCH)
    launch.fill(LAUNCH.replace("[32]", "[64]"))
    page.get_by_role("button", name="Run one cluster").click()
    expect(page.locator("[data-verdict=fault] h2")).to_have_text("Fault: a GPU would stop here.")
    expect(page.get_by_role("link", name="line 12")).to_have_attribute("href", "#line-12")


def test_the_pointer_shows_what_ends_a_wait_and_what_an_arrival_ends(open_page: Open) -> None:
    page = open_page("/emulate?example=ring")
    said, links = page.locator(".said"), page.locator("[data-timeline] .link.on")
    full = find_wait(page, "full[0]")
    full.hover()
    expect(said).to_have_text(ENDED)
    expect(said).to_contain_text("ended by TMA loads")  # the copy's bytes end phase 0 of full
    expect(links).to_have_count(1)
    expect(page.locator("[data-timeline] .span.run-copy.on")).to_have_count(1)
    empty = find_wait(page, "empty[0]")
    empty.hover()
    expect(said).to_contain_text("ended by warp 1")
    arrival = page.locator("[data-timeline] .mark.run-arrive.on")
    expect(arrival).to_have_count(1)
    page.locator("h1").hover()
    expect(links).to_have_count(0)
    lane, step = (empty.get_attribute(f"data-{name}") for name in ("lane", "step"))
    link = page.locator(f"[data-timeline] .link[data-lane='{lane}'][data-step='{step}']")
    place = [link.get_attribute(f"data-from-{name}") for name in ("lane", "step")]
    page.locator(f"[data-timeline] .mark[data-lane='{place[0]}'][data-step='{place[1]}']").last.hover()
    expect(empty).to_have_class(re.compile(r"\bon\b"))
    expect(link).to_have_class("link on")
    page.locator("h1").hover()
    expect(links).to_have_count(0)
    check_that_the_arrow_keys_go_from_wait_to_wait(page)


def check_that_the_arrow_keys_go_from_wait_to_wait(page: Page) -> None:
    said = page.locator(".said")
    page.keyboard.press("ArrowRight")
    expect(said).to_have_text("")
    page.get_by_role("group", name="Timeline, in steps").focus()
    page.keyboard.press("ArrowRight")
    expect(said).to_have_text(ENDED)
    first = said.text_content() or ""
    page.keyboard.press("ArrowRight")
    expect(said).not_to_have_text(first)
    expect(said).to_have_text(ENDED)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(said).to_have_text(first)
    expect(page.locator("[data-timeline] .span.run-wait.on")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator("[data-timeline] .on")).to_have_count(0)


def test_the_guide_has_the_same_timeline(open_page: Open) -> None:
    page = open_page("/guide/barriers-and-pipelines?example=ring-arrive")
    page.get_by_role("group", name="Timeline, in steps").focus()
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".said")).to_have_text(
        re.compile(r"^wait for phase \d of (full|empty)\[0\].* and on, line \d+$")
    )
    expect(page.locator(".status .key.run-stuck")).to_have_count(1)


def test_without_scripts_a_kernel_runs_and_a_table_says_what_ends_each_wait(open_page: Open) -> None:
    ptx, launch = build_example("ring")
    page = open_page("/emulate", scripts=False, wait=False)
    page.locator("[name=ptx]").fill(ptx)
    page.locator("[name=launch]").fill(launch)
    page.get_by_role("button", name="Run one cluster").click()
    expect(page.locator("[data-verdict=finished]")).to_be_visible()
    expect(page.locator("[data-timeline] svg")).to_have_count(2)
    page.get_by_text(re.compile(r"\d+ waits, and what ended each")).click()
    waits = page.get_by_role("region", name="Waits").get_by_role("row")
    expect(waits.filter(has_text="full[0]").first).to_contain_text(re.compile("TMA loads, step"))
    expect(waits.filter(has_text="empty[0]").first).to_contain_text(re.compile("warp 1, step"))
