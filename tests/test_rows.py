"""Rows of the catalogue: shape and types in words that the PTX text itself has, on the page and in the terminal."""

from __future__ import annotations

import re
import sys

import pytest

from lanescope import find
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


def test_the_page_and_the_terminal_print_them(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(create_app(limits=CatalogueLimits(chosen=frozenset(i.ptx for i in catalog.instructions()))))
    text = client.get("/instructions?part=rows").text
    assert "None" not in text and len(re.findall('<a class="(?:cell )?variant', text)) == len(catalog.instructions())
    shown: list[list[list[str]]] = []
    monkeypatch.setattr(catalogue_verbs, "print_table", lambda head, rows: shown.append(rows))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    catalogue_verbs.list_(family="", type="", target="", shape="", q="", as_json=False)
    for name in (
        "ldmatrix.m8n8.x4.trans.shared.b16",
        "wmma.store.d.row.m8n32k16.f32",
        "mma.m8n8k16.row.col.s32.s8.s8.s32",
    ):
        found = find(name)
        assert next(row for row in shown[0] if row[1] == found.ptx)[2:4] == list(rows.describe_shape_and_types(found))
