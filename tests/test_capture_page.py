"""Captures given to the page, the API, the command and the verification of a device."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanescope import capture
from lanescope.app.hardware import capture_examples, capture_verdicts, captures
from lanescope.app.hardware.capture_examples import EXAMPLES
from lanescope.capture.file_format import Capture
from lanescope.capture.report import Verified
from tests import h200_captures
from tests.sample import choose_count


def test_what_is_no_capture_is_refused_at_its_field(client: Any) -> None:
    raw = h200_captures.list_fills("ldmatrix_padded", 0)[0]
    for files, label in (
        ({"capture": b"x" * 100}, "Capture"),
        ({"capture": raw[:5000]}, "Capture"),
        ({"capture": raw, "a": b"\x93NUMPY"}, "A, (m, k), .npy"),
        ({"a": b""}, "Capture"),
    ):
        page = client.post("/capture", files={name: (name, held) for name, held in files.items()})
        assert page.status_code == 422
        assert re.search(rf">{re.escape(label)} <input [^>]*aria-invalid[^>]*><small [^>]*data-error", page.text), label
    assert client.post("/capture", content=b"x").status_code in (415, 422)
    assert client.post("/capture", files={"capture": ("k", bytes(17 << 20))}).status_code == 413
    assert client.get("/capture/lanescope.cuh").text.startswith("// lanescope.cuh")


def test_the_command_has_a_status_for_ci(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from lanescope.app.cli import build_cli
    from lanescope.render.capture_header import render_header
    from tests.command import CliRunner

    def run(*words: str) -> tuple[int, str]:
        made = CliRunner().invoke(build_cli(), ["capture", *words])
        return made.exit_code, made.output

    for name, raw in (
        ("right", h200_captures.list_fills("ldmatrix_padded", 0)[0]),
        ("none", capture.write(Capture(()))),
        ("wrong", h200_captures.list_fills("ldmatrix_padded", 1)[0]),
    ):
        (tmp_path / name).write_bytes(raw)
    assert [run("verify", str(tmp_path / name))[0] for name in ("right", "wrong", "none")] == [0, 1, 2]
    assert "matrices_exchanged" in run("verify", str(tmp_path / "wrong"))[1]
    assert json.loads(run("verify", str(tmp_path / "wrong"), "--json")[1])["first_wrong"] == 0
    for letter in "ab":
        (tmp_path / f"{letter}.npy").write_bytes(h200_captures.read_files()[f"ldmatrix_padded-{letter}.npy"])
    (tmp_path / "real").write_bytes(h200_captures.read_files()["ldmatrix_padded-5-real.lscap"])
    given = ["--a", str(tmp_path / "a.npy"), "--b", str(tmp_path / "b.npy"), "--nk"]
    assert run("verify", str(tmp_path / "real"), *given)[0] == 1
    assert run("header") == (0, render_header())
    out = tmp_path / "fill.npy"
    assert run("fill", "--shape", "4x8", "--type", "bf16", "--operand", "b", str(out))[0] == 0
    assert np.array_equal(np.load(out), capture.fill((4, 8), "bf16", "b"))


def test_an_enormous_file_is_not_read(tmp_path: Path) -> None:
    """Foreign, of another version, or one that says it has gigabytes: its first bytes are enough to refuse it."""
    import tracemalloc

    from lanescope.app.cli import build_cli
    from tests.command import CliRunner

    right = h200_captures.list_fills("ldmatrix_padded", 0)[0]
    large = bytearray(right[:64])
    large[16:32] = (1 << 31).to_bytes(8, "little") * 2
    for head, says in (
        (right, "match"),
        (bytes(64), "not a capture"),
        (bytes(large), "At most"),
        (right[:8] + b"\x07" + right[9:64], "version 7"),
    ):
        path = tmp_path / "enormous"
        with path.open("wb") as file:
            file.write(head)
            file.truncate(3 << 29)
        tracemalloc.start()
        made = CliRunner().invoke(build_cli(), ["capture", "verify", str(path)])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        error = "" if made.exception is None else f"{made.exception} {getattr(made.exception, 'hint', '')}"
        assert says in made.output + error and peak < 1 << 26, (says, made.output, error, peak)


def test_the_part_of_a_verification_judges_what_the_device_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the files of an H200 in the device's place, and one of them exchanged for another mistake's. Of the examples
    one: tests/test_capture_verify.py judges all.
    """
    examples = EXAMPLES[: choose_count(len(EXAMPLES), 1)]
    monkeypatch.setattr(capture_examples, "EXAMPLES", examples)
    device = type("Hopper", (), {"supports": lambda self, instruction: ""})()
    rows = json.loads((h200_captures.FOLDER / "captures.json").read_text())["runs"]
    monkeypatch.setattr(captures, "record_all", lambda to, examples, last: rows)
    recorded = h200_captures.read_files()
    monkeypatch.setattr(capture_verdicts, "read_archive", lambda folder: recorded)

    def verify_files(
        files: capture_verdicts.Files, example: capture_examples.ExampleProgram, mistake: int, real: bool
    ) -> Verified:
        """Files that were not exchanged are judged once."""
        own = [name for name in files if name.startswith(f"{example.name}-{mistake}-")]
        if all(files[name] is h200_captures.read_files()[name] for name in own):
            return h200_captures.verify_capture(example.name, mistake, real)
        return h200_captures.judged(files, example, mistake, real)

    monkeypatch.setattr(capture_verdicts, "verify_run", verify_files)
    assert capture_verdicts.run_verdicts(device) == {one.name: {"ran": 6, "agreed": 6} for one in examples}
    assert capture_verdicts.run_verdicts(device, per_kind=1) == {
        EXAMPLES[0].name: {"ran": 2, "agreed": 2}
    }  # right, and one mistake
    first, name = EXAMPLES[0].name, "{}-{}-fill1.lscap".format
    changed = dict(h200_captures.read_files()) | {name(first, 2): h200_captures.read_files()[name(first, 1)]}
    rows[5]["d_right"] = True
    monkeypatch.setattr(capture_verdicts, "read_archive", lambda folder: changed)
    told = capture_verdicts.run_verdicts(device)
    assert told[first] == {"ran": 6, "agreed": 4, "differs": ["2: named lbo_sbo_swapped", "5: D is right"]}
    assert sum(row["agreed"] for row in told.values()) == 6 * len(examples) - 2
    assert capture_verdicts.run_verdicts(type("Ampere", (), {"supports": lambda self, instruction: "sm_80"})()) == {}
