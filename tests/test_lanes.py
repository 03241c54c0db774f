"""The lane panel and the table of every lane: each value's text names the element the map says, with all its
coordinates.
"""

from __future__ import annotations

import re
from html import unescape

from lanescope import find
from lanescope.app.instruction import lanes, state
from lanescope.ptx import catalog
from lanescope.render.figure import make_figure
from tests.cases import for_each
from tests.client import Client
from tests.sample import take_sample

X4 = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
SHOWN = tuple(
    {(i.family.name, i.shape, i.syntax.opcode): i for i in catalog.instructions() if i.threads == 32}.values()
)


@for_each("found", take_sample(SHOWN, 26), ids=lambda i: i.ptx)
def test_every_value_in_the_panel_is_where_its_map_says(found: object) -> None:
    assert isinstance(found, catalog.Instruction)
    figure = make_figure(found)
    seen = 0
    for panel, grid in lanes.build_panel_grids(found, figure).items():
        op = grid.operand
        for thread in range(op.threads):
            told = lanes.build_lane_registers(grid, panel, thread)
            for register, values in (told.registers if told else {}).items():
                for each in values:
                    if op.name == "address":
                        assert (grid.product, int(each.text.removeprefix("row "))) == tuple(
                            int(op.coords[a][thread, 0]) for a in ("matrix", "row")
                        )
                        continue
                    ((title, row, col),) = re.findall(r"^(\w+)\[(\d+)\]\[(\d+)\]$", each.text)
                    value = re.fullmatch(r"[a-z]+(\d+), bits \[\d+:\d+\]", each.tip)[1]  # type: ignore[index]
                    place = [int(row), int(col)]
                    third = [axis for axis in op.axes if axis not in op.plane]
                    if third:
                        place.insert(
                            op.axes.index(third[0]), int(title[6:]) if title.startswith("matrix") else grid.product
                        )
                    assert [int(op.coords[axis][thread, int(value)]) for axis in op.axes] == place
                    assert op.register_of(int(value))[0] == register
                    seen += 1
    assert seen


WIDE = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"


@for_each(
    ("query", "name", "pictured"),
    [
        ("", "lane group (lane / 4)", ""),
        ("view=all", "warp (thread / 32)", "?colour=w"),
        ("colour=w", "warp (thread / 32)", "?colour=w"),
        ("colour=auto", "lane group (lane / 4)", ""),
        ("view=m:15-17,n:0-32,k:0-16", "warp (thread / 32)", "?colour=w"),
        ("view=m:16.5-32,n:0-32,k:0-16", "lane group (lane / 4)", ""),
        ("colour=t&view=all", "thread in group (lane % 4)", "?colour=t"),
    ],
)
def test_a_warpgroup_is_coloured_by_warp_and_one_warp_by_its_lanes(
    client: Client, query: str, name: str, pictured: str
) -> None:
    page = client.get(f"/i/{WIDE}?{query}").text
    assert f"Colour = {name}<" in page and f'href="/i/{WIDE}.svg{pictured}"' in page
    slot = page.partition('data-panel="d"')[2].partition("</figure>")[0]
    assert (slot.count("var(--fill-") > 4) == ("group (lane / 4)" in name)


def test_colouring_by_itself_is_for_warpgroups_alone(client: Client) -> None:
    assert "Allowed: g, t, " in client.get(f"/i/{X4}?colour=auto").text
    assert 'value="auto"' not in client.get("/i/mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").text


def test_ldmatrix_page_names_matrix_row_and_column(client: Client) -> None:
    text = client.get(f"/i/{X4}").text
    panel = unescape(text[text.index('id="panel"') : text.index("</aside>")])
    assert "DATA[" not in text
    for v in range(8):
        assert re.search(rf'title="data{v}, bits [^"]+">matrix{v // 2}\[0\]\[{v % 2}\]', panel), v
    table = re.search(r"every lane as a table of matrix,row,col</summary>(.*?)</table>", text, re.S)
    assert table and re.search(
        r'<th scope="row">13</th><td colspan="8">0,3,2  0,3,3  1,3,2  1,3,3  2,3,2  2,3,3  3,3,2  3,3,3</td>', table[1]
    )


def test_the_panel_lists_a_lane_that_the_figure_has() -> None:
    found = find("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32")
    chosen, _ = state.parse_state(found, {"product": "2"})
    assert lanes.find_selected_lane(found, make_figure(found, 2), chosen) == 8
    chosen, _ = state.parse_state(found, {"product": "2", "lanes": "9-11"})
    assert lanes.find_selected_lane(found, make_figure(found, 2), chosen) == 9
