"""A canonical layout with its symbols, as the site, PTX and CUTLASS print it, is its mode and major."""

from __future__ import annotations

from lanescope.app.read.text_meanings import read_text
from lanescope.shared.swizzle import BY_WIDTH, Mode
from lanescope.shared.tiling import spell_canonical
from tests.cases import for_each

CUTLASS = {  # include/cute/arch/mma_sm90_desc.hpp
    "Swizzle<0,4,3> o smem_ptr o ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO))": "MN-major, no swizzle",
    "Swizzle<2,4,3> o smem_ptr o ((T,4,m),(8,k)):((1,T,LBO),(4T,SBO))": "MN-major, swizzle 64B",
    "* LayoutType::B32 : Swizzle<1,4,3> o smem_ptr o ((8,m),(T,2)):((2T,SBO),(1, T ))": "K-major, swizzle 32B",
    "Swizzle<0,4,3> o smem_ptr o ((8,m),(T,2)):((1T,SBO),(1,LBO))": "K-major, no swizzle",
}


@for_each("text", CUTLASS)
def test_what_cutlass_writes_is_read(text: str) -> None:
    reading = read_text(text)
    assert reading.title == f"Canonical layout of a matrix descriptor: {CUTLASS[text]}"
    assert not any("different modes" in notice for notice in reading.notices)


@for_each(("mode", "major"), [(mode, major) for mode in BY_WIDTH for major in ("K", "MN")])
def test_what_the_site_prints_is_read_back(mode: Mode, major: str) -> None:
    for form, unit in zip(spell_canonical(mode, major), ("16 bytes.", "T elements are 16 bytes"), strict=True):
        reading = read_text(form)
        assert f"major={major}&swizzle={mode.name}&" in reading.link
        assert unit in reading.notices[0]


def test_a_swizzle_of_another_mode_is_named() -> None:
    reading = read_text("Swizzle<2,4,3> o smem_ptr o ((8,m),(T,2)):((8T,SBO),(1,T))")
    assert reading.notices[0].endswith("this layout goes with Swizzle<3,4,3>.")


@for_each("text", ["((8,m),(T,2)):((3T,SBO),(1,T))", "((8,m),(T,2)):((8T,SBO),(1,LBO))"])
def test_no_other_layout_with_these_symbols_is_canonical(text: str) -> None:
    assert read_text(text).kind == "unknown"
