"""Swizzles and layouts of CuTe in the box: what they are, or why they are none."""

from __future__ import annotations

from lanescope.app.read.text_meanings import read_text
from tests.cases import for_each


@for_each(
    ("text", "bits", "mode"),
    [  # CuTe, swizzle.hpp: Swizzle<B,M,S> XORs bits M+S … into bits M …; the modes: PTX ISA 9.1, 9.7.15.5.1
        ("Swizzle<3,4,3>", "bits 4 to 6 of an index with bits 7 to 9", "1 byte, it is the 128B swizzle"),
        ("cute::Swizzle<3, 3, 3>{}", "bits 3 to 5 of an index with bits 6 to 8", "2 bytes, it is the 128B swizzle"),
        ("cute.make_swizzle(2, 2, 3)", "bits 2 to 3 of an index with bits 5 to 6", "4 bytes, it is the 64B swizzle"),
        ("Sw<1,0,3>", "bit 0 of an index with bit 3", "16 bytes, it is the 32B swizzle"),
        ("auto sw = Swizzle<2,5,2>{};", "bits 5 to 6 of an index with bits 7 to 8", "128B_base32B swizzle"),
        ("Swizzle<4,3,4>", "bits 3 to 6 of an index with bits 7 to 10", "No swizzle mode of matrix descriptors"),
    ],
)
def test_a_swizzle_says_which_bits_it_changes(text: str, bits: str, mode: str) -> None:
    told = read_text(text)
    assert told.link == "/guide/swizzle" and bits in told.notices[0] and mode in told.notices[1]


@for_each(
    ("text", "reason"),
    [
        ("Swizzle<3,4,99>", "not a swizzle of 32-bit indices"),
        ("Swizzle<3,4,2>", "needs |S| ≥ B"),
        ("Swizzle<3,4>", "three numbers"),
        ("Layout<Shape<_2,_3>,Stride<_1>>", "not congruent"),
        ("make_layout(make_shape(2, 3), make_stride(1))", "not congruent"),
        ("auto layout = make_layout(make_shape(M, 8));", "has the name 'M'"),
    ],
)
def test_what_cute_has_not_is_refused_with_the_reason(text: str, reason: str) -> None:
    told = read_text(text)
    assert told.kind == "unknown" and reason in told.notices[0]


@for_each("text", ["Layout<Shape<_2,_3>>{}", "auto layout = make_layout(make_shape(2, 3));"])
def test_a_shape_alone_is_compact(text: str) -> None:
    assert read_text(text).facts["cute"] == "(2,3):(1,2)"


def test_a_stride_may_be_called_by_the_field_that_holds_it() -> None:
    """As the guide writes the layouts of a tile in chunks of 16 bytes."""
    assert read_text("Sw<2,0,3> o ((4,2),(8,2)):((1,LBO 32),(4,SBO 64))").facts["stride"] == "((1,32),(4,64))"


@for_each("text", ["Shape<_128,_64>", "make_shape(Int<128>{}, Int<64>{})", "(_128,_64)", "(128,64)"])
def test_a_shape_without_strides_says_so(text: str) -> None:
    told = read_text(text)
    assert told.title == "A shape without strides" and "(128,64):(1,128)" in told.notices[0]


def test_a_shape_of_names_has_no_numbers() -> None:
    assert "has the name 'M'" in read_text("make_shape(M, K)").notices[0]
