"""Every text of the corpus is read as it must be."""

from __future__ import annotations

import json

from lanescope.app.kit.encoding import encode_json
from lanescope.app.read import text_meanings
from tests import reader_corpus
from tests.cases import for_each


def read_text(text: str) -> dict[str, object]:
    return json.loads(encode_json(text_meanings.read_text(text)))  # type: ignore[no-any-return]


@for_each("entry", reader_corpus.load_entries(), ids=lambda e: f"{e.file}: {e.title}")
def test_a_text_of_the_corpus(entry: reader_corpus.CorpusEntry) -> None:
    answer = read_text(entry.text)
    assert reader_corpus.find_wrong_facts(entry, answer) == []
