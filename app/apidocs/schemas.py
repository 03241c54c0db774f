"""A model's schema, under its name."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from lanescope.app.apidocs.facts import REF, walk_operations
from lanescope.app.kit.api import ANSWERED, PROMISED
from lanescope.app.kit.fact import Json


def add_model(schemas: Json, name: str, model: Any) -> None:
    """A model's schema under its name, and the models it is made of beside it."""
    schema = TypeAdapter(model).json_schema(ref_template=REF)
    schemas |= schema.pop("$defs", {})
    schemas[name] = schema


def add_answer_models(made: Json) -> None:
    """The schemas of what the routes answer with, in the place of their models: all made together, so that every model
    has one name.
    """
    found = [
        (f"Response_{status}_{operation['operationId']}", answer)
        for _, _, operation in walk_operations(made)
        for status, answer in operation["responses"].items()
        if PROMISED in answer
    ]
    inputs = [(name, "serialization", TypeAdapter(ANSWERED[answer.pop(PROMISED)])) for name, answer in found]
    told, held = TypeAdapter.json_schemas(inputs, ref_template=REF)  # type: ignore[arg-type]
    made["components"].setdefault("schemas", {}).update(held.get("$defs", {}))
    for name, answer in found:
        schema = told[name, "serialization"]
        if "$ref" not in schema:
            schema["title"] = name.title().replace("_", " ")
        answer.setdefault("content", {}).setdefault("application/json", {})["schema"] = schema
