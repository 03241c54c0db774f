"""Golden texts: what the product says, held word for word. After a change of wording read the difference, then `make
golden`.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def held(name: str, text: str) -> None:
    """Compare a text with tests/golden/{name}.txt; `make golden` writes it."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get("LANESCOPE_GOLDEN") == "write":
        path.write_text(text)
    assert text.splitlines() == path.read_text().splitlines(), (
        f"{path.name} says something else. If the new words are right: make golden"
    )


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
