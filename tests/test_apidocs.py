"""/docs: sections that hold every route once, and a filter; error pages, whose addresses are links."""

from __future__ import annotations

import re

from tests.client import Client

ROUTE = re.compile(r'<details class="route"\s*(hidden)?\s*(open)?>\s*<summary><h3 class="mono">(\w+ [^<]+)</h3>')


def list_shown(text: str) -> list[str]:
    return [name for hidden, _, name in ROUTE.findall(text) if not hidden]


def test_the_filter_asks_for_all_words_in_paths_words_and_parameters(client: Client) -> None:
    assert list_shown(client.get("/docs?q=BANKS+solve").text) == ["POST /api/v1/banks/solve"]
    shown = list_shown(client.get("/docs?q=byte_id").text)
    assert shown == ["GET /api/v1/instructions/{ptx}/operands/{name}"], "a parameter of that route alone"
    nothing = client.get("/docs?q=no+such+words").text
    assert list_shown(nothing) == [] and re.search(r"\b0 of \d+ routes, 0 models", nothing)
