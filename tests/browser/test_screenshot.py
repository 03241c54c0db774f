"""The README's screenshot is made here, by `make golden`; every run checks that the page still looks like a page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser
PATH = "/i/mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32?pin=d:3,2"
IMAGE = Path(__file__).parents[2] / "docs" / "images" / "instruction.png"


def test_screenshot(open_page: Any, tmp_path: Path) -> None:
    page = open_page(PATH, width=1440, height=1060)
    page.mouse.move(700, 5)
    target = IMAGE if os.environ.get("LANESCOPE_GOLDEN") == "write" else tmp_path / "now.png"
    page.screenshot(path=target)
    assert IMAGE.exists() and target.stat().st_size > 60_000
    inside = page.locator("#stage canvas.base").bounding_box()
    panel = page.locator("#panel").bounding_box()
    assert inside and panel and inside["x"] + inside["width"] <= panel["x"], "the panel lies over the matrices"
