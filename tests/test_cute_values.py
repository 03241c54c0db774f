"""CuTe's values are the same in an expression of the algebra, in a pasted text, in a source and in its threads."""

from __future__ import annotations

import pytest

from lanescope.cute.calls import evaluate_statements
from lanescope.cute.calls.functions import OpenCuteValueError, call_function
from lanescope.cute.layout import CuteLayout
from lanescope.cute.text import parse_tiler
from lanescope.cute.tuples import Symbol
from lanescope.errors import LayoutError
from lanescope.reader import recognise_text
from lanescope.reader.code.cute.cute_values import make_tensor_layout
from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.cute import shapes, smem_layouts
from lanescope.reader.grammars import terms
from lanescope.reader.threads.cute.tiled import CopyOperation, make_element_copy
from tests.cases import for_each


def evaluate_pasted(text: str, bits: int | None = None) -> str:
    home = terms.make_term_text(text)
    return str(shapes.evaluate_term(home, home.parse_term(0), bits))


def evaluate_source(text: str) -> str:
    """Return the layout of a tensor in shared memory that a kernel makes."""
    tensor = f"auto sA = make_tensor(make_smem_ptr(smem), {text}); auto tA = mma.partition_fragment_A(sA);"
    code = evaluate_text(
        "#include <cute/tensor.hpp>\nusing namespace cute;\n"
        "using Op = SM90_64x64x16_F32F16F16_SS<Major::K, Major::K>;\n"
        f"__global__ void f() {{ __shared__ half_t smem[8192]; {tensor} }}"
    )
    assert code is not None
    (call,) = (call.term for call in code.bodiless_calls if call.term.head == "make_tensor")
    return str(make_tensor_layout(call, code.text))


@for_each(
    "text,layout",
    [
        ("make_layout(Layout<_4,_1>{}, Layout<_2,_8>{})", "(4,2):(1,8)"),
        ("make_ordered_layout(Shape<_4,_8>{}, Step<_1,_0>{})", "(4,8):(8,1)"),
        ("composition(Layout<Shape<_6,_2>,Stride<_8,_2>>{}, make_layout(_4{}, _3{}))", "(2,2):(24,2)"),
        ("composition(Swizzle<3,3,3>{}, Layout<Shape<_8,_64>>{})", "Sw<3,3,3> o (8,64):(1,8)"),
        ("logical_divide(make_layout(_32{}), make_layout(_4{}, _2{}))", "(4,(2,4)):(2,(1,8))"),
    ],
)
def test_every_reader_computes_the_same_layout(text: str, layout: str) -> None:
    assert str(evaluate_statements(text)[-1].result) == layout
    assert evaluate_pasted(text) == layout
    assert evaluate_source(text) == layout


@for_each(
    "text,value",
    [
        ("make_layout(make_shape(kM, _8{}), make_stride(_8{}, _1{}))", "(kM,8):(8,1)"),
        ("make_layout(make_shape(kM, _8{}))", "(kM,8)"),
        ("make_ordered_layout(make_shape(_4{}, _8{}), order)", "(4,8)"),
        (
            "composition(Swizzle<3,3,3>{}, Layout<Shape<_8,K>,Stride<K,_1>>{})",
            "Sw<3,3,3> o (8,K):(K,1)",
        ),
        ("make_layout(Shape<_4,_8>{}, left)", "(4,8):left"),
    ],
)
def test_an_open_number_keeps_its_name(text: str, value: str) -> None:
    assert evaluate_pasted(text) == value


@for_each("text", ["logical_divide(make_layout(N), _4{})", "GMMA::Layout_K_SW128_Atom<T>{}", "composition(A, B)"])
def test_what_depends_on_an_open_number_is_open(text: str) -> None:
    with pytest.raises(OpenCuteValueError):
        evaluate_pasted(text)


def test_a_name_of_the_text_is_not_cutes() -> None:
    own = "template <class L> auto flatten(L l) { return make_layout(_4{}); } auto a = "
    home = terms.make_term_text(own + "flatten(Layout<Shape<_2,Shape<_2,_2>>>{});")
    term = home.parse_term(len(own))
    assert isinstance(shapes.evaluate_term(home, term), Symbol)
    text = "template <int X> struct A { using L = Layout<Shape<X, _8>>; };"
    home = terms.make_term_text(text)
    assert str(shapes.parse_layout(home, home.parse_term(text.index("Layout")))) == "(X,8)"


def test_a_shape_that_doubles_with_each_name_is_left_open() -> None:
    names = "".join(f"using A{n} = Shape<A{n - 1}, A{n - 1}>;" for n in range(1, 30))
    mma = "auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<A29>{});"
    meaning = recognise_text(f"using A0 = Shape<_1, _1>; {names} {mma}").found[0]
    assert (meaning.kind, "atom_layout" in meaning.undetermined) == ("tiled_mma", True)


def test_an_atom_of_an_open_type_takes_the_bits_of_its_instruction() -> None:
    assert evaluate_pasted("GMMA::Layout_K_SW128_Atom<T>{}", 8) == "Sw<3,4,3> o smem_ptr[8b](unset) o (8,128):(128,1)"


def test_strides_that_are_not_nested_like_the_shape_do_not_compile() -> None:
    with pytest.raises(LayoutError, match="not congruent"):
        call_function("make_layout", [(4, 8), 1])
    assert call_function("make_layout", [(4, Symbol("n")), (8, 1)]) == CuteLayout((4, Symbol("n")), (8, 1))


@for_each(
    "text",
    [
        "composition(Swizzle<B0,M0,S0>{}, Swizzle<B1,M1,S1>{})",
        "composition(Swizzle<B,3,3>{}, other)",
    ],
)
def test_a_composition_without_a_layout_is_no_storage(text: str) -> None:
    assert smem_layouts.recognise_smem_layouts(text) == ()


def test_what_is_open_of_a_composition_is_named_by_what_it_depends_on() -> None:
    text = "template <int D> struct A { static constexpr int k = D % 64 == 0 ? 3 : 2;\n"
    text += "using L = decltype(composition(Swizzle<k, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{})); };"
    (meaning,) = recognise_text(text).found
    assert meaning.undetermined == ("element_bits", "cute", "D")


def test_cp_async_that_bypasses_l1_has_16_bytes_only() -> None:
    name = "SM80_CP_ASYNC_CACHEGLOBAL"
    assert make_element_copy(CopyOperation(name, 64), 16) is None
    copy = make_element_copy(CopyOperation(name), 16)
    assert copy is not None
    assert copy.atom.bits == 128


def test_a_pointer_is_no_tiler() -> None:
    with pytest.raises(LayoutError, match="is not a tiler"):
        parse_tiler("smem_ptr_flag_bits<16>{}")
