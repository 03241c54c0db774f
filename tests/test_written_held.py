"""What texts of every kind, CuTe's values, calls of its algebra and constant C++ expressions give or are refused
with, held; and what the same texts give with one thing changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from layouts import cutecalls, cutetext, reader
from layouts.cute import CuteLayout
from layouts.errors import LayoutError
from layouts.expression import evaluate
from tests.held import attempt, held, held_sum, said
from tests.test_evaluated_held import edits

GOLDEN = Path(__file__).parent / "golden" / "written"
# empty texts, and those that are too long or nested too deeply
ODD = ("", " ", ";", "(" * 70 + "1" + ")" * 70, "1," * 2100, "size(" * 66 + "4:1" + ")" * 66, "4:1;" * 70, "1+" * 2100)


def value(text: str) -> str:
    """What is read, and how it is written in C++, in Python and as CuTe prints it."""
    found = cutetext.read(text)
    out = [said(found)]
    for read in (cutetext.read_layout, cutetext.read_tiler, cutetext.read_coordinate):
        try:
            one = read(text)
        except LayoutError as error:
            out.append(f"{error.field}: {error}")
            continue
        out.append(cutetext.cxx_tiler(one) if read is cutetext.read_tiler else str(one))
        if isinstance(one, CuteLayout):
            out += [cutetext.cxx(one), cutetext.python(one), cutetext.static(one)]
    return "\n".join(out)


def constant(text: str) -> str:
    found = evaluate(text)
    return f"{found.word:#x} {found.type} {' '.join(f'{note.code} {note.text}' for note in found.warnings)}"


def stepped(text: str) -> str:
    return "\n".join(said(step) for step in cutecalls.steps(text))


def meant(text: str) -> str:
    """Every meaning that the reader finds, and why it refused others."""
    made = reader.read(text)
    return "\n".join([*map(said, made.found), *map(str, made.refused)]) or "nothing"


READERS: dict[str, Callable[[str], str]] = {"values": value, "calls": stepped, "constants": constant, "read": meant}


def texts(name: str) -> list[str]:
    """The lines of a golden file without what comes of them; ⏎ is the end of a line."""
    lines = (GOLDEN / f"{name}.txt").read_text().splitlines()
    return [line.replace("⏎", "\n") for line in lines if not line.startswith("  ")]


@pytest.mark.parametrize("name", READERS)
def test_what_a_text_gives_or_is_refused_with(name: str) -> None:
    read = READERS[name]
    answers = ((text.replace("\n", "⏎"), attempt(partial(read, text)).replace("\n", "\n  ")) for text in texts(name))
    held(f"written/{name}", "".join(f"{text}\n  {told}\n" for text, told in answers))


@pytest.mark.parametrize("name", READERS)
def test_texts_with_one_thing_changed_give_what_they_gave(name: str) -> None:
    read = READERS[name]
    many = 2 if read is meant else 8
    out = [attempt(partial(read, one)) for text in texts(name) for one in edits(text, text, many)]
    held_sum("written/sums", f"{name}, changed", "\n".join([*out, *(attempt(partial(read, text)) for text in ODD)]))
