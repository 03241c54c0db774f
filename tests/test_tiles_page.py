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


def test_a_tile_without_a_number_is_refused(client: Client) -> None:
    """x separates sizes, so that a tile of x alone has none."""
    page = client.get("/tiles/mma", params={"tile": "xxx"})
    assert page.status_code == 422 and 'id="tile-error"' in page.text and 'value="xxx"' in page.text
