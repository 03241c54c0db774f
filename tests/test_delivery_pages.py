"""/deliver as page, JSON and command: what each says of the named cases and of wrong requests."""

from __future__ import annotations

import re

import pytest

from lanescope import deliver
from lanescope.app.catalogue.topics import find_topics
from lanescope.app.delivery import facts
from lanescope.app.delivery.feature import DELIVER, list_changes
from lanescope.delivery.named import FP8, NAMED
from lanescope.errors import LayoutError
from tests.cases import for_each
from tests.client import Client

FP8_V = list_changes(NAMED["FP8 V, transposed"])


def test_the_json_has_the_map_after_each_step(client: Client) -> None:
    told = client.get("/api/v1/deliver", params=FP8_V).json()
    assert told["found"] and told["certified"] and told["instructions"] == 5
    assert [(step["says"].split(".")[0], step["instructions"]) for step in told["steps"]] == [
        ("ldmatrix", 1),
        ("prmt", 4),
    ]
    assert told["steps"][-1]["after"] == told["goal"]
    assert told["memory"][:4] == ["n0", "n1", "n2", "n3"] and told["memory"][7] == "k0"
    assert told["renumbering"] == ["n0 ← n1", "n1 ← n2", "n2 ← n3", "n3 ← n0"]
    held = {bit["place"]: bit["holds"] for bit in told["goal"]}
    assert (held["byte 0"], held["byte 1"], held["lane 0"]) == ("k0", "k1", "k2")


def test_the_least_swizzle_is_named(client: Client) -> None:
    told = client.get("/api/v1/deliver", params=list_changes(NAMED["bf16, 64 columns"])).json()
    assert (told["wavefronts"], told["ideal_wavefronts"]) == (128, 16)
    assert told["least_swizzle"] == "Swizzle<3,4,3>"


def test_padded_rows_are_drawn_as_far_as_their_bits_add_up(client: Client) -> None:
    told = client.get("/api/v1/deliver", params={"pitch_bytes": 144}).json()
    assert told["memory"] == ["k0", "k1", "k2"] and told["wavefronts"] == told["ideal_wavefronts"] == 4


def test_the_page_shows_the_bits_the_registers_and_the_code(client: Client) -> None:
    page = client.get("/deliver", params=FP8_V).text
    assert "5 instructions per warp" in page and "▸n0" in page and "0x7531" in page
    assert "executed on an NVIDIA H100 80GB HBM3 on 2026-11-27, 49 of 49" in page
    kept = client.get("/deliver", params={**FP8_V, "renumber": "none", "moves": "ldmatrix.trans shfl"}).text
    assert "The allowed loads and moves cannot deliver the operand" in kept and 'class="verdict bad"' in kept
    wrong = client.get("/deliver", params={**FP8_V, "moves": "wgmma"})
    assert wrong.status_code == 422 and "The page shows an example." in wrong.text


def test_hardware_is_named_where_it_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = {
        "meta": {"device": "NVIDIA H200", "date": "2026-11-21", "dates": {"delivery": "2026-11-27"}},
        "delivery": {"named": {"ran": 9, "agreed": 9}, "x": {"ran": 2, "agreed": 1}},
    }
    monkeypatch.setattr(facts.hardware_runs, "load_evidence", lambda: (ran,))
    assert facts.describe_evidence() == (
        "Programs of this kind were executed on an NVIDIA H200 on 2026-11-27, 10 of 11 right in every register."
    )
    monkeypatch.setattr(facts.hardware_runs, "load_evidence", lambda: ())
    assert "not on hardware" in facts.describe_evidence()


def test_every_example_is_answered() -> None:
    for title, query in DELIVER.examples:
        told = DELIVER.ask_query(query)[1]
        assert told.found and told.certified, title


def test_a_chain_that_does_not_match_leads_here(client: Client) -> None:
    chain = {"mma": FP8, "operand": "b", "major": "MN", "s_kind": "rows", "s_pitch_bytes": "128", "s_swizzle": "none"}
    page = client.get("/chain", params=chain).text
    (link,) = re.findall(r'href="(/deliver[^"]+)"', page)
    assert "source=columns" in link and "pitch_bytes=128" in link
    assert client.get(link.replace("&amp;", "&")).status_code == 200


def test_python_takes_the_fields_of_the_request() -> None:
    found = deliver(FP8, "b", first=2, source="columns", pitch_bytes=128, renumber="n")
    assert found.count == 5 and found.certified


def test_the_links_of_the_page_open(client: Client) -> None:
    (links,) = re.findall(r'<nav class="next" aria-label="Next">.*?</nav>', client.get("/deliver").text, re.S)
    for link in re.findall(r'href="([^"]+)"', links):
        assert client.get(link).status_code == 200, link
    assert "/deliver" in client.get("/layouts/triton").text


@for_each(
    "text",
    [
        "marlin",
        "transpose fp8 V",
        "int4 to f16 nibble order",
        "75316420",
        "prepacked weights",
        "prmt shfl lop3",
        "why does marlin permute",
        "load B col-major with ldmatrix",
        "prmt selector for fp8 transpose",
        "permute k of both operands",
    ],
)
def test_the_box_finds_the_guide(text: str) -> None:
    assert any(topic.page == "/guide/storage-to-operand" for topic in find_topics(text))


@for_each("letter", ["q", "ab", "", 3, None])
def test_a_wrong_operand_is_refused_with_those_there_are(letter: object) -> None:
    with pytest.raises(LayoutError) as caught:
        deliver("mma.m16n8k16.row.col.f32.f16.f16.f32", letter)  # type: ignore[arg-type]
    assert caught.value.field == "operand" and caught.value.hint == "It has a, b, c, d."
