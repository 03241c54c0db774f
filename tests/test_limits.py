"""Sizes end where the hardware's end, and texts where nothing legal is that long: each is refused before it costs
anything.
"""

from __future__ import annotations

import pytest

from lanescope.descriptor.matrix import MOST_SHARED
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.shared.storage import storage
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import ELEMENT_BITS, Tile
from tests.cases import for_each


@for_each("bits", ELEMENT_BITS)
@for_each("swizzle", ["none", "32B", "64B", "128B"])
def test_a_tile_is_as_large_as_shared_memory(bits: int, swizzle: str) -> None:
    wide = Tile(bits, "K", get_mode(swizzle), 8, get_mode(swizzle).chunks * 128 // bits).k
    most = MOST_SHARED * 8 // bits // wide // 8 * 8
    assert Tile(bits, "K", get_mode(swizzle), most, wide).bytes <= MOST_SHARED
    with pytest.raises(LayoutError) as refused:
        Tile(bits, "K", get_mode(swizzle), most + 8, wide)
    assert (refused.value.code, refused.value.field) == (
        "too_large",
        "mn",
    ) and f"mn is at most {most}." in refused.value.hint


def test_the_longer_side_is_named() -> None:
    with pytest.raises(LayoutError, match="do not fit the 232448 bytes") as refused:
        Tile(16, "MN", get_mode("128B"), 128, 1024)
    assert refused.value.field == "k" and refused.value.hint.endswith("k is at most 904.")
    with pytest.raises(LayoutError) as refused:
        Tile(16, "K", get_mode("none"), 8 * 10**9, 8 * 10**9)
    assert refused.value.hint == "Make both smaller."


@for_each(
    "layout", ["(1000000,1000000):(1,1000000)", "(480,256):(256,1)", "((2,2),(1000000000000000000,3)):((1,1),(1,1))"]
)
def test_a_layout_has_as_many_elements_as_shared_memory(layout: str) -> None:
    with pytest.raises(LayoutError) as refused:
        storage({"kind": "cute", "layout": layout}, 16, "K")
    assert refused.value.field == "storage.layout"


def test_a_layout_that_fits_is_taken() -> None:
    assert storage({"kind": "cute", "layout": "(448,256):(256,1)"}, 16, "K").mn == 448


@pytest.mark.parametrize(
    "text", ["m" * 7900, "m" + "1" * 7900 + "n8k16", "m16n8k16" + ".satfinite" * 30, "m16n8k16." * 30000]
)
def test_a_long_opcode_is_refused_before_it_is_compared(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanescope.ptx.refusals.find_nearest", lambda *_: pytest.fail("compared"))
    with pytest.raises(LayoutError, match="at most 256") as refused:
        catalog.find(f"mma.sync.aligned.{text}")
    assert refused.value.code == "unknown_instruction" and len(str(refused.value)) < 400


def test_every_opcode_is_shorter() -> None:
    assert max(len(i.ptx) for i in catalog.instructions()) < catalog.LONGEST_OPCODE
