"""CuTe layouts as text: every way they are printed is read, everything else is refused, quickly and by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pycute
import pytest
from hypothesis import given, settings, strategies as st

from lanescope.cute.layout import DEEPEST, MOST, CuteLayout
from lanescope.cute.text import parse_cute_layout, parse_layout
from lanescope.errors import LayoutError
from lanescope.ptx.pattern import Pattern
from lanescope.shared.storage import storage
from lanescope.shared.swizzle import Swizzle
from tests.cases import for_each
from tests.sample import choose_count

PRINTED = [  # the same layout by C++, by the Python DSL, by pycute, by hand
    "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)",
    "S<3,3,3> o 0 o (8,64):(64,1)",
    "Swizzle<3,3,3> o (8, 64):(64, 1)",
    "Sw< 3, 3, 3 >o( _8 , _64 ) : ( 64,_1 )",
    "  Sw<3,3,3> o (8,64):(64,1)\n",
]


@for_each("text", PRINTED)
def test_every_printer_is_read(text: str) -> None:
    assert parse_layout(text) == CuteLayout((8, 64), (64, 1), Swizzle(3, 3, 3))


@for_each("pointer", ["smem_ptr16b", "smem_ptr[16b]", "smem_ptr[16b](unset)", "smem_ptr[16b](0x7f1200000400)"])
def test_pointers_say_the_unit(pointer: str) -> None:
    assert parse_layout(f"Sw<3,4,3> o {pointer} o (_8,_64):(_64,_1)") == CuteLayout(
        (8, 64), (64, 1), Swizzle(3, 4, 3), 16
    )


def test_the_xor_behind_a_pointer_is_on_bytes() -> None:
    """Row 1 of a 128-byte atom of 16-bit elements: its chunks 0 and 1 of eight elements are exchanged."""
    layout = parse_layout("Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)")
    assert [layout(1, col) for col in (0, 7, 8, 15, 16)] == [72, 79, 64, 71, 88]
    assert layout.list_indices()[1::8][:9].tolist() == [72, 73, 74, 75, 76, 77, 78, 79, 64]


@for_each(
    "text",
    [
        "ComposedLayout<Swizzle<3,4,3>, smem_ptr_flag_bits<16>, Layout<Shape<_8,_64>, Stride<_64,_1>>>",
        "make_composed_layout(Swizzle<3,4,3>{}, smem_ptr_flag_bits<16>{}, make_layout((8,64), (64,1)))",
    ],
)
def test_a_composed_type_says_its_unit(text: str) -> None:
    assert parse_cute_layout(text) == CuteLayout((8, 64), (64, 1), Swizzle(3, 4, 3), 16)


@for_each("text", ["smem_ptr_flag_bits<16>", "smem_ptr_flag_bits<17>", "Sw<3,4,3> o smem_ptr[16b]"])
def test_a_pointer_is_no_layout(text: str) -> None:
    with pytest.raises(LayoutError, match="smem_ptr"):
        parse_cute_layout(text)


# In elements and in 16-byte units, the m64n32k16 operands in modes none, 64B and 128B, as Sw<…> o smem_ptr16b / 128b.
TWICE = [
    (
        "Sw<0,4,3> o smem_ptr16b o ((8,8),(8,2)):((8,64),(1,512))",
        "Sw<0,4,3> o smem_ptr128b o ((8,8),(1,2)):((1,8),(1,64))",
    ),
    (
        "Sw<0,4,3> o smem_ptr16b o ((8,4),(8,2)):((8,64),(1,256))",
        "Sw<0,4,3> o smem_ptr128b o ((8,4),(1,2)):((1,8),(1,32))",
    ),
    (
        "Sw<2,4,3> o smem_ptr16b o ((32,2),(8,2)):((1,256),(32,512))",
        "Sw<2,4,3> o smem_ptr128b o ((4,2),(8,2)):((1,32),(4,64))",
    ),
    (
        "Sw<0,4,3> o smem_ptr16b o ((8,4),(8,2)):((1,64),(8,256))",
        "Sw<0,4,3> o smem_ptr128b o ((1,4),(8,2)):((1,8),(1,32))",
    ),
    (
        "Sw<3,4,3> o smem_ptr16b o ((64,1),(8,2)):((1,512),(64,512))",
        "Sw<3,4,3> o smem_ptr128b o ((8,1),(8,2)):((1,64),(8,64))",
    ),
]


@for_each(("elements", "chunks"), TWICE)
@for_each("said", ["K", "MN"])
def test_a_layout_in_chunks_is_the_one_in_elements(elements: str, chunks: str, said: str) -> None:
    one, other = (storage({"kind": "cute", "layout": text, "base": 2048}, 16, said) for text in (elements, chunks))
    assert (one.mn, one.k) == (other.mn, other.k)
    mn, k = np.arange(one.mn or 0)[:, None], np.arange(one.k or 0)[None, :]
    assert np.array_equal(one.address(mn, k), other.address(mn, k))


def test_offset_and_unit_move_the_data() -> None:
    plain, moved = (
        storage({"kind": "cute", "layout": f"Sw<1,3,3> o {offset} o (8,64):(64,1)"}, 16, "K") for offset in (0, 64)
    )
    assert moved.address(0, 0) == 2 * Swizzle(1, 3, 3)(64) and plain.address(0, 0) == 0
    assert moved.address(0, 0) != 128


@for_each(
    ("text", "why"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("(8,64)", "not a CuTe layout"),
        ("(8,64):(64,1):1", "not a CuTe layout"),
        ("8 8:1", "goes on"),
        ("(8,64):(64,x)", "has 'x': its value is not in the text"),
        ("(?{div=8},64):(64,1)", "its value is not in the text"),
        ("(8,64):(64,-1)", "has the stride -1"),
        ("(-8,64):(64,1)", "has the size -8"),
        ("(8,64):(64,1)x", "not a CuTe layout"),
        ("(８,64):(64,1)", "not a CuTe layout"),
        ("((8,64):(64,1)", "ends before"),
        ("(8,64)):(64,1)", "goes on with ')'"),
        ("(8,,64):(64,1)", "','"),
        ("(8,):(1,)", "')'"),
        ("():()", "')'"),
        ("(8)(8):(1)(1)", "goes on"),
        ("8(8):1(1)", "goes on"),
        ("(8,64):(64,(1,2))", "nested alike"),
        ("(0,64):(64,1)", "size of 0"),
        ("(" * 500 + "8" + ")" * 500 + ":1", "deeper"),
        ("(" * 2000 + ":", "deeper"),
        ("9" * 5000 + ":1", "5002 characters"),
        ("9" * 4000 + ":1", "more than"),
        (f"8:{2**63}", "more than"),
        (f"(8,64):({MOST + 1},1)", "more than"),
        ("Sw<99,3,3> o (8,64):(64,1)", "not a swizzle"),
        ("Sw<20000000000,3,3> o (8,64):(64,1)", "not a swizzle"),
        ("Sw<3,3,2> o (8,64):(64,1)", "not a swizzle"),
        ("Sw<3,30,3> o (8,64):(64,1)", "not a swizzle"),
        ("Sw<3,3> o (8,64):(64,1)", "three numbers"),
        ("smem_ptr[7b] o (8,64):(64,1)", "units of 7"),
        ("Sw<3,4,3> o smem_ptr[16b] o 5 o (8,64):(64,1)", "offset 5"),
        ("E<0>:1", "not a CuTe layout"),
        ("?:?", "not a CuTe layout"),
    ],
)
def test_what_is_no_layout_says_why(text: str, why: str) -> None:
    with pytest.raises(LayoutError, match=why.replace("(", r"\(").replace(")", r"\)")) as caught:
        parse_layout(text)
    assert caught.value.field == "layout" and caught.value.hint and len(caught.value.message) < 200


@for_each(
    ("spec", "field"),
    [
        ({"layout": None}, "layout"),
        ({"layout": 5}, "layout"),
        ({}, "layout"),
        ({"layout": "64:1"}, "layout"),
        ({"layout": "(8,8,8):(64,8,1)"}, "layout"),
        ({"layout": "(1000,1000):(1000,1)"}, "layout"),
        ({"layout": "(8,64):(64,1)", "unit": "words"}, "unit"),
        ({"layout": "(8,3):(64,1)", "unit": "bytes"}, "layout"),
        ({"layout": "smem_ptr128b o (8,8):(8,1)", "unit": "bytes"}, "unit"),
        ({"layout": "smem_ptr[1b] o (8,64):(64,1)"}, "layout"),
        ({"layout": "(8,64):(64,1)", "base": 2**63}, "base"),
        ({"layout": "Sw<99,3,3> o (8,64):(64,1)"}, "layout"),
    ],
)
def test_a_storage_names_its_field(spec: dict[str, Any], field: str) -> None:
    with pytest.raises(LayoutError) as caught:
        storage({"kind": "cute"} | spec, 16, "K")
    assert caught.value.field == f"storage.{field}"


def test_negative_shifts_are_pycutes() -> None:
    for bits, base, shift in ((2, 1, -3), (3, 0, -3), (1, 4, -2), (3, 4, 3)):
        ours, theirs = Swizzle(bits, base, shift), pycute.Swizzle(bits, base, shift)
        assert all(ours(n) == theirs(n) for n in range(0, 4096, 7))


nested = st.recursive(
    st.integers(1, MOST), lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=8
)


def compute_strides(shape: Any) -> Any:
    return tuple(map(compute_strides, shape)) if isinstance(shape, tuple) else shape % 1000


@settings(max_examples=choose_count(150, 50), deadline=None)
@given(
    nested,
    st.sampled_from([None, Swizzle(3, 4, 3), Swizzle(2, 0, -3)]),
    st.sampled_from([None, 8, 16, 128]),
    st.integers(0, 1000),
)
def test_what_is_printed_is_read_back(shape: Any, swizzle: Swizzle | None, unit: int | None, offset: int) -> None:
    made = CuteLayout(shape, compute_strides(shape), swizzle, unit, 0 if unit else offset)
    assert parse_layout(str(made)) == made


@settings(max_examples=choose_count(300, 100), deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="Swo<>0123456789,():_ smem_ptr[]b", max_size=60))
def test_any_text_is_a_layout_or_refused(text: str) -> None:
    try:
        parse_layout(text)
    except LayoutError as error:
        assert error.message and error.hint and error.field == "layout"


@settings(max_examples=choose_count(300, 100), deadline=None)
@given(
    st.text(max_size=60)
    | st.text(alphabet="(abg:0123456789*/) ->", max_size=60)
    | st.just("(" * 500)
    | st.just("(g:8" * 500 + ") (e:2) -> (g)")
)
def test_any_text_is_a_pattern_or_refused(text: str) -> None:
    for made in (f"(g:8 {text}) (e:2) -> (g e)", text, f"(g:8 t:{text}) (e:2) -> (g) (t e)"):
        try:
            assert Pattern.parse(str(Pattern.parse(made))) == Pattern.parse(made)
        except LayoutError as error:
            assert error.message and error.hint and len(str(error)) < 600


@for_each(
    "text",
    [
        "(g:99999999999999999999 t:4) (e:2) -> (g) (t e)",
        "(g:1000000 t:1000) (e:2) -> (g) (t e)",
        "(g:8 t:4) (e:2) -> (g) (t e)" + " " * 5000,
    ],
)
def test_a_pattern_has_a_size_that_can_be_evaluated(text: str) -> None:
    with pytest.raises(LayoutError, match="cannot be read"):
        Pattern.parse(text)


def test_depth_has_a_limit_that_layouts_keep() -> None:
    deep = DEEPEST - 1
    assert parse_layout("(" * deep + "8" + ")" * deep + ":" + "(" * deep + "1" + ")" * deep)
