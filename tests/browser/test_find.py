"""The answer above an instruction's matrices, the find field, two pins, and the grid of lanes and registers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from lanescope import find
from tests.browser.test_instruction import M16, WIDE, hover_cell, list_lit_cells, list_thread_cells
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


@pytest.mark.thorough
def test_a_pin_outside_the_opening_view_is_shown_in_the_middle(open_page: Any) -> None:
    page = open_page("/i/wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16?pin=d:37,40", stay=True)
    expect(page).to_have_url(re.compile(r"view=m:29-45,n:24-56"))


@pytest.mark.thorough
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
