"""The instruction page as a person uses it; what is lit is read back from the canvas, pixel by pixel."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from lanescope import find
from lanescope.app.instruction import wording
from lanescope.ptx.instruction import Instruction
from lanescope.render.view import OperandGrid
from tests.browser.waiting import wait_for_rest, wait_until
from tests.spoken import speak_cell

pytestmark = pytest.mark.browser
M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WIDE = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"


def find_centre(page: Page, operand: str, row: int, col: int) -> tuple[float, float]:
    """The viewport point of a cell's centre."""
    return tuple(
        page.evaluate(
            """([name, row, col]) => { const s = lanescope.stage, p = s.panels.find((x) => x.name === name);
            const box = s.base.getBoundingClientRect();
            return [box.x + p.columnAt(col + .5), box.y + p.rowAt(row + .5)]; }""",
            [operand, row, col],
        )
    )


def hover_cell(page: Page, operand: str, row: int, col: int) -> None:
    page.locator(f".mat[data-panel='{operand}'] .slot").scroll_into_view_if_needed()
    page.mouse.move(*find_centre(page, operand, row, col))


def list_lit_cells(page: Page, operand: str) -> set[tuple[int, int]]:
    """Cells that the highlight canvas leaves undimmed at their centre."""
    cells: list[Any] = page.evaluate(
        """(name) => { const s = lanescope.stage, p = s.panels.find((x) => x.name === name), ratio = devicePixelRatio;
        const { data, width } = s.over.getContext('2d').getImageData(0, 0, s.over.width, s.over.height), out = [];
        for (let r = 0; r < p.rows; r++) for (let k = 0; k < p.cols; k++) {
          if (!p.covers(p.columnAt(k + .5), p.rowAt(r + .5))) continue;
          const [x, y] = [Math.floor(p.columnAt(k + .5) * ratio), Math.floor(p.rowAt(r + .5) * ratio)];
          if (data[4 * (y * width + x) + 3] === 0) out.push([r, k]); }
        return out; }""",
        operand,
    )
    return {(r, c) for r, c in cells}


def read_lit_thread(page: Page) -> int:
    return json.loads(page.get_attribute("#stage", "data-lit") or "{}").get("thread", -1)


def list_thread_cells(instruction: Instruction, operand: str, thread: int) -> set[tuple[int, int]]:
    op = instruction.operands[operand]
    return set(zip(op.rows[thread].tolist(), op.cols[thread].tolist(), strict=True))


def test_hover_lights_the_lane_in_all_three_matrices(open_page: Any) -> None:
    page, found = open_page(f"/i/{M16}", stay=True), find(M16)
    for operand, row, col in (("a", 11, 2), ("b", 5, 6), ("d", 0, 7)):
        hover_cell(page, operand, row, col)
        (thread, _), *_ = found.operand(operand).owner(row, col)
        for name in "abd":
            wait_until(page, lambda name=name: list_lit_cells(page, name), list_thread_cells(found, name, thread))
        expect(page.locator("#panel h2")).to_contain_text(f"Lane {thread}")
    page.mouse.move(5, 5)
    expect(page.locator("#stage")).not_to_have_attribute("data-lit", re.compile(""))
    assert "data-lit" not in page.inner_html("#stage")


def test_click_pins_traces_and_escape_frees(open_page: Any) -> None:
    page, found = open_page(f"/i/{M16}", stay=True), find(M16)
    hover_cell(page, "d", 3, 2)
    page.mouse.down()
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"\?pin=d:3,2$"))
    hover_cell(page, "a", 12, 12)
    (thread, _), *_ = found.operand("d").owner(3, 2)
    expect(page.locator("#panel h2")).to_contain_text(f"Lane {thread} pinned")
    trace = page.inner_text("#trace").splitlines()
    assert len(trace) == 17
    for k, line in enumerate(trace[1:]):
        (ta, va), (tb, vb) = found.operand("a").owner(3, k)[0], found.operand("b").owner(k, 2)[0]
        assert re.findall(r"T\d+ [ab]\d+", line) == [f"T{ta} a{va}", f"T{tb} b{vb}"]
    wait_until(
        page, lambda: list_lit_cells(page, "a"), list_thread_cells(found, "a", thread) | {(3, k) for k in range(16)}
    )
    wait_until(
        page, lambda: list_lit_cells(page, "b"), list_thread_cells(found, "b", thread) | {(k, 2) for k in range(16)}
    )
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("pin"))
    expect(page.locator("#spoken")).to_have_text("freed")


def test_panel_says_registers_bits_and_numbers(open_page: Any) -> None:
    page = open_page(f"/i/{M16}?pin=a:11,3", stay=True)
    panel = page.inner_text("#panel")
    assert page.locator("#panel .lit").all_inner_texts() == ["A[11][3]"]
    assert "A[11][3] = a3, R1[31:16]" in panel
    lines = dict(
        zip(
            page.locator("#panel .numbers dt").all_inner_texts(),
            page.locator("#panel .numbers dd").all_inner_texts(),
            strict=True,
        )
    )
    assert lines == {
        "lane": "4 * (row & 7) + ((col >> 1) & 3) = 4 * (11 & 7) + ((3 >> 1) & 3) = 13",
        "value": "4 * (col >> 3) + 2 * (row >> 3) + (col & 1) = 4 * (3 >> 3) + 2 * (11 >> 3) + (3 & 1) = a3",
        "register": "value / 2 = 3 / 2 = R1[31:16]",
    }


def test_url_restores_everything(open_page: Any) -> None:
    page = open_page(f"/i/{M16}?colour=t&label=row,col&lanes=0-3,9&pin=d:8,3")
    assert page.input_value("select[name=colour]") == "t" and page.input_value("select[name=label]") == "row,col"
    assert page.input_value("input[name=lanes]") == "0-3,9"
    assert page.evaluate("lanescope.state") == {
        "colour": "t",
        "label": "row,col",
        "lanes": "0-3,9",
        "pin": "d:8,3",
        "pin2": "",
        "product": 0,
        "view": "",
        "a_major": "K",
        "b_major": "K",
        "idesc": "",
        "target": "",
        **dict.fromkeys(("selector", "byte_id_a", "byte_id_b", "thread_id_a", "thread_id_b"), 0),
    }
    assert json.loads(page.get_attribute("#stage", "data-lit"))["thread"] == find(M16).operand("d").owner(8, 3)[0][0]
    page.select_option("select[name=colour]", "register")
    expect(page).to_have_url(re.compile(r"colour=register&label=row,col&lanes=0-3,9&pin=d:8,3$"))


def read_colours(page: Page, operand: str) -> list[list[tuple[int, ...]]]:
    """Read a pixel near the upper left corner of each cell: [row][col] of (red, green, blue, alpha)."""
    rows: list[list[list[int]]] = page.evaluate(
        """(name) => {
        const s = lanescope.stage, p = s.panels.find((x) => x.name === name), ratio = devicePixelRatio;
        const { data, width } = s.base.getContext('2d').getImageData(0, 0, s.base.width, s.base.height);
        return Array.from({ length: p.rows }, (_, row) => Array.from({ length: p.cols }, (_, col) => {
          const at = 4 * (Math.round((p.rowAt(row) + 3) * ratio) * width + Math.round((p.columnAt(col) + 3) * ratio));
          return [...data.subarray(at, at + 4)]; })); }""",
        operand,
    )
    return [[tuple(cell) for cell in row] for row in rows]


@pytest.mark.thorough
def test_colour_by_paints_one_colour_a_digit(open_page: Any) -> None:
    page, grid = open_page(f"/i/{M16}?label=none", stay=True), OperandGrid(find(M16).operand("a"))
    for name in ("g", "t", "j", "register"):
        page.select_option("select[name=colour]", name)
        category = grid.number_cells(name)
        described = re.escape(wording.describe_names(find(M16))[name])
        expect(page.locator("#legend")).to_contain_text(re.compile(f"Colour (of A, B )?= {described}"))
        wait_for_rest(page)
        legend = page.locator("#legend i").evaluate_all("all => all.map((one) => one.style.background)")
        seen: dict[int, set[tuple[int, ...]]] = {}
        for row, colours in enumerate(read_colours(page, "a")):
            for col, colour in enumerate(colours):
                seen.setdefault(int(category[row, col]), set()).add(colour)
        for number, painted in seen.items():
            assert [f"rgb({r}, {g}, {b})" for r, g, b, _ in painted] == [legend[number]], (name, number)
        assert len(set.union(*seen.values())) == len(seen), name


def test_keyboard_alone(open_page: Any) -> None:
    page, found = open_page(f"/i/{M16}", stay=True), find(M16)
    page.focus("#stage")
    for key in ("d", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    (thread, _), *_ = found.operand("d").owner(1, 2)
    expect(page.locator("#spoken")).to_have_text(speak_cell(OperandGrid(found.operand("d")), 1, 2))
    wait_until(page, lambda: list_lit_cells(page, "d"), list_thread_cells(found, "d", thread))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"\?pin=d:1,2$"))
    expect(page.locator("#spoken")).to_have_text(re.compile("^D row 1 column 2: .*, pinned$"))
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("pin"))
    page.keyboard.press("/")
    wait_until(page, "document.activeElement.type", "search")


def test_lanes_filter_fades_the_others_and_refuses_nonsense(open_page: Any) -> None:
    page = open_page(f"/i/{M16}?lanes=4-5&label=none&colour=e", stay=True)
    held = list_thread_cells(find(M16), "d", 4) | list_thread_cells(find(M16), "d", 5)
    colours = read_colours(page, "d")
    shown = {colours[r][c] for r, c in held}
    faded = {colours[r][c] for r in range(16) for c in range(8) if (r, c) not in held}
    assert len(faded) == 1 and not shown & faded
    for wrong in ("32", "9-7"):
        page.fill("input[name=lanes]", wrong)
        page.press("input[name=lanes]", "Tab")
        wait_for_rest(page)
        assert page.input_value("input[name=lanes]") == wrong and "lanes=4-5" in page.url
        expect(page.locator("#lanes-error")).to_have_text(
            f"Lanes is '{wrong}'. Write numbers from 0 to 31 and ranges, as in 0-3,8."
        )
    page.fill("input[name=lanes]", "0-3, 8")
    page.press("input[name=lanes]", "Tab")
    expect(page.locator("#lanes-error, [aria-invalid]")).to_have_count(0)


def test_quad_pair_shows_one_product(open_page: Any) -> None:
    text = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"
    page, found = open_page(f"/i/{text}?product=2"), find(text)
    hover_cell(page, "d", 5, 1)
    (thread, _), *_ = found.operand("d").owner(5, 1, 2)
    wait_until(page, lambda: read_lit_thread(page), thread)
    op = found.operand("a")
    held = {
        (int(r), int(c))
        for r, c, q in zip(op.rows[thread], op.cols[thread], op.coords["product"][thread], strict=True)
        if q == 2
    }
    wait_until(page, lambda: list_lit_cells(page, "a"), held)
