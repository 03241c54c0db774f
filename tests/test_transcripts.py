"""The transcripts of the command line: every verb and option of `run_lanescope`, used rightly and wrongly, with what it
prints and its exit status. A transcript is tests/golden/terminal/VERB.txt: write a new command line there, run
`make golden`, and read the difference.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from lanescope.app.cli import build_cli
from tests.command import build_command, run_lanescope
from tests.sample import take_rows

FOLDER = Path(__file__).parent / "golden" / "terminal"
LINES = {
    path.stem: [line.removeprefix("$ lanescope ") for line in path.read_text().splitlines() if line.startswith("$ ")]
    for path in sorted(FOLDER.glob("*.txt"))
}
SHOWN_LINES = 60


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Run a command line: its status and what it printed, with the temporary folder named @."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERMINAL_WIDTH", "120")

    def run(line: str) -> tuple[int, str, str]:
        words = [re.sub(r"^@", f"{tmp_path}/", word) for word in shlex.split(line)]
        done = run_lanescope(*words)
        return done.returncode, *(text.replace(f"{tmp_path}/", "@") for text in (done.stdout, done.stderr))

    return run


def transcribe(text: str, mark: str) -> list[str]:
    """The first lines of a text; what depends on machine, version and clock is left out."""
    text = re.sub(r'("version": ?)"\d+\.\d+\.\d+\w*"', r'\1"…"', text)
    text = re.sub(r'("duration_ms": ?|"seconds": ?|"bytes": ?)[\d.]+|[\d.]+(?= ms$)', r"\1…", text, flags=re.M)
    lines = text.splitlines()
    out = [f"{mark} {_shorten(line)}".rstrip() for line in lines[:SHOWN_LINES]]
    return out if len(lines) <= SHOWN_LINES else [*out, f"{mark} … {len(lines)} lines"]


def _shorten(line: str) -> str:
    """A line with its middle left out if it is long: what a message begins and ends with is kept."""
    return line if len(line) <= 400 else f"{line[:300]} … {line[-97:]}"


WRITES = os.environ.get("LANESCOPE_GOLDEN") == "write"


@pytest.mark.parametrize("verb", LINES if WRITES else take_rows(list(LINES), 12))
def test_a_verb_prints_its_transcript(verb: str, typed, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    out: list[str] = []
    for line in LINES[verb]:
        status, printed, complained = typed(line)
        out += [f"$ lanescope {line}", f"= {status}", *transcribe(printed, " "), *transcribe(complained, "!"), ""]
    out += [f"@{path.name} {path.stat().st_size} bytes" for path in sorted(tmp_path.iterdir()) if path.is_file()]
    path = FOLDER / f"{verb}.txt"
    if WRITES:
        path.write_text("\n".join(out) + "\n")
    assert out == path.read_text().splitlines()


def test_every_verb_and_option_has_a_transcript() -> None:
    """A new verb or option needs a command line of its own."""
    command = build_command(build_cli())
    lines = [line for group in LINES.values() for line in group]
    missing = []
    for name, verb in command.commands.items():  # type: ignore[attr-defined]
        below = getattr(verb, "commands", None)
        for words, leaf in [((name, sub), c) for sub, c in below.items()] if below else [((name,), verb)]:
            own = [line for line in lines if line.split()[: len(words)] == list(words)]
            for option in leaf.params:
                spelt = [o for o in option.opts if o.startswith("-")]
                if name != "serve" and spelt and not any(f"{o} " in f"{line} " for line in own for o in spelt):
                    missing.append(f"{' '.join(words)} {spelt[0]}")
    assert missing == ["gpu verify --write"], "tests/golden/terminal/ has no command line with these options"
