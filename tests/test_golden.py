"""Golden pictures: the gallery, one a kind of family. A changed picture is saved beside the old for a person to
compare.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lanescope import find
from lanescope.app.diagram.gallery import PICTURES, draw_entry
from lanescope.ptx import catalog
from tests.cases import for_each

FOLDER = Path(__file__).parent / "golden" / "pictures"


@for_each("slug", PICTURES)
def test_picture(slug: str) -> None:
    drawn = draw_entry(slug)
    path = FOLDER / f"{slug}.svg"
    if os.environ.get("LANESCOPE_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(drawn)
    if path.read_text() != drawn:
        beside = Path("test-output") / f"{slug}.new.svg"
        beside.parent.mkdir(exist_ok=True)
        beside.write_text(drawn)
        (beside.parent / f"{slug}.old.svg").write_text(path.read_text())
        pytest.fail(
            f"{path.name} changed; old and new are {beside.parent / slug}.old.svg and .new.svg. If the new is right:"
            " make golden"
        )


def test_every_family_has_a_picture_and_no_picture_is_left_over() -> None:
    elsewhere = {
        name for name in catalog.FAMILY_NAMES if name.startswith("tcgen05")
    }  # tests/test_tcgen05.py draws them
    drawn = {find(entry.ptx).family.name for entry in PICTURES.values() if entry.ptx}
    assert drawn - elsewhere == set(catalog.FAMILY_NAMES) - elsewhere
    assert {path.stem for path in FOLDER.glob("*.svg")} == set(PICTURES)
