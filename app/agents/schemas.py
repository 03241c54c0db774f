"""The JSON schemas of the tools' inputs, from their questions."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Annotated, Any, get_args, get_origin

from lanescope.app.agents.tool import PART, AgentTool, PartQuestion
from lanescope.app.kit.fact import Json
from lanescope.app.kit.question import Option, options_of
from lanescope.app.kit.schemas import build_model

LONG_PATTERN = 80  # characters: the reader checks such a text, and says what is wrong with it
Fields = dict[str, Option]


def build_input_schema(row: AgentTool) -> Json:
    """Build the schema of a tool's input: its question, and the requested part of the answer."""
    schema = _build_schema(row.tool.question)
    part = _build_schema(PartQuestion)
    schema["properties"] |= {name: part["properties"][name] for name in PART}
    schema["$defs"] = part.get("$defs", {}) | schema.get("$defs", {})
    required = [*schema.get("required", ()), *row.required]
    for name in row.required:
        schema["properties"][name].pop("default", None)
    return schema | {"required": required, "examples": [row.example]}


def _build_schema(question: type) -> Json:
    schema = build_model(question).model_json_schema()
    shortened: Json = _shorten(schema)
    _describe(shortened, options_of(question))
    for definition in shortened.get("$defs", {}).values():
        definition.pop("examples", None)
    _describe_parts(shortened, question)
    shortened.pop("description", None)
    return shortened


def _describe(schema: Json, fields: Fields) -> None:
    """Describe fields without a description by their label, and add the limit of free text."""
    for name, property_schema in schema.get("properties", {}).items():
        if name not in fields:
            continue
        if not property_schema.get("description"):
            property_schema["description"] = fields[name].label
        most = getattr(fields[name].parse, "keywords", {}).get("most")
        if (
            property_schema.get("type") == "string"
            and most
            and not {"maxLength", "enum", "const"} & set(property_schema)
        ):
            property_schema["maxLength"] = most


def _describe_parts(schema: Json, question: type) -> None:
    """Describe the questions inside a question: alternatives and lists."""
    for option in options_of(question).values():
        items = get_args(get_args(option.type)[0])[:1] if get_origin(option.type) is Annotated else ()
        for part in (*option.parts, *(item for item in items if is_dataclass(item))):
            definition = schema.get("$defs", {}).get(part.__name__)
            if definition is not None:
                _describe(definition, options_of(part))
            _describe_parts(schema, part)


def _shorten(schema: Any) -> Any:
    """Remove titles, which repeat names, and patterns, which clients ignore."""
    if isinstance(schema, list):
        return [_shorten(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for name, value in schema.items():
        if name == "title" and isinstance(value, str):
            continue
        if name == "pattern" and isinstance(value, str) and len(value) > LONG_PATTERN:
            continue
        if name in ("properties", "$defs"):
            kept[name] = {inner: _shorten(part) for inner, part in value.items()}
        else:
            kept[name] = _shorten(value)
    return kept
