"""Golden texts: what the product says, held word for word. After a change of wording read the difference, then `make
golden`.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import os
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "golden"


def held(name: str, text: str) -> None:
    """Compare a text with tests/golden/{name}.txt; `make golden` writes it."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get("LANESCOPE_GOLDEN") == "write":
        path.write_text(text)
    assert text.splitlines() == path.read_text().splitlines(), (
        f"{path.name} says something else. If the new words are right: make golden"
    )


def held_sum(name: str, key: str, text: str) -> None:
    """Compare a text's checksum with the line of tests/golden/{name}.txt that ends with its key: for answers that are
    many and long, and whose telling facts are tested by name.
    """
    path, said = FOLDER / f"{name}.txt", hashlib.sha256(text.encode()).hexdigest()[:12]
    known = dict(reversed(line.split(" ", 1)) for line in path.read_text().splitlines()) if path.is_file() else {}
    if os.environ.get("LANESCOPE_GOLDEN") == "write" and known.get(key) != said:
        known[key] = said
        path.write_text("".join(f"{one} {of}\n" for of, one in sorted(known.items())))
    assert known.get(key) == said, f"{key}: the answer is another, {text[:400]}. If it is right: make golden"


EMPTY = ("None", "False", "0", "''", "[]", "{}")


def said(value: Any) -> str:
    """A value as text that is the same in every process: the fields of a row that say anything, so that a new one which
    most rows leave empty changes little; the name of a function.
    """
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
            return str(value.pattern)
        case type():
            return value.__qualname__
    if dataclasses.is_dataclass(value):
        given = ((one.name, getattr(value, one.name)) for one in dataclasses.fields(value) if one.repr)
        fields = (f"{name}={text}" for name, one in given if (text := said(one)) not in EMPTY)
        return f"{type(value).__name__}({', '.join(fields)})"
    return value.__qualname__ if callable(value) else repr(value)


def elided(text: str, seen: set[str]) -> list[str]:
    """The lines of a long text that no earlier one had; what is left out is counted, and where it stands is held by the
    order of the rest.
    """
    out: list[str] = []
    skipped = 0
    for row in text.splitlines():
        if row in seen:
            skipped += 1
            continue
        if skipped:
            out.append(f"  … {skipped}")
        skipped = 0
        seen.add(row)
        out.append(f"  | {row}".rstrip())
    return [*out, *([f"  … {skipped}"] if skipped else [])]
