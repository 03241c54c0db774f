"""Every text of the corpus is read as it must be."""

from __future__ import annotations

import html
import json
from collections.abc import Callable

from lanescope.app.kit.encoding import encode_json
from lanescope.app.read import text_meanings
from tests import reader_corpus
from tests.cases import for_each
from tests.client import Client
from tests.sample import take_sample


def read_text(text: str) -> dict[str, object]:
    return json.loads(encode_json(text_meanings.read_text(text)))  # type: ignore[no-any-return]


@for_each("entry", reader_corpus.load_entries(), ids=lambda e: f"{e.file}: {e.title}")
def test_a_text_of_the_corpus(entry: reader_corpus.CorpusEntry) -> None:
    answer = read_text(entry.text)
    assert reader_corpus.find_wrong_facts(entry, answer) == []


def _number_text(text: str, joint: str) -> str:
    return "\n".join(f"{n:4d}{joint}{line}" for n, line in enumerate(text.split("\n"), 9))


def _generate_texts(text: str, head: str) -> str:
    return "\n".join(head + line for line in text.split("\n"))


COPIED: dict[str, Callable[[str], str]] = {  # what the way of a text to the box does to it
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "a quotation": lambda text: _generate_texts(text, "> "),
    "an editor": lambda text: _number_text(text, " | "),
    "cat -n": lambda text: _number_text(text, "\t") if "\n" in text else text,
    "grep -n": lambda text: "\n".join(f"src/a.cu:{n}:{line}" for n, line in enumerate(text.split("\n"), 7)),
    "a diff": lambda text: "@@ -1,3 +1,9 @@\n" + _generate_texts(text, "+"),
    "HTML": html.escape,
    "no-break spaces": lambda text: text.replace(" ", "\xa0"),
    "a block of Markdown": lambda text: f"Hi all, here it is:\n\n```\n{text}\n```\n\nAny idea?",
    "comments": lambda text: _generate_texts(text, "// "),
    "a terminal's colors": lambda text: f"\x1b[32m{text}\x1b[0m",
    "a log": lambda text: _generate_texts(text, "[rank0]: "),
    "a log with times": lambda text: _generate_texts(text, "2025-11-22 10:11:12,345 INFO "),
}
SAMPLES = (  # one of each kind and more
    "ptx: marlin's product",
    "strangers: stages of CuTe",
    "strangers: nvfp4 atom",
    "strangers: encode tiled, fp8",
    "strangers: a kernel with ldmatrix and mma",
    "words: CuTe's print",
    "words: Blackwell",
    "compilers: nvvm.mma.sync",
    "strangers: printed TiledMMA",
    "strangers: nvidia_mma",
    "strangers: QMMA of Ada",
    "compilers: nvvm.wgmma",
    "strangers: print of UmmaDescriptor",
    "elsewhere: lambda of tcgen05 in a loop",
)


@for_each("way", COPIED)
def test_a_text_is_read_however_it_was_copied(way: str) -> None:
    entries = [one for one in reader_corpus.load_entries() if f"{one.file}: {one.title}" in SAMPLES]
    assert len(entries) == len(SAMPLES)
    for entry in entries:
        assert reader_corpus.find_wrong_facts(entry, read_text(COPIED[way](entry.text))) == [], entry.title


@for_each("file", sorted({entry.file for entry in reader_corpus.load_entries()}))
def test_every_page_of_the_corpus_opens(client: Client, opens: Callable[[str], bool], file: str) -> None:
    """The page of every third text, also where much of it is open, and every page that a meaning leads to; of a sample
    of the file's texts.
    """
    own = [entry for entry in reader_corpus.load_entries() if entry.file == file]
    for number, entry in enumerate(take_sample(own, max(2, len(own) // 20))):
        if number % 3 == 0:
            page = client.get("/read", params={"text": entry.text}, follow_redirects=False)
            assert page.status_code in (200, 303), entry.title
        told = client.post("/api/v1/read", json={"text": entry.text}).json()
        for one in (told, *told["also"]):
            assert opens(html.escape(one["link"])), (entry.title, one["link"])
