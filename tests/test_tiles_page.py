"""The bench of whole tiles: what its page says without scripts, what its script gets, and how an address is read."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from lanescope.app.kit.maps import script_data
from lanescope.app.kit.maps.bench import HolderMap
from lanescope.app.kit.question import read_question
from lanescope.app.tiles import bench, chains, forms, main_loop_page, presets, state, tiled_copy_facts, tiled_copy_page
from lanescope.app.tiles.facts import build_chain
from lanescope.app.tiles.questions import TiledChainBody, parse_mma
from lanescope.app.tiles.tiled_copy_maps import build_copy_bench, build_tma_bench
from lanescope.reader import recognise_text
from lanescope.tiles import bulk_code, shades
from lanescope.tiles.bulk import is_tma
from lanescope.tiles.mma import TiledMMA
from lanescope.tiles.shades import TileShade
from tests.client import Client

ODD = {
    "atom": "SM80_16x8x8_F32TF32TF32F32_TN",
    "atom_layout": "(1,2,1):(2,1,1)",
    "permutation": "(_,Layout<Shape<_8,_2,_2>,Stride<_1,_16,_8>>,_)",
    "tile": "48x64x24",
}
THREADS = [one for one in presets.PRESETS if not one.name.startswith("umma")]  # whose threads are threads
CASES = [*(one.fields for one in THREADS), ODD]


def build_tiled_mma(fields: dict[str, str]) -> TiledMMA:
    return parse_mma(forms.build_mma_body(forms.parse_fields(fields, forms.MMA)))


def parse_page_data(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found[1].replace("<\\/", "</"))


@pytest.mark.parametrize("fields", CASES, ids=lambda fields: f"{fields['atom']} {fields['tile']}")
def test_what_the_script_gets_is_the_map(fields: dict[str, str]) -> None:
    """First elements and steps add up to every element of every thread; digits are those of the threads and values."""
    made = build_tiled_mma(fields)
    data = bench.build_page_data(made, bench.make_base_state(fields), bench.make_base_state(fields))
    for name, told in data["operands"].items():
        op = made.operand(name)
        cells = np.add.outer(np.array(told.first), np.array(told.steps))
        assert (cells == op.rows * op.col_count + op.cols).all()
        assert told.held_by == op.thread_ids.tolist() and told.copies == op.copies
        repeats = {dim: np.arange(op.values) // r["step"] % r["count"] for dim, r in told.repeats.items()}
        for dim, steps in repeats.items():  # a step of K holds a part of K, and every step as many values
            at = (op.rows if dim == bench.DIMS[name][0] else op.cols)[0]
            parts = [frozenset(at[steps == n].tolist()) for n in range(steps.max() + 1)]
            assert sum(map(len, parts)) == len(frozenset().union(*parts)), (name, dim)


def test_shades_are_what_they_are_called() -> None:
    made = build_tiled_mma(presets.PRESETS[1].fields)
    found = shades.list_operand_shades(made, made.c)
    threads, values = np.array([0, 45, 127]), np.array([0, 5, 31])
    assert found["warp"].number_cells(threads, values).tolist() == [0, 1, 3]
    assert found["group"].number_cells(threads, values).tolist() == [0, 3, 7]
    assert found["lane"].number_cells(threads, values).tolist() == [0, 1, 3]
    assert found["register"].number_cells(threads, values).tolist() == [0, 5, 31]
    assert shades.list_operand_shades(made, made.a)["register"].number_cells(threads, values).tolist() == [0, 2, 15]
    assert found["k"].number_cells(threads, values).tolist() == [-1, -1, -1]
    assert "k" in shades.list_shades(made) and "warpgroup" not in shades.list_shades(made)


def test_a_page_says_what_people_ask_of_a_tile(client: Client) -> None:
    page = unescape(client.get("/tiles/mma", params={"pin": "c:19,2"}).text)
    assert "Which of 128 threads holds which element of a 64 × 64 × 32 tile" in page
    assert "Thread 45 <small>warp 1, lane 13 · pinned" in re.sub(r"\s+", " ", page)
    assert "loaded by warps 0 and 2 or warps 1 and 3" in page and "(19,2) (19,3)" in page
    assert "64</dt><dd>registers per thread: A 16, B 16, C 32" in page
    assert "16</dt><dd>mma per warp: 2 × 4 × 2 (M × N × K)" in page


@pytest.mark.parametrize("one", presets.PRESETS, ids=lambda one: one.name)
def test_every_preset_opens_and_is_marked(client: Client, one: presets.MmaPreset) -> None:
    answer = client.get(presets.link_preset(one))
    assert answer.status_code == 200
    marked = re.findall(r'aria-current="true">([^<]+)<small>', answer.text)
    assert [unescape(text) for text in marked] == [one.kernel]
    filled = re.findall(r'href="(/tiles/copy[^"]*)">TiledCopy into this A', answer.text)
    in_registers = one in THREADS and one.name not in (
        "fa3_qk",
        "sm90_cooperative",
        "sm90_pingpong",
        "deepgemm",
        "volta",
    )
    assert [client.get(unescape(link)).status_code for link in filled] == [200] * in_registers


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("atom=SM80_16x8x16_F32F16F16F32_TN&tile=70x8x16", "Tile (M, N, K): M = 70 is not a multiple of"),
        ("atom=SM80_16x8x16_F32F16F16F32_TN&tile=16x8", "Tile (M, N, K) has 2 numbers."),
        ("atom=nothing", "Atom: 'nothing' does not name an MMA atom."),
        ("atom_layout=(2,2,1):(1,1,1)", "Atom layout (M, N, K): The atom layout (2,2,1):(1,1,1) gives two atoms"),
    ],
)
def test_what_does_not_fit_is_said_in_the_words_of_the_form(client: Client, query: str, said: str) -> None:
    answer = client.get(f"/tiles/mma?{query}")
    assert answer.status_code == 422
    assert said in unescape(answer.text)


def test_an_address_is_read_and_written_back() -> None:
    made = build_tiled_mma({})
    base = bench.make_base_state(forms.MMA)
    query = {
        "colour": "value",
        "label": "register",
        "warps": "0x1,3",
        "lanes": "4-7",
        "k": "1",
        "m": "0",
        "n": "-1",
        "pin": "b:31,63",
        "sel": "a:0-15,8-9",
        "view": "m:0-32",
    }
    chosen, notices = state.parse_state(made, base, query)
    assert notices == [] and chosen.warps == "1,3" and chosen.n == state.ALL and chosen.view == "m:0-32,n:0-64,k:0-32"
    again, _ = state.parse_state(made, base, dict(re.findall(r"(\w+)=([^&]*)", chosen.format_query(base))))
    assert again == chosen
    assert chosen.find_threads(made) == {36, 37, 38, 39, 100, 101, 102, 103}
    wrong = (
        ("colour", "q"),
        ("k", "2"),
        ("pin", "d:0,0"),
        ("pin", "b:32,0"),
        ("sel", "c:0-64,1"),
        ("sel", "c:3"),
        ("warps", "4"),
        ("lanes", "32"),
        ("view", "s:0-1"),
        ("label", "lane"),
    )
    for name, value in wrong:
        same, said = state.parse_state(made, base, {name: value})
        assert same == base and len(said) == 1 and said[0].startswith(f"{name} ‘{value}’"), name


def test_what_is_chosen_is_drawn(client: Client) -> None:
    """Without scripts: threads that are not shown have no colour, other steps of K are lighter."""
    whole = client.get("/tiles/mma").text
    some = client.get("/tiles/mma", params={"warps": "0"}).text
    step = client.get("/tiles/mma", params={"k": "0"}).text
    assert whole.count('fill="var(--four-3)"') == 1 and 'fill="var(--four-3)"' not in some
    assert 'opacity=".35"' not in whole and step.count('opacity=".35"') == 4  # of A and B, two warps each
    labelled = client.get("/tiles/mma", params={"view": "m:16-24,n:0-8,k:0-8"}).text
    assert ">T45:0<" in labelled and ">T33+:0<" in labelled


def test_only_what_differs_stands_in_the_address() -> None:
    base = bench.make_base_state(forms.get_defaults({"atom": "x"}, forms.MMA))
    assert (base.atom, base.tile) == (forms.MMA["atom"], "")
    assert urlencode({"a": 1}) == "a=1" and base.format_query(base) == "" and base.format_query(base, k=1) == "k=1"


# code and pictures ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", CASES, ids=lambda fields: f"{fields['atom']} {fields['tile']}")
def test_the_code_makes_this_tiled_mma(fields: dict[str, str]) -> None:
    """CuTe's C++ and Python are read back by the reader as the same maps; Lanescope's Python runs."""
    made = build_tiled_mma(fields)
    parts = dict(bench.build_code_parts(made, fields["atom"]))
    assert "CuTe, C++" in parts
    ran: dict[str, Any] = {}
    exec(parts["Lanescope, Python"], ran)
    assert (ran["made"].a.rows == made.a.rows).all() and (ran["made"].c.cols == made.c.cols).all()
    for title in ("CuTe, C++", "CuTe DSL, Python"):
        if title not in parts:
            continue
        found = next(one for one in recognise_text(parts[title]).found if one.kind == "tiled_mma")
        body = {name: value for name, value in found.facts["body"].items() if value is not None}
        again = parse_mma({**body, "tile": list(made.tile)})
        for name in "abc":
            assert (again.operand(name).rows == made.operand(name).rows).all(), (title, name)
            assert (again.operand(name).cols == made.operand(name).cols).all(), (title, name)


def test_every_form_of_the_picture(client: Client) -> None:
    query = {"tile": "32x32x16", "atom": "SM80_16x8x16_F32F16F16F32_TN", "atom_layout": "(2,2,1)"}
    made = build_tiled_mma(query)
    lines = client.get("/tiles/mma.csv", params=query).text.splitlines()
    assert lines[0] == "operand,thread,warp,lane,value,register,row,col"
    held = {tuple(line.split(",")) for line in lines[1:]}
    assert len(held) == sum(made.operand(name).rows.size for name in "abc")
    at = (str(n) for n in (45, 1, 13, 3, 3, int(made.c.rows[45, 3]), int(made.c.cols[45, 3])))
    assert ("c", *at) in held
    svg = client.get("/tiles/mma.svg", params=query | {"legend": "1", "title": "A & B"}).text
    assert "A &amp; B" in svg and "Colour = warp" in svg and ">T45:0<" in svg and svg.count("<g data-operand") == 3
    one = client.get("/tiles/mma.svg", params=query | {"operand": "b", "view": "k:0-8,n:8-16", "theme": "dark"}).text
    assert one.count("<g data-operand") == 1 and one.count("<tspan") == 64
    assert client.get("/tiles/mma.txt", params=query | {"operand": "c"}).text.splitlines()[1].split()[:2] == ["0", "1"]
    assert "| **31** |" in client.get("/tiles/mma.md", params=query | {"operand": "c"}).text
    assert client.get("/tiles/mma.tex", params=query).text.startswith("\\documentclass")
    assert (
        client.get("/tiles/mma.json", params=query).json()
        == client.post(
            "/api/v1/tiles/mma", json={**{k: v for k, v in query.items() if k != "tile"}, "tile": [32, 32, 16]}
        ).json()
    )
    assert client.get("/tiles/mma.png", params=query).content[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("query", "field"), [("colour=red", "colour"), ("operand=d2", "operand"), ("cell=4", "cell"), ("k=9", "k")]
)
def test_options_of_the_picture_that_do_not_fit(client: Client, query: str, field: str) -> None:
    error = client.get(f"/tiles/mma.svg?{query}").json()["error"]
    assert error["field"] == field


# C as the next A ------------------------------------------------------------------------------------------------------


def test_fp8_needs_k_reordered() -> None:
    """In the order that is offered, the thread of each element of A holds that element of C."""
    asked = chains.PRESETS["FlashAttention-3, fp8"]
    found = build_chain(read_question(TiledChainBody, chains.build_body(asked)))
    first, second = (parse_mma(chains.build_body(asked)[name]) for name in ("first", "second"))
    assert found.verdict == "in_warp" and found.k_order is not None
    assert sorted(found.k_order) == list(range(128)) and found.k_order[:8] == [0, 1, 8, 9, 2, 3, 10, 11]
    owner = np.full((128, 128), -1)
    owner[first.c.rows, first.c.cols] = first.c.thread_ids[:, None]
    columns = np.array(found.k_order)[second.a.cols]
    assert (owner[second.a.rows, columns] == second.a.thread_ids[:, None]).all()


def test_the_chain_page_says_its_verdict(client: Client) -> None:
    said = {}
    for text, href, _ in chains.list_presets(chains.FIELDS):
        page = client.get(href)
        assert page.status_code == 200
        found = re.search(r"<h2>(.*?)</h2>", page.text)
        assert found
        said[text] = found[1]
    assert said == {
        "FlashAttention-2, head dimension 64": "C is A: the same registers",
        "FlashAttention-2, 128 rows": "C is A after renaming registers",
        "FlashAttention-3, bf16": "C is A: the same registers",
        "FlashAttention-3, fp8": "C is A once K is reordered",
        "Warps along N": "Elements cross warps",
    }
    wrong = client.get("/tiles/mma/chain", params={"first": "SM80_16x8x16_F32F16F16F32_TN", "tile": "16x12x16"})
    assert wrong.status_code == 422 and "First tile (M, N, K): N = 12 is not a multiple" in unescape(wrong.text)


# TiledCopy ------------------------------------------------------------------------------------------------------------


BULK = [name for name, fields in tiled_copy_page.PRESETS.items() if is_tma(fields["atom"])]


@pytest.mark.parametrize("name", [name for name in tiled_copy_page.PRESETS if name not in BULK])
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


def test_the_page_of_a_copy_says_what_it_costs(client: Client) -> None:
    said = {}
    for text, href, _ in tiled_copy_page.list_presets(tiled_copy_page.FIELDS):
        page = client.get(href)
        assert page.status_code == 200, text
        assert next(unescape(one) for one in re.findall(r'aria-current="true">([^<]+)</a>', page.text)) == text
        if told := re.findall(r"<h2>([^<]*bank conflicts)</h2>", page.text, re.I):
            said[text] = told
    assert said == {
        "cp.async, 16 bytes a thread (FlashAttention-2)": ["No bank conflicts"],
        "ldmatrix.x4 of A, 128B swizzle": ["No bank conflicts"],
        "ldmatrix.x4 of A, rows without a swizzle": ["8-way bank conflicts"],
        "ldmatrix.x4.trans of B, N-major": ["No bank conflicts"],
        "4 bytes a thread, rows padded to 80 bytes": ["2-way bank conflicts"],
        "Transposed reads of global memory": ["32-way bank conflicts"],
    }
    worst = unescape(
        client.get(tiled_copy_page.link_copy(tiled_copy_page.PRESETS["ldmatrix.x4 of A, rows without a swizzle"])).text
    )
    assert "1024 wavefronts for the tile, 128 without conflicts" in worst
    link = re.search(r'href="([^"]*)">Apply the 128B swizzle', worst)
    assert link and "No bank conflicts" in client.get(link[1]).text
    bare = client.get("/tiles/copy", params={"atom": "universal", "thr_layout": "(32,4):(4,1)", "tile": "32x4"}).text
    assert "bank conflicts</h2>" not in bare and "128</dt>" in bare


@pytest.mark.parametrize("name", BULK)
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
            assert base + 2 * int(there) == made.address[row, col] == tile.told["byte"][row, col]
            assert shared.told["r"].flat[there] == row and shared.told["c"].flat[there] == col
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
    assert wrong.status_code == 422 and "Tiler (M, N): layout_tv" in unescape(wrong.text)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("atom=SM90_TMA_LOAD&tile=64x60", "Tile, rows x columns: k = 60 is not a multiple of the atom's 64."),
        ("atom=SM90_TMA_LOAD&tile=64x64&stored=none", "TMA needs to know how the tile is stored."),
        ("atom=SM90_TMA_LOAD&tile=64x64&stored=canonical&multicast=2", "CTAs that share it: "),
        ("atom=universal&thr_layout=(3,2)&tile=64x64", "Tile, rows x columns: 64 rows are not a multiple of the 3"),
        ("atom=ldmatrix&tile=64x64", "Copy atom: "),
        ("atom=cp.async&bits=48&thr_layout=(32,1)&tile=32x8", "Bits per access: cp.async cannot move 48 bits at once."),
        ("atom=universal&thr_layout=(32,1)&tile=32x8&stored=cute&layout=(4,4)", "Shared memory, (row, column) to"),
        ("atom=universal&mma=no&tile=32x8", "Operand of the TiledMMA: 'no' does not name an MMA atom."),
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
    assert client.get("/tiles/copy.pdf", params=query).content[:4] == b"%PDF"
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
    assert client.get("/tiles/loop.png", params=query).content[:4] == b"\x89PNG"
    assert client.get("/tiles/loop.json", params=query).json()["verdict"] == "match"
    alone = {"atom": "SM90_64x128x16_F32F16F16_SS", "a_pitch": "128", "b_pitch": "128", "a_swizzle": "128B"}
    assert "<svg" in client.get("/tiles/loop.svg", params=alone | {"tile": "64x128x64", "b_swizzle": "128B"}).text


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("copy.svg?colour=red", "colour"),
        ("copy.svg?side=c", "side"),
        ("copy.svg?view=q:0-1", "view"),
        ("copy.svg?stored=none&label=bank", "label"),
        ("loop.svg?legend=1", "legend"),
        ("loop.svg?tile=1x2", "tile"),
    ],
)
def test_options_of_those_pictures_that_do_not_fit(client: Client, path: str, field: str) -> None:
    assert field in client.get(f"/tiles/{path}").json()["error"]["field"]


def test_each_stage_of_a_main_loop_opens_its_tiled_copy(client: Client) -> None:
    """The same wavefronts: those of a stage are those of its TiledCopy, whatever fields the loop was asked with."""
    for text, href, _ in main_loop_page.list_presets(main_loop_page.FIELDS):
        answer = client.get(href)
        found = r'href="(/tiles/copy[^"]*)">([\w.]+)\s*</a></td>\s*<td[^>]*>. (\d+)'
        rows = re.findall(found, answer.text)
        assert len(rows) == (3 if text == "V loaded without .trans" else 4), text  # ldmatrix cannot read that
        for link, access, count in rows:
            page = client.get(unescape(link))
            assert page.status_code == 200, (text, link)
            want = f"{access}: {count} wavefronts for the tile"
            assert want in page.text, (text, link)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("mma?tile=1x2", "tile"),
        ("copy?atom=cp.async&bits=48&tile=8x8&thr_layout=(8,1)&val_layout=(1,8)", "bits"),
        ("copy?atom=universal&thr_layout=(8,8)&tile=8x8&stored=rows&pitch_bytes=-1", "pitch_bytes"),
        ("loop?b_bits=48", "b_bits"),
        ("loop?a_val=(3,5):(1,9)", "a_val"),
        ("mma/chain?first=SM80_16x8x16_F32F16F16F32_TN&tile=16x16x16&width=7", "width"),
    ],
)
def test_an_error_stands_beside_its_field(client: Client, path: str, name: str) -> None:
    answer = client.get(f"/tiles/{path}")
    found = re.search(rf'<input name="{name}"[^<]*<small class="bad" data-error', answer.text)
    assert answer.status_code == 422 and found and 'class="notice" role="alert"' not in answer.text
