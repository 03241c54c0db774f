"""A run and its evidence on their pages: what differs is never shown as what ran and agreed."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from typing import Any

import pytest

from lanescope import find
from lanescope.app.instruction.evidence import list_evidence
from lanescope.app.kit.run_results import ValueMismatch
from lanescope.app.main import create_app
from lanescope.app.runs.hardware import ServerHardware
from lanescope.product.planning import make_plan
from lanescope.ptx import hardware_runs
from lanescope.render import kernel
from tests.client import Client
from tests.sample import take_rows

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(create_app(ServerHardware(why_not="CuPy is not installed.")))


def squeeze_blanks(text: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


@pytest.mark.parametrize(
    ("simulation", "wrong", "mark", "said", "colour"),
    take_rows(
        [
            (True, 0, "≈", "Simulated: 128 values", ""),
            (True, 2, "✗", "Differs: 126 of 128", "bad"),
            (False, 0, "✓", "Agrees: 128 of 128", "ok"),
            (False, 2, "✗", "Differs: 126 of 128", "bad"),
        ],
        2,
    ),
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


# runs that differ -----------------------------------------------------------------------------------------------------

F16 = "mma.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.m64n8k16.f32.f16.f16"


def build_evidence(device: str, **results: dict[str, str]) -> dict[str, Any]:
    """An evidence file of two instructions: the mma, and wgmma in both forms."""
    keys = {"mma": find(F16).ptx, "wgmma": find(WGMMA).ptx, "shared": find(WGMMA).ptx + hardware_runs.SHARED_A}
    return {
        "meta": {"device": device, "date": "2027-01-02"},
        "results": {keys[name]: methods for name, methods in results.items()},
    }


AGREES, DIFFERS = {"mma": "agrees", "fragment": "agrees"}, {"mma": "agrees", "fragment": "differs: a 3 of 256"}
FILES: dict[str, tuple[dict[str, Any], ...]] = {
    "no run": (),
    "agrees": (build_evidence("NVIDIA H100 80GB HBM3", mma=AGREES, wgmma=AGREES, shared={"mma": "agrees"}),),
    "differs": (build_evidence("NVIDIA H100 80GB HBM3", mma=DIFFERS, wgmma=DIFFERS, shared={"mma": "agrees"}),),
    "one form differs": (
        build_evidence(
            "NVIDIA H100 80GB HBM3", mma={"mma": "differs: 4 of 128"}, wgmma=AGREES, shared={"mma": "differs: 1 of 512"}
        ),
    ),
    "two devices, one differs": (
        build_evidence("NVIDIA H100 80GB HBM3", mma=AGREES, wgmma=AGREES),
        build_evidence("NVIDIA H200", mma=DIFFERS, wgmma=DIFFERS),
    ),
    "another instruction differs": (build_evidence("NVIDIA H200", wgmma=DIFFERS),),
}


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A way to put other evidence files in the place of the stored ones."""

    def put(name: str) -> None:
        monkeypatch.setattr(hardware_runs, "load_evidence", lambda: copy.deepcopy(FILES[name]))

    return put


def test_a_run_that_differs_is_never_one_that_ran(stored: Any) -> None:
    """A difference on one device, in one form or by one method counts, and its program does not claim a run."""
    for name, ptx in (("differs", F16), ("differs", WGMMA), ("one form differs", F16), ("one form differs", WGMMA)):
        stored(name)
        i = find(ptx)
        (first, *_), runs = list_evidence(i), hardware_runs.list_hardware_runs(i)
        assert [run.agrees for run in runs] == [False] and first.kind == "differs" and "DIFFERS" in first.text
        assert not any(e.kind == "ran" for e in list_evidence(i))
        assert any("differ" in line for line in kernel.render_title(make_plan(i)))
    stored("two devices, one differs")
    assert [e.kind for e in list_evidence(find(F16))][:2] == ["ran", "differs"]
