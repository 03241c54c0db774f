"""What each recogniser of the reader answers to texts near those of the corpus that it reads: with a word or a mark
less, a number more or less, a word spelled otherwise. What PTX refuses is held by tests/test_refusals.py.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import partial

from lanescope.errors import LayoutError
from lanescope.reader import RECOGNISERS, Recogniser, code, fragment, layout, ptx
from tests import reader_corpus
from tests.calls import Call
from tests.held import refusal, said

PART = re.compile(r"\d+|[A-Za-z_]+|\s+|.", re.S)
EDITS = 5  # of a text
ELSEWHERE = (ptx.read, code.read, layout.read, fragment.read)  # slow, and asked by tests of their own


def near(text: str, dice: random.Random, edits: int = EDITS) -> Iterator[str]:
    """Texts that differ from one in one place."""
    parts = PART.findall(text)
    for _ in range(edits):
        at = dice.randrange(len(parts))
        part, way = parts[at], dice.randrange(4)
        if part.isdigit() and way:
            made = str(max(0, int(part) + (-1, 1, int(part))[way - 1]))
        elif way == 1 and part.isalpha():
            made = dice.choice((part.upper(), part.lower(), f"{part}_t", part[1:]))
        elif way == 2:
            made = dice.choice(parts)
        else:
            made = ""
        yield "".join((*parts[:at], made, *parts[at + 1 :]))


def of_near() -> Iterator[Call]:
    rows = [row for row in RECOGNISERS if row.read not in ELSEWHERE]
    for entry in reader_corpus.entries():
        name, low = f"{entry.file}: {entry.title}", entry.text.lower()
        if len(entry.text) > 1000:
            continue
        for n, row in enumerate(rows):
            if not row.words or any(word in low for word in row.words):
                answer = asked(row, entry.text)
                if answer != "[]":
                    yield f"{name} {n}", partial(asked_near, row, entry.text, f"{name} {n}")


def asked_near(row: Recogniser, text: str, seed: str) -> str:
    return "\n".join(asked(row, one) for one in near(text, random.Random(seed)))


def asked(row: Recogniser, text: str) -> str:
    try:
        return said(row.read(text))
    except LayoutError as error:
        return refusal(error)
