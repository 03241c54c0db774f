"""The part of a figure that a page shows: `view` of its address, read and written."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from lanescope.errors import LayoutError
from lanescope.ptx.catalog import find
from lanescope.render import window
from tests.cases import for_each

WGMMA = find("wgmma.mma_async.m64n256k16.f32.bf16.bf16")
MMA = find("mma.m16n8k16.row.col.f32.f16.f16.f32")


def test_a_small_product_opens_whole_and_a_wgmma_on_warp_0() -> None:
    assert (
        window.parse_window("", MMA)
        == {"m": (0, 16), "n": (0, 8), "k": (0, 16)}
        == window.parse_window(window.ALL, MMA)
    )
    opened = window.parse_window("", WGMMA)
    assert opened["m"] == (0, 16) and opened["n"][0] == 0 and opened["n"][1] < 256
    assert window.parse_window(window.ALL, WGMMA) == {"m": (0, 64), "n": (0, 256), "k": (0, 16)}


@given(st.tuples(st.integers(0, 6300), st.integers(1, 6400)).filter(lambda span: span[0] < span[1]))
def test_what_is_written_is_read(span: tuple[int, int]) -> None:
    """Two decimals survive an address; dimensions that are not named are whole."""
    shown = {"m": (span[0] / 100, span[1] / 100)}
    assert window.parse_window(window.format_ranges(shown), WGMMA) == {
        **window.parse_window(window.ALL, WGMMA),
        **shown,
    }


@for_each(
    "text", ["m", "m:", "m:3", "m:3-3", "m:5-3", "m:0-65", "x:0-1", "m:0-1e3", "m:-1-3", "m:0-٣", "m:0-8,", "m:0.1.2-3"]
)
def test_a_wrong_view_names_what_is_allowed(text: str) -> None:
    with pytest.raises(LayoutError) as told:
        window.parse_window(text, WGMMA)
    assert told.value.code == "bad_view" and told.value.field == "view"
    assert "m:0-64,k:0-16,n:0-256" in told.value.hint
