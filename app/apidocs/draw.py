"""The OpenAPI document as rows of tables: routes with their parameters, bodies and answers, then the models. No
framework.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup, escape

from lanescope.app.apidocs.facts import walk_operations
from lanescope.app.kit.examples import BODIES, EXAMPLES
from lanescope.app.kit.fact import Json

SAYS = {"string": "text", "integer": "whole number", "boolean": "true or false", "number": "number", "null": "null"}
MOST_WORDS = 12  # longer enumerations are truncated
MOST_OPEN = 3  # search results that are shown open
# A section's title → what the paths of its routes begin with, after /api/v1. A path belongs to the longest beginning.
SECTIONS = {
    "Instructions": ("instructions", "targets", "topics", "compare", "reuse"),
    "Step by step": ("stepper", "steps"),
    "Any text": ("read", "check", "messages"),
    "Shared memory and descriptors": ("smem", "descriptors", "chain", "deliver", "banks"),
    "Dumps and captures": ("dumps", "captures"),
    "Emulation": ("emulate",),
    "Whole tiles and layouts": ("tiles", "layouts", "cute", "triton-dot", "weights"),
    "Blackwell": ("tmem", "scale-factors", "instruction-descriptors", "zero-column-masks"),
    "Sparsity metadata": ("metadata-order", "instructions/{ptx}/metadata"),
    "Runs": ("gpu",),
    "Sharing": ("share",),
    "Pictures": ("/",),
    "The server": ("/healthz", "/readyz", "/metrics"),
}


def list_sections(document: Json, query: str) -> list[Json]:
    """Return the sections of the page: each title with its routes.

    A route that lacks a word of the query is `hidden`; if few have them all, they are `open`.
    """
    routes = list_routes(document)
    for route in routes:
        route["hidden"] = not _has_words(query, *_list_route_texts(route))
    found = [route for route in routes if not route["hidden"]]
    for route in found:
        route["open"] = bool(query.strip()) and len(found) <= MOST_OPEN
    by_title: dict[str, list[Json]] = {title: [] for title in SECTIONS}
    for route in routes:
        by_title[find_section(route["path"])].append(route)
    return [
        {
            "id": title.lower().replace(" ", "-"),
            "title": title,
            "routes": routes,
            "hidden": all(r["hidden"] for r in routes),
        }
        for title, routes in by_title.items()
        if routes
    ]


def list_models(document: Json, query: str) -> list[Json]:
    """List the models; one without a word of the query is `hidden`."""
    components = document["components"]["schemas"]
    models = [build_model_rows(name, components) for name in components]
    for model in models:
        model["hidden"] = not _has_words(query, model["name"], *(field["name"] for field in model["fields"]))
    return models


def find_section(path: str) -> str:
    """Return the title of the section that a path belongs to.

    >>> find_section("/api/v1/tmem/layout"), find_section("/smem.{form}"), find_section("/api/v1/smem/tile")
    ('Blackwell', 'Pictures', 'Shared memory and descriptors')
    """
    rest = path.removeprefix("/api/v1/")
    begins = [(len(start), title) for title, starts in SECTIONS.items() for start in starts if rest.startswith(start)]
    return max(begins)[1]


def _list_route_texts(route: Json) -> Iterator[str]:
    """Yield the searched texts of a route."""
    yield from (route["method"], route["path"], route["says"])
    for parameter in route["parameters"]:
        yield from (parameter["name"], parameter["says"])
    for body in route["body"]:
        yield body["name"]
        yield from (field["name"] for field in body["fields"])


def _has_words(query: str, *texts: str) -> bool:
    """Return whether each word of a query occurs in a text, ignoring case."""
    searched = "\n".join(texts).lower()
    return all(word in searched for word in query.lower().split())


def list_routes(document: Json) -> list[Json]:
    """List every operation: its parameters, body and answer as rows of tables, and one call to try."""
    return [
        {
            "id": operation["operationId"],
            "tag": operation["tags"][0],
            "method": method.upper(),
            "path": path,
            "says": operation["description"],
            "parameters": [
                {
                    "name": p["name"],
                    "where": p["in"],
                    "required": p["required"],
                    "kind": format_type(p["schema"]),
                    "default": p["schema"].get("default"),
                    "says": p["description"],
                }
                for p in operation.get("parameters", ())
            ],
            "body": _list_body_models(operation, document),
            "gives": [
                (media, format_type(content.get("schema", {})))
                for media, content in operation["responses"]["200"].get("content", {}).items()
            ],
            "curl": BODIES.get(path),
            "link": EXAMPLES.get(path),
        }
        for path, method, operation in walk_operations(document)
    ]


def _list_body_models(operation: Json, document: Json) -> list[Json]:
    """Return the model of a body, or its alternatives."""
    body = operation.get("requestBody")
    if not body:
        return []
    schema = document["components"]["schemas"][get_component_name(body["content"]["application/json"]["schema"])]
    names = [get_component_name(choice) for choice in schema.get("oneOf", schema.get("anyOf", ()))] or [
        get_component_name(body["content"]["application/json"]["schema"])
    ]
    return [build_model_rows(name, document["components"]["schemas"]) for name in names]


def get_component_name(schema: Json) -> str:
    """Return the name of the component that a reference points to."""
    return str(schema["$ref"].rpartition("/")[2])


def build_model_rows(name: str, components: Json) -> Json:
    """Return the rows of a component: its fields, or its one type."""
    schema = components[name]
    required = schema.get("required", ())
    fields = [
        {
            "name": key,
            "required": key in required,
            "kind": format_type(value),
            "default": value.get("default"),
            "says": describe_schema(value, components),
        }
        for key, value in schema.get("properties", {}).items()
    ]
    examples = [example for example in schema.get("examples", ()) if not isinstance(example, dict)]
    return {
        "name": name,
        "says": " ".join(schema.get("description", "").split()),
        "fields": fields,
        "kind": "" if fields else format_type(schema, True),
        "examples": examples,
    }


def describe_schema(schema: Json, components: Json) -> str:
    """Return a field's own description, or that of its model."""
    text = schema.get("description") or (
        components[get_component_name(schema)].get("description", "") if "$ref" in schema else ""
    )
    return " ".join(text.split())


def format_type(schema: Json, in_full: bool = False) -> Markup:
    """Format the type of a value in a few words; models are links. in_full: list every word of an enumeration."""
    if "$ref" in schema:
        return Markup('<a href="#{0}">{0}</a>').format(get_component_name(schema))
    if "const" in schema:
        return _format_constant(schema["const"])
    if "enum" in schema:
        words = [_format_constant(word) for word in schema["enum"] if word != ""]
        shown = words if in_full or len(words) <= MOST_WORDS else [*words[:MOST_WORDS], Markup("…")]
        return Markup(" | ").join(shown)
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        kinds = [format_type(choice, in_full) for choice in choices if choice != {"const": ""}]
        return Markup(" or ").join(dict.fromkeys(kinds))
    if schema.get("type") == "array":
        return Markup("[{}, …]").format(format_type(schema["items"]))
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return Markup("{{name: {}, …}}").format(format_type(schema["additionalProperties"]))
    name = schema.get("type", "anything")
    return Markup(escape(SAYS.get(name, name))) + _format_limits(schema)


def _format_limits(schema: Json) -> str:
    """Return the minimum and maximum of a schema, "" if it has neither."""
    if "minimum" not in schema and "maximum" not in schema:
        return ""
    most = schema.get("maximum")
    return f" {schema.get('minimum', '')}–{'2^64 − 1' if most == (1 << 64) - 1 else '' if most is None else most}"


def _format_constant(word: Any) -> Markup:
    return Markup("<code>{}</code>").format(word if isinstance(word, str) else str(word).lower())
