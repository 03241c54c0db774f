"""The stepper of one ldmatrix or stmatrix in a browser: keys, a pin with its history, the switch, the form."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.waiting import wait_until

LOAD = "/steps/ldmatrix.sync.aligned.m8n8.x4.shared.b16"
READY = "document.documentElement.dataset.stepper === 'ready'"


def opened(open_page: Open, path: str, query: str = "", **more: object) -> Page:
    page = open_page(f"{path}?{query}", **more)
    wait_until(page, READY)
    return page


def test_keys_step_and_a_pin_keeps_its_history(open_page: Open) -> None:
    page = opened(open_page, LOAD, "pin=s:5,9")
    life = page.locator("#life")
    for key, step in (("ArrowRight", 2), ("End", 39), ("Home", 1)):
        page.keyboard.press(key)
        expect(page.locator("#step-count")).to_have_text(f"{step} / 39")
        for text in ("S[5][9] = 329", "byte 0x2C2", "lane 21 gives the address 0x2C0", "lane 20, R2 bits 31:16"):
            expect(life).to_contain_text(text)
    page.get_by_role("button", name="arrives in lane 20").click()
    expect(page.locator("#step-caption")).to_contain_text("Lane 21 gives 0x2C0")
    expect(page).to_have_url(re.compile(r"step=25&pin=s:5,9|pin=s:5,9&step=25"))
    check_that_a_click_in_memory_pins_the_element_under_the_pointer(page)
    check_that_a_phone_shows_the_areas_of_every_phase(page)


def check_that_a_click_in_memory_pins_the_element_under_the_pointer(page: Page) -> None:
    page.keyboard.press("End")
    expect(page.locator("#step-count")).to_have_text("39 / 39")
    canvas = page.locator("#scene canvas[role=img]").bounding_box()
    assert canvas
    page.mouse.move(canvas["x"] + canvas["width"] - 10, canvas["y"] + canvas["height"] - 14)
    expect(page.locator("#step-out")).to_contain_text("S[15][15] = 975")
    page.mouse.click(canvas["x"] + 50, canvas["y"] + 44)  # the first byte of the first line
    expect(page).to_have_url(re.compile(r"pin=s:0,0"))


def check_that_a_phone_shows_the_areas_of_every_phase(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for key, step in (("ArrowLeft", 38), ("Home", 1), ("Shift+ArrowRight", 2)):
        page.keyboard.press(key)
        expect(page.locator("#step-count")).to_have_text(re.compile(r" / 39$") if step == 2 else f"{step} / 39")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), step
    expect(page.get_by_role("button", name="Play")).to_be_visible()


@pytest.mark.thorough
def test_values_and_addresses_are_the_users_and_stay_in_the_address(open_page: Open) -> None:
    page = opened(open_page, LOAD, "pin=s:1,0")
    page.get_by_text("Values, addresses, storage").click()
    for name, text in (("values", "row * 100 + col"), ("addresses", "lane % 16 * 64 + lane / 16 * 16")):
        page.locator(f"[name={name}]").fill(text)
        page.locator(f"[name={name}]").blur()  # a change shows its result at once
        expect(page).to_have_url(re.compile(rf"{name}="))
        wait_until(page, READY)
    expect(page.locator("#life")).to_contain_text("S[1][0] = 100")
    expect(page.locator("#life")).to_contain_text("✗ S[0][32] arrives instead in lane 4")
    expect(page.locator("[name=values]")).to_have_value("row * 100 + col")
