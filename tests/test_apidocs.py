"""/docs: sections that hold every route once, and a filter; error pages, whose addresses are links."""

from __future__ import annotations

import re

from lanescope.app.apidocs.draw import SECTIONS, find_section
from lanescope.app.kit.page import link_addresses
from tests.client import Client

ROUTE = re.compile(r'<details class="route"\s*(hidden)?\s*(open)?>\s*<summary><h3 class="mono">(\w+ [^<]+)</h3>')


def list_shown(text: str) -> list[str]:
    return [name for hidden, _, name in ROUTE.findall(text) if not hidden]


def test_every_section_has_a_route_and_every_route_a_section(client: Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {find_section(path) for path in paths} == set(SECTIONS)
    text = client.get("/docs").text
    assert sorted(list_shown(text)) == sorted(f"{m.upper()} {p}" for p, methods in paths.items() for m in methods)
    anchors = re.findall(r'<a href="#([\w-]+)" class="pill">', text)
    assert len(anchors) == len(set(anchors)) == len(SECTIONS) + 2 and all(f'id="{a}"' in text for a in anchors)


def test_the_filter_asks_for_all_words_in_paths_words_and_parameters(client: Client) -> None:
    assert list_shown(client.get("/docs?q=BANKS+solve").text) == ["POST /api/v1/banks/solve"]
    shown = list_shown(client.get("/docs?q=byte_id").text)
    assert shown == ["GET /api/v1/instructions/{ptx}/operands/{name}"], "a parameter of that route alone"
    nothing = client.get("/docs?q=no+such+words").text
    assert list_shown(nothing) == [] and re.search(r"\b0 of \d+ routes, 0 models", nothing)


def test_what_was_typed_stays_text() -> None:
    made = link_addresses('<b> /x"onmouseover=1 /y<script>')
    assert made == "&lt;b&gt; /x&#34;onmouseover=1 /y&lt;script&gt;"
