"""Program templates: files of a package's folder `programs` with slots for the parts that vary."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

Slot = str | int | Sequence[str]

_ALONE = re.compile(r"( *)\$(?:(\w+)|\{(\w+)\})")
_SLOT = re.compile(r"\$(?:([A-Za-z]\w*)|\{(\w+)\})")


class Templates:
    """The templates of one package.

    A slot is `$name` or `${name}`. Inside a line it takes text. Alone on a line it takes lines, as text or as a list,
    indented as the slot is; an empty value removes the line.

    >>> fill_lines("for (;;) {\\n  $body\\n  $more\\n} // $why", {"body": "f();\\ng();", "more": [], "why": 1})
    ['for (;;) {', '  f();', '  g();', '} // 1']
    """

    def __init__(self, package: str) -> None:
        self._package = package

    def read_template(self, name: str) -> str:
        """Return the text of a template."""
        return _read_program(self._package, name)

    def lines(self, name: str, /, **slots: Slot) -> list[str]:
        """Return the lines of a template with its slots filled; KeyError if one is missing."""
        return fill_lines(self.read_template(name), slots)

    def fill(self, name: str, /, **slots: Slot) -> str:
        """Return the text of a template with its slots filled; KeyError if one is missing."""
        return join_lines(self.lines(name, **slots))


def fill_lines(text: str, slots: dict[str, Slot]) -> list[str]:
    """Return the lines of a text with its slots filled."""
    out = []
    for line in text.splitlines():
        alone = _ALONE.fullmatch(line)
        if alone is None:
            out.append(_SLOT.sub(lambda found: str(slots[found[1] or found[2]]), line))
            continue
        value = slots[alone[2] or alone[3]]
        lines = str(value).splitlines() if isinstance(value, str | int) else value
        out += indent_lines(lines, alone[1])
    return out


def indent_lines(lines: Sequence[str], indent: str) -> list[str]:
    """Return lines with an indent in front; empty lines stay empty."""
    return [f"{indent}{line}" if line else "" for line in lines]


def join_lines(lines: Sequence[str]) -> str:
    """Return lines as text, each with a newline."""
    return "".join(f"{line}\n" for line in lines)


@cache
def _read_program(package: str, name: str) -> str:
    return (files(package) / "programs" / name).read_text(encoding="utf-8")
