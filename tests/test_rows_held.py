"""What the tables say, held by a checksum a table: a word, a number or a section changed in one row is noticed, also
where nothing is drawn from it. The rows themselves are read in layouts/table/.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import layouts.table
from tests.held import held

WORDS = "layouts.dtypes layouts.role app.guide.words app.instruction.words".split()  # rows outside the folder


def said(value: Any) -> str:
    """A value as text that is the same in every process: the fields of a row, the name of a function."""
    match value:
        case enum.Enum():
            return value.name
        case dict():
            return f"{{{', '.join(f'{said(key)}: {said(one)}' for key, one in value.items())}}}"
        case tuple() | list():
            return f"[{', '.join(map(said, value))}]"
        case set() | frozenset():
            return f"{{{', '.join(sorted(map(said, value)))}}}"
        case re.Pattern():
            return value.pattern
        case type():
            return value.__qualname__
    if dataclasses.is_dataclass(value):
        fields = (f"{one.name}={said(getattr(value, one.name))}" for one in dataclasses.fields(value))
        return f"{type(value).__name__}({', '.join(fields)})"
    return value.__qualname__ if callable(value) else repr(value)


def tables() -> Iterator[tuple[str, str, str]]:
    """Module, name and text of every constant of the tables; what another module imports is told once."""
    seen: set[tuple[str, str]] = set()
    inside = [f"layouts.table.{found.name}" for found in pkgutil.iter_modules(layouts.table.__path__)]
    for module in [*inside, *WORDS]:
        for name, value in vars(importlib.import_module(module)).items():
            if re.fullmatch(r"_?[A-Z][A-Z_0-9]*", name) and (name, text := said(value)) not in seen:
                seen.add((name, text))
                yield module, name, text


def test_what_the_tables_say() -> None:
    told = list(tables())
    assert len(told) > 150
    lines = (f"{module} {name} {hashlib.sha256(text.encode()).hexdigest()[:12]}" for module, name, text in told)
    held("rows", "\n".join(lines) + "\n")
