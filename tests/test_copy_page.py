"""The benches of a TiledCopy and of a main loop: what their pages, scripts and pictures say."""

from __future__ import annotations

from html import unescape
from typing import Any

import numpy as np

from lanescope.app.kit.maps import script_data
from lanescope.app.kit.maps.bench import HolderMap
from lanescope.app.tiles import tiled_copy_facts, tiled_copy_page
from lanescope.app.tiles.tiled_copy_maps import build_copy_bench, build_tma_bench
from lanescope.reader import recognise_text
from lanescope.tiles import bulk_code
from lanescope.tiles.bulk import is_tma
from lanescope.tiles.shades import TileShade
from tests.cases import for_each
from tests.client import Client

# TiledCopy ------------------------------------------------------------------------------------------------------------


BULK = [name for name, fields in tiled_copy_page.PRESETS.items() if is_tma(fields["atom"])]


@for_each("name", [name for name in tiled_copy_page.PRESETS if name not in BULK])
def test_the_script_of_a_copy_gets_its_maps(name: str) -> None:
    given = tiled_copy_page.build_body(tiled_copy_page.PRESETS[name])
    made = tiled_copy_facts.parse_tiled_copy(given)
    bench_ = build_copy_bench(made, tiled_copy_facts.build_cost_sides(made, given)[0])
    for one in bench_.maps:
        told, held = script_data.build_tile_data(one), getattr(made, one.name)
        cells = np.add.outer(np.array(told.first), np.array(told.steps))
        assert told.cells is None and (cells == held.rows * made.tile[1] + held.cols).all()
        assert np.bincount(cells.reshape(-1)).max() == told.copies


def test_maps_that_do_not_add_up_are_sent_whole_and_pictured_the_same() -> None:
    """A value that one holder lacks: the cells themselves are sent, and the colour of nobody's cell is none."""
    cell = np.array([[0, 3], [1, -1], [2, 5]])
    one = HolderMap(
        "x",
        "X",
        "",
        rows=2,
        cols=3,
        cell=cell,
        element_bits=16,
        shades={"warp": TileShade("thread", 1, 3)},
        group=(0, 1),
    )
    told, held = script_data.build_tile_data(one), one.find_first_holders()
    assert told.cells == [0, 3, 1, -1, 2, 5] and told.first == []
    assert held.thread.tolist() == [[0, 1, 2], [0, -1, 2]] and held.value.tolist() == [[0, 0, 0], [1, -1, 1]]
    assert one.colour_numbers("warp", held)[0].tolist() == [[0, 1, 2], [0, -1, 2]]
    assert one.list_registers(1, "V") == [("V0", "(0,1)")]


@for_each("name", BULK)
def test_the_page_of_a_tma_copy_draws_where_each_element_lands(client: Client, name: str) -> None:
    fields = tiled_copy_page.PRESETS[name]
    made = tiled_copy_facts.parse_tma_copy(tiled_copy_page.build_body(fields))
    bench_ = build_tma_bench(made)
    tile, shared = bench_.maps
    assert [one.cell.shape for one in bench_.maps] == [(made.tile[0] * made.tile[1] // 8, 8)] * 2
    base = int(made.address.min()) // 128 * 128
    for chunk in range(0, tile.cell.shape[0], 37):  # the same 16 bytes in both maps
        for here, there in zip(tile.cell[chunk], shared.cell[chunk], strict=True):
            row, col = divmod(int(here), made.tile[1])
            assert base + 2 * int(there) == made.address[row, col] == tile.fields["byte"][row, col]
            assert shared.fields["r"].flat[there] == row and shared.fields["c"].flat[there] == col
            for colour in bench_.colours:
                assert tile.of_cells[colour].numbers[row, col] == shared.of_cells[colour].numbers.flat[there]
    page = unescape(client.get(tiled_copy_page.link_copy(fields)).text)
    assert ("TMA cannot copy this tile" in page) == bool(made.rules)
    assert all(rule.code in page and rule.message in page for rule in made.rules)
    if made.rules:
        assert "cuTensorMapEncodeTiled" not in page
        return
    call = page[page.index("CUtensorMap map;") : page.index("// byte in shared")]
    told = next(one for one in recognise_text(call).found if one.kind == "tensor_map")
    assert told.facts["box"] == [*made.box] and told.facts["swizzle"] == made.swizzle
    starts = ", ".join(f"{{{byte}, {x}, {y}}}" for byte, x, y in bulk_code.list_box_starts(made))
    assert f"{{{starts}}}" in page
    scope: dict[str, Any] = {}
    exec(page[page.index("from lanescope import tma_copy") : page.index("made.address  #")], scope)
    assert np.array_equal(scope["made"].address, made.address) and scope["made"].multicast == made.multicast
    picture = client.get(
        tiled_copy_page.link_copy(fields).replace("/tiles/copy?", "/tiles/copy.csv?")
    ).text.splitlines()
    assert len(picture) == 1 + made.address.size
    assert picture[1 + made.tile[1]].split(",")[:5] == [
        "1",
        "0",
        *map(str, (made.number[1, 0], made.cta[1, 0], made.address[1, 0])),
    ]


def test_a_tiled_copy_is_shown_from_its_print(client: Client) -> None:
    """layout_tv over tiler_mn, as print shows a TiledCopy: the same page as of the TiledMMA's operand."""
    tv = "((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))"
    given = {"atom": tiled_copy_page.LDSM, "tile": "64x64", "layout_tv": tv, "tiler_mn": "(32,16)"}
    made = tiled_copy_facts.parse_tiled_copy(tiled_copy_page.build_body({**tiled_copy_page.EMPTY, **given}))
    other = tiled_copy_facts.parse_tiled_copy(
        tiled_copy_page.build_body({**tiled_copy_page.PRESETS["ldmatrix.x4 of A, 128B swizzle"], "stored": "none"})
    )
    assert np.array_equal(made.source.rows, other.source.rows)
    page = unescape(client.get("/tiles/copy", params=given).text)
    assert "make_tiled_copy_impl" in page and f'value="{tv}"' in page
    wrong = client.get("/tiles/copy", params={**given, "tiler_mn": "(8,8)"})
    assert wrong.status_code == 422 and "layout_tv" in unescape(wrong.text)


@for_each(
    ("query", "said"),
    [
        ("atom=SM90_TMA_LOAD&tile=64x60", "k = 60 is not a multiple of the atom's 64."),
        ("atom=SM90_TMA_LOAD&tile=64x64&stored=none", "TMA needs to know how the tile is stored."),
        ("atom=SM90_TMA_LOAD&tile=64x64&stored=canonical&multicast=2", "multicast"),
        ("atom=universal&thr_layout=(3,2)&tile=64x64", "64 rows are not a multiple of the 3"),
        ("atom=ldmatrix&tile=64x64", "No instruction 'ldmatrix'"),
        ("atom=cp.async&bits=48&thr_layout=(32,1)&tile=32x8", "cp.async cannot move 48 bits at once."),
        ("atom=universal&thr_layout=(32,1)&tile=32x8&stored=cute&layout=(4,4)", "Shared memory, (row, column) to"),
        ("atom=universal&mma=no&tile=32x8", "'no' does not name an MMA atom."),
    ],
)
def test_a_copy_that_does_not_fit_is_refused_beside_its_field(client: Client, query: str, said: str) -> None:
    answer = client.get(f"/tiles/copy?{query}")
    assert answer.status_code == 422 and said in unescape(answer.text), unescape(answer.text)[-2000:]


# pictures of copies and main loops ------------------------------------------------------------------------------------


def test_every_form_of_a_copys_picture(client: Client) -> None:
    """Each form has the maps and the banks of the engine; what a picture draws is what the page draws."""
    query = {
        "atom": "cp.async",
        "bits": "128",
        "tile": "16x64",
        "thr_layout": "(4,8):(8,1)",
        "val_layout": "(1,8)",
        "stored": "rows",
        "pitch_bytes": "128",
        "swizzle": "128B",
    }
    given = tiled_copy_page.build_body(tiled_copy_page.parse_form(query))
    made = tiled_copy_facts.parse_tiled_copy(given)
    held, _ = tiled_copy_facts.build_cost_sides(made, given)
    assert held
    head, *lines = client.get("/tiles/copy.csv", params=query).text.splitlines()
    assert head == "side,thread,warp,lane,value,access,row,col,byte,bank"
    assert len(lines) == 2 * made.source.rows.size
    side = made.destination
    at = (13, 0, 13, 11, 1, side.rows[13, 11], side.cols[13, 11], held.address[13, 11], held.address[13, 11] // 4 % 32)
    assert "destination," + ",".join(map(str, at)) in lines
    svg = client.get("/tiles/copy.svg", params=query | {"legend": "1", "title": "A & B", "colour": "bank"}).text
    assert "A &amp; B" in svg and "Colour = shared-memory bank" in svg and ">28–31<" in svg
    assert svg.count("<g data-operand") == 2 and ">T13:3<" in svg
    one = {"side": "destination", "view": "r:0-4,c:8-16", "label": "bank", "theme": "bw"}
    lone = client.get("/tiles/copy.svg", params=query | one).text
    assert lone.count("<g data-operand") == 1 and lone.count("<tspan") == 32 and ">b0:128<" in lone
    banks = client.get("/tiles/copy.txt", params=query | {"side": "source", "label": "bank"}).text.splitlines()
    assert banks[0] == "Source 16×64" and banks[3].split()[1] == "b4:144"
    assert "| **15** |" in client.get("/tiles/copy.md", params=query).text
    assert client.get("/tiles/copy.tex", params=query).text.startswith("\\documentclass")
    assert client.get("/tiles/copy.pdf", params=query | one).content[:4] == b"%PDF"
    assert client.get("/tiles/copy.json", params=query).json() == client.post("/api/v1/tiles/copy", json=given).json()
    some = client.get("/tiles/copy.csv", params=query | {"warps": "0", "lanes": "5"}).text.splitlines()[1:]
    assert {line.split(",")[1] for line in some} == {"5"}


def test_every_form_of_a_main_loops_picture(client: Client) -> None:
    query = {"a_swizzle": "none"}
    svg = client.get("/tiles/loop.svg", params=query | {"title": "Loop"}).text
    assert svg.count("<g data-operand") == 2 and svg.count(">128, 16 needed<") == 16
    assert "2048 wavefronts, 256 needed" in svg
    head, *lines = client.get("/tiles/loop.csv", params=query).text.splitlines()
    assert head == "operand,warp,k_iteration,loads,wavefronts,ideal,wrong"
    assert "a,3,2,4,128,16,0" in lines and "b,3,2,4,16,16,0" in lines and len(lines) == 32
    assert "ldmatrix.x4" in client.get("/tiles/loop.md", params=query).text
    assert client.get("/tiles/loop.txt", params=query).text.count("128, 16 needed") == 16
    assert client.get("/tiles/loop.png", params=query | {"scale": "0.5"}).content[:4] == b"\x89PNG"
    assert client.get("/tiles/loop.json", params=query).json()["verdict"] == "match"
    alone = {"atom": "SM90_64x128x16_F32F16F16_SS", "a_pitch": "128", "b_pitch": "128", "a_swizzle": "128B"}
    assert "<svg" in client.get("/tiles/loop.svg", params=alone | {"tile": "64x128x64", "b_swizzle": "128B"}).text
