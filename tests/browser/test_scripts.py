"""What scripts work out for themselves, held against the engine cell by cell: owners, labels, colours, words, links."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from lanescope import find
from lanescope.render import palette
from lanescope.render.figure import make_figure
from lanescope.render.view import LABELS
from tests.browser.test_instruction import M16, WIDE, find_centre, hover_cell
from tests.browser.waiting import wait_for_rest
from tests.sample import take_sample
from tests.spoken import speak_cell

pytestmark = pytest.mark.browser
WMMA = "wmma.load.a.sync.aligned.row.m8n32k16.f16"
QUAD = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
LDMATRIX = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"

# Everything the page's own modules say of every cell of every matrix.
SAID = """async () => {
  const names = ["instruction/owners", "kit/template", "instruction/state", "instruction/spoken"];
  const [owners, template, state, spoken] = await Promise.all(names.map((name) => import(`/static/${name}.js`)));
  const each = (panel, said) => Array.from({ length: panel.rows }, (_, row) =>
    Array.from({ length: panel.cols }, (_, col) => said({ panel, row, col })));
  const every = (object, said) =>
    Object.fromEntries(Object.entries(object).map(([key, value]) => [key, said(value, key)]));
  const heard = (cell) => {
    spoken.speak(cell);
    return document.getElementById("spoken").textContent;
  };
  const out = {};
  for (const panel of lanescope.stage.panels) {
    const op = panel.operand;
    if (!op) continue;
    const held = [...op.byThread.keys()].map((thread) =>
      [thread, owners.heldBy(op, thread).map(({ cell, value }) => [value, cell])]);
    out[panel.name] = {
      labels: every(state.data.labels, (text) => each(panel, (cell) => template.fill(text, owners.factsOf(cell)))),
      colours: every(op.categories, (_, name) => each(panel, (cell) => owners.numberOf(op, name, owners.owner(cell)))),
      wheels: every(op.categories, (category) => category.wheel),
      held: Object.fromEntries(held), heard: each(panel, heard), warps: panel.warp_edges,
    };
  }
  return out;
}"""


SHOWN = (f"{QUAD}?product=2", WMMA, LDMATRIX, "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", SPARSE)


@pytest.mark.parametrize("path", take_sample(SHOWN, 3))
def test_the_page_says_of_every_cell_what_the_engine_says(open_page: Any, path: str) -> None:
    ptx, _, query = path.partition("?product=")
    said = open_page(f"/i/{path}").evaluate(SAID)
    panels = [p for p in make_figure(find(ptx), int(query or 0)).panels if p.grid]
    assert set(said) - {"e"} == {p.name for p in panels}  # metadata: test_supplies
    for panel in panels:
        grid, told = panel.grid, said[panel.name]
        assert grid is not None
        assert told["labels"] == {kind: grid.format_labels(kind) for kind in LABELS}
        assert told["colours"] == {name: grid.number_cells(name).tolist() for name in grid.colour_names}
        assert told["warps"] == panel.warp_edges
        assert told["wheels"] == {
            name: list(palette.list_fill_variables(c.count)) for name, c in grid.categories.items()
        }
        title = panel.name.upper() if len(panel.name) == 1 else panel.name
        assert told["heard"] == [[speak_cell(grid, r, c, title) for c in range(grid.cols)] for r in range(grid.rows)]
        held: dict[str, list[list[int]]] = {}
        for row, col, copy in sorted(zip(*(grid.thread >= 0).nonzero(), strict=True), key=lambda at: grid.value[at]):
            held.setdefault(str(grid.thread[row, col, copy]), []).append(
                [int(grid.value[row, col, copy]), int(row * grid.cols + col)]
            )
        assert told["held"] == held


def count_line_pixels(page: Page, operand: str, row: int, col: float) -> int:
    """How many pixels across the upper edge of a row have the colour of lines."""
    return page.evaluate(
        """([name, row, col]) => {
        const s = lanescope.stage, p = s.panels.find((x) => x.name === name), ratio = devicePixelRatio;
        const x = Math.round(p.columnAt(col + .25) * ratio), y = Math.round(p.rowAt(row) * ratio);
        const d = s.base.getContext('2d').getImageData(x, y - 2, 1, 5).data;
        const line = s.theme.line.match(/\\d+/g).map(Number);
        return [0, 1, 2, 3, 4].filter((n) => line.every((c, i) => Math.abs(d[n * 4 + i] - c) < 12)).length; }""",
        [operand, row, col],
    )


def test_lines_between_warps_are_heavy_and_the_legend_is_the_palettes(open_page: Any) -> None:
    edges = next(p for p in make_figure(find(WIDE)).panels if p.name == "d").warp_edges
    assert edges == [16, 32, 48]
    page = open_page(f"/i/{WIDE}?colour=register&label=none&view=all")
    assert all((count_line_pixels(page, "d", row, 100) > 0) == (row in edges) for row in range(8, 64, 8))
    assert "Colour = register mod 8 (128 in 8 colours)" in page.inner_text("#legend")
    fills = page.locator("#legend i").evaluate_all("all => all.map((box) => box.style.background)")
    expected = [f"rgb({', '.join(str(int(fill[n : n + 2], 16)) for n in (1, 3, 5))})" for fill in palette.LIGHT.fills]
    assert fills == expected
    page.select_option("select[name=colour]", "t")
    expect(page.locator("#legend i")).to_have_count(4)
    assert "mod" not in page.inner_text("#legend")
    page.select_option("select[name=colour]", "e")
    expect(page.locator("#legend i")).to_have_count(2)


@pytest.mark.thorough
def test_pinning_by_click_and_key_keeps_and_frees(open_page: Any) -> None:
    page = open_page(f"/i/{M16}?colour=t&label=row,col&lanes=0-31")
    links = page.locator("a[data-form]")
    assert links.first.get_attribute("href") == f"/i/{M16}.svg?colour=t&label=row,col&lanes=0-31"
    hover_cell(page, "a", 3, 3)
    page.mouse.down()
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"colour=t&label=row,col&lanes=0-31&pin=a:3,3$"))
    for form in ("svg", "png", "pdf", "tex"):
        assert (
            page.get_attribute(f"a[data-form={form}]", "href")
            == f"/i/{M16}.{form}?colour=t&label=row,col&lanes=0-31&pin=a:3,3"
        )
    hover_cell(page, "a", 9, 9)
    expect(page.locator("#panel h2")).to_contain_text("Lane 13 pinned")
    hover_cell(page, "a", 3, 3)
    page.mouse.down()
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"lanes=0-31$"))
    expect(page.locator("#spoken")).to_have_text(re.compile("^A row 3 column 3: lane 13, .*, freed$"))
    page.focus("#stage")
    for keys, at in (
        (["b", "ArrowUp", "ArrowLeft"], (0, 0)),
        (["ArrowRight"] * 9, (0, 7)),
        ([*["ArrowDown"] * 17, "Space"], (15, 7)),
    ):
        for key in keys:
            page.keyboard.press(key)
        expect(page.locator("#spoken")).to_have_text(re.compile("^B row {} column {}:".format(*at)))
    expect(page).to_have_url(re.compile(r"pin=b:15,7$"))
    page.keyboard.press("ArrowUp")
    expect(page).to_have_url(re.compile(r"lanes=0-31$"))
    before = page.inner_text("#spoken")
    hover_cell(page, "d", 0, 0)
    expect(page.locator("#panel h2")).to_have_text("Lane 0")
    assert page.inner_text("#spoken") == before, "no word of what a pointer passes"
    x, y = find_centre(page, "d", 0, 0)
    page.mouse.down()
    page.mouse.move(x + 30, y + 30)
    page.mouse.up()
    wait_for_rest(page)
    assert page.url.endswith("lanes=0-31"), "a drag is the zoom's"
