"""The descriptor editor as a person uses it: bits, fields, the word, undo."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from lanescope.ptx.table.descriptors import WGMMA
from tests.browser.waiting import wait_for_analysis, wait_for_rest, wait_until

pytestmark = pytest.mark.browser
START = "0x4000004000010100"

# Type one text after another into a field.
TYPE = """(box, texts) => {
  box.focus();
  for (box.value of texts) box.dispatchEvent(new Event("input", { bubbles: true }));
}"""


def read_word(page: Page) -> str:
    return page.input_value("#word")


def read_bits(page: Page) -> int:
    texts = page.eval_on_selector_all("#bits .bit span", "all => all.map((b) => b.textContent).join('')")
    return int(texts, 2)


def expect_word(page: Page, word: str) -> None:
    expect(page.locator("#word")).to_have_value(word)


def check_that_the_start_stands_in_hex_beside_its_box(page: Page) -> None:
    box, said = (page.locator(one).bounding_box() for one in ("[name=start_address]", "#start-hex"))
    lbo = page.locator("[name=lbo_bytes]").bounding_box()
    assert box and said and lbo
    assert (
        box["y"] <= said["y"] + said["height"] / 2 <= box["y"] + box["height"] and said["x"] > box["x"] + box["width"]
    )
    assert lbo["y"] == pytest.approx(box["y"], abs=4)


def test_every_view_follows_a_bit(open_page: Any) -> None:
    page = open_page(f"/descriptor/wgmma/{START}")
    wait_for_analysis(page, START)
    check_that_the_start_stands_in_hex_beside_its_box(page)
    page.click("#bits [data-bit='9']")
    expect(page.locator("#start-hex")).to_have_text("= 0x3000")
    page.click("#undo")
    expect_word(page, START)
    page.click("#bits [data-bit='38']")
    expected = f"0x{int(START, 16) ^ (1 << 38):016x}"
    wait_for_analysis(page, expected)
    assert read_word(page) == expected and read_bits(page) == int(expected, 16)
    assert page.input_value("[name=sbo_bytes]") == "0" and expected in page.url
    expect(page.locator("#bits [data-bit='38']")).to_have_attribute("aria-pressed", "false")
    expect(page.locator("#bits [data-bit='62']")).to_have_attribute("aria-pressed", "true")
    for link, name, path in (
        ("a[data-form=svg]", "href", f"/descriptor/wgmma/{expected}.svg"),
        ("#as-json", "href", f"/api/v1/descriptors/{expected}"),
        ("#verify-form", "action", f"/descriptor/wgmma/{expected}"),
    ):
        expect(page.locator(link).first).to_have_attribute(name, path)
    page.click("#undo")
    wait_for_analysis(page, START)
    assert read_word(page) == START and page.input_value("[name=sbo_bytes]") == "1024"
    page.click("#redo")
    wait_for_analysis(page, expected)
    check_that_a_field_has_one_colour_in_its_bits_and_its_label(page)


def check_that_a_field_has_one_colour_in_its_bits_and_its_label(page: Page) -> None:
    seen = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        seen.append(read_colours_of_fields(page))
    assert seen[0] != seen[1]


def read_colours_of_fields(page: Page) -> set[str]:
    """Return the colours of the fields; each has one."""
    painted = "(all, side) => all.map((one) => [one.dataset.bit ?? one.id, getComputedStyle(one)[side]])"
    bits = {int(bit): colour for bit, colour in page.eval_on_selector_all("#bits .bit", painted, "backgroundColor")}
    labels = dict(page.eval_on_selector_all("#fields > div", painted, "borderLeftColor"))
    names = {field.name: range(field.low, field.high + 1) for field in WGMMA.fields}
    assert set(labels) == set(names) and len(set(labels.values())) == len(names)
    assert {name: {bits.pop(at) for at in places} for name, places in names.items()} == {
        name: {colour} for name, colour in labels.items()
    }
    assert len(set(bits.values())) == 1 and not set(bits.values()) & set(labels.values())  # the reserved bits
    return set(labels.values())


def check_that_dragging_paints_the_first_bits_new_value(page: Page) -> None:
    first, last = (page.locator(f"#bits [data-bit='{bit}']").bounding_box() for bit in (13, 10))
    page.mouse.move(first["x"] + 5, first["y"] + 5)
    page.mouse.down()
    page.mouse.move(last["x"] + 5, last["y"] + 5, steps=12)
    page.mouse.up()
    wait_for_analysis(page, "0x0000000000003c00")
    assert read_bits(page) == 0x3C00 and page.input_value("[name=start_address]") == str(0x3C000)
    page.click("#undo")


def check_that_keys_walk_the_bits_and_turn_them(page: Page) -> None:
    page.focus("#bits [data-bit='63']")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    wait_for_analysis(page, "0x4000000000000000")
    assert page.input_value("[name=swizzle]") == "128B"
    for _ in range(32):
        page.keyboard.press("ArrowRight")
    page.set_viewport_size({"width": 390, "height": 900})  # the bits in several lines
    wait_until(page, "getComputedStyle(bits).gridTemplateColumns.split(' ').length < 32")
    across = page.evaluate("getComputedStyle(bits).gridTemplateColumns.split(' ').length")
    for key, at in (("ArrowUp", 30 + across), ("ArrowDown", 30)):
        page.keyboard.press(key)
        expect(page.locator(".bit:focus")).to_have_attribute("data-bit", str(at))
    page.keyboard.press("Enter")
    wait_for_analysis(page, "0x4000000040000000")
    expect(page.locator("#analysis .notice").first).to_contain_text("Reserved bits are set")


@pytest.mark.thorough
def test_bits_are_painted_by_a_drag_and_turned_by_keys(open_page: Any) -> None:
    page = open_page("/descriptor/wgmma/0x0000000000000000")
    check_that_dragging_paints_the_first_bits_new_value(page)
    check_that_keys_walk_the_bits_and_turn_them(page)


@pytest.mark.thorough
def test_the_field_being_typed_in_is_never_rewritten(open_page: Any) -> None:
    page = open_page(f"/descriptor/wgmma/{START}")
    box, asked = page.locator("[name=sbo_bytes]"), list[str]()
    page.on("request", lambda request: asked.append(request.url) if "part=analysis" in request.url else None)
    box.evaluate(TYPE, ["0", "0x80", "0x800"])
    wait_for_analysis(page, "0x4000008000010100")
    assert len(asked) == 1, "one request for a pause, not for a key"
    assert box.input_value() == "0x800"
    box.press("Tab")
    expect(box).to_have_value("2048")
    box.fill("100")
    expect(page.locator("#fields small.bad")).to_contain_text("a multiple of 16, e.g. 96")
    assert read_word(page) == "0x4000008000010100" and box.input_value() == "100"
    box.press("Escape")
    expect(box).to_have_value("2048")
    box.press("ArrowUp")
    expect(box).to_have_value("2064")
    page.fill("[name=base_offset]", "8")
    expect(page.locator("#fields small.bad")).to_contain_text("at most 7")
    offset = page.locator("[name=base_offset]")
    for start, key, then, note in (
        ("6", "ArrowUp", "7", ""),
        ("7", "ArrowUp", "7", "0 to 7"),
        ("1", "ArrowDown", "0", ""),
        ("0", "ArrowDown", "0", "0 to 7"),
    ):
        offset.fill(start)
        offset.press(key)
        expect(offset).to_have_value(then)
        expect(page.locator("#fields small.bad")).to_have_text([note] if note else [])


def test_wrong_fields_are_kept_and_there_is_no_verdict_until_all_are_right(open_page: Any) -> None:
    page = open_page("/descriptor/wgmma?sbo_bytes=17&lbo_bytes=abc&start_address=0x1000&swizzle=128B")
    values = [page.input_value(f"#fields [name={name}]") for name in ("sbo_bytes", "lbo_bytes", "start_address")]
    assert values == ["17", "abc", "0x1000"] and read_word(page) == "0x4000????????0100"
    expect(page.locator("#bits [data-bit='45'] span")).to_have_text("?")
    page.fill("#fields [name=sbo_bytes]", "1024")
    assert read_word(page) == "0x40000040????0100"
    expect(page.locator(".held")).to_be_visible()
    expect(page.locator("#verdict")).to_have_count(0)
    page.fill("#fields [name=lbo_bytes]", "16")
    wait_for_analysis(page, START)
    expect(page.locator("#verdict")).to_be_visible()
    page.fill("#fields [name=lbo_bytes]", "17")
    page.locator("#word").focus()  # a field that is left wrong hides the verdict on the word without it
    expect(page.locator("#verdict")).to_be_hidden()


def check_that_an_expression_is_read_and_a_wrong_one_changes_nothing(page: Page) -> None:
    page.fill("#word", "((uint64_t)1 << 62) | ((uint64_t)(1024 >> 4) << 32) | (0x1000 >> 4)")
    page.press("#word", "Enter")
    wait_for_analysis(page, "0x4000004000000100")
    page.fill("#word", "1 | x")
    page.press("#word", "Enter")
    expect(page.locator("#word-error")).to_contain_text("not a constant expression")
    assert page.input_value("#word") == "1 | x" and read_bits(page) == 0x4000004000000100
    page.click("summary:has-text('Copy')")
    page.click("#copy-word")
    wait_until(page, "navigator.clipboard.readText()", "0x4000004000000100")


@pytest.mark.thorough
def test_an_answer_that_comes_late_changes_nothing(open_page: Any) -> None:
    """The answer to the box comes too late to take the place of what was edited, or typed, meanwhile."""
    page, held = open_page(f"/descriptor/wgmma/{START}"), list[Any]()
    page.route("**/descriptor/read.json", lambda route: held.append(route))
    page.fill("#word", "(1ull << 62) | 0x100")
    page.press("#word", "Enter")
    wait_until(page, lambda: len(held), 1)
    page.click("#bits [data-bit='38']")
    expected = f"0x{int(START, 16) ^ (1 << 38):016x}"
    wait_for_analysis(page, expected)
    page.fill("#word", "0x")
    page.press("#word", "Enter")
    wait_until(page, lambda: len(held), 2)
    page.fill("#word", "(1ull << 62")
    for late in held:
        late.continue_()
    wait_for_rest(page)
    assert int(expected, 16) == read_bits(page) and page.locator("#word-error").is_hidden()
    assert page.input_value("#word") == "(1ull << 62"
    page.unroute_all()
    page.click("#undo")
    wait_for_analysis(page, START)
    check_that_only_the_word_that_was_analysed_counts_as_analysed(page)


def check_that_only_the_word_that_was_analysed_counts_as_analysed(page: Page) -> None:
    """While a drag paints, the answer to the word before it comes."""
    held = list[Any]()
    page.route("**/*part=analysis*", lambda route: held.append(route))
    page.click("#bits [data-bit='38']")
    wait_until(page, lambda: len(held), 1)
    page.hover("#bits [data-bit='39']")
    page.mouse.down()
    held[0].continue_()
    wait_for_analysis(page, f"0x{int(START, 16) ^ (1 << 38):016x}")
    page.mouse.up()


def test_the_editor_reads_back_what_it_prints_and_other_expressions(open_page: Any) -> None:
    page = open_page("/descriptor/wgmma/0x4000004000010100", wait=False)
    page.click("#analysis details:last-of-type summary")
    expect(page.locator("#analysis details:last-of-type pre")).to_have_count(3)
    texts = page.locator("#analysis details:last-of-type pre").all_inner_texts()
    for text in texts:
        page.fill("[name=sbo_bytes]", "16")
        page.fill("#word", text)
        page.press("#word", "Enter")
        expect(page.locator("#word")).to_have_value("0x4000004000010100")
        assert read_bits(page) == 0x4000004000010100 and page.locator("#word-error").is_hidden()
        assert page.locator("#word-notes").is_visible() == ("make_desc" in text)
    check_that_an_expression_is_read_and_a_wrong_one_changes_nothing(page)
