"""A run and its evidence on their pages: what differs is never shown as what ran and agreed."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from lanescope.app.kit.run_results import ValueMismatch
from lanescope.app.main import create_app
from lanescope.app.runs.hardware import ServerHardware
from tests.client import Client

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


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
