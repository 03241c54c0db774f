"""Two products in a row in a browser: the way to the second, its steps, a pin that goes from D into A and on."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.waiting import wait_until

M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
READY = "document.documentElement.dataset.stepper === 'ready'"


def opened(open_page: Open, query: str = "", **more: object) -> Page:
    page = open_page(f"/steps/{M16}?then={M16}&{query}", **more)
    wait_until(page, READY)
    return page


@pytest.mark.thorough
def test_a_pin_of_d_keeps_its_history_into_a_and_the_second_d(open_page: Open) -> None:
    """By hand: D[5][3] is R1 of lane 4 · 5 + 1; columns 2 and 3 of rows 0–7 are packed into R0."""
    page = opened(open_page, "step=72&pin=d:5,3")
    life = page.locator("#life")
    for key in ("End", "Home"):
        page.keyboard.press(key)
        for text in ("lane 21, R1:", "stays in lane 21, A₂ R0 bits 31:16", "times B₂[3][0…7], into D₂[5][0…7]"):
            expect(life).to_contain_text(text)
    page.get_by_role("button", name="k = 3: times").click()
    expect(page.locator("#step-phase")).to_contain_text("7 · Second product")
    expect(page.locator("#step-count")).to_have_text("80 / 95")
    check_that_a_click_pins_an_element_of_the_second_d(page)
    check_that_a_phone_shows_the_areas_of_every_phase(page)


def check_that_a_click_pins_an_element_of_the_second_d(page: Page) -> None:
    page.keyboard.press("End")
    expect(page.locator("#step-count")).to_have_text("95 / 95")
    canvas = page.locator("#scene canvas[role=img]").bounding_box()
    assert canvas
    page.mouse.move(canvas["x"] + canvas["width"] - 10, canvas["y"] + canvas["height"] - 14)
    expect(page.locator("#step-out")).to_contain_text("D₂[15][7] =")
    page.mouse.down()
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"[?&]pin=o:15,7(&|$)"))


def check_that_a_phone_shows_the_areas_of_every_phase(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for step in (94, 84, 74):
        for _ in range(1 if step == 94 else 10):
            page.keyboard.press("ArrowLeft")
        expect(page.locator("#step-count")).to_have_text(f"{step} / 95")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), step
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_an_element_of_the_second_d_adds_up_step_by_step(open_page: Open) -> None:
    page = opened(open_page, "step=76&pin=o:5,3")
    life = page.locator("#life")
    expect(life).to_contain_text("D₂[5][3] = not yet")
    sums = set()
    for step, presses in ((77, 1), (80, 3), (92, 12)):
        for _ in range(presses):
            page.keyboard.press("ArrowRight")
        expect(page.locator("#step-count")).to_have_text(f"{step} / 95")
        expect(life).to_contain_text(f"sum after k = {step - 77}:")
        sums.add(life.locator("h2").inner_text())
    assert len(sums) > 1
