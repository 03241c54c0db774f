"""What the command line prints, held: every verb and option of `lanescope`, used rightly and wrongly, with its exit
status, in the words of a terminal and as JSON. Runs in this process; long output is folded to its beginning and a
checksum. The command lines are those of tests/golden/terminal/*.txt: write a new one there, then `make golden`.
"""

from __future__ import annotations

import re
import shlex
import zlib
from pathlib import Path

import pytest

from lanescope.app.cli import attach
from tests.command import built, lanescope
from tests.held import FOLDER, held

TERMINAL = FOLDER / "terminal"
LINES = {
    path.stem: [line.removeprefix("$ lanescope ") for line in path.read_text().splitlines() if line.startswith("$ ")]
    for path in sorted(TERMINAL.glob("*.txt"))
}
FEW = 60


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Run a command line: its status and what it printed, with the temporary folder named @."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERMINAL_WIDTH", "120")

    def run(line: str) -> tuple[int, str, str]:
        words = [re.sub(r"^@", f"{tmp_path}/", word) for word in shlex.split(line)]
        done = lanescope(*words)
        return done.returncode, *(text.replace(f"{tmp_path}/", "@") for text in (done.stdout, done.stderr))

    return run


def folded(text: str, mark: str) -> list[str]:
    """A text's first lines and the checksum of all; what depends on machine and clock is left out."""
    text = re.sub(r'("version": ?)"\d+\.\d+\.\d+\w*"', r'\1"…"', text)  # of the package that is installed
    text = re.sub(r'("duration_ms": ?|"seconds": ?|"bytes": ?)[\d.]+|[\d.]+(?= ms$)', r"\1…", text, flags=re.M)
    lines = text.splitlines()
    out = [f"{mark} {line[:400]}".rstrip() for line in lines[:FEW]]
    if len(lines) > FEW or any(len(line) > 400 for line in lines):
        out.append(f"{mark} … {len(lines)} lines, crc32 {zlib.crc32(text.encode()):08x}")
    return out


@pytest.mark.parametrize("verb", LINES)
def test_what_is_printed_is_held(verb: str, typed, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    out: list[str] = []
    for line in LINES[verb]:
        status, said, complained = typed(line)
        out += [f"$ lanescope {line}", f"= {status}", *folded(said, " "), *folded(complained, "!"), ""]
    written = sorted(path for path in tmp_path.iterdir() if path.is_file())
    for path in written:
        out.append(f"@{path.name} {path.stat().st_size} bytes, crc32 {zlib.crc32(path.read_bytes()):08x}")
    held(f"terminal/{verb}", "\n".join(out) + "\n")


def test_every_verb_and_option_is_typed() -> None:
    """A new verb or option without a line there fails here."""
    command = built(attach())
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
    assert missing == ["gpu verify --write"], "it writes evidence"
