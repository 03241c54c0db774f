"""Objects of the engine in a notebook: each draws itself as Jupyter asks for it, and says what it is."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from lanescope import find, tiled_copy, tiled_mma, triton_layout, tv
from lanescope.cute.text import parse_cute_layout
from lanescope.descriptor.matrix import Descriptor, view
from lanescope.descriptor.verify import verify
from lanescope.shared.banks import get_access, make_address_use
from lanescope.shared.chain import make_chain
from lanescope.shared.freeing import PLAIN
from lanescope.shared.storage import storage
from lanescope.shared.swizzle import MODES
from lanescope.shared.tiling import Tile
from lanescope.tiles.convert import convert_layout
from tests.cases import for_each

M16, WGMMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "wgmma.mma_async.m64n64k16.f32.f16.f16"
BLOCKED = "gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])"
STORED = {"kind": "canonical", "swizzle": "128B", "mn": 64, "k": 64, "base": 0x1000}
ROWS = storage({"kind": "rows", "pitch_bytes": 128}, 16, "K")
COPY = tiled_copy("universal", bits=128, thr_layout="(8,4):(4,1)", val_layout="(1,8)", tile=(8, 32))


def verify_word(word: int) -> Any:
    return verify(Descriptor(word), view(find(WGMMA), "a", "K"), storage(STORED, 16, "K"))


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


@for_each(
    ("made", "says"),
    [
        (verify_word(0x4000004000010100), "✓ match: 1024 of 1024 elements"),
        (verify_word(0x4000004004000101), "Repair: <code>0x4000004004000100</code>"),
        (make_chain(find("ldmatrix.m8n8.x4.b16"), find(M16).operand("a"), ROWS), "✓ match: 256 of 256 elements"),
        (
            make_address_use(get_access("ldmatrix.x4"), [row * 128 for row in range(32)]).compute_use_cost(PLAIN),
            "8-way bank conflicts",
        ),
        (convert_layout(triton_layout(BLOCKED, (32, 16)), triton_layout(BLOCKED, (32, 16))), "✓ nothing moves"),
        (COPY, "<th>Destination</th>"),
        (tiled_mma("SM80_16x8x16_F32F16F16F32_TN"), "<table><tr>"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_is_told(made: Any, says: str) -> None:
    assert says in made._repr_html_()


def test_what_has_no_picture_leaves_its_text() -> None:
    """Jupyter shows the text of an object that returns None."""
    assert parse_cute_layout("(128,128):(128,1)")._repr_svg_() is None
    assert Descriptor(0)._repr_html_() is None
