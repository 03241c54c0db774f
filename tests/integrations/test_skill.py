"""`lanescope skill`: its head, the tools that it names, its inputs and its commands, which all run."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from lanescope.app.agents.skill import COMMANDS, render_skill
from lanescope.app.agents.tools import TOOLS, answer_call
from lanescope.app.emulate.feature import ADD
from tests.command import run_lanescope
from tests.integrations.test_mcp import CONTRACT


def test_the_skill_has_its_head_and_names_every_tool() -> None:
    text = run_lanescope("skill").stdout
    assert text == render_skill()
    head = yaml.safe_load(text.split("---\n")[1])
    assert head["name"] == "lanescope" and 100 < len(head["description"]) <= 1024
    assert all(f"| `{name}` |" in text for name in CONTRACT) and set(COMMANDS) == set(CONTRACT)


def test_the_inputs_that_the_skill_shows_are_answered() -> None:
    shown = re.findall(r"^- `(\w+)`: `(\{.*\})`$", render_skill(), re.M)
    assert len(shown) >= 10
    for name, given in shown:
        answer, refused = answer_call(name, json.loads(given))
        assert not refused, (name, answer)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_commands_of_the_skill_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status 0 or 1; 2 would be a refusal, which is what explain_refusal shows."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "kernel.cu").write_text(TOOLS["verify_source"].example["files"][0]["text"])
    (tmp_path / "kernel.ptx").write_text(ADD)
    toml = 'grid = [1]\nblock = [32]\nargs = ["C"]\n[buffer.C]\nshape = [32]\ntype = "u32"\nfill = 1\n'
    (tmp_path / "launch.toml").write_text(toml)
    monkeypatch.chdir(tmp_path)
    ran = run_lanescope(*shlex.split(COMMANDS[name])[1:])
    assert ran.returncode in ((2,) if name == "explain_refusal" else (0, 1)), ran.stderr
    assert ran.stdout or name == "explain_refusal"
