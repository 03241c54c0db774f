"""The workbench in a browser: paste, first wrong step, repair; values changed in place; without scripts, too."""

from __future__ import annotations

import re
from random import Random
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.browser.conftest import Open
from tests.browser.waiting import wait_for_rest, wait_until
from tests.guilty_kernels import CODE, KERNELS
from tests.workbench_cases import CASES

pytestmark = pytest.mark.browser

TEXT = next(case.text for case in CASES if case.title.startswith("the tensor map, the builder"))
# Too long for the address that a page gives itself, even compressed; short enough for the link that is asked for.
LONG = TEXT + "".join(f"// {Random(n).getrandbits(2048):x} {'and more ' * 64}\n" for n in range(8))


def test_from_a_paste_to_the_first_wrong_step_and_its_repair(open_page: Open) -> None:
    """Before the repair is followed, a part and its row light together."""
    page = open_page("/read")
    page.get_by_role("textbox").first.fill(TEXT)
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("heading", name="K steps 4 to 7 of A read past the swizzle atom")).to_be_visible()
    rows = page.locator(".steps").first.locator("tbody tr")
    right, wrong = "step-match", "step-mismatch"
    assert [row.get_attribute("class") for row in rows.all()] == [*[right] * 4, wrong, "cause", *[wrong] * 3]
    check_that_a_part_and_its_row_light_together(page)
    page.get_by_role("link", name="Show the fix").click()
    expect(page.locator("#verdict")).to_have_attribute("data-verdict", "mismatch")
    page.locator("#apply").click()
    expect(page.locator("#verdict")).to_have_attribute("data-verdict", "match")
    assert "0x4000004000010440" in page.url


def check_that_a_part_and_its_row_light_together(page: Page) -> None:
    page.locator(".found div[data-piece='0']").hover()
    expect(page.locator(".lines mark[data-piece='0']").first).to_have_class(re.compile(r"\blit\b"))
    page.locator(".lines mark.k-instruction").first.hover()
    expect(page.locator(".found .k-instruction")).to_have_class(re.compile(r"\blit\b"))
    expect(page.locator(".lines mark[data-piece='0']").first).not_to_have_class(re.compile(r"\blit\b"))


def check_that_a_value_is_assumed_and_the_text_edited_on_the_page(page: Page) -> None:
    """The address has no place for the text; the history keeps the page that Reload and Back show."""
    first = page.locator(".names li", has_text="Start address")
    page.get_by_label("sA", exact=True).fill("0x2000")
    page.keyboard.press("Enter")
    expect(first).to_contain_text("0x2080")
    page.reload()
    expect(first).to_contain_text("0x2080")
    page.go_back()
    expect(first).not_to_contain_text("0x2080")
    assert urlsplit(page.url).path.endswith("/read") and not urlsplit(page.url).query
    page.get_by_text("Edit", exact=True).click()
    page.locator("textarea#text").fill(longer := f"{LONG}// the last line\n")
    page.get_by_role("button", name="Verify", exact=True).click()
    expect(page.locator(".lines li")).to_have_count(len(longer.rstrip("\n").split("\n")))
    page.get_by_role("link", name="Link to this code").click()
    expect(page).to_have_url(re.compile(r"\?z="))


def check_that_a_long_paste_stays_out_of_the_address(page: Page) -> None:
    page.get_by_role("textbox").first.fill(LONG)
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("heading", name="K steps 4 to 7 of A")).to_be_visible()
    assert not urlsplit(page.url).query


PASTE = """(text) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
  return document.getElementById("paste").dispatchEvent(event);
}"""


def check_that_a_paste_of_several_lines_into_the_bar_keeps_them(page: Page) -> None:
    """The bar's box has one line: what has more is sent whole. One line stays in the box."""
    bar = page.locator("#paste")
    bar.focus()
    expect(bar).to_be_focused()
    assert page.evaluate(PASTE, "HMMA.16816.F32")  # left to the browser
    with page.expect_navigation():
        page.evaluate(PASTE, "SM90_64x128x16_F32F16F16_SS\ndesc_a 0x4000004000010100\n// last line")
    expect(page.get_by_role("heading", name="Your code")).to_be_visible()
    assert page.locator(".lines li").count() == 3
    page.go_back()
    expect(page.locator("#paste")).to_be_enabled()
    assert page.locator("form.find textarea").count() == 0


GUILTY = KERNELS[0].text  # 512 in the helper, where 1024 belongs


def check_that_a_repair_is_applied_and_undone_on_the_page(page: Page) -> None:
    """On the line of the literal; the address holds the text as it was pasted, and the repair."""
    line = page.locator(".lines li.line-guilty")
    expect(line.locator("del")).to_have_text("512")
    expect(line.locator("ins")).to_have_text("1024")
    expect(page.locator("#headline")).to_have_text(re.compile(r"SBO is 512, this tile needs 1024 \(line 9\)"))
    expect(page.locator(".because")).to_contain_text("A[8][0] is stored at 0x800 and read from 0x640")
    expect(page.locator(".because")).to_contain_text("all 4 words of A become right")
    line.get_by_role("button", name="Apply 512 → 1024").click()
    expect(page.locator(".lines li.line-mended ins")).to_have_text("1024")
    assert page.locator(".ks-match").count() == 4
    query = parse_qs(urlsplit(page.url).query)
    assert query["text"] == [GUILTY] and len(query["fix"]) == 1
    page.locator(".lines li.line-mended").get_by_role("button", name="Undo").click()
    expect(page.locator(".lines li.line-guilty del")).to_have_text("512")
    assert "fix" not in parse_qs(urlsplit(page.url).query)


def check_that_a_repaired_page_comes_back_by_its_address_and_by_back(page: Page) -> None:
    page.locator(".acts").get_by_role("button", name="Apply 512 → 1024").click()
    expect(page.locator(".lines li.line-mended")).to_have_count(1)
    expect(page.locator(".acts [name=undo]")).to_be_focused()
    page.reload()
    expect(page.locator(".lines li.line-mended ins")).to_have_text("1024")
    page.go_back()
    expect(page.locator(".lines li.line-guilty del")).to_have_text("512")


def check_that_a_token_its_bits_and_its_bytes_light_together(page: Page) -> None:
    guide, saying = page.locator("g.guide[data-field='sbo']"), page.locator("p.guide[data-field='sbo']")
    expect(saying).to_be_hidden()
    page.locator(".lines mark[data-field='sbo']").first.hover()
    expect(saying).to_be_visible()
    assert guide.locator("path:not(.span)").count() == 8  # a line every SBO bytes, one for each 8 of 64 rows
    lit = page.locator(".bit.sbo").first
    expect(lit).to_have_css("box-shadow", re.compile(r"1\.5px"))
    page.locator(".bit.swizzle").first.hover()
    expect(saying).to_be_hidden()
    expect(page.locator(".lines mark[data-field='swizzle']").first).to_have_css("box-shadow", re.compile(r"1\.5px"))
    page.locator(".names li[data-field='start_address']").focus()
    page.mouse.move(0, 0)
    expect(page.locator("p.guide[data-field='start_address']")).to_be_visible()
    page.locator(".pairs .c[data-name='A[8][0…7]']").hover()
    page.locator(".names li[data-field='start_address']").blur()
    expect(page.locator(".saying .pointed")).to_have_text(
        "A[8][0…7] is stored at 0x800, but read from 0x640, where A[4][0…7] lies."
    )


def check_that_without_a_map_the_storages_state_their_outcome_and_one_is_chosen(page: Page) -> None:
    expect(page.locator("#headline")).to_have_text("Suspicious: SBO 512 does not fit the 128B swizzle (line 5)")
    expect(page.locator("#verdict")).to_have_class(re.compile(r"\bcare\b"))
    box = page.locator(".choose").get_by_role("button", name=re.compile("TMA box, 128B"))
    expect(box).to_contain_text("896 of 1,024 wrong")
    expect(box).to_contain_text("repair: SBO 512 → 1024")
    box.click()
    expect(page.locator("#headline")).to_have_text(re.compile("SBO is 512, this tile needs 1024"))
    assert parse_qs(urlsplit(page.url).query)["stored.a"] == ["box"]
    page.locator(".acts").get_by_role("button", name="Apply 512 → 1024").click()
    expect(page.locator("#headline")).to_have_text("Every K step of A reads what is stored; B is not judged")
    expect(page.locator("#verdict")).to_have_class(re.compile(r"\bcare\b"))  # green only when nothing is open
    page.locator(".choose").get_by_role("button", name=re.compile("TMA box, 128B")).click()
    expect(page.locator("#verdict")).to_have_class(re.compile(r"\bok\b"))


@pytest.mark.thorough
def test_a_template_parameter_is_given_in_its_chip(open_page: Open) -> None:
    text = GUILTY.replace("(512 >>", "(8 * ROW >>").replace("__device__ uint", "template <int ROW>\n__device__ uint")
    text = text.replace("make_smem_desc(s", "make_smem_desc<BK>(s").replace(
        "__global__", "template <int BK> __global__"
    )
    page = open_page("/read?" + urlencode({"text": text}))
    chip = page.get_by_label("BK", exact=True)
    expect(chip).to_have_value("")
    chip.fill("128")
    chip.press("Enter")
    expect(page.locator("#headline")).to_have_text(re.compile("Every K step of A reads what is stored"))
    page.get_by_label("BK", exact=True).fill("64")
    page.get_by_label("BK", exact=True).press("Enter")
    expect(page.locator("#headline")).to_have_text(re.compile("Every K step of A reads the wrong bytes"))


def check_that_enter_in_a_chip_verifies_once_and_applies_nothing(page: Page) -> None:
    posts: list[str] = []

    def note(request: Request) -> None:
        posts.extend([request.url] * (request.method == "POST"))

    page.on("request", note)
    chip = page.get_by_label("smem", exact=True)
    chip.fill("0x2000")
    chip.press("Enter")
    expect(page).to_have_url(re.compile("at.smem=0x2000"))
    expect(page.locator(".lines li.line-guilty del")).to_have_text("512")
    assert "fix" not in parse_qs(urlsplit(page.url).query)
    assert len(posts) == 1
    page.remove_listener("request", note)


def check_that_the_last_of_two_questions_is_answered(page: Page) -> None:
    """The first, which the server answers later, changes nothing any more."""
    held: list[Route] = []
    page.route("**/read", lambda route: route.continue_() if held else held.append(route))
    chip = page.get_by_label("smem", exact=True)
    for value in ("0x3000", "0x4000"):
        chip.fill(value)
        chip.press("Tab")
        wait_until(page, lambda: len(held), 1)
    expect(page).to_have_url(re.compile("at.smem=0x4000"))
    held[0].abort()
    wait_for_rest(page)
    expect(page.get_by_label("smem", exact=True)).to_have_value("0x4000")
    assert "at.smem=0x4000" in page.url
    page.unroute_all()


def check_that_a_line_of_the_text_is_shown_without_loading_the_page_anew(page: Page) -> None:
    page.evaluate("document.documentElement.dataset.kept = 'yes'")
    page.locator("a.asm[href='#line-2']").click()
    page.go_back()
    page.go_forward()
    expect(page).to_have_url(re.compile("#line-2$"))
    wait_for_rest(page)
    assert page.evaluate("document.documentElement.dataset.kept") == "yes"


def check_that_a_repair_is_applied_by_the_form_where_the_script_gets_no_answer(page: Page) -> None:
    page.evaluate("() => { window.fetch = () => Promise.reject(new TypeError()); }")
    page.locator(".acts").get_by_role("button", name="Apply 512 → 1024").click()
    expect(page.locator(".lines li.line-mended ins")).to_have_text("1024")


def check_that_files_are_checked_after_a_repair_too(page: Page) -> None:
    """On a repaired page."""
    files = [{"name": name, "mimeType": "text/plain", "buffer": GUILTY.encode()} for name in ("one.cu", "two.cu")]
    page.locator("#files input[type=file]").set_input_files(files)
    expect(page).to_have_url(re.compile("/read/files$"))


def check_that_steps_that_are_not_judged_are_amber(page: Page) -> None:
    card = page.locator(".ks-unknown").first
    amber = card.locator("b").evaluate("(node) => getComputedStyle(node).color")
    assert card.locator(".run-bad").evaluate("(node) => getComputedStyle(node).stroke") == amber


@pytest.mark.thorough
def test_a_text_is_edited_and_pasted_anew(open_page: Open) -> None:
    page = open_page("/read")
    check_that_a_long_paste_stays_out_of_the_address(page)
    check_that_a_value_is_assumed_and_the_text_edited_on_the_page(page)
    check_that_a_paste_of_several_lines_into_the_bar_keeps_them(page)


def test_a_guilty_line_is_pointed_at_repaired_and_asked_again(open_page: Open) -> None:
    page = open_page("/read?" + urlencode({"text": GUILTY}))
    check_that_a_token_its_bits_and_its_bytes_light_together(page)
    check_that_a_repair_is_applied_and_undone_on_the_page(page)
    check_that_a_line_of_the_text_is_shown_without_loading_the_page_anew(page)
    check_that_enter_in_a_chip_verifies_once_and_applies_nothing(page)
    expect(page.get_by_label("smem", exact=True)).to_be_focused()
    check_that_the_last_of_two_questions_is_answered(page)
    check_that_a_repaired_page_comes_back_by_its_address_and_by_back(page)
    check_that_a_repair_is_applied_by_the_form_where_the_script_gets_no_answer(page)
    check_that_files_are_checked_after_a_repair_too(page)


@pytest.mark.thorough
def test_without_a_map_no_step_is_judged_until_a_storage_is_chosen(open_page: Open) -> None:
    page = open_page("/read?" + urlencode({"text": CODE.replace("(1024 >>", "(512 >>")}))
    check_that_steps_that_are_not_judged_are_amber(page)
    check_that_without_a_map_the_storages_state_their_outcome_and_one_is_chosen(page)
