"""The page /emulate in a browser: from a kernel to its timeline, with pointer, keys and without scripts."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from lanescope.app.emulate.examples import build_example
from lanescope.app.emulate.feature import ADD
from tests.browser.conftest import Open

LAUNCH = 'grid = [1]\nblock = [32]\nargs = ["C"]\n[buffer.C]\nshape = [4, 8]\ntype = "u32"\nfill = 5\n'


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


@pytest.mark.thorough
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
