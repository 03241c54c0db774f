"""What the tables say, held by a checksum a table: a word, a number or a section changed in one row is noticed, also
where nothing is drawn from it. The rows themselves are read in layouts/ptx/table/.
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
import re
from collections.abc import Iterator

import lanescope.ptx.table
from tests.held import held, said

WORDS = (
    "lanescope.ptx.dtypes lanescope.ptx.role lanescope.app.guide.words lanescope.app.instruction.words".split()
)  # rows outside the folder


def tables() -> Iterator[tuple[str, str, str]]:
    """Module, name and text of every constant of the tables; what another module imports is told once."""
    seen: set[tuple[str, str]] = set()
    inside = [f"lanescope.ptx.table.{found.name}" for found in pkgutil.iter_modules(lanescope.ptx.table.__path__)]
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
