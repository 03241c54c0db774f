"""A check that fails by a mistake of ours, or whose process dies, costs its own file and no other."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from lanescope.app.check import checking
from lanescope.app.check.verbs import app
from lanescope.workbench import check as engine
from tests.command import CliRunner
from tests.test_check import RIGHT, plant_mistake

GUILTY = "// the file at which the engine fails\n"


@pytest.fixture(params=["1", "2"], ids=["alone", "in two processes"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, str]:
    """Return a folder of a wrong file, one that the engine fails at, and a right one; and for how many processes."""
    (tmp_path / "a.cu").write_text(plant_mistake("sB + k * 16", "sB"))
    (tmp_path / "b.cu").write_text(GUILTY)
    (tmp_path / "c.cu").write_text(RIGHT)
    return tmp_path, request.param


def plant_failure(monkeypatch: pytest.MonkeyPatch, fail: object) -> None:
    """Have the engine call something where it checks the guilty file."""
    check_text = engine.check_text

    def check_or_fail(text: str, *rest: object) -> object:
        return fail() if text == GUILTY else check_text(text, *rest)  # type: ignore[operator,arg-type]

    monkeypatch.setattr(engine, "check_text", check_or_fail)


def raise_error() -> None:
    raise KeyError("swizzle")


def test_an_exception_at_one_file_is_that_files_own_line(
    folder: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant_failure(monkeypatch, raise_error)
    run = CliRunner().invoke(app, [str(folder[0]), "--no-cache", "-j", folder[1]])
    place = f"{folder[0]}/b.cu:1:1"
    lines = [line for line in run.stderr.splitlines() if "b.cu" in line]
    assert len(lines) == 1 and lines[0].startswith(f"{place}: note: The file is not checked: internal error KeyError")
    assert "'swizzle'" in lines[0] and "(test_check_failures.py:" in lines[0] and "please report" in lines[0]
    assert f"{folder[0]}/a.cu:" in run.stdout and "[k_step_missing]" in run.stdout and "3 files" in run.stdout
    assert "1 file not read: not verified" in run.stdout and run.exit_code == 1


def test_an_exception_while_includes_are_joined_is_the_files_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.cu").write_text(plant_mistake("sB + k * 16", "sB"))
    (tmp_path / "b.cu").write_text(GUILTY)
    join = checking.join_includes
    monkeypatch.setattr(checking, "join_includes", lambda one, *rest: 1 / 0 if one.text == GUILTY else join(one, *rest))
    run = CliRunner().invoke(app, [str(tmp_path), "--no-cache", "--json"])
    report = json.loads(run.stdout)
    assert [one["code"] for one in report["findings"]] == ["k_step_missing"] and report["gaps"]["unread"] == 1
    assert "internal error ZeroDivisionError" in report["open"][0]["message"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the planted fault reaches a child process by fork")
def test_a_process_that_dies_costs_the_file_it_was_at(
    folder: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant_failure(monkeypatch, lambda: os._exit(9))
    run = CliRunner().invoke(app, [str(folder[0]), "--no-cache", "-j", "2"])
    assert "b.cu:1:1: note: The file is not checked: its process ended, please report it." in run.stderr
    assert "[k_step_missing]" in run.stdout and "3 files" in run.stdout and run.exit_code == 1


def test_a_file_that_takes_too_long_leaves_the_others(
    folder: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait() -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            time.sleep(0.01)

    plant_failure(monkeypatch, wait)
    run = CliRunner().invoke(app, [str(folder[0]), "--no-cache", "-j", folder[1], "--seconds", "1"])
    assert "b.cu:1:1: note: The file is not checked: 1 s did not suffice" in run.stderr
    assert "[k_step_missing]" in run.stdout and "3 files" in run.stdout and run.exit_code == 1
