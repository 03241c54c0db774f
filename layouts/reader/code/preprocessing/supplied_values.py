"""Select the macros of a request that give values to undeclared names rather than to the preprocessor."""

from __future__ import annotations

import re

from lanescope.cxx.literals import parse_literal
from lanescope.reader.code.naming.header_names import CONSTANTS, MEMBERS
from lanescope.reader.code.running.work_words import WORDS

_DIRECTIVE = re.compile(r"^[ \t]*+#[^\n]*+", re.M)
_PATH = re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*")


def select_supplied(text: str, macros: tuple[tuple[str, str], ...]) -> dict[str, int | str]:
    """Return the macros that give values to names which the text does not declare; the others are defined."""
    return {**select_values(text, macros), **select_names(text, macros)}


def select_values(text: str, macros: tuple[tuple[str, str], ...]) -> dict[str, int]:
    """Return the macros with integer values that no directive of the text tests."""
    tested = set(WORDS.findall("\n".join(_DIRECTIVE.findall(text)))) if macros else set()
    values = {name: parse_value(value) for name, value in macros if name not in tested}
    return {name: value for name, value in values.items() if value is not None}


def select_names(text: str, macros: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Return the macros whose values are types or enumerators for template parameters of the text.

    Macros that a directive tests are omitted. Values are such as `cutlass::bfloat16_t` and `GemmType::Normal`.
    """
    names = {name: value for name, value in macros if _PATH.fullmatch(value) and parse_value(value) is None}
    tested = set(WORDS.findall("\n".join(_DIRECTIVE.findall(text)))) if names else set()
    return {
        name: value
        for name, value in names.items()
        if name not in tested and re.search(rf"[<,]\s*(?:typename\s|class\s|[\w:]+\s)\s*{name}\s*[,>=]", text)
    }


def parse_value(text: str) -> int | None:
    """Parse an integer, true, false, or an enumerator of CUDA or CuTe; None for other text."""
    if literal := parse_literal(text):
        return literal[0]
    path = text.split("::")
    named = {"true": 1, "false": 0, **CONSTANTS}.get(text)
    return named if len(path) == 1 else MEMBERS.get((path[-2], path[-1]))
