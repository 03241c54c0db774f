"""The OpenAPI document: what every route takes and gives, and real answers held to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from starlette.testclient import TestClient

from app import words
from app.main import create_app

Json = dict[str, Any]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(create_app(), raise_server_exceptions=False) as made:
        yield made


@pytest.fixture(scope="module")
def document(client: TestClient) -> Json:
    made: Json = client.get("/openapi.json").json()
    return made


@pytest.fixture(scope="module")
def conforms(document: Json) -> Any:
    """(method, path template, answer) → nothing, or the first place where the answer is not as its schema says."""
    made: dict[tuple[str, str, str], Any] = {}

    def check(method: str, path: str, answer: Any) -> None:
        key = (method, path, str(answer.status_code))
        if key not in made:
            schema = schema_of(document, *key) | {"components": document["components"]}
            made[key] = jsonschema.Draft202012Validator(schema)
        for error in made[key].iter_errors(answer.json()):
            raise AssertionError(f"{method} {path} {answer.status_code}: {error.json_path}: {error.message[:300]}")

    return check


def schema_of(document: Json, method: str, path: str, status: str) -> Json:
    told = document["paths"][path][method]["responses"][status]
    if "$ref" in told:
        told = document["components"]["responses"][told["$ref"].rpartition("/")[2]]
    schema: Json = told["content"]["application/json"]["schema"]
    return schema


def test_every_example_answers_as_its_schema_says(client: TestClient, conforms: Any) -> None:
    for path, link in words.EXAMPLES.items():
        if path != "/metrics":
            conforms("get", path, client.get(link))
    for path, body in words.BODIES.items():
        conforms("post", path, client.post(path, json=body))
