"""The corpus of texts from public repositories: what each is and what the reader must say of it.

An entry of a file of tests/golden/reader is `=== title`, `source:`, `expect:` as JSON and the text. A key is a
fact, dotted where it is inside another; `kind`; `also~`, `undetermined~` and lists with `~` must hold what is named;
`notice~` is part of a notice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "golden" / "reader"


@dataclass(frozen=True)
class CorpusEntry:
    file: str
    title: str
    source: str
    expect: dict[str, Any]
    text: str

    @property
    def kind(self) -> str:
        return str(self.expect["kind"])


def load_entries() -> list[CorpusEntry]:
    return [entry for path in sorted(FOLDER.glob("*.txt")) for entry in _read_file(path)]


def _read_file(path: Path) -> Iterator[CorpusEntry]:
    for block in path.read_text().split("\n=== ")[0:]:
        head, _, text = block.removeprefix("=== ").partition("\n---\n")
        title, *lines = head.splitlines()
        fields = dict(line.split(": ", 1) for line in lines)
        yield CorpusEntry(path.stem, title, fields["source"], json.loads(fields["expect"]), text)


def _find_fact(facts: dict[str, Any], path: str) -> Any:
    value: Any = facts
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def find_wrong_facts(entry: CorpusEntry, answer: dict[str, Any]) -> list[str]:
    """What an answer of POST /read says otherwise than an entry expects."""
    out = []
    for key, wanted in entry.expect.items():
        if key == "kind":
            said: Any = answer["kind"]
        elif key == "link":
            said = answer["link"]
        elif key == "also~":
            said = [one["kind"] for one in answer["also"]]
        elif key == "notice~":
            said = " ".join(answer["notices"])
        else:
            said = _find_fact(answer["facts"], key.removesuffix("~"))
        if key == "notice~":
            good = wanted in said
        elif key.endswith("~"):
            good = all(one in (said or ()) for one in wanted)
        else:
            good = said == wanted
        if not good:
            out.append(f"{key}: {said!r:.300}, not {wanted!r}")
    return out
