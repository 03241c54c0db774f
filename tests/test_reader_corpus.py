"""Every text of the corpus is read as it must be."""

from __future__ import annotations

import json

import pytest

from app.kit.encode import dumps
from app.read import reading
from tests import reader_corpus


def answered(text: str) -> dict[str, object]:
    return json.loads(dumps(reading.read(text)))  # type: ignore[no-any-return]


@pytest.mark.parametrize("entry", reader_corpus.entries(), ids=lambda e: f"{e.file}: {e.title}")
def test_a_text_of_the_corpus(entry: reader_corpus.Entry) -> None:
    assert reader_corpus.wrong(entry, answered(entry.text)) == []
