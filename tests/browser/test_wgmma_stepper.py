"""The stepper of a wgmma in a browser: warps and K steps in view, the fields of its words, a pin with its history."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.waiting import wait_until

WGMMA = "/steps/wgmma.mma_async.m64n32k16.f32.f16.f16"
READY = "document.documentElement.dataset.stepper === 'ready'"
WRONG = "b_descriptor=0x8000004000010800"  # the code of 64B over a tile of 128B


def opened(open_page: Open, query: str = "", **more: object) -> Page:
    page = open_page(f"{WGMMA}?{query}", **more)
    wait_until(page, READY)
    return page


def count(page: Page, step: int) -> None:
    expect(page.locator("#step-count")).to_have_text(f"{step} / 76")


def check_that_keys_jump_over_fields_core_matrices_and_warps(page: Page) -> None:
    page.keyboard.press("Home")
    count(page, 1)
    for step in (3, 8, 16, 19, 23, 27, 31):  # A's word, its first core matrix, the rest of warp 0, warps 1–3, B's word
        page.keyboard.press("Shift+ArrowRight")
        count(page, step)
    page.keyboard.press("End")
    count(page, 76)


def check_that_a_step_brings_its_warp_and_its_k_step_into_view(page: Page) -> None:
    """Step 19 is the first of warp 1."""
    page.keyboard.press("Home")
    for _ in range(4):
        page.keyboard.press("Shift+ArrowRight")
    count(page, 19)
    warp = page.locator("#step-warp [aria-pressed=true]")
    expect(warp).to_have_text("1")
    page.get_by_role("button", name="3", exact=True).click()
    count(page, 27)
    expect(warp).to_have_text("3")
    page.keyboard.press("Home")
    expect(warp).to_have_text("3")
    expect(page).to_have_url(re.compile("[?&]warp=3"))
    start = page.locator(".word[data-operand=a] [data-field=start_address] span")
    expect(start).to_have_text("0x000")
    page.keyboard.press("End")
    expect(start).to_have_text("0x060")


def check_that_a_field_is_marked_while_the_sentence_explains_it(page: Page) -> None:
    page.keyboard.press("Home")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    count(page, 5)
    expect(page.locator(".word .now")).to_have_text("SBO 1024")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".word .now")).to_have_text("base 0")


def check_that_a_pin_keeps_its_history_through_all_steps(page: Page) -> None:
    life = page.locator("#life")
    for key in ("Home", "End"):
        page.keyboard.press(key)
        for text in (
            "A[20][17] =",
            "byte 0xA62",
            "begins at 0x020",
            "by warp 1",
            "k = 17: times B[17]",
            "threads 48–51",
        ):
            expect(life).to_contain_text(text)
    page.get_by_role("button", name=re.compile("k = 17")).click()
    count(page, 65)
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("pin="))


def check_that_a_click_pins_the_cell_of_the_warp_in_view(page: Page) -> None:
    """Of warp 3, at the last step but one."""
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    count(page, 75)
    canvas = page.locator("#scene canvas[role=img]").bounding_box()
    assert canvas
    page.mouse.click(canvas["x"] + canvas["width"] - 8, canvas["y"] + canvas["height"] - 14)
    expect(page).to_have_url(re.compile(r"[?&]pin=d:63,15(&|$)"))
    expect(page.locator("#life")).to_contain_text("thread 127, R7")
    page.keyboard.press("Escape")


def test_a_wrong_word_shows_which_element_arrives(open_page: Open) -> None:
    page = opened(open_page, f"{WRONG}&pin=b:0,1&step=37")
    expect(page.locator("p.notice")).to_contain_text("elements of B are read from another place")
    expect(page.locator("#step-caption")).to_contain_text("B[0][1] should arrive, B[32][0] arrives")
    expect(page.locator("#life")).to_contain_text("✗ B[32][0] arrives instead")
    expect(page.locator(".word .wrong")).to_have_text("swizzle 64B")
    page.get_by_role("link", name="Use 0x4000004000010800").click()
    expect(page.locator("p.notice.bad")).to_have_count(0)
    page.go_back()
    wait_until(page, READY)
    field = page.locator("[name=b_descriptor]")
    page.get_by_text("Your own word").click()
    field.fill("")
    field.press("Enter")
    expect(page.locator("p.notice.bad")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"step=37&pin=b:0,1"))


def check_that_the_storage_is_an_option(page: Page) -> None:
    page.get_by_label("B major").select_option("MN")
    expect(page).to_have_url(re.compile("b_major=MN"))
    wait_until(page, READY)
    page.locator("[name=b_swizzle]").select_option("none")
    expect(page.locator(".word[data-operand=b] [data-field=swizzle]")).to_have_text("swizzle none")


def check_that_a_phone_shows_the_areas_of_every_phase(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.keyboard.press("Home")
    for step in (1, 3, 8, 16, 19, 23, 27, 31):
        count(page, step)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), step
        page.keyboard.press("Shift+ArrowRight")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


@pytest.mark.thorough
def test_the_steps_of_a_wgmma_show_its_words_its_warps_and_a_pin(open_page: Open) -> None:
    page = opened(open_page, "pin=a:20,17&step=12")
    check_that_a_pin_keeps_its_history_through_all_steps(page)
    check_that_keys_jump_over_fields_core_matrices_and_warps(page)
    check_that_a_field_is_marked_while_the_sentence_explains_it(page)
    check_that_a_step_brings_its_warp_and_its_k_step_into_view(page)
    check_that_a_click_pins_the_cell_of_the_warp_in_view(page)
    check_that_a_phone_shows_the_areas_of_every_phase(page)
    page.set_viewport_size({"width": 1440, "height": 1000})
    check_that_the_storage_is_an_option(page)
