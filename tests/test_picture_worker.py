"""The process that draws PNG and PDF, spoken to in this one."""

from __future__ import annotations

import io
import json

import pytest

from lanescope.app.kit import picture_worker


def test_the_process_that_draws(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="4" height="4"/></svg>'
    asked = [{"form": form, "svg": svg, "scale": 2.0, "fonts": []} for form in ("png", "pdf")]
    asked.append({"form": "png", "svg": "<svg", "scale": 1.0, "fonts": []})
    lines = "".join(json.dumps({"id": n, "request": one}) + "\n" for n, one in enumerate(asked))
    nice: list[int] = []
    monkeypatch.setattr("os.nice", nice.append)
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    picture_worker.serve_requests()
    ready, png, pdf, wrong = map(json.loads, capsys.readouterr().out.splitlines())
    assert nice == [3] and ready == {"ready": True} and (png["id"], pdf["id"], wrong["id"]) == (0, 1, 2)
    assert [one["result"]["base64"][:5] for one in (png, pdf)] == ["iVBOR", "JVBER"]
    assert wrong["error"].pop("message").partition(":")[0] and wrong["error"] == {
        "code": "picture_failed",
        "hint": "Choose SVG or TeX, which need no renderer.",
        "field": "form",
    }
