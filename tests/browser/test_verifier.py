"""A word verified beside its editor: storages, presets, causes, repairs, counted in actions after it is pasted."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.waiting import wait_for_analysis, wait_until

pytestmark = pytest.mark.browser
START = "0x4000004000010100"


def check_that_a_cause_is_explained_and_repaired(page: Page) -> None:
    expect(page.locator("#verdict")).to_contain_text("All 1,024 elements are read from the wrong place")
    expect(page.locator("#lbo")).to_have_class(re.compile("unread"))
    assert page.evaluate("getComputedStyle(document.querySelector('#lbo input')).textDecorationLine") == "line-through"
    page.click("#apply")
    wait_for_analysis(page, "0x4000004004000100")
    expect(page.locator("#verdict")).to_contain_text("All 1,024 elements are read from where they are stored")
    page.select_option("[name=s_swizzle]", "64B")
    expect(page.locator("#verdict")).to_have_attribute("data-verdict", "mismatch")
    expect(page.locator("#analysis strong[title=stored_swizzle]")).to_have_count(1)
    assert "s_swizzle=64B" in page.url and "=&" not in page.url
    pictured = page.locator("a[data-verdict=svg]")
    expect(pictured).to_have_attribute("href", re.compile("/0x4000004004000100.svg.*s_swizzle=64B"))
    page.focus("[name=sbo_bytes]")
    expect(page).to_have_url(re.compile("s_swizzle=64B.*#sbo$"))
    page.fill("[name=sbo_bytes]", "1024")
    page.select_option("[name=s_swizzle]", "32B")
    expect(page).to_have_url(re.compile("s_swizzle=32B.*#(sbo)?$"))
    page.reload()
    expect(page.locator("#verdict")).to_have_attribute("data-verdict", "mismatch")


def check_that_storage_kinds_show_their_own_fields(page: Page) -> None:
    expect(page.locator("[name=s_pitch_bytes]")).to_have_count(0)
    page.click("[data-preset=box]")
    expect(page.locator("[name=s_pitch_bytes]")).to_be_visible()
    expect(page.locator("[name=s_mn]")).to_have_count(0)
    expect(page.locator("#verdict")).to_have_attribute("data-verdict", "match")
    page.fill("[name=s_pitch_bytes]", "x")
    page.press("[name=s_pitch_bytes]", "Tab")
    expect(page.locator("label:has([name=s_pitch_bytes]) [data-error]")).to_contain_text("Row pitch, bytes is 'x'")
    expect(page.locator("#analysis .notice")).to_contain_text("Row pitch is wrong. No verdict is given")
    assert page.input_value("[name=s_pitch_bytes]") == "x"


def expect_verdict(page: Page, said: str) -> None:
    expect(page.locator("#verdict")).to_have_attribute("data-verdict", said)


def check_that_a_tma_tile_is_verified_by_word_and_preset(page: Page) -> None:
    expect_verdict(page, "unknown")
    page.fill("#word", "0x40000040000100C2")  # the second K step of a tile at 0xc00
    page.click("[data-preset=box]")
    expect_verdict(page, "match")
    expect(page.locator("[name=s_base]")).to_have_value("0xc00")
    expect(page.locator("[name=slice_k]")).to_have_value("16")
    page.reload()
    expect_verdict(page, "match")


def check_that_a_preset_clicked_before_the_word_was_answered_is_the_words_own(page: Page) -> None:
    """The word before has its base at 0x1000."""
    page.fill("#word", START)
    expect(page.locator("[name=s_base]")).to_have_value("0xc00")
    page.click("[data-preset=box]")
    expect(page.locator("[name=s_base]")).to_have_value("0x1000")
    held: list[Route] = []
    page.route("**/descriptor/**part=analysis**", lambda route: route.continue_() if held else held.append(route))
    page.fill("#word", "0x40000040000100C2")
    wait_until(page, lambda: len(held), 1)
    page.click("[data-preset=box]")
    held[0].continue_()
    expect(page.locator("[name=s_base]")).to_have_value("0xc00")
    expect_verdict(page, "match")
    page.unroute_all()


def check_that_core_matrices_by_hand_are_verified_in_three(page: Page) -> None:
    page.fill("#word", "0x0000001000080100")  # K first: LBO 128, SBO 256
    page.click("[data-preset=cores]")
    page.select_option("[name=s_order]", "k")
    expect_verdict(page, "match")


def check_that_an_element_is_paired_with_the_byte_it_is_read_from(page: Page) -> None:
    page.hover("#picture-operand [data-state=wrong] >> nth=0")
    expect(page.locator("#paired")).to_have_text("A[0, 0 to 7] is read from 0x1010; it is stored at 0x1000")
    expect(page.locator("#picture-memory [data-pointed]")).to_have_count(2)
    page.hover("#picture-memory [data-state=read] >> nth=0")
    expect(page.locator("#paired")).to_contain_text("read as A[")
    expect(page.locator("#paired")).to_contain_text("holds no element")
    page.click("#apply")
    expect_verdict(page, "match")
    page.hover("#picture-operand [data-state=right] >> nth=1")
    expect(page.locator("#paired")).to_have_text("A[0, 8 to 15] is read from 0x1010, where it is stored")
    page.evaluate("""import("/static/memory/pairs.js").then(({ pairing }) => {
      const held = document.getElementById("pairs"), data = JSON.parse(held.textContent);
      held.textContent = JSON.stringify({ ...data, right: data.right.map(() => false) });
      pairing(document.getElementById("analysis"));
    })""")
    page.mouse.move(0, 0)
    page.hover("#picture-operand [data-state=right] >> nth=0")
    expect(page.locator("#paired")).to_contain_text("; its elements are stored in another order")


def check_that_an_error_stands_beside_its_field_and_keeps_the_picture(page: Page) -> None:
    page.fill("[name=s_k]", "60")
    page.press("[name=s_k]", "Tab")
    expect(page.locator("label:has([name=s_k]) [data-error]")).to_contain_text("not a multiple of the atom")
    expect(page.locator("#picture-memory")).to_be_visible()


def check_that_a_narrow_screen_has_the_verdict_and_its_cause_above_the_form(page: Page) -> None:
    for width in (390, 768):
        page.set_viewport_size({"width": width, "height": 1000})
        boxes = [
            page.locator(name).first.bounding_box() for name in ("#verdict", ".diagnosis", "#verify-form", ".pair")
        ]
        tops = [box["y"] for box in boxes if box]
        assert len(tops) == 4 and tops == sorted(tops)


def test_a_word_and_a_preset_verify_a_tile(open_page: Any) -> None:
    page = open_page("/descriptor")
    check_that_a_tma_tile_is_verified_by_word_and_preset(page)
    check_that_a_preset_clicked_before_the_word_was_answered_is_the_words_own(page)
    check_that_core_matrices_by_hand_are_verified_in_three(page)


def test_a_wrong_word_is_explained_repaired_and_undone(open_page: Any) -> None:
    page = open_page("/descriptor/wgmma/0x4000004004000101?s_swizzle=128B")
    check_that_a_narrow_screen_has_the_verdict_and_its_cause_above_the_form(page)
    page.set_viewport_size({"width": 1440, "height": 1000})
    check_that_an_element_is_paired_with_the_byte_it_is_read_from(page)
    page.click("#undo")
    expect_verdict(page, "mismatch")
    check_that_a_cause_is_explained_and_repaired(page)


@pytest.mark.thorough
def test_the_storage_has_the_fields_of_its_kind_and_an_error_beside_its_field(open_page: Any) -> None:
    page = open_page(f"/descriptor/wgmma/{START}?s_swizzle=128B")
    check_that_an_error_stands_beside_its_field_and_keeps_the_picture(page)
    page.fill("[name=s_k]", "64")
    page.press("[name=s_k]", "Tab")
    expect(page.locator("label:has([name=s_k]) [data-error]")).to_have_count(0)
    check_that_storage_kinds_show_their_own_fields(page)
