"""Rows of the catalogue: shape and types in words that the PTX text itself has, on the page, in the terminal and in an
exported site.
"""

from __future__ import annotations

import re
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app import cli
from app import export as site
from app.catalogue.facts import Limits
from app.kit import rows
from app.main import create_app
from layouts import catalog, find


def test_every_row_says_what_its_ptx_text_says() -> None:
    for instruction in catalog.instructions():
        shape, types = rows.in_words(instruction)
        size, *count = shape.split(" ")
        spelled = "".join(letter + number for letter, number in zip("mnk", size.split("×"), strict=False))
        words = instruction.ptx.split(".")
        assert spelled in words and all(each[1:] in words for each in count), shape
        named = re.findall(r"[a-z]\w+|b1\b", types)
        assert named and set(named) <= {*words, *instruction.types.values()}, types


def test_pages_terminal_and_export_print_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    client = TestClient(create_app(limits=Limits(rows=len(catalog.instructions()))))
    text = client.get("/?part=rows").text
    assert "None" not in text and len(re.findall("<tr><td>", text)) == len(catalog.instructions())
    shown: list[list[list[str]]] = []
    monkeypatch.setattr(cli, "table", lambda head, rows: shown.append(rows))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    cli.list_(family="", type="", target="", shape="", q="", as_json=False)
    site.export(str(tmp_path), ["ldmatrix"], False)
    index = (tmp_path / "index.html").read_text()
    assert "None" not in re.sub(r"<select.*?</select>", "", index, flags=re.S)
    for name in (
        "ldmatrix.m8n8.x4.trans.shared.b16",
        "ldmatrix.m8n16.x2.shared.b8x16.b4x16_p64",
        "movmatrix.m8n8.trans.b16",
        "wmma.store.d.row.m8n32k16.f32",
    ):
        found = find(name)
        shape, types = rows.in_words(found)
        assert next(row for row in shown[0] if row[1] == found.ptx)[2:4] == [shape, types]
        pages: list[Any] = [text, index] if found.family.name == "ldmatrix" else [text]
        for page in pages:
            row = re.search(
                rf'<tr><td>{found.family.name}</td><td class="mono"><a'
                rf' href="[^"]*{re.escape(found.ptx)}(?:\.html)?">.*?</tr>',
                page,
                re.S,
            )
            assert row and re.findall(r'<td class="mono">([^<]+)</td>', unescape(row[0])) == [shape, types]
