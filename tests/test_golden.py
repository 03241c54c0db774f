"""Golden pictures: one a distinct figure kind. A changed picture is saved beside the old for a person to compare."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from layouts import find
from layouts.render.svg import svg
from layouts.view import product_figure

FOLDER = Path(__file__).parent / "golden" / "pictures"
PICTURES = (
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
    "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16",
)


@pytest.mark.parametrize("ptx", PICTURES)
def test_picture(ptx: str) -> None:
    drawn = svg(product_figure(find(ptx)), title=ptx)
    path = FOLDER / f"{ptx}.svg"
    if os.environ.get("LANESCOPE_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(drawn)
    if path.read_text() != drawn:
        beside = Path("test-output") / path.name
        beside.parent.mkdir(exist_ok=True)
        beside.write_text(drawn)
        pytest.fail(f"{path.name} changed; the new picture is {beside}. If it is right: make golden")
