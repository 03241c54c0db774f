"""The front door and the catalogue, which narrows while typing and leads on."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.waiting import wait_until

pytestmark = pytest.mark.browser
M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def check_that_a_paste_beyond_the_limit_is_not_sent(page: Page) -> None:
    box = page.locator("textarea[name=text]")
    box.fill("x" * 70_000)
    page.get_by_role("button", name="Explain").click()
    said = "The text has 70,000 characters; this box reads up to 65,536."
    wait_until(page, f"document.querySelector('textarea[name=text]').validationMessage.startsWith('{said}')")
    expect(page).to_have_url(re.compile(r"/$"))
    expect(box).to_have_value("x" * 70_000)


@pytest.mark.thorough
def test_enter_sends_the_paste_box_and_shift_enter_breaks_its_line(open_page: Any) -> None:
    page = open_page("/")
    assert page.evaluate("document.activeElement.id") == "text"
    sent = """(lengths) => lengths.map((length) => {
      const form = document.querySelector("form.paste"), box = form.querySelector("textarea");
      box.value = "x".repeat(length);
      form.dispatchEvent(new Event("submit", { bubbles: true }));
      box.value = "";
      return form.method;
    })"""
    assert page.evaluate(sent, [1996, 1995]) == ["post", "get"]  # text= and 1,995 characters
    low = page.locator("#text").bounding_box()["height"]
    check_that_a_paste_beyond_the_limit_is_not_sent(page)
    page.fill("#text", "")
    page.keyboard.type("// A kernel")
    for _ in range(4):
        page.keyboard.press("Shift+Enter")
    page.keyboard.type(f'"{M16} " {{%0}}')
    wait_until(page, lambda: page.locator("#text").bounding_box()["height"] > low + 40)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/i/{M16}")


def check_that_typing_narrows_the_url_keeps_it_and_a_wrong_line_names_its_part(page: Page) -> None:
    assert page.evaluate("document.activeElement.name") == "q"
    page.keyboard.type("wgmma e4m3 e5m2 k32 n64")
    expect(page.locator(".count strong")).to_have_text("4")
    assert page.locator("#results .variant").count() == 4
    expect(page).to_have_url(re.compile(r"/instructions\?q=wgmma\+e4m3\+e5m2\+k32\+n64$"))
    page.check("input[name=target][value=sm_80]", force=True)
    expect(page.locator(".count strong")).to_have_text("0")
    page.check("input[name=target][value='']", force=True)
    page.fill("input[name=q]", "")
    expect(page.locator(".count")).to_have_count(0)
    assert page.locator(".groups small").all_inner_texts()[1] == "546 · all ran"
    page.fill("input[name=q]", "mma.m16n8k12.row.col.f32.f16.f16.f32")
    expect(page.locator("#results .notice")).to_contain_text("shape 'm16n8k12'")
    expect(page.locator("input[name=q]")).to_have_value("mma.m16n8k12.row.col.f32.f16.f16.f32")


def check_that_a_question_is_answered_first_and_asked_once(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "part=rows" in request.url else None)
    page.fill("input[name=q]", "")
    expect(page.locator(".count")).to_have_count(0)
    asked.clear()
    page.keyboard.type("A[5][9] of mma.m16n8k16 bf16")
    expect(page.locator(".asked p").first).to_have_text("A[5][9] is in lane 20, register R2, bits 31:16.")
    assert page.locator("#results > *").first.get_attribute("class") == "card asked"
    assert len(asked) < 5, "one request for a pause, not for a key"


def check_that_a_pasted_line_leads_to_its_page(page: Page) -> None:
    page.fill("input[name=q]", f'    "{M16} " {{%0,%1,%2,%3}}, {{%4}}')
    expect(page.locator("#guess")).to_have_text(M16)
    page.fill("input[name=q]", "bf16")
    expect(page.locator("#guess")).to_have_count(0)
    page.fill("input[name=q]", f'    "{M16} " {{%0,%1,%2,%3}}, {{%4}}')
    expect(page.locator("#guess")).to_have_text(M16)


def test_without_scripts(open_page: Any) -> None:
    page = open_page("/instructions?family=wgmma&type=tf32", scripts=False)
    expect(page.locator("#results .variant")).to_have_count(32)
    page.fill("input[name=q]", "n96")
    page.click("#filters button")
    expect(page.locator("#results .variant")).to_have_count(1)
    page.click(".count .pill")
    expect(page.locator("#results .variant")).to_have_count(21)  # 4 alone, 2 × 4 of fp8, 4 × 2 of s8 and u8, b1
    page.fill("input[name=q]", "")
    page.check("input[name=target][value=sm_80]", force=True)
    page.click("#filters button")
    expect(page.locator(".group")).to_contain_text("Nothing of this group matches")


def check_that_clicks_set_the_metadata(page: Page) -> None:
    cell = page.locator("#dense tbody tr").nth(1).locator("td").nth(5)
    pairs = [" ".join(["0x44444444"] * 32)]
    expect(page.locator("textarea")).to_have_value(pairs[0])
    for _ in range(5):  # the six legal index pairs of a group
        cell.click()
        wait_until(page, lambda: page.input_value("textarea") not in pairs)
        pairs.append(page.input_value("textarea"))
    cell.click()
    expect(page.locator("textarea")).to_have_value(pairs[0])
    for _ in range(5):  # as fast as clicks come: none may be lost
        cell.click()
    expect(page.locator("textarea")).to_have_value(pairs[-1])
    cell.click()
    expect(page.locator("textarea")).to_have_value(pairs[0])
    cell.click()
    expect(page.locator("#dense tbody tr").nth(1).locator("td.kept").nth(3)).to_have_attribute(
        "title", re.compile("T5 a1")
    )
    expect(page.locator("#dense tbody tr").nth(1).locator("td").nth(6)).to_have_class(re.compile("kept"))
    page.fill("textarea", "0x44444444")  # one word for all lanes
    cell.click()
    wait_until(page, lambda: (words := page.input_value("textarea").split()) and (len(words), len(set(words))), (32, 2))
    page.fill("textarea", "0x4444444F")
    page.click("#words-form button")
    expect(page.locator("#words-error")).to_contain_text("nibble 0xF")
    assert page.input_value("textarea") == "0x4444444F"


def check_that_words_typed_while_the_server_answers_are_kept(page: Page) -> None:
    held: list[Any] = []
    page.route("**/*part=editor*", lambda route: held.append(route))
    page.locator("#dense tbody tr").nth(1).locator("td").nth(5).click()
    wait_until(page, lambda: len(held), 1)
    page.fill("textarea", "0x4444")
    page.keyboard.press("ArrowLeft")
    with page.expect_response("**/*part=editor*") as answered:
        held[0].continue_()
    answered.value.finished()
    expect(page.locator("#dense tbody tr").nth(1).locator("td").nth(6)).to_have_class(re.compile("kept"))
    page.keyboard.press("F")
    expect(page.locator("textarea")).to_have_value("0x444F4")


def check_that_keys_walk_the_metadata_and_set_it(page: Page) -> None:
    stops = page.locator("#dense td[tabindex='0']")
    expect(stops).to_have_count(1)
    page.focus("#words-form button")
    page.keyboard.press("Tab")
    focused = page.locator("#dense td:focus")
    expect(focused).to_have_attribute("aria-label", "row 0, columns 0 to 3: kept 0 and 1; lane 0, bits 0 to 3")
    for key in ("ArrowLeft", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect(focused).to_have_attribute("aria-label", re.compile("^row 1, columns 8 to 11: kept 8 and 9; "))
    expect(stops).to_have_count(1)
    page.keyboard.press("Enter")
    expect(focused).to_have_attribute("aria-label", re.compile("^row 1, columns 8 to 11: kept 8 and 10; "))
    page.keyboard.press("Space")
    expect(focused).to_have_attribute("aria-label", re.compile("^row 1, columns 8 to 11: kept 9 and 10; "))
    expect(stops).to_have_count(1)
    for _ in range(20):
        page.keyboard.press("ArrowDown")
    expect(focused).to_have_attribute("aria-label", re.compile("^row 15, columns 8 to 11: "))


@pytest.mark.thorough
def test_a_search_narrows_answers_and_opens_what_was_pasted(open_page: Any) -> None:
    """Enter opens what the box above would, also where the answer to an earlier text has just come."""
    page = open_page("/instructions")
    check_that_typing_narrows_the_url_keeps_it_and_a_wrong_line_names_its_part(page)
    check_that_a_question_is_answered_first_and_asked_once(page)
    check_that_a_pasted_line_leads_to_its_page(page)
    page.fill("input[name=q]", "bf16")
    expect(page.locator("#guess")).to_have_count(0)
    held: list[Any] = []
    page.route("**/*part=rows*", lambda route: held.append(route))
    page.fill("input[name=q]", M16)
    wait_until(page, lambda: len(held), 1)
    page.fill("input[name=q]", "A[5][9] of mma.m16n8k16 bf16")
    held[0].continue_()
    wait_until(page, lambda: len(held) == 2 or page.locator("#guess").count() == 1)
    page.keyboard.press("Enter")
    page.wait_for_url("**/i/mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32?pin=a*")


@pytest.mark.thorough
def test_metadata_is_edited_by_click_by_keyboard_and_as_words(open_page: Any) -> None:
    page = open_page("/metadata/mma.sp::ordered_metadata.m16n8k16.row.col.f32.f16.f16.f32")
    check_that_keys_walk_the_metadata_and_set_it(page)
    page.reload()
    check_that_words_typed_while_the_server_answers_are_kept(page)
    page.unroute_all()
    page.goto(page.url.partition("?")[0])
    check_that_clicks_set_the_metadata(page)
