"""What agents read without the Model Context Protocol: answers cut to size, the guide as Markdown, llms.txt."""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import mul
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from lanescope.app.agents.excerpt import LIMIT, excerpt_answer, excerpt_part, measure_json
from lanescope.app.agents.tools import TOOLS
from lanescope.app.guide.page_markdown import list_markdown_slugs, render_llms
from lanescope.errors import LayoutError
from tests.cases import for_each
from tests.client import Client
from tests.sample import take_sample

HEAD = {"version": "1.2.3", "input_hash": "sha256:0123456789abcdef"}
LONG = st.builds(mul, st.sampled_from(("a", '"', "é", "\n", "\\")), st.integers(0, 300))
VALUES = st.recursive(
    st.integers() | LONG | st.booleans(),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text("abc", max_size=8), inner, max_size=8),
    max_leaves=25,
)
ANSWERS = st.dictionaries(st.text("xyz_", min_size=1, max_size=12), VALUES, max_size=8)


@given(ANSWERS, st.data())
def test_an_excerpt_fits_and_names_all_that_it_leaves_out(answer: dict[str, Any], data: st.DataObject) -> None:
    keep = data.draw(st.lists(st.sampled_from(sorted(answer)), unique=True)) if answer else []
    cut = excerpt_answer(answer, keep, HEAD)
    assert measure_json(cut) <= LIMIT and HEAD.items() <= cut.items()
    for name, value in answer.items():
        if value in ("", [], {}) or value is None:
            continue
        notes = cut.get("left_out", {})
        named = isinstance(notes, str) or any(note == name or note.startswith(f"{name}.") for note in notes)
        assert named or (cut[name] == value and type(cut[name]) is type(value))


@given(st.lists(st.integers(), min_size=1, max_size=3000))
def test_parts_join_to_the_whole_list(numbers: list[int]) -> None:
    found: list[int] = []
    while len(found) < len(numbers):
        part = excerpt_part({"numbers": numbers}, "numbers", len(found), {})
        assert part["numbers"]
        found += part["numbers"]
    assert found == numbers


@for_each(("show", "first", "field"), [("c", 0, "show"), ("a.7", 0, "show"), ("a", 3, "from")])
def test_a_part_that_is_not_there_is_refused(show: str, first: int, field: str) -> None:
    with pytest.raises(LayoutError) as refused:
        excerpt_part({"a": [1, 2, 3]}, show, first, {})
    assert refused.value.field == field and refused.value.hint


def find_links(text: str) -> list[str]:
    """Find the addresses of a Markdown text; brackets in them are escaped or balanced."""
    plain = re.sub(r"(?ms)^```.*?^```$", "", text)
    return re.findall(r"\]\(((?:[^()\s]|\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\))+)\)", plain)


@for_each("slug", take_sample(list_markdown_slugs(), 3))
def test_a_page_is_markdown_and_its_links_lead_on(client: Client, opens: Callable[[str], bool], slug: str) -> None:
    answer = client.get(f"/guide/{slug}.md")
    assert answer.status_code == 200 and answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert answer.text.startswith("# ")
    for link in dict.fromkeys(find_links(answer.text)):
        if link.startswith("/"):
            assert opens(link.partition("#")[0]), link


def test_llms_lists_every_page_with_a_line(client: Client) -> None:
    answer = client.get("/llms.txt")
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert answer.text == render_llms()
    listed = re.findall(r"^- \[(.+)\]\((/\S+\.md)\): (.+)$", answer.text, re.M)
    addresses = [address.removeprefix("/guide/") for _, address, _ in listed]
    assert addresses == ["/docs/integrations.md", *(f"{slug}.md" for slug in list_markdown_slugs()[1:])]
    assert all("{{" not in sentence and "](" not in sentence for _, _, sentence in listed)
    assert f"]({'/below'}/guide/swizzle.md)" in render_llms("/below")


@for_each("slug", ["nope", "lbo-sbo", "..%2Fdesign"])
def test_an_unknown_page_is_refused(client: Client, slug: str) -> None:
    answer = client.get(f"/guide/{slug}.md")
    assert answer.status_code == 404


def test_the_document_describes_every_tool_once() -> None:
    document = (Path(__file__).parents[1] / "docs" / "agents.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", document, re.M) == list(TOOLS)
