"""Find the text of a constant array of characters that is a template argument."""

from __future__ import annotations

import re
from functools import lru_cache

from lanescope.reader.code.syntax import tree

_STRING = re.compile(r'\bchar\s+(\w+)\s*\[\s*\]\s*=\s*"([^"]*)"')


def find_string(text: str, argument: tree.Expression) -> str | None:
    """Return the text of the only array of characters with the name that a template argument has."""
    name = argument.path[-1][0] if isinstance(argument, (tree.Type, tree.Name)) and argument.path else ""
    found = _index_strings(text).get(name, set())
    return next(iter(found)) if len(found) == 1 else None


@lru_cache(maxsize=4)
def _index_strings(text: str) -> dict[str, set[str]]:
    """Map the names of the arrays of characters of a text to the strings that they begin with."""
    index: dict[str, set[str]] = {}
    for name, string in _STRING.findall(text):
        index.setdefault(name, set()).add(string)
    return index
