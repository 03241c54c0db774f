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

from lanescope import find
from lanescope.app import export as site
from lanescope.app.catalogue import verbs as catalogue_verbs
from lanescope.app.catalogue.facts import CatalogueLimits
from lanescope.app.kit import rows
from lanescope.app.main import create_app
from lanescope.ptx import catalog
from tests.client import Client


def test_every_row_says_what_its_ptx_text_says() -> None:
    for instruction in catalog.instructions():
        shape, types = rows.describe_shape_and_types(instruction)
        size, *count = shape.split(" ")
        spelled = "".join(letter + number for letter, number in zip("mnk", size.split("×"), strict=False))
        words = instruction.ptx.split(".")
        assert (spelled if instruction.shape[:1] == "m" else size) in (*words, "") and all(
            each[1:] in words for each in count
        ), shape
        named = [types] if instruction.family.issue else re.findall(r"[a-z]\w+|b1\b", types)
        assert named and set(named) <= {*words, *instruction.types.values()}, types


def test_pages_terminal_and_export_print_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    client = Client(create_app(limits=CatalogueLimits(shapes=len(catalog.instructions()))))
    text = client.get("/instructions?part=rows").text
    assert "None" not in text and text.count('<a class="variant') == len(catalog.instructions())
    shown: list[list[list[str]]] = []
    monkeypatch.setattr(catalogue_verbs, "print_table", lambda head, rows: shown.append(rows))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    catalogue_verbs.list_(family="", type="", target="", shape="", q="", as_json=False)
    site.export_site(str(tmp_path), ["ldmatrix"], False)
    exported = (tmp_path / "instructions.html").read_text()
    assert "None" not in re.sub(r"<select.*?</select>", "", exported, flags=re.S)
    for name, types in (
        ("ldmatrix.m8n8.x4.trans.shared.b16", "b16 x4 trans"),
        ("ldmatrix.m8n16.x2.shared.b8x16.b4x16_p64", "b4x16_p64 → b8x16 x2"),
        ("movmatrix.m8n8.trans.b16", "b16"),
        ("wmma.store.d.row.m8n32k16.f32", "store.d f32 row"),
        ("mma.m16n8k16.row.col.satfinite.s32.s8.s8.s32", "s32 += s8 × s8 satfinite"),
    ):
        found = find(name)
        assert next(row for row in shown[0] if row[1] == found.ptx)[2:4] == list(rows.describe_shape_and_types(found))
        pages: list[Any] = [text, exported] if found.family.name == "ldmatrix" else [text]
        for page in pages:
            assert read_row(page, found.ptx) == (found.shape, types)


def read_row(page: str, ptx: str) -> tuple[str, str]:
    """(shape, what the chip says of one instruction) in a page of the catalogue."""
    row = next(row for row in re.findall(r"<tr>.*?</tr>", page, re.S) if f'title="{ptx}"' in row)
    chip = next(c for c in re.findall(r'<span class="pill chip">.*?</span>', row, re.S) if f'title="{ptx}"' in c)
    before = re.sub(r"<.*", "", chip.removeprefix('<span class="pill chip">'), flags=re.S)
    plain = re.search(r'class="variant plain"[^>]*>([^<]+)', chip)
    own = re.search(rf'class="variant( plain)?"\s+href="[^"]*" title="{re.escape(ptx)}">([^<]+)', chip)
    assert own
    types = before.strip() or (plain[1].strip() if plain else "")
    said = types if own[1] else f"{types} {own[2].strip()}"
    shape = re.search(r'<th scope="row" class="mono">([^<]+)', row)
    assert shape
    return shape[1], unescape(said)
