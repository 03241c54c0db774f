"""The README's Python and shell blocks run and print what they say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.test_cli import lanescope

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_python_block() -> None:
    block = re.search(r"```python\n(.*?)```", README, re.S)
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


def test_shell_blocks() -> None:
    block = re.search(r"## In a shell\n\n```\n(.*?)```", README, re.S)
    assert block
    text = block[1].replace("\\\n", " ")
    commands = re.split(r"^\$ ", text, flags=re.M)[1:]
    assert len(commands) >= 4
    for command in commands:
        line, _, expected = command.partition("\n")
        done = lanescope(*shlex.split(line)[1:])
        assert done.returncode in (0, 1) and "Traceback" not in done.stderr
        if expected.strip():
            assert done.stdout.strip() == expected.strip()
