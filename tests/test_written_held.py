"""What CuTe's values and calls of its algebra give or are refused with, held;
and what the same texts give with one thing changed.
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from lanescope.cute import calls as cutecalls
from lanescope.cute import text as cutetext
from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError
from tests.held import attempt, held, held_sum, said

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


def stepped(text: str) -> str:
    return "\n".join(said(step) for step in cutecalls.steps(text))


_TOKENS = re.compile(r"\w+|\s+|.", re.S)


def edits(title: str, text: str, count: int) -> Iterator[str]:
    """A text with one token or line of it left out, doubled, exchanged or made another: the same in every run."""
    dice = random.Random(zlib.crc32(title.encode()))
    for _ in range(count):
        tokens = _TOKENS.findall(text)
        places = [n for n, token in enumerate(tokens) if not token.isspace()]
        at = dice.choice(places)
        other = tokens[dice.choice(places)]
        match dice.choice(("left out", "doubled", "exchanged", "number", "line", "cut")):
            case "left out":
                tokens[at] = ""
            case "doubled":
                tokens[at] *= 2
            case "exchanged":
                tokens[at] = other
            case "number":
                numbers = [n for n in places if tokens[n].isdigit()] or [at]
                one = dice.choice(numbers)
                tokens[one] = str(dice.choice((0, 1, 3, 8, 16, 64, 100, 128, 256)))
            case "line":
                lines = text.split("\n")
                del lines[dice.randrange(len(lines))]
                tokens = ["\n".join(lines)]
            case "cut":
                tokens = tokens[:at]
        yield "".join(tokens)


READERS: dict[str, Callable[[str], str]] = {"values": value, "calls": stepped}


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
    out = [attempt(partial(read, one)) for text in texts(name) for one in edits(text, text, 8)]
    held_sum("written/sums", f"{name}, changed", "\n".join([*out, *(attempt(partial(read, text)) for text in ODD)]))
