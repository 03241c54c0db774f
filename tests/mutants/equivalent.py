"""Mutants that no test can kill because they change nothing: each with its reason, in equivalent.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.operators import Mutant

LIST = Path(__file__).with_name("equivalent.toml")
Known = dict[tuple[str, str, str], str]


def read(path: Path = LIST) -> Known:
    """(file, text of the line, change) → reason."""
    return {
        (row["file"], row["line"], row["change"]): row["reason"]
        for row in tomllib.loads(path.read_text()).get("mutant", [])
    }


def of(mutant: Mutant, known: Known) -> str | None:
    return known.get(mutant.known_by)


def stale(known: Known, mutants: Sequence[Mutant]) -> list[tuple[str, str, str]]:
    """Rows that fit no mutant any more."""
    standing = {m.known_by for m in mutants}
    return [row for row in known if row not in standing]
