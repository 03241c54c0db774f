"""Every text of the corpus is read as it must be."""

from __future__ import annotations

import json

import pytest
from starlette.testclient import TestClient

from app.kit.encode import dumps
from app.main import create_app
from app.read import reading
from tests import reader_corpus
from tests.held import held_sum


def answered(text: str) -> dict[str, object]:
    return json.loads(dumps(reading.read(text)))  # type: ignore[no-any-return]


@pytest.mark.parametrize("entry", reader_corpus.entries(), ids=lambda e: f"{e.file}: {e.title}")
def test_a_text_of_the_corpus(entry: reader_corpus.Entry) -> None:
    answer = answered(entry.text)
    assert reader_corpus.wrong(entry, answer) == []
    held_sum("reader_answers", f"{entry.file}: {entry.title}", json.dumps(answer, ensure_ascii=False))


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(create_app())


@pytest.mark.parametrize("file", sorted({entry.file for entry in reader_corpus.entries()}))
def test_every_page_of_the_corpus_opens(client: TestClient, file: str) -> None:
    """The page of the text, also where much of it is open, and every page that a meaning leads to."""
    for entry in reader_corpus.entries():
        if entry.file == file:
            page = client.get("/read", params={"text": entry.text}, follow_redirects=False)
            assert page.status_code in (200, 303), entry.title
            told = client.post("/api/v1/read", json={"text": entry.text}).json()
            for one in (told, *told["also"]):
                assert client.get(one["link"]).status_code == 200, (entry.title, one["link"])
