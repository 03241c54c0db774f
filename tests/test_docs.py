"""What the documents tell people to type runs and prints what they say: the README's Python, every shell command of
README and guide.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from lanescope.app.cli import build_cli
from lanescope.descriptor import causes
from lanescope.workbench import finding_codes
from tests.cases import for_each
from tests.command import run_lanescope

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
USAGE = (ROOT / "docs" / "usage.md").read_text()
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{path.stem}-{number}")
    for path in DOCUMENTS
    for number, block in enumerate(re.findall(r"^```\w*\n((?:.*\n)*?)```$", path.read_text(), re.M))
    if block.startswith("$ ")
]


@for_each("first", ["from lanescope import find\n", "from lanescope import tiled_copy"])
def test_python_block(first: str) -> None:
    block = re.search(rf"```python\n({first}.*?)```", USAGE, re.S)
    assert block
    scope: dict[str, object] = {}
    checked = 0
    for line in block[1].splitlines():
        code, _, said = line.partition("  #")
        said = said.strip()
        if said and said[0] in "['(" and not said.startswith("int"):
            assert repr(eval(code, scope)) == said.strip(), line
            checked += 1
        else:
            exec(code, scope)
    assert checked >= 4


def test_usage_lists_every_command() -> None:
    """Each once, in the order of --help, and every verb of a group in its row."""
    rows = re.findall(r"^\| `lanescope ([\w-]+)` \| (.*) \|$", USAGE, re.M)
    groups = typer.main.get_command(build_cli()).commands  # type: ignore[attr-defined]
    assert [name for name, _ in rows] == list(groups)
    for name, told in rows:
        assert all(f"`{verb}" in told for verb in getattr(groups[name], "commands", ())), name


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """An empty folder to work in, and an environment whose PATH has this tree's command."""
    folder = tmp_path_factory.mktemp("shell")
    command = folder / "bin" / "lanescope"
    command.parent.mkdir()
    command.write_text(
        f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c 'from lanescope.app.cli import main; main()' \"$@\"\n"
    )
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    return folder, os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}


def split_words(line: str) -> list[str] | None:
    """The words after `run_lanescope`, where the line is that command and needs nothing of the shell."""
    try:
        words = list(shlex.shlex(line, posix=True, punctuation_chars=True))
    except ValueError:  # cut off inside of a quotation
        return None
    plain = not any(set(word) <= set("|&;<>()") for word in words) and not re.search(r"[$`*~]", line)
    return shlex.split(line)[1:] if plain and words and words[0] == "lanescope" else None


@pytest.mark.parametrize("block", BLOCKS)
def test_shell_blocks_print_what_they_show(
    block: str, shell: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard output is compared word for word; the exit status is 0 unless the next command is `echo $?`."""
    folder, environment = shell
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", environment["COLUMNS"])
    commands = [part.partition("\n")[::2] for part in re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.M)[1:]]
    status = 0
    for number, (line, expected) in enumerate(commands):
        if line == "echo $?":
            assert expected.strip() == str(status), line
            continue
        first, _, filters = line.partition(" | ")
        words = split_words(first)
        done = run_lanescope(*words) if words else None
        if done is None or filters:
            done = subprocess.run(
                ["bash", "-c", filters if done else line],
                input=done and done.stdout,
                capture_output=True,
                text=True,
                check=False,
                cwd=folder,
                env=environment,
            )
        status = done.returncode
        assert done.stdout.strip() == expected.strip(), (line, done.stderr)
        assert "Traceback" not in done.stderr
        assert status == 0 or commands[number + 1 : number + 2] == [("echo $?", f"{status}\n")], (
            line,
            status,
            done.stderr,
        )


def test_the_readme_counts_what_there_is() -> None:
    from lanescope.app.guide import values as guide_values

    for part in ("instructions", "descriptors", "banks", "counters", "chains", "programs", "boxes", "captures"):
        assert f": {guide_values.format_evidence(part)}." in README, part
    stated = re.search(r"assembles: ([\d,]+) instructions\.", " ".join(README.split()))
    assert stated and stated[1] == guide_values.VALUES["instructions"](""), "the count of instructions in README.md"


def list_commands() -> list[tuple[str, str]]:
    """Every `lanescope …` and `make …` between backticks in prose."""
    out = []
    for path in DOCUMENTS:
        prose = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S)
        out += [(path.name, " ".join(span.split())) for span in re.findall(r"`((?:lanescope|make) [^`]+)`", prose)]
    return out


def test_commands_in_prose_exist() -> None:
    """Verbs and options are those of the command line; targets and variables are the Makefile's."""
    from lanescope.app.cli import build_cli

    root = typer.main.get_command(build_cli())
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    variables = set(re.findall(r"\$\(([A-Z]+)\)", makefile))
    found = list_commands()
    for where, text in found:
        program, *words = shlex.split(re.sub(r"\[[^\]]*\]|…", "", text))
        if program == "make":
            given = {word.partition("=")[0] for word in words if "=" in word}
            assert given <= variables and {word for word in words if "=" not in word} <= targets, (where, text)
            continue
        verb: Any = root
        while hasattr(verb, "commands") and words and not words[0].startswith("-"):
            assert words[0] in verb.commands, (where, text)
            verb = verb.commands[words.pop(0)]
        known = {option for parameter in verb.params for option in parameter.opts} | {"--help"}
        assert {word for word in words if re.match(r"--?[a-z]", word)} <= known, (where, text)
    assert len(found) > 5


OTHER_SPELLINGS = re.compile(  # -ize as in CUDA's documents; colour, neighbour and the like as the API spells them
    r"\b(?:un)?(?:recognis|initialis|synchronis|serialis|specialis|generalis|normalis|behaviour|licence|neighbor|labeled|"
    r"canceled|colors?\b)\w*",
    re.I,
)


def test_documents_and_pages_spell_each_word_in_one_way() -> None:
    found = []
    for path in (*DOCUMENTS, *sorted((ROOT / "templates").rglob("*.html"))):
        prose = re.sub(r"`[^`]*`|<[^>]*>|\{[{%].*?[%}]\}|https?://\S+", "", path.read_text(), flags=re.S)
        found += [(path.name, word[0]) for word in OTHER_SPELLINGS.finditer(prose)]
    titles = {**finding_codes.TITLES, **causes.TITLES}
    assert not found and not [title for title in titles.values() if OTHER_SPELLINGS.search(title)]
