"""Every choice that a form offers, one at a time, every link of a tool to itself, and a page of every kind of
instruction: the answers, held by checksum.

A form is sent as the page has it with one field changed: each other option of a menu, a box ticked or not, a number
twice as large, or that and one more. What the pages say is tested elsewhere; here none of it changes unnoticed."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from app.main import create_app
from layouts import catalog
from tests import asgi
from tests.held import held
from tests.test_pages_held import steady
from tests.test_work import PAGES as TOOLS

MOST = 10  # choices and links of one tool that are followed
ELSEWHERE = ("/go", "/gpu", "/instructions")  # a search of every page's head; what a machine has; a filter tested alone


@dataclass
class Form:
    """A form of a page: where it leads, what it says as it stands, and what else could be chosen."""

    action: str
    said: list[tuple[str, str]] = field(default_factory=list)
    other: list[tuple[str, str]] = field(default_factory=list)


class Forms(HTMLParser):
    """The forms and links of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.links: list[str] = []
        self.open: Form | None = None
        self.select = self.area = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name, value, form = given.get("name", ""), given.get("value", ""), self.open
        match tag:
            case "form":
                self.open = None
                if given.get("method", "get").lower() == "get":
                    self.open = Form(given.get("action", ""))
                    self.forms.append(self.open)
            case "a":
                self.links.append(given.get("href", ""))
            case "select":
                self.select = name
            case "textarea":
                self.area = name
            case "option" if form and self.select:
                (form.said if "selected" in given else form.other).append((self.select, value))
            case "input" if form and name and given.get("type") in ("checkbox", "radio"):
                (form.said if "checked" in given else form.other).append((name, value or "on"))
            case "input" if form and name:
                form.said.append((name, value))
                if re.fullmatch(r"\d+", value):
                    form.other.append((name, str(2 * int(value) + len(form.other) % 2)))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.open = None
        elif tag == "select":
            self.select = ""
        elif tag == "textarea":
            self.area = ""

    def handle_data(self, data: str) -> None:
        if self.area and self.open:
            self.open.said.append((self.area, data.strip()))


def choices(address: str, page: str) -> Iterator[str]:
    """The addresses to which one change of a form leads, and the links that ask the same tool something else."""
    path = urlsplit(address).path
    read = Forms(page)
    for form in read.forms:
        to = urlsplit(form.action).path or path
        for name, value in form.other:
            kept = [(other, said) for other, said in form.said if other != name and said]
            yield f"{to}?{urlencode([*kept, (name, value)])}"
    for link in map(unescape, read.links):
        if link.startswith("?"):
            yield path + link
        elif link.startswith("/") and link != address and urlsplit(link).path == path and "#" not in link:
            yield link


@pytest.fixture(scope="module")
def app() -> Any:
    return create_app()


def answers(app: Any, addresses: list[str]) -> list[asgi.Answer]:
    async def all_() -> list[asgi.Answer]:
        return [await asgi.ask(app, "GET", address) for address in addresses]

    return asgi.run(all_())


def lines(app: Any, addresses: list[str]) -> str:
    """Each answer in a line: the checksum of what the page says, its status, where it leads."""
    out = []
    for address, answer in zip(addresses, answers(app, addresses), strict=True):
        main = steady(answer.body.decode().partition("<main")[2])
        out.append(f"{zlib.crc32(main.encode()):08x} {answer.status} {answer.headers.get('location', '')} {address}\n")
    return "".join(out)


def test_every_choice(app: Any) -> None:
    found: dict[str, None] = {}
    followed: Counter[str] = Counter()
    for start, answer in zip(TOOLS, answers(app, TOOLS), strict=True):
        if answer.headers.get("content-type", "").startswith("text/html"):
            for one in choices(start, answer.body.decode()):
                tool = "/".join(one.partition("?")[0].split("/")[:3])
                if one not in found and one not in TOOLS and not one.startswith(ELSEWHERE) and followed[tool] < MOST:
                    followed[tool] += 1
                    found[one] = None
    held("choices", lines(app, list(found)))


def test_every_kind_of_instruction(app: Any) -> None:
    """Every shape of every row and every choice of types, wgmma's at both ends of N; those new in both come first."""
    every = [i for i in catalog.instructions() if not i.family.scope.several or i.sizes["n"] in (8, 256)]
    seen: set[object] = set()
    asked = []
    for new in (2, 1):
        for i in every:
            kinds = {(i.family.ptx, i.shape), (i.syntax.opcode, i.syntax.types)}
            if len(kinds - seen) >= new:
                seen |= kinds
                asked.append(f"/i/{i.ptx}")
    assert len(seen) > 300
    told = lines(app, asked)
    assert all(line.split()[1] == "200" for line in told.splitlines())
    held("instructions", told)
