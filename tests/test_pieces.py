"""A verification cut into pieces: they are the whole, and devices that contradict one another are named."""

from __future__ import annotations

from typing import Any

import pytest

from lanescope.app.hardware import evidence, pieces, verification
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


@pytest.mark.thorough
def test_pieces_are_the_whole() -> None:
    """Every variant of an architecture in one piece and in no other; parts that are not cut run whole."""
    todo = pieces.split_verification("sm_90a")
    forms = sorted((piece.first, piece.count) for piece in todo if piece.part == pieces.FORMS)
    keys = [job.key for job in verification.generate_jobs("sm_90a")]
    cut = [key for first, count in forms for key in keys[first : first + count]]
    assert cut == keys and len(keys) > 300
    assert {piece.part for piece in todo} == {"", *evidence.PARTS} - {"tcgen05", "counters"}
    halves = [
        (pieces.VerificationPiece("chains", n, 2), {"x": {"ran": 2, "agreed": n, "differs": [str(n)]}}) for n in (2, 0)
    ]
    told = pieces.merge_results({"name": "H100", "target": "sm_90a"}, halves, {"a:0": 2})
    assert told["chains"] == {"x": {"ran": 4, "agreed": 2, "differs": ["0", "2"]}}
    assert told["meta"]["ran_by"] == {"a:0": 2}
