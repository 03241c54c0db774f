"""Addresses that were given out once open for ever: tests/golden/links.txt. A page shows the state that its address
says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

from lanescope.app.kit.media import FORMS
from tests import asgi
from tests.asgi import AsgiAnswer, send_request
from tests.cases import for_each

LINKS = [
    line.split(" ", 1)[1]
    for line in (Path(__file__).parent / "golden" / "links.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
# Said by what the page shows rather than by a field of its form.
IN_THE_ANSWER = {"ptx", "compare", "step", "part", "words", "backend", "kind"}


def open_link(app: Any, address: str) -> tuple[str, AsgiAnswer]:
    """(address, answer) where a link leads; a page may send the browser on, once or twice."""
    for _ in range(3):
        answer = asgi.run_coroutine(send_request(app, "GET", address))
        if answer.status not in (303, 307, 308):
            break
        address = urljoin(address, answer.headers["location"].partition("#")[0])  # a browser keeps the fragment
    return address, answer


def find_media_type(address: str) -> str:
    """The media type an address promises."""
    path = urlsplit(address).path
    form = path.rpartition(".")[2]
    if path.startswith("/api/") or path == "/openapi.json":
        return "application/json"
    return {"cu": "text/plain", "py": "text/x-python"}.get(form) or FORMS.get(form, "text/html").partition(";")[0]


def has_value(page: str, name: str, value: str) -> bool:
    """Whether a page's form, or the state its script begins with, has this value."""
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    if data and name in (state := json.loads(data[1]).get("state", {})):
        return str(state[name]) == value
    for field in re.finditer(
        rf'<(input|textarea|select)\b[^>]*\bname="{re.escape(name)}"[^>]*>(?:(.*?)</\1>)?', page, re.S
    ):
        if field[1] == "select":
            chosen = re.findall(r"<option([^>]*)\bselected[^>]*>([^<]*)", field[2])
            if any(_read_attribute(tag, text) == value for tag, text in chosen):
                return True
        elif field[1] == "textarea":
            if unescape(field[2]).strip() == value:
                return True
        elif 'type="checkbox"' in field[0] or 'type="radio"' in field[0]:
            if " checked" in field[0] and _read_attribute(field[0], "") == value:
                return True
        elif _read_attribute(field[0], "") == value:
            return True
    for href in re.findall(r'<a href="([^"]*)" aria-current="true">', page):  # segments: the one chosen says its own
        if value in dict.fromkeys(v for n, v in parse_qsl(urlsplit(unescape(href)).query) if n == name):
            return True
    return False


def _read_attribute(tag: str, text: str) -> str:
    found = re.search(r'\bvalue="([^"]*)"', tag)
    return unescape(found[1] if found else text).strip()


def parse_query(address: str) -> Iterator[tuple[str, str]]:
    """What a query says, name by name; the options of a whole product, a=major=MN,swizzle=64B, are fields
    of their own.
    """
    parts = urlsplit(address)
    for name, value in parse_qsl(parts.query):
        if parts.path.startswith("/kernel/"):
            yield from ((f"{name}.{option.partition('=')[0]}", option.partition("=")[2]) for option in value.split(","))
        else:
            yield name, value


@for_each("link", LINKS, sample=20)
def test_an_old_link_opens_with_its_state(app: Any, link: str) -> None:
    landed, answer = open_link(app, link)
    assert answer.status == 200 and answer.headers["content-type"].partition(";")[0] == find_media_type(landed), (
        landed,
        answer.status,
    )
    if find_media_type(landed) != "text/html":
        return
    page = answer.body.decode()
    assert not re.findall(r'role="alert"[^>]*>([^<]+)', page)
    for name, value in parse_query(landed):
        if name not in IN_THE_ANSWER:
            assert has_value(page, name, value), f"{name}={value} is not shown at {landed}"
        else:
            assert unescape(page).count(value), f"{value} is nowhere at {landed}"
