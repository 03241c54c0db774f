"""Names of pages: each page has its own, in menus, titles, headings and the guide."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable

import pytest

from lanescope.app.guide.examples import EXAMPLES
from lanescope.app.guide.index import ORDER, read_title
from lanescope.app.kit import menus
from tests.client import Client


def shorten_name(name: str) -> str:
    """A name as one remembers it: its words in any order, without articles, prepositions and plurals."""
    words = re.sub(r"\b(?:the|an?|one|of|from|to|in|as)\b|[^\w ]", " ", name.lower()).split()
    return " ".join(sorted(word.rstrip("s") for word in words))


def find_twins(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(map(shorten_name, names)).items() if times > 1]


def test_twins_are_found() -> None:
    assert find_twins(["Tile", "Tiles"]) and find_twins(["The matrix descriptor", "Matrix descriptor"])
    assert find_twins(["From one atom to a tile", "From atom to tile"]) and not find_twins(["Tile", "Tile atoms"])


def test_menus_and_guide_have_no_twins() -> None:
    entries = {entry.href: entry.text for links in menus.list_entries().values() for entry in links}
    guide = {f"/guide/{slug}": read_title(slug) for slug in ORDER} | {f"/guide/{e.slug}": e.title for e in EXAMPLES}
    assert find_twins((guide | entries).values()) == []


@pytest.mark.thorough
def test_every_page_of_the_menus_opens_and_no_titles_or_headings_are_twins(client: Client) -> None:
    answers = [client.get(entry.href) for links in menus.list_entries().values() for entry in links]
    assert {answer.status_code for answer in answers} == {200}
    pages = [answer.text for answer in answers]
    for pattern in (r"<title>(.*?)</title>", r"<h1[^>]*>(.*?)</h1>"):
        found = [re.findall(pattern, text, re.S)[0] for text in pages]
        assert find_twins(html.unescape(re.sub("<[^>]+>", "", text)) for text in found) == []
