"""docs/seeds.md: every link opens, every command runs, and no section is without one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app import cli
from tests.client import Client

TEXT = (Path(__file__).parents[1] / "docs" / "seeds.md").read_text()
ROWS = [
    line.strip("|").split(" | ")
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith(("| section", "|---"))
]
LINKS = sorted(set(re.findall(r"\]\((/[^)\s]*)\)", TEXT)))
COMMANDS = sorted(set(re.findall(r"`(lanescope [^`]*)`", TEXT)) - {"lanescope serve"})


def test_every_section_is_shown_somewhere() -> None:
    assert len(re.findall(r"^## 00\d: ", TEXT, re.M)) == 5 and len(ROWS) > 60
    for row in ROWS:
        assert len(row) == 2 and re.search(r"\]\(/|`lanescope ", row[1]), row


def test_every_link_opens(client: Client) -> None:
    for link in LINKS:
        path, _, anchor = link.partition("#")
        answer = client.get(path)
        assert answer.status_code == 200, (link, answer.status_code)
        assert not anchor or f'id="{anchor}"' in answer.text, link
        assert not path.startswith("/chain") or 'class="verdict ok"' in answer.text, link
        assert not path.startswith("/gpu/run") or "Simulated:" in answer.text, link
        assert not path.startswith("/steps/") or "D is A × B + C from the" in answer.text, link
        if path.startswith("/?"):
            assert "Nothing matches" not in answer.text and 'class="notice"' not in answer.text, link


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_runs(command: str) -> None:
    done = CliRunner().invoke(cli.attach(), shlex.split(command)[1:])
    assert done.exit_code == 0 and done.output.strip(), (done.output, done.exception)


def test_a_broken_link_is_noticed(client: Client) -> None:
    assert (
        client.get("/guide/no-such-page").status_code == 404
        and client.get("/i/mma.m16n8k12.row.col.f32.f16.f16.f32").status_code == 404
    )
    assert "Nothing matches" in client.get("/?type=s4&family=wgmma").text
