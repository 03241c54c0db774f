"""`make bench-reader`: how many texts of the corpus are read as they must be, by kind, and how long 64 KiB take.

Writes the section "What the reader knows" of docs/benchmarks.md: a regression figure, for the reader was mended against
these texts.
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
from tests.test_reader_confusions import NOTHING, PIECES, RUNS

HEADING = "## What the reader knows"
MOST_MS = 200


def _share(good: int, of: int) -> str:
    return f"{good} of {of}" + (f" ({100 * good / of:.0f} %)" if of else "")


def accuracy() -> list[str]:
    """A row a kind: all texts, and those that are read as they must be."""
    rows: dict[str, list[bool]] = {}
    for entry in reader_corpus.entries():
        right = not reader_corpus.wrong(entry, json.loads(dumps(reading.read(entry.text))))
        rows.setdefault(entry.kind, []).append(right)
    for case in CASES:
        kind = "builder" if "expect" in case.head else "tensor_map"
        told = reading.read(case.code)
        rows.setdefault(kind, []).append(kind in {told.kind, *(one.kind for one in told.also)})
    lines = ["| kind | texts | read right |", "|---|---:|---:|"]
    lines += [f"| {kind} | {len(seen)} | {_share(sum(seen), len(seen))} |" for kind, seen in sorted(rows.items())]
    every = [one for seen in rows.values() for one in seen]
    lines.append(f"| all | {len(every)} | {_share(sum(every), len(every))} |")
    quiet = sum(reading.read(text).kind == "unknown" for text in NOTHING.values())
    return [
        *lines,
        "",
        f"Texts that are none of these (prose, hashes, addresses, other code): {_share(quiet, len(NOTHING))} unknown.",
    ]


def slowest() -> str:
    """The processor time of the slowest of many texts of 64 KiB."""
    texts = [(piece * reader.LONGEST)[: reader.LONGEST] for piece in PIECES]
    texts += RUNS
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
        " words, and our own where none was at hand (tests/golden/reader, every named fact compared;"
        " tests/golden/builders, the kind). The reader was mended against them: the shares say that nothing was lost,"
        " not how well it does on others."
    )
    figures = ["| figure | seen | promised |", "|---|---:|---:|", slowest()]
    load.write([HEADING, "", head, "", *accuracy(), "", *figures], HEADING)
    print((load.PAGE).read_text().partition(HEADING)[2][:3000])


if __name__ == "__main__":
    main()
