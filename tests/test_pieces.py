"""A verification cut into pieces: they are the whole, and devices that contradict one another are named."""

from __future__ import annotations

from typing import Any

import pytest

from lanescope.app.hardware import pieces
from lanescope.app.main import create_app
from lanescope.app.runs import page as runs_page
from lanescope.app.runs.hardware import NO_CUPY, ServerHardware
from lanescope.ptx import hardware_runs
from tests.client import Client

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def test_devices_that_contradict_each_other_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def one(name: str, driver: str, mma: str, agreed: int) -> dict[str, Any]:
        rows = {"loads": {"ran": 4, "agreed": agreed}, "stores": {"ran": 2, "agreed": 1}}
        return {"meta": {"device": name, "driver": driver}, "results": {MMA: {"mma": mma}}, "chains": rows}

    said = [one("H100", "1", "agrees", 4), one("H200", "1", "agrees", 3), one("H200", "2", "differs: 1 of 2", 4)]
    found = {row.what: dict(row.outcomes) for row in pieces.find_contradictions(said)}
    assert found == {
        f"{MMA} mma": {"H100": "agrees", "H200": "agrees", "H200, driver 2": "differs: 1 of 2"},
        "chains: loads": {"H100": "agrees", "H200": "3 of 4 agree", "H200, driver 2": "agrees"},
    }
    assert not pieces.find_contradictions(list(hardware_runs.load_evidence()))  # what is stored is of one mind
    monkeypatch.setattr(runs_page, "list_contradictions", lambda: tuple(pieces.find_contradictions(said)))
    with Client(create_app(ServerHardware(why_not=NO_CUPY))) as client:
        page = client.get("/gpu").text
    assert "contradicts itself in 2" in page and "✗ H200:\n  3 of 4 agree" in page
