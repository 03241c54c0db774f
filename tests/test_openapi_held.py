"""What /openapi.json says in words and examples, held: one line each, under the place where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lanescope.app.main import create_app
from tests.held import held

WORDS = {"title", "summary", "description", "example", "examples", "default", "enum", "const", "pattern", "required"}
STATED = (".paths./readyz.get.description:", ".components.schemas.Ready.description:")  # in test_openapi
LIMITS = {"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "type", "$ref"}


def said(node: Any, place: str = "") -> Iterator[str]:
    if isinstance(node, dict):
        for name, inner in node.items():
            words = name in WORDS and not (isinstance(inner, dict) and "type" in inner)
            if words or (name in LIMITS and isinstance(inner, str | int | float)):
                yield f"{place}.{name}: {inner!r}"
            else:
                yield from said(inner, f"{place}.{name}")
    elif isinstance(node, list):
        for number, inner in enumerate(node):
            yield from said(inner, f"{place}[{number}]")


def test_every_word_of_the_document_is_held() -> None:
    document = create_app().openapi()
    lines = [line.replace("\n", " ") for line in said(document) if not line.startswith(STATED)]
    assert len(lines) > 2000
    held("openapi", "\n".join(lines) + "\n")
