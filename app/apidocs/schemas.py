"""A model's schema, under its name."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from app.apidocs.facts import REF
from app.kit.fact import Json


def put(schemas: Json, name: str, model: Any) -> None:
    """A model's schema under its name, and the models it is made of beside it."""
    schema = TypeAdapter(model).json_schema(ref_template=REF)
    schemas |= schema.pop("$defs", {})
    schemas[name] = schema
