"""/deliver as page, JSON and command: what each says of the named cases and of wrong requests."""

from __future__ import annotations

from lanescope.app.delivery.feature import list_changes
from lanescope.delivery.named import NAMED
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
