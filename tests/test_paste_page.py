"""The guide page "What you can paste": every example is read as it says, and every kind of text has one."""

from __future__ import annotations

import re
from typing import get_args

from lanescope import reader
from lanescope.app.guide import index
from lanescope.app.guide.rendering import KINDS, PASTED, render_guide_page
from lanescope.app.read import text_meanings
from lanescope.app.read.facts import Kind
from tests.cases import for_each

EXAMPLES = re.findall(rf"^```{PASTED}(\w+)\n(.*?)^```$", index.read_source("paste"), re.M | re.S)


@for_each(("kind", "text"), EXAMPLES, ids=lambda part: part[:40])
def test_an_example_is_read_as_its_page_says(kind: str, text: str) -> None:
    told = text_meanings.read_text(text.strip())
    assert told.kind == kind and told.link.startswith("/")
    assert f"<strong>{KINDS[kind]}</strong>" in render_guide_page("paste")


def test_every_kind_and_every_recogniser_has_an_example() -> None:
    assert {kind for kind, _ in EXAMPLES} == set(get_args(Kind)) - {"unknown"} == set(KINDS) - {"unknown"}
    for row in reader.RECOGNISERS:
        assert any(row.read(text.strip()) for _, text in EXAMPLES), row.what
