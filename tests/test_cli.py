"""The command line as a process: answers, JSON equal to the API's, exit status."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer

from lanescope.app.cli import build_cli
from tests.cases import for_each
from tests.client import Client
from tests.command import run_lanescope

ROOT = Path(__file__).parents[1]
M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def run_process(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from lanescope.app.cli import main; main()", *words],
        capture_output=True,
        text=True,
        check=False,
    )


def test_element_to_lane_and_back() -> None:
    out = run_lanescope("show", M16, "a", "--at", "11,2").stdout
    assert out.splitlines()[1].split() == ["13", "a2", "R1", "[15:0]", "A[11,2]"]
    out = run_lanescope("show", M16, "a", "--lane", "13", "--value", "2").stdout
    assert out.splitlines()[1].split() == ["13", "a2", "R1", "[15:0]", "A[11,2]"]
    assert len(run_lanescope("show", M16, "a", "--lane", "13").stdout.splitlines()) == 9
    assert len(run_lanescope("show", M16, "a").stdout.splitlines()) == 257


def test_json_is_the_apis(client: Client) -> None:
    for words, path in (
        (["show", M16, "--json"], f"/api/v1/instructions/{M16}"),
        (["show", M16, "b", "--json"], f"/api/v1/instructions/{M16}/operands/b"),
        (["list", "--family", "mma", "--type", "f64", "--json"], "/api/v1/instructions?family=mma&type=f64"),
    ):
        assert json.loads(run_lanescope(*words).stdout) == client.get(path).json()


def test_plain_list_is_one_text_a_line() -> None:
    lines = run_lanescope("list", "--family", "mma").stdout.splitlines()
    assert len(lines) == 160 and M16 in lines


def test_a_process_prints_what_these_tests_read() -> None:
    """The other tests run the command in their own process (tests/command.py)."""
    words = ("show", M16, "--at", "1,1", "--json")
    process, here = run_process(*words), run_lanescope(*words)
    assert (process.returncode, process.stdout, process.stderr) == (here.returncode, here.stdout, here.stderr)


@for_each(
    ("words", "says"),
    [
        (["show", "mma.m16n8k12.row.col.f32.f16.f16.f32"], "No instruction has 'm16n8k12'"),
        (["show", M16, "a", "--at", "16,0"], "row 16 is outside A"),
        (["show", M16, "a", "--at", "x"], "'x' is not an element"),
        (["show", M16, "a", "--at", "1,2,3"], "has 3 numbers"),
        (["show", M16, "a", "--lane", "32"], "No lane 32"),
        (["show", M16, "a", "--lane", "0", "--value", "8"], "No value 8"),
        (["show", M16, "--at", "1,1"], "need an operand"),
        (["list", "--family", "nope"], "No family 'nope'"),
        (["nonsense"], "nonsense"),
    ],
)
def test_bad_usage_is_status_2(words: list[str], says: str) -> None:
    done = run_lanescope(*words)
    assert done.returncode == 2 and says in done.stderr and "Traceback" not in done.stderr


def test_errors_as_json() -> None:
    done = run_lanescope("show", "nothing", "--json")
    assert done.returncode == 2 and json.loads(done.stdout)["error"]["code"] == "unknown_instruction"


def test_completion_knows_verbs_and_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    def complete(words: str) -> list[str]:
        monkeypatch.setenv("_LANESCOPE_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", "2")
        return run_lanescope().stdout.split()

    assert complete("lanescope gpu ve") == ["verify"]
    assert complete("lanescope show mma.m16n8k16.row.col.f32.bf16") == ["mma.m16n8k16.row.col.f32.bf16.bf16.f32"]


def list_commands(command: Any, *path: str) -> Iterator[tuple[str, Any]]:
    """Each command with its path; groups load theirs by name."""
    if not hasattr(command, "list_commands"):
        yield " ".join(path), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        yield from list_commands(command.get_command(context, name), *path, name)


def test_every_command_has_json_but_those_that_the_documentation_names() -> None:
    (sentence,) = re.findall(r"All but (.*?) take `--json`", (ROOT / "docs" / "usage.md").read_text())
    without = [
        name
        for name, command in list_commands(typer.main.get_command(build_cli()))
        if not any("--json" in option.opts for option in command.params)
    ]
    assert without == re.findall(r"`([^`]+)`", sentence)
