"""A run and its evidence on their pages: what differs is never shown as what ran and agreed."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from lanescope.app.instruction import facts
from lanescope.app.kit.run_results import ValueMismatch
from lanescope.app.main import create_app
from lanescope.app.runs.hardware import ServerHardware
from lanescope.ptx import catalog, hardware_runs
from tests.client import Client

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
DIFFERS = {
    "meta": {
        "device": "NVIDIA H100 PCIe",
        "compute_capability": "9.0",
        "driver": "1",
        "nvrtc": "2",
        "date": "2026-11-22",
        "method": "A test's.",
    },
    "results": {MMA: {"mma": "differs: 3 of 128", "fragment": "agrees"}},
}


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(create_app(ServerHardware(why_not="CuPy is not installed.")))


def squeeze_blanks(text: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


@pytest.mark.parametrize(
    ("simulation", "wrong", "mark", "said", "colour"),
    [
        (True, 0, "≈", "Simulated: 128 values", ""),
        (True, 2, "✗", "Differs: 126 of 128", "bad"),
        (False, 0, "✓", "Agrees: 128 of 128", "ok"),
        (False, 2, "✗", "Differs: 126 of 128", "bad"),
    ],
)
def test_a_run_says_whether_it_agreed(
    client: Client, monkeypatch: pytest.MonkeyPatch, *, simulation: bool, wrong: int, mark: str, said: str, colour: str
) -> None:
    plain = ServerHardware.execute_run

    async def run(self: ServerHardware, asked: Any) -> Any:
        found: Any = await plain(self, asked)
        apart = [ValueMismatch(row=row, col=0, expected=1.0, got=2.0) for row in range(wrong)]
        return replace(found, simulation=simulation, agrees=not wrong, mismatches=apart)

    monkeypatch.setattr(ServerHardware, "execute_run", run)
    page = client.get(f"/gpu/run?kind=mma&instruction={MMA}&backend=numpy").text
    (pill,) = re.findall(r'<span class="pill (\w+)">', page)
    (verdict,) = re.findall(r'<div class="verdict (\w*)" role="status">(.*?)</h2>', page, re.S)
    assert pill == ("not_run" if simulation else "ran")
    assert verdict[0] == colour and squeeze_blanks(verdict[1]).startswith(f"{mark} {said}")
    assert ("Where it differs" in page) is bool(wrong)
    assert 'value="cuda" disabled' in page, "this server has no GPU"


def test_an_instruction_that_differed_on_a_device_says_so(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never as one that ran: one method of several is enough, on one device of several."""
    stored = hardware_runs.load_evidence()
    monkeypatch.setattr(hardware_runs, "load_evidence", lambda: (DIFFERS, *stored))
    (run, *others) = hardware_runs.list_hardware_runs(catalog.find(MMA))
    assert not run.agrees and others and all(one.agrees for one in others)
    told = [(one.kind, one.text) for one in facts.list_evidence(catalog.find(MMA))]
    assert told[0] == ("differs", "DIFFERS on H100, 2026-11-22") and told[1][0] == "ran"
    page = client.get(f"/i/{MMA}").text.partition('class="ptx')[0]
    pills = [
        (kind, squeeze_blanks(text)) for kind, text in re.findall(r'<span class="pill (\w+)"[^>]*>(.*?)</span>', page)
    ]
    assert ("differs", "DIFFERS on H100, 2026-11-22") in pills
    assert [text for kind, text in pills if kind == "ok"] == [
        f"✓ ran on {', '.join(hardware_runs.shorten_device_name(one.device) for one in others)}"
    ]
    monkeypatch.setattr(hardware_runs, "load_evidence", lambda: (DIFFERS,))
    assert "ran on" not in client.get(f"/i/{MMA}?colour=t").text.partition('id="main"')[2].partition('class="ptx')[0]
    one = catalog.find("wgmma.mma_async.m64n64k16.f32.f16.f16")
    forms = {one.listed_ptx: {"mma": "agrees"}, one.listed_ptx + hardware_runs.SHARED_A: {"mma": "differs: 1 of 9"}}
    monkeypatch.setattr(hardware_runs, "load_evidence", lambda: (DIFFERS | {"results": forms},))
    assert [run.agrees for run in hardware_runs.list_hardware_runs(one)] == [False], (
        "the form that reads A from shared memory differed"
    )
