"""The answer above an instruction's matrices, the find field, two pins, and the grid of lanes and registers."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from lanescope import find
from tests.browser.test_instruction import M16, WIDE, find_centre, hover_cell, list_lit_cells, list_thread_cells
from tests.browser.waiting import go_to_query, read_texts, wait_until
from tests.sample import take_sample

pytestmark = pytest.mark.browser
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
PINNED = (
    f"{M16}?pin=a:5,9",
    f"{M16}?pin=d:3,2",
    f"{M16}?pin=lane:20",
    f"{M16}?pin=a:5,9&pin2=b:3,4",
    f"{WIDE}?pin=d:9,4&pin2=thread:40",
    f"{SPARSE}?pin=b:20,1",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16?pin=address2:3,0",
    "wmma.load.a.sync.aligned.row.m16n16k16.f16?pin=a:3,4",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32?product=2&pin=d:5,1",
    "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc?pin=a:1,70",
)


def ask(page: Page, text: str) -> None:
    page.keyboard.press("f")
    wait_until(page, "document.activeElement.id", "find")
    page.fill("#find", text)
    page.keyboard.press("Enter")


TILE = "/tiles/mma?atom=SM80_16x8x16_F32F16F16F32_TN&atom_layout=(2,2,1)&tile=64x64x32"
BENCHES = (
    f"{TILE}&pin=c:37,50&pin2=thread:13",
    f"{TILE}&pin=a:3,5",
    "/tiles/mma?atom=SM90_64x64x16_F16F16F16_SS&pin=a:3,4",
    "/tiles/copy?pin=source:3,5",
    "/tiles/copy?atom=SM90_TMA_LOAD&element_bits=16&tile=64x128&pin=shared:3,5",
    "/layouts/tv?cute=((4,8),(2,2,2)):((32,1),(16,8,128))&tile=16x16&pin=table:3,5",
    "/layouts/triton?shape=64x64&pin=tile:3,5&pin2=thread:40",
    "/layouts/triton?shape=64x64&pin=bank:13"
    "&text=%23ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>",
)


@pytest.mark.parametrize("path", take_sample(BENCHES, 2))
def test_tiles_and_layouts_say_of_a_pin_what_the_server_says(open_page: Any, path: str) -> None:
    page = open_page(path)
    pins = dict(re.findall(r"(pin2?)=([^&]*)", path))
    want = read_texts(page, "#answer .says", served=True)
    assert want[0] and not want[0][0].startswith("Whichelement?")
    go_to_query(page, re.sub(r"&?pin2?=[^&]*", "", path.split("?")[1]))
    expect(page.locator("#answer h2")).to_have_text("Which element?")
    go_to_query(page, path.split("?")[1])
    expect(page.locator("#answer h2")).to_have_count(len(pins))
    expect(page.locator("#answer h2").first).not_to_have_text("Which element?")
    assert read_texts(page, "#answer .says") == want


def test_two_threads_of_a_tile_are_compared_and_back_undoes_a_pin(open_page: Any) -> None:
    page = open_page(TILE)
    ask(page, "C(37,50) vs T13")
    expect(page.locator("#answer h2")).to_contain_text(["C(37,50) is in thread 21, register R28", "Warp 0, lane 13"])
    expect(page.locator("#panel h2")).to_contain_text(["Thread 21", "Thread 13"])
    expect(page).to_have_url(re.compile(r"pin=c:37,50&pin2=thread:13(&view=[^&]*)?$"))
    page.go_back()
    expect(page.locator("#answer h2")).to_have_text("Which element?")
    page.locator("#find").blur()
    ask(page, "C(64,0)")
    expect(page.locator("#find-refusal")).to_have_text("C is 64 × 64: rows 0–63, columns 0–63.")


@pytest.mark.parametrize("path", take_sample(PINNED, 2))
def test_the_script_says_of_a_pin_what_the_server_says(open_page: Any, path: str) -> None:
    """The headline and the panel of a page that pins by script are those of its address."""
    query = path.partition("?")[2]
    page, parts = open_page(f"/i/{path}"), ("#answer .says", "#panel .lanes")
    want = read_texts(page, *parts, served=True)
    assert all(want)
    go_to_query(page, re.sub(r"&?pin2?=[^&]*", "", query))
    expect(page.locator("#answer h2")).to_have_text("Which element?")
    go_to_query(page, query)
    expect(page.locator("#answer h2").first).not_to_have_text("Which element?")
    said, (lanes,) = read_texts(page, *parts)
    assert said == want[0] and [lanes.replace("Esc", "")] == want[1]


def test_a_row_opens_with_its_lanes_alone_and_says_what_they_hold(open_page: Any) -> None:
    """By hand: row 3 of D and its lower neighbour 8 rows below lie in lanes 4 · 3 to 4 · 3 + 3, column 3 of B too."""
    page, told = open_page(f"/i/{M16}", stay=True), "rows 3, 11 of A, column 3 of B and rows 3, 11 of D"
    ask(page, "row 3 of D")
    expect(page).to_have_url(re.compile(r"\?lanes=12-15$"))
    expect(page.locator("#answer h2")).to_have_text(f"Lanes 12–15 hold {told}")
    (served,) = read_texts(page, "#answer .says", served=True)
    page.fill("[name=lanes]", "0-1")
    page.press("[name=lanes]", "Enter")
    expect(page.locator("#answer h2")).to_have_text("Lanes 0–1 hold 16 values of A, 8 values of B and 8 values of D")
    page.fill("[name=lanes]", "12-15")
    page.press("[name=lanes]", "Enter")
    expect(page.locator("#answer h2")).to_have_text(f"Lanes 12–15 hold {told}")
    assert read_texts(page, "#answer .says") == [served]
    page.fill("[name=lanes]", "")
    page.press("[name=lanes]", "Enter")
    expect(page.locator("#answer h2")).to_have_text("Which element?")


def test_f_finds_an_element_and_back_undoes_the_pin(open_page: Any) -> None:
    page = open_page(f"/i/{M16}?colour=t", stay=True)
    ask(page, "A[5][9]")
    expect(page.locator("#answer h2")).to_have_text("A[5][9] is in lane 20, register R2, bits 31:16")
    expect(page).to_have_url(re.compile(r"\?colour=t&pin=a:5,9$"))
    assert page.evaluate("performance.getEntriesByType('navigation').length") == 1
    page.locator("#find").blur()
    ask(page, "D[8][6]")
    expect(page.locator("#answer h2")).to_contain_text("D[8][6]")
    page.go_back()
    expect(page.locator("#answer h2")).to_contain_text("A[5][9]")
    page.go_back()
    expect(page.locator("#answer h2")).to_have_text("Which element?")
    expect(page).to_have_url(re.compile(r"\?colour=t$"))


def test_an_error_stands_beside_the_field_and_names_the_range(open_page: Any) -> None:
    page = open_page(f"/i/{M16}?pin=d:3,2", stay=True)
    ask(page, "A[16][0]")
    expect(page.locator("#find-refusal")).to_have_text("A is 16 × 16: rows 0–15, columns 0–15.")
    expect(page.locator("#find")).to_have_attribute("aria-invalid", "true")
    expect(page).to_have_url(re.compile("pin=d:3,2$"))
    page.fill("#find", "lane 20")
    page.keyboard.press("Enter")
    expect(page.locator("#answer h2")).to_contain_text("Lane 20 holds 8 values of A")
    expect(page.locator("#find-refusal")).to_be_empty()
    lanes = list_thread_cells(find(M16), "d", 20)
    wait_until(page, lambda: list_lit_cells(page, "d"), lanes)


def check_that_a_server_in_trouble_is_not_told_as_not_found(page: Page) -> None:
    page.route("**/i/**find=*", lambda route: route.fulfill(status=200, body="The gateway is busy."))
    ask(page, "A[5][9]")
    expect(page.locator("#find-refusal")).to_have_text("The server does not answer.")


def test_escape_empties_the_field_before_it_frees_the_pins(open_page: Any) -> None:
    page = open_page(f"/i/{M16}?pin=a:5,9&pin2=b:3,4", stay=True)
    ask(page, "A[16][0]")
    expect(page.locator("#find")).to_have_attribute("aria-invalid", "true")
    page.keyboard.press("Escape")
    expect(page.locator("#find")).to_have_value("")
    expect(page.locator("#find-refusal")).to_be_empty()
    expect(page).to_have_url(re.compile("pin=a:5,9&pin2=b:3,4$"))
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("pin"))


def check_that_a_double_click_leaves_both_pins(page: Page) -> None:
    """Back undoes its two clicks, no third step."""
    page.evaluate("""() => {
      const push = history.pushState.bind(history);
      window.pushed = 0;
      history.pushState = (...given) => { window.pushed += 1; push(...given); };
    }""")  # history.length ends at 50
    page.mouse.dblclick(*find_centre(page, "d", 2, 2))
    expect(page).to_have_url(re.compile("pin=a:5,9&pin2=b:3,4$"))
    wait_until(page, "pushed", 2)


def test_a_second_pin_compares_two_lanes(open_page: Any) -> None:
    page = open_page(f"/i/{M16}?pin=a:5,9", stay=True)
    hover_cell(page, "b", 3, 4)
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.up()
    page.keyboard.up("Shift")
    expect(page).to_have_url(re.compile("pin=a:5,9&pin2=b:3,4$"))
    expect(page.locator("#panel h2")).to_contain_text(["Lane 20", "Lane 17"])
    expect(page.locator("#answer p").first).to_have_text("They are in different lanes.")
    wanted = list_thread_cells(find(M16), "d", 20) | list_thread_cells(find(M16), "d", 17)
    wait_until(page, lambda: list_lit_cells(page, "d"), wanted)
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("pin"))


GRID = """([row, col]) => { const s = lanescope.stage, p = s.drawn.find((x) => x.name === 'lanes');
  const box = s.base.getBoundingClientRect();
  return [box.x + p.columnAt(col + .5), box.y + p.rowAt(row + .5)]; }"""


def test_the_grid_of_lanes_points_at_the_matrices(open_page: Any) -> None:
    """Row 20, column 5 of the grid is a5 of lane 20; columns are A's 8 values, B's 4 and D's 4."""
    page = open_page(f"/i/{M16}", stay=True)
    for col, (operand, value) in {5: ("a", 5), 9: ("b", 1), 15: ("d", 3)}.items():
        op = find(M16).operand(operand)
        row_at, col_at = int(op.rows[20, value]), int(op.cols[20, value])
        page.mouse.click(*page.evaluate(GRID, [20, col]))
        expect(page).to_have_url(re.compile(rf"pin={operand}:{row_at},{col_at}$"))
        page.keyboard.press("Escape")
        expect(page).not_to_have_url(re.compile("pin="))
    hover_cell(page, "d", 3, 2)
    wait_until(page, lambda: json.loads(page.get_attribute("#stage", "data-lit") or "{}").get("thread"), 13)
    counts = json.loads(page.get_attribute("#stage", "data-lit") or "{}")["cells"]
    assert counts == {"a": 8, "b": 4, "d": 4}


def check_that_hidden_lanes_are_not_pointed_at(page: Page) -> None:
    page.mouse.move(*find_centre(page, "d", 1, 0))  # lane 4
    wait_until(page, lambda: json.loads(page.get_attribute("#stage", "data-lit") or "{}").get("thread"), 4)
    page.mouse.click(*find_centre(page, "d", 0, 0))  # lane 0
    expect(page.locator("#stage")).not_to_have_attribute("data-lit", re.compile(""))
    assert "pin" not in page.url


def check_that_on_a_phone_the_answer_stays_at_the_bottom_in_one_line(page: Page) -> None:
    page.mouse.wheel(0, 1500)
    wait_until(page, "Math.round(document.querySelector('.sticky').getBoundingClientRect().bottom)", 844)
    expect(page.locator(".sticky")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.querySelector('.sticky').offsetHeight") < 50
    expect(page.locator(".sticky")).to_have_text("A[5][9] is in lane 20, register R2, bits 31:16")


def test_a_found_element_is_in_view_on_a_phone_and_trouble_is_told_as_trouble(open_page: Any) -> None:
    """Two pins outlive a double click."""
    page = open_page(f"/i/{M16}?pin=a:5,9&pin2=b:3,4")
    check_that_a_double_click_leaves_both_pins(page)
    go_to_query(page, "pin=a:5,9")
    page.set_viewport_size({"width": 390, "height": 844})
    check_that_on_a_phone_the_answer_stays_at_the_bottom_in_one_line(page)
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.evaluate("scrollTo(0, 0)")
    check_that_a_server_in_trouble_is_not_told_as_not_found(page)
    page.unroute_all()
    page.locator("#find").blur()
    go_to_query(page, "lanes=4-7")
    check_that_hidden_lanes_are_not_pointed_at(page)
