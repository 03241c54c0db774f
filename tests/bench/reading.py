"""`make bench-reader`: how many texts of the corpus are read as they must be, by kind, and how long 64 KiB take.

Writes the section "What the reader knows" of docs/benchmarks.md. A text of the held half was collected after the reader
was written; `first: missed` marks one that was not read before it was mended.
"""

from __future__ import annotations

import datetime
import json
import time

from app.kit.encode import dumps
from app.read import reading
from layouts import catalog, reader
from tests import reader_corpus
from tests.bench import load
from tests.test_reader_code import CASES
from tests.test_reader_confusions import NOTHING, PIECES

HEADING = "## What the reader knows"
MOST_MS = 200


def _share(good: int, of: int) -> str:
    return f"{good} of {of}" + (f" ({100 * good / of:.0f} %)" if of else "")


def accuracy() -> list[str]:
    """A row a kind: all texts, those right now, and of the held half those right at the first reading and now."""
    rows: dict[str, list[tuple[bool, bool, bool]]] = {}
    for entry in reader_corpus.entries():
        right = not reader_corpus.wrong(entry, json.loads(dumps(reading.read(entry.text))))
        rows.setdefault(entry.kind, []).append((right, entry.held, right and not entry.missed))
    for case in CASES:
        kind = "builder" if "expect" in case.head else "tensor_map"
        told = reading.read(case.code)
        rows.setdefault(kind, []).append((kind in {told.kind, *(one.kind for one in told.also)}, False, True))
    lines = ["| kind | texts | read right | held half: at first | held half: now |", "|---|---:|---:|---:|---:|"]
    for kind, seen in sorted(rows.items()):
        held = [one for one in seen if one[1]]
        first, now = sum(one[2] for one in held), sum(one[0] for one in held)
        lines.append(
            f"| {kind} | {len(seen)} | {_share(sum(one[0] for one in seen), len(seen))} | {_share(first, len(held))} |"
            f" {_share(now, len(held))} |"
        )
    every = [one for seen in rows.values() for one in seen]
    held = [one for one in every if one[1]]
    lines.append(
        f"| all | {len(every)} | {_share(sum(one[0] for one in every), len(every))} |"
        f" {_share(sum(one[2] for one in held), len(held))} | {_share(sum(one[0] for one in held), len(held))} |"
    )
    quiet = sum(reading.read(text).kind == "unknown" for text in NOTHING.values())
    return [
        *lines,
        "",
        f"Texts that are none of these (prose, hashes, addresses, other code): {_share(quiet, len(NOTHING))} unknown.",
    ]


def slowest() -> str:
    """The processor time of the slowest of many texts of 64 KiB."""
    texts = [(piece * reader.LONGEST)[: reader.LONGEST] for piece in PIECES]
    texts.append("\n".join(f'asm("{i.ptx} {{%0}};");' for i in catalog.instructions())[: reader.LONGEST])
    texts.append(("HMMA.16816.F32 R4, R8, R10, R4 ;\n" * 2000)[: reader.LONGEST])
    took = []
    reading.read("((4,8),(2,2)):((32,1),(16,8))")
    reading.read("uint64_t desc = 1;")
    for text in texts:
        began = time.process_time()
        reader.read(text)
        took.append((time.process_time() - began) * 1000)
    what = f"the slowest of {len(texts)} texts of 64 KiB, each the worst for one recogniser"
    return f"| {what} | {max(took):.0f} ms | {MOST_MS} ms |"


def main() -> None:
    head = (
        f"Written by `make bench-reader` on {datetime.date.today().isoformat()}: texts of public repositories in own"
        " words (tests/golden/reader, every named fact compared; tests/golden/builders, the kind)."
    )
    figures = ["| figure | seen | promised |", "|---|---:|---:|", slowest()]
    load.write([HEADING, "", head, "", *accuracy(), "", *figures], HEADING)
    print((load.PAGE).read_text().partition(HEADING)[2][:3000])


if __name__ == "__main__":
    main()
