"""The README's screenshot is made here, by `make golden`; every run checks where its parts stand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.browser.waiting import wait_for_rest

pytestmark = pytest.mark.browser
MATRICES = [f".mat[data-panel={name}] .slot" for name in "abd"]
IMAGES = Path(__file__).parents[2] / "docs" / "images"


def take_screenshot(page: Any, name: str) -> None:
    """Write a picture of the page into docs/images, if golden pictures are written; it must be a full one."""
    if os.environ.get("LANESCOPE_GOLDEN") == "write":
        page.mouse.move(700, 5)
        wait_for_rest(page)
        page.screenshot(path=IMAGES / name)
    assert (IMAGES / name).stat().st_size > 60_000


def test_instruction(open_page: Any) -> None:
    page = open_page("/i/mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32?pin=d:3,2", width=1440, height=1060)
    take_screenshot(page, "instruction.png")
    panel, *matrices = (page.locator(f"#stage {part}").bounding_box() for part in ("#panel", *MATRICES))
    assert panel and all(matrices)
    for matrix in matrices:
        beside = panel["x"] + panel["width"] <= matrix["x"] or matrix["x"] + matrix["width"] <= panel["x"]
        assert beside or panel["y"] + panel["height"] <= matrix["y"], f"the panel {panel} lies over {matrix}"
        assert matrix["y"] + matrix["height"] <= 1060, "a matrix is below the fold"


def test_descriptor(open_page: Any) -> None:
    page = open_page("/descriptor/wgmma/0x4000004004000101?s_swizzle=128B", width=1440, height=1060)
    page.wait_for_selector("html[data-analysed]")
    take_screenshot(page, "descriptor.png")
    boxes = [page.locator(f"#bits [data-bit='{bit}']").bounding_box() for bit in (63, 32, 31, 0)]
    assert len({box["y"] for box in boxes}) == 1, "one row of 64"


@pytest.mark.thorough
def test_tiles(open_page: Any) -> None:
    page = open_page("/tiles/mma", width=1440, height=900)
    take_screenshot(page, "tiles.png")
    c = page.locator(".mat[data-panel=c] .slot").bounding_box()
    assert c and c["width"] > 400 and c["y"] + c["height"] <= 900
