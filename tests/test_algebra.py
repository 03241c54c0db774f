"""CuTe's layout algebra against pycute over random layouts, against its meaning index by index, and against the values
of CUTLASS's own tests.

Where pycute 4.2 and C++ CuTe (CUTLASS 4.7) differ, the engine follows C++. In pycute, composition by mode drops the
modes that the tiler leaves out; logical_product by an int divides; an underscore in zipped_divide adds a mode 1:0;
right_inverse stops at a stride of 0; left_inverse needs the complement; the target of a complement is a number, not a
shape; composition accepts fewer strides, and some that do not give A(B(c)).
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pycute
import pytest

from lanescope.cute import algebra as cute
from lanescope.cute.algebra import concatenate, make_layout
from lanescope.cute.layout import CuteLayout
from lanescope.cute.spelling import format_cxx, format_python
from lanescope.cute.text import parse_coordinate, parse_cute_layout, parse_tiler
from lanescope.cute.tuples import Nested, coordinate_to_index, index_to_coordinate, is_congruent, list_leaves, size
from lanescope.errors import LayoutError
from tests.cases import for_each
from tests.sample import choose_count

SIZES = (1, 2, 3, 4, 5, 6, 8, 12, 16)


def is_compatible(a: Nested, b: Nested) -> bool:
    """Whether every coordinate of shape a is one of shape b: each int of a equals the size of b's mode."""
    if isinstance(a, int):
        return a == size(b)
    return not isinstance(b, int) and len(a) == len(b) and all(is_compatible(x, y) for x, y in zip(a, b, strict=True))


def make_random_shape(rng: np.random.Generator, depth: int = 2) -> Any:
    if depth == 0 or rng.random() < 0.4:
        return int(rng.choice(SIZES))
    return tuple(make_random_shape(rng, depth - 1) for _ in range(rng.integers(1, 4)))


def nest_like(shape: Any, values: list[int]) -> Any:
    return values.pop(0) if isinstance(shape, int) else tuple(nest_like(item, values) for item in shape)


def make_random_layout(rng: np.random.Generator, most: int = 600) -> CuteLayout:
    """Return a layout: 7 of 10 are compact or nearly so, in any order of their modes; 3 have any small strides."""
    while True:
        shape = make_random_shape(rng)
        if size(shape) <= most:
            break
    sizes = list_leaves(shape)
    if rng.random() < 0.7:
        strides, reached = [0] * len(sizes), int(rng.choice((1, 1, 1, 2, 4)))
        for at in rng.permutation(len(sizes)).tolist():
            strides[at] = reached if rng.random() < 0.95 else 0
            reached *= sizes[at] * int(rng.choice((1, 1, 1, 2)))
    else:
        strides = rng.integers(0, 20, len(sizes)).tolist()
    return CuteLayout(shape, nest_like(shape, strides))


def to_pycute(one: CuteLayout) -> Any:
    return pycute.Layout(one.shape, one.stride)


def assert_same(ours: CuteLayout, theirs: Any) -> None:
    """Compare shape and strides; the stride of a mode of size 1 is never used and may differ."""
    assert ours.shape == theirs.shape, f"{ours} is not {theirs}"
    both = zip(list_leaves(ours.shape), list_leaves(ours.stride), list_leaves(theirs.stride), strict=True)
    assert all(a == b for n, a, b in both if n > 1), f"{ours} is not {theirs}"


def test_coalesce_coordinates_and_indices_agree_with_pycute() -> None:
    rng = np.random.default_rng(15)
    for _ in range(1500):
        one = make_random_layout(rng)
        assert_same(cute.coalesce(one), pycute.coalesce(to_pycute(one)))
        assert one.size == to_pycute(one).size() and one.cosize == to_pycute(one).cosize()
        at = int(rng.integers(0, one.size))
        natural = index_to_coordinate(at, one.shape)
        assert is_congruent(natural, one.shape)
        assert (
            one(at)
            == to_pycute(one)(at)
            == coordinate_to_index(natural, one.shape, one.stride)
            == one.list_indices()[at]
        )
        assert cute.count_distinct(one) == len(set(one.list_indices().tolist()))
        assert natural == pycute.idx2crd(at, one.shape)
        if isinstance(one.shape, tuple):
            assert_same(cute.coalesce(one, (1,)), pycute.coalesce(to_pycute(one), (1,)))


def test_a_composition_is_a_of_b_or_is_refused() -> None:
    """If pycute accepts a composition and its result is A(B(c)), ours is the same layout; if ours is refused, pycute
    refuses it too, or its result is wrong, or C++'s condition is stricter.
    """
    rng = np.random.default_rng(16)
    composed = agreed = 0
    count = choose_count(6000, 1000)
    for _ in range(count):
        a, b = make_random_layout(rng), make_random_layout(rng, 100)
        try:
            ours = cute.composition(a, b)
        except LayoutError as error:
            assert error.code == "not_admissible" and "is not admissible" in error.message and error.hint
            try:
                theirs = pycute.composition(to_pycute(a), to_pycute(b))
            except AssertionError:
                continue
            wrong = theirs.size() != b.size or any(theirs(i) != to_pycute(a)(to_pycute(b)(i)) for i in range(b.size))
            assert wrong or _is_strict_refusal(a, b), (a, b)
            continue
        composed += 1
        assert is_compatible(b.shape, ours.shape)
        assert all(ours(i) == a(b(i)) for i in range(b.size)), f"{a} o {b} = {ours}"
        try:
            theirs = pycute.composition(to_pycute(a), to_pycute(b))
        except AssertionError:
            continue
        if b.cosize <= a.size:  # beyond its size pycute's coalesce changes the function, CuTe's coalesce_x does not
            assert_same(ours, theirs)
            agreed += 1
    assert composed > count * 0.4 and agreed > count * 0.3


def _is_strict_refusal(a: CuteLayout, b: CuteLayout) -> bool:
    """Whether C++ refuses a composition although the values agree: B has a stride at a mode of size 1, or exceeds A."""
    return (
        any(d > 1 and n == 1 for n, d in zip(list_leaves(b.shape), list_leaves(b.stride), strict=True))
        or b.cosize > a.size
    )


def test_complements_and_inverses() -> None:
    rng = np.random.default_rng(17)
    compared = dict.fromkeys(("complement", "left"), 0)
    count = choose_count(2500, 450)
    for _ in range(count):
        one = make_random_layout(rng, 200)
        target = int(rng.integers(1, 400))
        right = cute.right_inverse(one)
        assert all(one(right(i)) == i for i in range(right.size))
        coalesced = cute.coalesce(one)
        if 0 not in list_leaves(coalesced.stride) and coalesced.size > 1:
            assert_same(right, pycute.right_inverse(to_pycute(one)))
        try:
            rest = cute.complement(one, target)
        except LayoutError as error:
            assert "Non-injective" in error.message
        else:
            whole = concatenate(one, rest)
            held = set(one.list_indices().tolist())
            indices = rest.list_indices()
            assert whole.cosize >= target and (np.diff(indices) > 0).all() and not held & set(indices[1:].tolist())
            assert_same(rest, pycute.complement(to_pycute(cute.filter_layout(one)), target))
            compared["complement"] += 1
        try:
            left = cute.left_inverse(one)
        except LayoutError as error:
            assert "Left inverse divisibility" in error.message or len(set(one.list_indices().tolist())) < one.size
        else:
            assert all(one(left(one(i))) == one(i) for i in range(one.size))
            compared["left"] += 1
    assert min(compared.values()) > count * 0.4


def test_divides_and_products_agree_with_pycute() -> None:
    rng = np.random.default_rng(18)
    divided = multiplied = 0
    count = choose_count(4000, 650)
    for _ in range(count):
        a, b = make_random_layout(rng), make_random_layout(rng, 32)
        try:
            ours, theirs = cute.logical_divide(a, b), pycute.logical_divide(to_pycute(a), to_pycute(b))
        except (LayoutError, AssertionError):
            pass
        else:
            if a.size % b.size == 0 and b.cosize <= a.size:
                assert_same(ours, theirs)
                divided += 1
        try:
            ours, theirs = cute.logical_product(a, b), pycute.logical_product(to_pycute(a), to_pycute(b))
        except (LayoutError, AssertionError):
            continue
        if 0 not in list_leaves(a.stride):
            assert_same(ours, theirs)
            assert str(ours.modes[0]) == str(a) and len(set(ours.list_indices().tolist())) <= ours.size
            multiplied += 1
    assert divided > count * 0.07 and multiplied > count * 0.17


def test_divides_by_mode() -> None:
    one = make_layout((16, (2, 12)), (24, (1, 2)))
    for tiler in ((4, 6), (make_layout(4, 2), make_layout((2, 3), (2, 4))), (4,), (4, None)):
        their_tiler = tuple(to_pycute(t) if isinstance(t, CuteLayout) else t for t in tiler)
        assert_same(cute.logical_divide(one, tiler), pycute.logical_divide(to_pycute(one), their_tiler))
        if None not in tiler:
            assert_same(cute.zipped_divide(one, tiler), pycute.zipped_divide(to_pycute(one), their_tiler))
            assert_same(cute.tiled_divide(one, tiler), pycute.tiled_divide(to_pycute(one), their_tiler))
    flat = cute.flat_divide(make_layout((9, 32)), (make_layout(3, 3), make_layout((2, 4), (1, 8))))
    assert str(flat) == "(3,(2,4),3,4):(3,(9,72),1,18)"
    assert str(cute.composition(make_layout((8, 4, 2)), (4, 2))) == "(4,2):(1,8)"  # the third mode is dropped


def test_results_are_those_in_cutlasss_documents() -> None:
    """Results printed in CUTLASS's documents and tests: media/docs/cpp/cute/02_layout_algebra.md."""
    assert str(cute.coalesce(make_layout((2, (1, 6)), (1, (6, 2))))) == "12:1"
    assert str(cute.coalesce(make_layout((2, (1, 6)), (1, (6, 2))), (1, 1))) == "(2,6):(1,2)"
    assert str(cute.composition(make_layout((6, 2), (8, 2)), make_layout((4, 3), (3, 1)))) == "((2,2),3):((24,2),8)"
    assert str(cute.composition(make_layout(20, 2), make_layout((5, 4), (4, 1)))) == "(5,4):(8,2)"
    assert str(cute.composition(make_layout((10, 2), (16, 4)), make_layout((5, 4), (1, 5)))) == "(5,(2,2)):(16,(80,4))"
    by_mode = (make_layout(3, 4), make_layout(8, 2))
    assert str(cute.composition(make_layout((12, (4, 8)), (59, (13, 1))), by_mode)) == "(3,(2,4)):(236,(26,1))"
    rests = {
        "6:4": make_layout(4),
        "4:1": make_layout(6, 4),
        "1:0": make_layout((4, 6)),
        "(2,3):(1,8)": make_layout(4, 2),
    }
    rests |= {"3:2": make_layout((2, 4), (1, 6)), "(3,2):(2,12)": make_layout((2, 2), (1, 6))}
    for text, one in rests.items():
        assert str(cute.complement(one, 24)) == text
    divided = cute.logical_divide(make_layout((4, 2, 3), (2, 1, 8)), make_layout(4, 2))
    assert str(divided) == "((2,2),(2,3)):((4,1),(2,8))"
    tiler = (make_layout(3, 3), make_layout((2, 4), (1, 8)))
    one = make_layout((9, (4, 8)), (59, (13, 1)))
    assert str(cute.logical_divide(one, tiler)) == "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))"
    assert str(cute.zipped_divide(one, tiler)) == "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))"
    assert str(cute.logical_product(make_layout((2, 2), (4, 1)), make_layout(6))) == "((2,2),(2,3)):((4,1),(2,8))"
    several = cute.logical_product(make_layout((2, 2), (4, 1)), make_layout((4, 2), (2, 1)))
    assert str(several) == "((2,2),(4,2)):((4,1),(8,2))"
    assert (
        str(cute.blocked_product(make_layout((2, 5), (5, 1)), make_layout((3, 4)))) == "((2,3),(5,4)):((5,10),(1,30))"
    )
    assert str(cute.raked_product(make_layout((2, 5), (5, 1)), make_layout((3, 4)))) == "((3,2),(4,5)):((10,5),(30,1))"


def test_casts_slices_and_common_vectors() -> None:
    atom = parse_cute_layout("Sw<3,3,3> o (8,64):(64,1)")
    assert str(cute.recast(atom, 16, 8)) == "Sw<3,4,3> o (8,128):(128,1)"
    assert str(cute.recast(cute.recast(atom, 16, 128), 128, 16)) == str(atom)
    assert str(cute.upcast(make_layout((16, 4, 8), (1, 128, 1024)), 16)) == "(1,4,8):(1,8,64)"
    for one in (atom, cute.tile_to_shape(atom, (64, 128), (1, 0))):
        bytes_ = cute.recast(one, 16, 8)
        wide = np.array(sorted(set((np.array(one.list_indices()) // 8).tolist())))
        assert wide.tolist() == sorted(set(cute.recast(one, 16, 128).list_indices().tolist()))
        assert bytes_.size == 2 * one.size and sorted(bytes_.list_indices()) == list(range(bytes_.size))
    one = make_layout((4, (2, 3)), (6, (3, 1)))
    for coord, start in (((None, 3), 4), ((2, None), 12), ((None, (1, None)), 3), ((None, None), 0)):
        part, offset = cute.slice_and_offset(one, coord)
        assert_same(part, to_pycute(one)(*coord))
        assert offset == start
    row, offset = cute.slice_and_offset(atom, (3, None))
    assert offset == 0 and row.list_indices().tolist() == [atom((3, k)) for k in range(64)]
    assert cute.max_common_vector(make_layout((8, 4)), make_layout((8, 4), (1, 16))) == 8
    assert cute.max_common_vector(make_layout((8, 4), (4, 1)), make_layout((8, 4))) == 1
    rng = np.random.default_rng(19)
    for _ in range(300):
        a, b = make_random_layout(rng, 64), make_random_layout(rng, 64)
        try:
            count, common = cute.max_common_vector(a, b), cute.max_common_layout(a, b)
        except LayoutError:
            continue
        assert count == common.size and all(a(common(i)) == b(common(i)) == i for i in range(count))


@for_each(
    ("act", "why"),
    [
        (lambda: cute.composition(make_layout((4, 6), (1, 5)), make_layout(3, 6)), "4 does not divide 6"),
        (lambda: cute.composition(make_layout((6, 2), (1, 9)), make_layout(4, 2)), "3 does not divide 4"),
        (lambda: cute.composition(make_layout((7, 10), (1, 100)), make_layout(8, 2)), "2 does not divide 7"),
        (lambda: cute.complement(make_layout((4, 4), (1, 2)), 32), "Non-injective"),
        (lambda: cute.left_inverse(make_layout((2, 2), (2, 3))), "Left inverse divisibility"),
        (lambda: cute.upcast(make_layout(8, 3), 2), "neither of 3 and 2"),
        (lambda: cute.downcast(make_layout(8, 2), 2), "no mode has stride 1"),
        (lambda: cute.composition(make_layout(64), parse_cute_layout("Sw<3,3,3> o 64:1")), "ComposedLayout"),
        (lambda: cute.logical_divide(make_layout((4, 4)), (2, 2, 2)), "3 modes"),
        (lambda: cute.zipped_divide(make_layout((4, 4)), (2, None)), "is not a pair"),
        (lambda: cute.tile_to_shape(make_layout((8, 64)), (12, 64)), "does not divide the target"),
        (lambda: cute.slice_and_offset(make_layout((4, 4)), (None, (0, None))), "does not fit"),
    ],
)
def test_a_refusal_names_the_condition_that_fails(act: Any, why: str) -> None:
    with pytest.raises(LayoutError, match=why) as caught:
        act()
    assert caught.value.code == "not_admissible" and caught.value.hint


def test_every_printed_form_is_read_back() -> None:
    rng = np.random.default_rng(20)
    for number in range(400):
        one = make_random_layout(rng)
        if number % 3 == 0:
            one = CuteLayout(one.shape, one.stride, parse_cute_layout("Sw<2,3,3> o 8:1").swizzle, None, number % 2)
        for text in (
            str(one),
            format_cxx(one),
            format_python(one),
            re.sub(r"\d+(?![^<]*>)", r"_\g<0>", str(one)),  # static sizes
            format_cxx(one).replace("_", "cute::_") + "{}",
        ):
            assert parse_cute_layout(text) == one, text


@for_each(
    ("text", "means"),
    [
        ("make_layout(make_shape(Int<4>{}, _8{}), make_stride(_8{}, _1{}))", "(4,8):(8,1)"),
        ("make_layout(make_shape(4, 8), LayoutRight{})", "(4,8):(8,1)"),
        ("Layout<Shape<_4,_8>>", "(4,8):(1,4)"),
        ("Layout((4, 8), (8, 1))", "(4,8):(8,1)"),
        ("(2, 2, 1)", "(2,2,1):(1,2,4)"),
        ("_16", "16:1"),
        ("Layout<Shape<_2,Shape<_2,_2>>, Stride<_1,Stride<C<2*4>,Int<16>>>>{}", "(2,(2,2)):(1,(8,16))"),
        ("make_layout(Layout<_4,_1>{}, Layout<_2,_8>{})", "(4,2):(1,8)"),
        ("make_ordered_layout(Shape<_4,_8>{}, Step<_2,_1>{})", "(4,8):(8,1)"),
        ("composition(Swizzle<3,3,3>{}, Layout<Shape<_8,_64>,Stride<_64,_1>>{})", "Sw<3,3,3> o (8,64):(64,1)"),
        ("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)", "Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)"),
    ],
)
def test_spellings(text: str, means: str) -> None:
    assert str(parse_cute_layout(text)) == means


def test_tilers_and_coordinates() -> None:
    perm = "Tile<Layout<Shape<_4,_2,_4>,Stride<_1,_32,_8>>,Int<32>,Underscore>"
    for text in (
        perm,
        "((4,2,4):(1,32,8),32,_)",
        "[(4,2,4):(1,32,8), 32, None]",
        "(Layout<Shape<_4,_2,_4>,Stride<_1,_32,_8>>{}, _32{}, X)",
    ):
        assert cute.format_tiler(parse_tiler(text)) == "((4,2,4):(1,32,8),32,_)"
    assert parse_coordinate("(_,(1,_))") == (None, (1, None))


@for_each(
    ("text", "why"),
    [
        ("Layout<Shape<Int<kM>>>", "name 'kM'"),
        ("(4,8):(1", "ends before"),
        ("", "empty"),
        ("(4,8):(1)", "nested alike"),
        ("(4,0):(1,4)", "size of 0"),
        ("Tensor<_4>", "not a CuTe layout"),
        ("(4,8):(8,1) x", "goes on"),
        ("(" * 200, "deeper"),
        ("(4,_):(1,4)", "underscore"),
        ("99999999999:1", "more than"),
        ("Sw<3,4,3>", "is not a layout"),
        ("4:1 o 4:1", "composes"),
        ("smem_ptr[7b] o 8:1", "units of 7"),
        ("ComposedLayout<Layout<_4,_1>,Layout<_2,_8>>", "first is not a swizzle"),
        ("make_layout(4, 8, 1)", "more than a shape and a stride"),
        ("make_composed_layout(make_swizzle(3, 4, 2), 0, make_layout(8))", "not a swizzle of 32-bit"),
        ("Sw<3,4,3> o smem_ptr[16b] o 5 o (8,64):(64,1)", "offset 5"),
        ("smem_ptr[16b](0x400) o Sw<3,3,3> o 0 o (8,64):(64,1)", "composes"),  # its XOR is on elements, not on bytes
    ],
)
def test_an_error_says_why_a_text_is_no_layout(text: str, why: str) -> None:
    with pytest.raises(LayoutError, match=why.replace("(", r"\(")) as caught:
        parse_cute_layout(text)
    assert caught.value.code in ("bad_cute", "unknown_swizzle") and caught.value.hint and caught.value.field == "layout"
