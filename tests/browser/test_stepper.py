"""The stepper in a browser: play, keys, the scrubber, a pin with its history, reduced motion, the address."""

from __future__ import annotations

import math
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.waiting import wait_until

M16 = "/steps/mma.m16n8k16.row.col.f32.f16.f16.f32"
READY = "document.documentElement.dataset.stepper === 'ready'"


def opened(open_page: Open, query: str = "", **more: object) -> Page:
    page = open_page(f"{M16}?{query}", **more)
    wait_until(page, READY)
    return page


def count(page: Page, step: int) -> None:
    expect(page.locator("#step-count")).to_have_text(f"{step} / 71")


def check_that_keys_step_jump_and_end(page: Page) -> None:
    count(page, 1)
    for key, step in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("End", 71), ("Home", 1)):
        page.keyboard.press(key)
        count(page, step)
    for step in (3, 4, 12, 20, 28, 36):  # the addresses of A, its four matrices, the addresses of B
        page.keyboard.press("Shift+ArrowRight")
        count(page, step)
    page.keyboard.press("Shift+ArrowLeft")
    count(page, 28)
    expect(page.locator("#step-caption")).to_contain_text("Lane 24 gives 0x430")
    expect(page).to_have_url(re.compile(r"[?&]step=28(&|$)"))


def check_that_the_scrubber_reaches_a_step_of_each_phase(page: Page) -> None:
    for phase, first, last in ((0, 1, 2), (1, 3, 35), (2, 36, 52), (3, 53, 68), (4, 69, 71)):
        box = page.locator(".seg").nth(phase).bounding_box()
        assert box
        for x, step in ((box["x"] + 2, first), (box["x"] + box["width"] - 2, last)):
            page.mouse.click(x, box["y"] + box["height"] - 6)
            count(page, step)


def check_that_a_pin_keeps_its_history_through_all_steps(page: Page) -> None:
    life = page.locator("#life")
    for step in ("Home", "End"):
        page.keyboard.press(step)
        for text in ("byte 0x2E2", "lane 21 gives the address 0x2E0", "arrives in lane 20, R2 bits 31:16", "k = 9"):
            expect(life).to_contain_text(text)
    page.get_by_role("button", name="arrives in lane 20").click()
    count(page, 25)
    page.keyboard.press("Escape")
    expect(life).to_contain_text("Click any cell")
    expect(page).not_to_have_url(re.compile("pin="))


def check_that_a_click_pins_the_cell_under_the_pointer(page: Page) -> None:
    page.keyboard.press("End")
    count(page, 71)
    canvas = page.locator("#scene canvas[role=img]").bounding_box()
    assert canvas
    page.mouse.move(canvas["x"] + canvas["width"] - 10, canvas["y"] + canvas["height"] - 14)
    expect(page.locator("#step-out")).to_contain_text("D[15][7] =")
    page.mouse.down()
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"[?&]pin=d:15,7(&|$)"))
    expect(page.locator("#life")).to_contain_text("lane 31, R3")
    page.keyboard.press("Escape")
    page.mouse.move(0, 0)


def check_that_lines_of_a_tile_off_128_bytes_name_the_banks_they_begin_in(page: Page) -> None:
    """A tile at 0x10 whose XOR counts from its base has lines from 0x10 on: their first chunk lies in banks 4 to 7."""
    groups = page.evaluate(
        """async (address) => {
          const { makeModel } = await import("/static/steps/model.js");
          const served = new DOMParser().parseFromString(await (await fetch(address)).text(), "text/html");
          const { a } = makeModel(JSON.parse(served.getElementById("stepper-data").textContent));
          return [a.addressOf(0), [0, 1, 2, 3, 4, 5, 6, 7].map(a.bankGroup)];
        }""",
        f"{M16}?s_kind=rows&s_base=16&s_swizzle_by=tile",
    )
    assert groups == [0x10, [1, 2, 3, 4, 5, 6, 7, 0]]


def check_that_the_focus_stays_in_the_card_when_a_line_of_it_is_followed(page: Page) -> None:
    button = page.get_by_role("button", name="k = 9")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#scrub")).to_have_attribute("aria-valuetext", re.compile("^Multiply, k = 9 "))
    expect(button).to_be_focused()


def check_that_the_list_of_steps_keeps_its_own_keys(page: Page) -> None:
    """From step 3 on."""
    page.locator(".as-list summary").click()
    page.locator(".as-list a").nth(9).focus()
    for key in ("End", "ArrowRight", "Home"):
        page.keyboard.press(key)
    count(page, 3)
    page.locator(".as-list summary").click()
    page.locator("#scrub").focus()
    page.keyboard.press("ArrowRight")
    count(page, 4)


def check_that_the_terms_of_a_sum_are_those_that_were_added(page: Page) -> None:
    title, terms = (page.locator(css).first.inner_text().replace("−", "-") for css in ("#life h2", "#life ol button"))
    assert terms.count("·") == 16
    numbers = [[float(factor) for factor in term.split("·")] for term in terms.split(" + ")]
    assert sum(math.prod(term) for term in numbers) == float(title.split(" = ")[1].split()[0])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", r"0 \+ [01]⊕[01] \+ "),
        (
            "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
            r"0 \+ the products, each times its scales",
        ),
    ],
)
def test_terms_are_joined_as_the_instruction_joins_them(open_page: Open, name: str, words: str) -> None:
    page = open_page(f"/steps/{name}?pin=d:0,0&c=0")
    wait_until(page, READY)
    expect(page.locator("#life ol button").first).to_have_text(re.compile("^" + words))


def check_that_reduced_motion_shows_stills(page: Page) -> None:
    """Step 5 moves a matrix of A into registers."""
    page.keyboard.press("ArrowRight")
    count(page, 5)
    read = "document.querySelector('#scene canvas[role=img]').toDataURL()"
    still = page.evaluate(f"() => new Promise(done => requestAnimationFrame(() => done({read})))")
    page.wait_for_timeout(200)
    assert still == page.evaluate(read)


def check_that_wrong_elements_say_what_should_have_arrived(page: Page) -> None:
    expect(page.locator("p.notice")).to_contain_text("224 of 256 register elements of A are wrong")
    expect(page.locator("#life")).to_contain_text("✗ A[1][8] arrives instead in lane 4")


def check_that_a_phone_shows_the_areas_of_every_phase(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.keyboard.press("Home")
    for step in (1, 3, 4, 12, 20, 28, 36, 37):
        count(page, step)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), step
        page.keyboard.press("Shift+ArrowRight")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    box = page.locator("#step-play").bounding_box()
    assert box and box["height"] >= 40


@pytest.mark.thorough
def test_values_too_long_for_an_address_are_posted_and_stay(open_page: Open) -> None:
    """16 × 16 numbers of 40 characters: the address keeps none of them, the picture has them."""
    page = open_page("/steps/ldmatrix.m8n8.x4.shared.b16?more=1")
    wait_until(page, READY)
    rows = "\n".join(" ".join(f"{20 * r + c:40}" for c in range(16)) for r in range(16))
    page.get_by_label("Values").fill(rows)
    page.get_by_label("Values").blur()
    expect(page.locator("#stepper-data[data-posted]")).to_have_count(1)
    wait_until(page, READY)
    assert page.get_by_label("Values").input_value().split() == rows.split()
    page.keyboard.press("Escape")
    page.locator("#step-next").click()
    expect(page.locator("#step-count")).to_have_text("2 / 39")
    assert "?" not in page.url  # the next load sends the form again


@pytest.mark.thorough
def test_a_step_is_chosen_by_keys_the_scrubber_and_the_list(open_page: Open) -> None:
    """With an element of A pinned at first; a step between two is the one before."""
    page = opened(open_page, "k_step=1&pin=a:5,9&step=25.5")
    count(page, 25)
    check_that_the_focus_stays_in_the_card_when_a_line_of_it_is_followed(page)
    check_that_a_pin_keeps_its_history_through_all_steps(page)
    page.keyboard.press("Home")
    check_that_keys_step_jump_and_end(page)
    check_that_the_scrubber_reaches_a_step_of_each_phase(page)
    check_that_a_click_pins_the_cell_under_the_pointer(page)
    page.keyboard.press("Home")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    check_that_the_list_of_steps_keeps_its_own_keys(page)
    check_that_reduced_motion_shows_stills(page)
    check_that_a_phone_shows_the_areas_of_every_phase(page)
    check_that_lines_of_a_tile_off_128_bytes_name_the_banks_they_begin_in(page)


def test_wrong_addresses_of_lanes_show_what_arrives(open_page: Open) -> None:
    """The terms are those of what arrived, not of what should have."""
    check_that_wrong_elements_say_what_should_have_arrived(opened(open_page, "no_xor=1&step=5&pin=a:1,0"))
    check_that_the_terms_of_a_sum_are_those_that_were_added(opened(open_page, "no_xor=1&pin=d:1,3&step=71"))
