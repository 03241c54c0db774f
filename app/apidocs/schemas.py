"""A model's schema, under its name."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from lanescope.app.apidocs.facts import REF, walk_operations
from lanescope.app.kit.api import ANSWERED, PROMISED
from lanescope.app.kit.fact import Json


def add_model(schemas: Json, name: str, model: Any) -> None:
    """Add a model's schema under its name, and those of the models that it uses."""
    schema = TypeAdapter(model).json_schema(ref_template=REF)
    schemas |= schema.pop("$defs", {})
    schemas[name] = schema


def add_answer_models(document: Json) -> None:
    """Replace the models of the routes' answers by their schemas; all are built together, so that every model has one
    name.
    """
    answers = [
        (f"Response_{status}_{operation['operationId']}", answer)
        for _, _, operation in walk_operations(document)
        for status, answer in operation["responses"].items()
        if PROMISED in answer
    ]
    inputs = [(name, "serialization", TypeAdapter(ANSWERED[answer.pop(PROMISED)])) for name, answer in answers]
    schemas, definitions = TypeAdapter.json_schemas(inputs, ref_template=REF)  # type: ignore[arg-type]
    document["components"].setdefault("schemas", {}).update(definitions.get("$defs", {}))
    for name, answer in answers:
        schema = schemas[name, "serialization"]
        if "$ref" not in schema:
            schema["title"] = name.title().replace("_", " ")
        answer.setdefault("content", {}).setdefault("application/json", {})["schema"] = schema
