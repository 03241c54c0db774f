"""The bench of a TiledMMA: what its page says without scripts, what its script gets, how an address is read."""

from __future__ import annotations

import re
from dataclasses import asdict
from html import unescape
from typing import Any

import numpy as np

from lanescope.app.kit.maps import stage
from lanescope.app.kit.question import read_question
from lanescope.app.tiles import bench, chains, forms, presets, state
from lanescope.app.tiles.facts import build_chain
from lanescope.app.tiles.questions import TiledChainBody, parse_mma
from lanescope.reader import recognise_text
from lanescope.tiles.mma import TiledMMA
from tests.cases import for_each
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


@for_each("fields", CASES, ids=lambda fields: f"{fields['atom']} {fields['tile']}")
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


@for_each(
    ("query", "said"),
    [
        ("atom=SM80_16x8x16_F32F16F16F32_TN&tile=70x8x16", "M = 70 is not a multiple of"),
        ("atom=SM80_16x8x16_F32F16F16F32_TN&tile=16x8", "Tile (M, N, K) has 2 numbers."),
        ("atom=nothing", "'nothing' does not name an MMA atom."),
        ("atom_layout=(2,2,1):(1,1,1)", "The atom layout (2,2,1):(1,1,1) gives two atoms"),
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
    shown = stage.select_holders(state.make_bench(made), asdict(chosen))
    assert shown is not None and set(np.flatnonzero(shown)) == {36, 37, 38, 39, 100, 101, 102, 103}
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
        assert same == base and len(said) == 1 and said[0].field == name, name


# code and pictures ----------------------------------------------------------------------------------------------------


@for_each("fields", CASES, ids=lambda fields: f"{fields['atom']} {fields['tile']}")
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
    for text, preset in chains.PRESETS.items():
        href = chains.link_chain(preset)
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
    assert wrong.status_code == 422 and "N = 12 is not a multiple" in unescape(wrong.text)


def test_any_part_of_a_chain_can_be_drawn(client: Client) -> None:
    """By hand, four warps of m16n8k16: C(40,70) is row 8 of warp 2, lane 3, and c2 of the ninth atom along N."""
    first, second = (parse_mma(chains.build_body(chains.FIELDS)[name]) for name in ("first", "second"))
    drawn = set()
    for row in range(0, 64, 16):
        for col in range(0, 128, 16):
            c, a = chains.place_panels(first, second, (row, col))
            for panel, op in ((c, first.c), (a, second.a)):
                assert panel.texts and (panel.row0, panel.col0) == (row, col)
                for thread in range(op.threads):
                    for value in range(op.values):
                        r, k = int(op.rows[thread, value]), int(op.cols[thread, value])
                        if row <= r < row + 16 and col <= k < col + 16:
                            assert panel.texts[r][k] == f"T{op.thread_ids[thread]}:{value}"
                            drawn.add((panel.name, r, k))
    assert len(drawn) == 2 * 64 * 128
    page = client.get("/tiles/mma/chain?find=C[40][70]").text
    assert 'value="32" selected' in page and 'value="64" selected' in page
    assert "C(40,70) is in thread 67, value 34" in re.sub("<[^>]*>", "", page) and page.count('class="ringed"') == 2
    assert 'value="48" selected' in client.get("/tiles/mma/chain?row=60&col=500").text
    assert client.get("/tiles/mma/chain?row=x").status_code == 422


@for_each(
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
    found = re.search(rf'<input name="{name}"[^<]*aria-invalid="true"[^<]*<small\s+class="bad" data-error', answer.text)
    assert answer.status_code == 422 and found and 'class="notice" role="alert"' not in answer.text
