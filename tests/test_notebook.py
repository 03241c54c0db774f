"""Objects of the engine in a notebook: each draws itself as Jupyter asks for it, and says what it is."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from lanescope import find, tiled_copy, tiled_mma, triton_layout, tv
from lanescope.cute.text import parse_cute_layout
from lanescope.descriptor.matrix import Descriptor
from lanescope.shared.swizzle import MODES
from lanescope.shared.tiling import Tile
from tests.cases import for_each

M16, WGMMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "wgmma.mma_async.m64n64k16.f32.f16.f16"
BLOCKED = "gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])"
COPY = tiled_copy("universal", bits=128, thr_layout="(8,4):(4,1)", val_layout="(1,8)", tile=(8, 32))


@for_each(
    ("made", "says"),
    [
        (find(M16).operand("a"), ">T13:2<"),
        (find(M16), ">D m×n 16×8<"),
        (parse_cute_layout("((2,2),3):((24,2),8)"), ">42<"),
        (Tile(16, "K", next(mode for mode in MODES if mode.name == "64B"), 8, 32), ">72<"),
        (Descriptor(0x4000004000010100), ">0x4000004000010100<"),
        (tiled_mma("SM80_16x8x16_F32F16F16F32_TN").a, ">T13:V2<"),
        (tv("((4,8),(2,2)):((32,1),(16,8))", (16, 8)), ">T5:V3<"),
        (triton_layout(BLOCKED, (32, 16)), ">T37:R2<"),
        (COPY.source, ">T9:V3<"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_is_drawn(made: Any, says: str) -> None:
    drawn = made._repr_svg_()
    ElementTree.fromstring(drawn)
    assert says in drawn and "var(--" not in drawn.replace("var(--accent", "").replace("var(--cell-line, #777)", "")
