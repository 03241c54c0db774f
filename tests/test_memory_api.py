"""Shared memory and descriptors over HTTP and on the pages. tests/golden/terminal has the commands."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import numpy as np
import pytest

from lanescope.app.guide import examples
from lanescope.render import smem
from lanescope.shared.swizzle import MODES
from lanescope.shared.tiling import ELEMENT_BITS, Tile
from tests.cases import for_each
from tests.client import Client
from tests.ptxas import nvrtc
from tests.test_verify import build_canonical

FIXED = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
TILE = build_canonical()
ASK: dict[str, Any] = {
    "descriptor": "0x4000004004000101",
    "instruction": FIXED,
    "operand": "a",
    "major": "K",
    "storage": TILE,
    "slice": {"mn": 0, "k": 0},
}


def test_tile(client: Client) -> None:
    answer = client.get(
        "/api/v1/smem/tile?element_bits=16&major=K&swizzle=128B&mn=128&k=128&rows=64&order=mn&base=1024"
    ).json()
    assert answer["atom"] == {"mn": 8, "k": 64, "bytes": 1024, "count": {"mn": 16, "k": 2}}
    assert (answer["lbo_used"], answer["sbo_bytes"], answer["sbo_used"]) == (False, 1024, True)
    assert answer["cute"]["elements"] == "Sw<3,3,3> o ((8,16),(64,2)):((64,512),(1,8192))"
    assert np.array(answer["offset_bytes"]).shape == (128, 128) and answer["offset_bytes"][1][:2] == [
        128 + 16,
        128 + 18,
    ]
    assert [s["start_offset_bytes"] for s in answer["k_steps"]] == [0, 32, 64, 96, 16384, 16416, 16448, 16480]
    assert answer["k_steps"][0]["descriptor"] == "0x4000004000010040" and answer["tma_box"]["swizzle_code"] == 3


def test_an_explicit_order_keeps_its_meaning(client: Client) -> None:
    """Old links: MN-major with order=mn, its words as they were."""
    answer = client.get("/api/v1/smem/tile?major=MN&swizzle=128B&mn=128&k=64&order=mn").json()
    assert (answer["lbo_bytes"], answer["sbo_bytes"]) == (1024, 2048)
    page = client.get("/descriptor/wgmma/0x4000008000400100?major=MN&s_mn=128&s_k=64&s_order=mn&operand=b").text
    assert "data-verdict=match" in page


def test_decode_and_encode(client: Client) -> None:
    answer = client.get("/api/v1/descriptors/0x4000004004000101").json()
    keys = ("start_address", "lbo_bytes", "sbo_bytes", "base_offset", "swizzle", "reserved")
    assert [answer[k] for k in keys] == [4112, 16384, 1024, 0, "128B", "0x0000000000000000"]
    assert [w["code"] for w in answer["warnings"]] == ["start_inside_row"]
    made = client.post(
        "/api/v1/descriptors/encode",
        json={"start_address": 4112, "lbo_bytes": 16384, "sbo_bytes": 1024, "base_offset": 0, "swizzle": "128B"},
    ).json()
    assert made["descriptor"] == answer["descriptor"] and made["fields"] == answer["fields"]


def test_reads(client: Client) -> None:
    answer = client.post(
        "/api/v1/descriptors/reads",
        json={"descriptor": "0x4000004000010100", "instruction": FIXED, "operand": "b", "major": "K"},
    ).json()
    assert np.array(answer["address"]).shape == (64, 16)
    assert (answer["first"], answer["last"]) == (4096, int(np.max(answer["address"])) + 1) and answer["address"][1][
        0
    ] == 4096 + 128 + 16


def test_verify(client: Client) -> None:
    answer = client.post("/api/v1/descriptors/verify", json=ASK).json()
    assert (answer["verdict"], answer["matched"], answer["total"]) == ("mismatch", 0, 1024)
    assert answer["first_mismatch"] == {"row": 0, "k": 0, "read": 0x1010, "expected": 0x1000}
    fix = answer["diagnoses"][0]["fix"]
    assert fix == {"descriptor": "0x4000004004000100", "changes": {"start_address": {"from": 0x101, "to": 0x100}}}
    assert (
        client.post("/api/v1/descriptors/verify", json=ASK | {"descriptor": fix["descriptor"]}).json()["verdict"]
        == "match"
    )


@for_each(
    ("change", "field"),
    [
        ({"descriptor": "0x1ffffffffffffffff"}, "descriptor"),
        ({"descriptor": "wxyz"}, "descriptor"),
        ({"instruction": "wgmma.mma_async.m64n12k16.f32.f16.f16"}, "instruction"),
        ({"instruction": "mma.m16n8k16.row.col.f32.f16.f16.f32"}, "instruction"),
        ({"operand": "d"}, "operand"),
        ({"major": "N"}, "major"),
        ({"instruction": "wgmma.mma_async.m64n64k32.f32.e4m3.e4m3", "major": "MN"}, "major"),
        ({"storage": {"kind": "heap"}}, "storage.kind"),
        ({"storage": TILE | {"mn": 60}}, "storage.mn"),
        ({"storage": TILE | {"element_bits": 8, "k": 128}}, "storage.element_bits"),
        ({"storage": {"kind": "rows", "pitch_bytes": "many"}}, "storage.pitch_bytes"),
        ({"storage": {"kind": "cute", "layout": "((8,8):(1,2)"}}, "storage.layout"),
        ({"storage": {"kind": "cute", "layout": "((8,2),(16,1)):((16,128),(1,0))"}}, "slice.mn"),
        ({"storage": None}, "storage"),
        ({"slice": {"mn": 0, "k": 64}}, "slice.k"),
        ({"slice": {"mn": "x"}}, "slice.mn"),
    ],
)
def test_bad_input_names_its_field(client: Client, change: dict[str, Any], field: str) -> None:
    answer = client.post("/api/v1/descriptors/verify", json=ASK | change)
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["field"] == field and error["message"] and error["hint"]


def test_malformed_bodies(client: Client) -> None:
    assert client.post("/api/v1/descriptors/verify", content=b"{").status_code == 422
    assert client.post("/api/v1/descriptors/verify", json=[1]).json()["error"]["code"] == "bad_request"
    assert client.get("/api/v1/smem/tile?width=3").json()["error"]["field"] == "width"


def test_the_descriptors_that_the_guide_links_to_match_their_tiles(client: Client) -> None:
    seen = 0
    for slug in (examples.SLUG, "one-tile", "k-major-needs-no-transpose"):
        for link in set(re.findall(r'href="(/descriptor/wgmma[^"]*\?[^"]+)"', client.get(f"/guide/{slug}").text)):
            assert "data-verdict=match" in client.get(unescape(link)).text, link
            seen += 1
    assert seen > 4
    assert client.get("/guide/nothing").status_code == 404


@pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
def test_tile_code_compiles() -> None:
    parts = []
    for n, (bits, major, m) in enumerate(
        (b, mj, m) for b in ELEMENT_BITS for mj in (("K", "MN") if b == 16 else ("K",)) for m in MODES
    ):
        tile = Tile(bits, major, m, 128, 128 if bits > 1 else 1024)
        parts.append(f"namespace t{n} {{ {smem.render_fill(tile)}{smem.render_descriptor(tile)} }}")
    assert nvrtc.compile_ptx("\n".join(parts), "sm_90a")[1] == ""


def test_tile_code_computes_the_tile() -> None:
    """The generated expression, evaluated in Python, against the engine's offsets."""
    import re

    for bits, major in ((1, "K"), (8, "K"), (16, "K"), (16, "MN"), (32, "K")):
        for m in MODES:
            tile = Tile(bits, major, m, 128, 128 if bits > 1 else 1024)
            per = 1 if bits > 1 else 8  # b1: the code counts bytes
            text = smem.render_fill(tile)
            before = re.search(r"before = (.*);", text).group(1).replace("/", "//")  # type: ignore[union-attr]
            after = re.search(r"return (.*);", text).group(1)  # type: ignore[union-attr]
            for mn, k in ((0, 0), (9, 33), (77, 127), (127, 64)):
                value = eval(after, {}, {"before": eval(before, {}, {"mn": mn, "k": k})})
                assert value == tile.compute_offsets()[mn, k * per]


def test_pages_keep_what_was_typed(client: Client) -> None:
    bad = client.get("/smem?mn=60&k=64")
    assert (
        bad.status_code == 422
        and 'value="60"' in bad.text
        and "multiple of the atom" in bad.text
        and "<svg" in bad.text
    )
    word = client.get("/descriptor/wgmma/0xnothex")
    assert word.status_code == 422 and ">0xnothex</textarea>" in word.text and "is not a number" in word.text
    page = client.get("/descriptor/wgmma/0x4000004004000101?s_mn=60").text
    assert 'value="60"' in page and "multiple of the atom" in page
    assert client.get("/descriptor?word=zz").status_code == 422
