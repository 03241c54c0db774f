"""docs/seeds.md: every link opens, every command runs, both show the figure that stands behind them, and no section is
without one.
"""

from __future__ import annotations

import re
import shlex
from html import unescape
from pathlib import Path

from lanescope.app import cli
from lanescope.descriptor.matrix import Descriptor
from tests.cases import for_each
from tests.client import Client
from tests.command import CliRunner

TEXT = (Path(__file__).parents[1] / "docs" / "seeds.md").read_text()
ROWS = [
    line.strip("|").split(" | ")
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith(("| section", "|---"))
]
COMMANDS = sorted(set(re.findall(r"`(lanescope [^`]*)`", TEXT)) - {"lanescope serve"})

SHOWN = re.findall(r"(?:\]\((?P<link>/[^)\s]*)\)|`(?P<command>lanescope [^`]*)`) \*\*(?P<figures>[^*]+)\*\*", TEXT)


def read_strides(text: str) -> list[tuple[int, int]]:
    """(LBO, SBO) of each descriptor that a text shows, in units of 16 bytes, each once: in words, else as words."""
    said = re.findall(r"(?:LBO (\d+|not read), |; )SBO (\d+) bytes", text)
    if said:
        found = [(int(lbo) // 16 if lbo.isdigit() else -1, int(sbo) // 16) for lbo, sbo in said]
    else:
        words = [Descriptor(int(word, 16)) for word in re.findall(r"\b0x[0-9a-f]{16}\b", text)]
        found = [(one.lbo_bytes // 16, one.sbo_bytes // 16) for one in words]
    return list(dict.fromkeys(found))


def find_wrong(figures: str, text: str) -> list[str]:
    """The figures that a text does not show. Strides of A and of B, or of the one descriptor that is shown."""
    text = " ".join(text.split())
    strides = read_strides(text)
    wrong = []
    for figure in figures.split("; "):
        if not (stated := re.fullmatch(r"(?:([AB]) )?(?:LBO (\d+), )?SBO (\d+)", figure)):
            wrong += [figure] * (figure not in text)
            continue
        side, lbo, sbo = stated.groups()
        shown = strides[-1 if side == "B" else 0 : None if side == "B" else 1]
        if not shown or shown[0][1] != int(sbo) or (lbo and shown[0][0] != int(lbo)):
            wrong.append(f"{figure}: {strides}")
    return wrong


def test_every_section_is_shown_somewhere() -> None:
    assert len(re.findall(r"^## 00\d: ", TEXT, re.M)) == 5 and len(ROWS) > 60
    for row in ROWS:
        assert len(row) == 2 and re.search(r"\]\(/|`lanescope ", row[1]), row


@for_each("command", COMMANDS)
def test_every_command_runs(command: str) -> None:
    done = CliRunner().invoke(cli.build_cli(), shlex.split(command)[1:])
    assert done.exit_code == 0 and done.output.strip(), (done.output, done.exception)


@for_each(("link", "command", "figures"), SHOWN, ids=[link or command for link, command, _ in SHOWN], sample=12)
def test_what_is_shown_is_what_the_note_states(client: Client, link: str, command: str, figures: str) -> None:
    if link:
        html = re.sub(r"<(script|style)\b.*?</\1>", " ", client.get(link).text, flags=re.S)
        shown = unescape(re.sub(r"<[^>]+>", " ", html))
    else:
        shown = CliRunner().invoke(cli.build_cli(), shlex.split(command)[1:]).output
    assert not find_wrong(figures, shown)
