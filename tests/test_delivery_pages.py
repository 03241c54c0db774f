"""/deliver as page, JSON and command: what each says of the named cases and of wrong requests."""

from __future__ import annotations

import re

import pytest

from lanescope import deliver
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


@for_each("letter", ["q", "ab", "", 3, None])
def test_a_wrong_operand_is_refused_with_those_there_are(letter: object) -> None:
    with pytest.raises(LayoutError) as caught:
        deliver("mma.m16n8k16.row.col.f32.f16.f16.f32", letter)  # type: ignore[arg-type]
    assert caught.value.field == "operand" and caught.value.hint == "It has a, b, c, d."
