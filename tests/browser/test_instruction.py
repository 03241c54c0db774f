"""The instruction page as a person uses it; what is lit is read back from the canvas, pixel by pixel."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from lanescope import find
from lanescope.app.instruction import wording
from lanescope.ptx import catalog
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


def read_pixel(page: Page, operand: str, row: int, col: int) -> tuple[int, ...]:
    return read_colours(page, operand)[row][col]


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


def check_that_pointing_at_a_name_shows_its_digits(page: Page) -> None:
    before = read_pixel(page, "a", 0, 2)
    page.click("#tabs a[href='#layouts']")
    page.locator("[data-operand=a] .name[data-name=t]").first.hover()
    expect(page.locator("#legend")).to_contain_text("Colour = thread in group")
    wait_until(page, lambda: read_pixel(page, "a", 0, 2) != before)
    page.mouse.move(5, 5)
    expect(page.locator("#legend")).to_contain_text("Colour = lane group")


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


def test_pickers_lead_to_legal_instructions_keep_the_looks_and_drop_what_was_of_the_other(open_page: Any) -> None:
    page = open_page(f"/i/{M16}?colour=t&label=row,col&lanes=1&pin=d:1,1")
    page.select_option("select[data-picker=shape]", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
    page.wait_for_url("**/i/mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32?colour=t&label=row,col")
    values = page.eval_on_selector_all("select[data-picker] option", "all => all.map((o) => o.value)")
    assert len(values) > 20 and all(catalog.find(v).ptx == v for v in values)


def test_wgmma_is_quick_small_and_links_warps(open_page: Any) -> None:
    page, found = open_page(f"/i/{WIDE}", stay=True), find(WIDE)
    assert page.evaluate("document.querySelectorAll('*').length") < 3000
    hover_cell(page, "d", 9, 20)
    (thread, _), *_ = found.operand("d").owner(9, 20)
    wait_until(page, lambda: read_lit_thread(page), thread)
    assert json.loads(page.get_attribute("#stage", "data-lit"))["cells"] == {"a": 8, "d": 128}
    wait_until(page, lambda: list_lit_cells(page, "a"), list_thread_cells(found, "a", thread))
    warp, lane = divmod(thread, 32)
    expect(page.locator("#panel h2")).to_have_text(f"Warp {warp}, lane {lane} thread {thread}")
    page.mouse.down()
    page.mouse.up()
    expect(page.locator("#panel section", has_text="128 registers").locator("tr")).to_have_count(128)


def test_zoom_keeps_cells_under_the_pointer(open_page: Any) -> None:
    page, found = open_page(f"/i/{WIDE}?view=m:8-24,n:32-64", stay=True), find(WIDE)
    panels = page.evaluate("Object.fromEntries(lanescope.stage.panels.map((p) => [p.name, p.window]))")
    assert panels["d"] == {"x0": 32, "x1": 64, "y0": 8, "y1": 24} and (panels["a"]["y0"], panels["a"]["y1"]) == (8, 24)
    hover_cell(page, "d", 10, 40)
    wait_until(page, lambda: read_lit_thread(page), found.operand("d").owner(10, 40)[0][0])
    hover_cell(page, "a", 10, 3)
    wait_until(page, lambda: read_lit_thread(page), found.operand("a").owner(10, 3)[0][0])


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


def check_that_theme_button_flips_cells_and_page(page: Page) -> None:
    light = read_pixel(page, "a", 0, 0)
    for system, changed in (("dark", True), ("light", False)):
        page.emulate_media(color_scheme=system)
        wait_until(page, lambda: read_pixel(page, "a", 0, 0) != light, changed)
    page.click("#theme")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    wait_until(page, lambda: read_pixel(page, "a", 0, 0) != light)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 20, 24)"
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_what_counts_stands_above_the_fold_and_the_matrices_fill_the_width(open_page: Any) -> None:
    page = open_page(f"/i/{M16}", width=1440, height=900)
    bottom = "(css) => document.querySelector(css).getBoundingClientRect().bottom"
    for width, height in ((1440, 900), (1366, 768)):
        page.set_viewport_size({"width": width, "height": height})
        for part in (".mat[data-panel=d] .slot", "#panel"):
            wait_until(page, lambda part=part, height=height: page.evaluate(bottom, part) <= height)
    for width in (2560, 1920):
        page.set_viewport_size({"width": width, "height": 1000})
        wait_until(page, lambda width=width: page.locator("#stage").bounding_box()["width"] >= min(width - 60, 2190))


def test_a_tab_shows_one_section_and_stays_in_the_address(open_page: Any) -> None:
    page = open_page(f"/i/{M16}?pin=d:3,2#code")
    shown = "[...document.querySelectorAll('.tab')].filter((one) => !one.hidden).map((one) => one.id)"
    assert page.evaluate(shown) == ["code"]
    page.click("#tabs a[href='#evidence']")
    wait_until(page, shown, ["evidence"])
    expect(page).to_have_url(re.compile(r"\?pin=d:3,2#evidence$"))
    page.click(".head .end a[href='#run']")
    wait_until(page, shown, ["run"])
    expect(page.locator("#run")).to_be_in_viewport()
    expect(page.locator("#run")).to_be_focused()
    page.select_option("select[name=colour]", "t")
    expect(page).to_have_url(re.compile("colour=t&pin=d:3,2#run$"))
    served = """async () => new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html")
      .querySelectorAll(".tab:not([hidden])").length"""
    assert page.evaluate(served) == 6, "without scripts all are shown"


def test_copying_a_link_says_what_happened_over_plain_http_too(open_page: Any) -> None:
    page = open_page(f"/i/{M16}?colour=t")
    page.click("[data-copy-link]")
    expect(page.locator("[data-copy-link]")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()").endswith(f"/i/{M16}?colour=t")
    expect(page.locator("[data-copy-link]")).to_have_text("Copy link")
    page.evaluate("""() => {
      Object.defineProperty(navigator, "clipboard", { value: undefined });
      document.execCommand = () => Boolean(window.selected = getSelection().toString() || document.activeElement.value);
    }""")
    page.click("[data-copy-link]")
    expect(page.locator("[data-copy-link]")).to_have_text("Copied")
    assert page.evaluate("window.selected === location.href")
    page.evaluate("document.execCommand = () => false")
    expect(page.locator("[data-copy-link]")).to_have_text("Copy link")
    page.click("[data-copy-link]")
    expect(page.locator("[data-copy-link]")).to_have_text("Copy failed")


def test_names_and_the_theme_change_the_colours_of_cells(open_page: Any) -> None:
    page = open_page(f"/i/{M16}?label=none")
    check_that_pointing_at_a_name_shows_its_digits(page)
    check_that_theme_button_flips_cells_and_page(page)
