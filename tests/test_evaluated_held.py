"""What the evaluator of C++ and Python makes of a text: every statement, operator and built-in, held with its value.

tests/golden/evaluated has the texts, each with what comes of it (tests/evaluated.py): `LANESCOPE_GOLDEN=write` writes
it behind the arrow.
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from layouts import reader
from layouts.reader.code.evaluate import evaluate
from layouts.workbench import bench
from tests import benches, reader_corpus
from tests import test_reader_code as builders
from tests.evaluated import checksum, told
from tests.held import attempt, held, held_sum, said

GOLDEN = Path(__file__).parent / "golden" / "evaluated"
BEHIND = {"cxx": "\n// desc; uint64_t auto void\n", "python": "\nimport desc\n", "plain": "\n"}


@pytest.mark.parametrize("file", sorted(BEHIND))
def test_every_text_is_evaluated_as_it_was(file: str) -> None:
    path = GOLDEN / f"{file}.txt"
    out = []
    for block in re.split(r"^=== ", path.read_text(), flags=re.M)[1:]:
        given, _, _ = block.partition("\n→")
        title, _, code = given.partition("\n")
        made = evaluate(code + BEHIND[file])
        lines = told(made) if made else ["nothing"]
        out.append(
            f"=== {title}\n{code.rstrip()}\n→ {checksum(code + BEHIND[file])}\n" + "".join(f"{x}\n" for x in lines)
        )
    held(f"evaluated/{file}", "\n".join(out))


def corpora() -> dict[str, list[tuple[str, str]]]:
    """The texts that stand in the golden files of the reader, of its code and of the workbench: (title, text)."""
    out: dict[str, list[tuple[str, str]]] = {}
    for entry in reader_corpus.entries():
        out.setdefault(f"reader {entry.file}", []).append((entry.title, entry.text))
    for case in builders.CASES:
        out.setdefault(f"builders {case.file}", []).append((case.title, case.code))
    for each in benches.CASES:
        out.setdefault("benches", []).append((each.title, each.text))
    return out


CORPORA = corpora()
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


def answer(text: str) -> str:
    """What the reader says of a text."""
    return attempt(lambda: said(reader.read(text)))


def test_a_tiler_whose_shape_and_stride_are_nested_differently_is_read() -> None:
    tile = "Tile<_128, Layout<Shape<_8, _2, _2>, Stride<_1, Stride<_16, _8>>>, _32>"
    one, *_ = reader.read(
        f"auto m = TiledMMA<MMA_Atom<SM80_16x8x32_S32S8S8S32_TN>, Layout<Shape<_4,_2,_1>>, {tile}>{{}};"
    ).found
    assert one.kind == "tiled_mma" and one.facts["permutation"] == "(128,(8,2,2):(1,(16,8)),32)"


def judged(text: str) -> str:
    """What the reader and the workbench say of a text."""
    return f"{answer(text)}\n{attempt(lambda: said(bench(text)))}"


@pytest.mark.parametrize("name", CORPORA)
def test_every_text_of_the_corpora_is_evaluated_as_it_was(name: str) -> None:
    out = []
    for _, text in CORPORA[name][:: 3 if name == "benches" else 1]:
        made = evaluate(text)
        out += [checksum(text), *(told(made) if made else [])]
    held_sum("evaluated/sums", name, "\n".join(out))


@pytest.mark.parametrize("name", CORPORA)
def test_texts_with_one_thing_changed_are_read_as_they_were(name: str) -> None:
    """No answer to them changes unnoticed; what right texts mean is tested by name elsewhere."""
    each, many = (4, 1) if name == "benches" else (1, 2)
    read = judged if name == "benches" else answer
    out = [read(one) for title, text in CORPORA[name][::each] for one in edits(title, text, many)]
    held_sum("evaluated/sums", f"{name}, changed", "\n".join(out))
