"""CuTe's values, calls of its algebra and constant C++ expressions: what each text gives or is refused with, held, and
what the same texts give with one thing changed.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from layouts import cutecalls, cutetext
from layouts.cute import CuteLayout
from layouts.errors import LayoutError
from layouts.expression import evaluate
from tests.held import held, held_sum, said
from tests.test_evaluated_held import edits

VALUES = (
    "(4,8):(8,1)", "8:1", "7", "(4,(2,8))", "_", "(_,3)", "[4, 8]", "(4,8):(8,(1))", "(0,4):(1,2)", "()", "", " ", "4:_", "(4,8)", "_4",
    "Layout<Shape<_4,_8>,Stride<_8,_1>>{}", "Layout<Shape<_4,Int<8>>>", "make_layout(make_shape(4, Int<8>{}), make_stride(8, 1))",
    "make_layout((4, 8), stride=(8, 1))", "cute.make_layout((4, 8), stride=(8, 1))", "make_layout(shape=(4, 8), stride=(8, 1))",
    "make_layout(4)", "make_layout(make_layout(4), make_layout(8))", "make_layout((4,8), LayoutRight{})", "make_layout((4,8), GenColMajor())",
    "Layout<Shape<_4,_8>, LayoutLeft>", "make_layout((4,8):(8,1))", "make_ordered_layout((4, 8), (1, 0))", "make_ordered_layout((4, 8), order=(1, 0))",
    "make_ordered_layout((4, (2, 8)), (1, (0, 2)))", "make_ordered_layout((4, 8), 1)", "make_ordered_layout((4, 8))", "make_layout()",
    "Sw<3,4,3> o (8,64):(64,1)", "Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)", "Swizzle<3,4,3> o _0 o (8,64):(64,1)", "S<0,4,3> o (8,8):(8,1)",
    "8 o (4,8):(8,1)", "Sw<3,4,3> o 8 o (8,64):(64,1)", "Sw<1,2,3> o Sw<3,4,3> o 8:1", "4 o 5 o 8:1", "(4,8):(8,1) o 4:1", "Sw<3,4,3>", "Sw<3,4>", "Sw<1,2,3,4>",
    "ComposedLayout<Swizzle<3,4,3>,_0,Layout<Shape<_8,_64>,Stride<_64,_1>>>", "composition(Swizzle<2,4,3>{}, Layout<Shape<_8,_32>,Stride<_32,_1>>{})",
    "composition((4,8):(8,1), 4:2)", "cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))",
    "make_composed_layout(inner=make_swizzle(3,4,3), offset=16, outer=(8,64):(64,1))", "make_swizzle(3, 4)", "Shape<_4,_8>", "Tile<_32,_,_16>",
    "make_shape(Int<4>{}, C<8>{})", "make_coord(1, _)", "integral_constant<int, 8>", "Int<>", "Int<4>{}()", "Constant<3>", "cute::Shape<cute::_4, cute::Int<8>>",
    "Int<4>{} * Int<8>{}", "(4 * 8, 2)", "4 * (2,3)", "2 * 3 * 4", "1'000", "99999999999", "4294967296", "kM", "kM<3>", "(4,8", "(4 8)", "4,8)", "(4,8):(8,1) 5", "4::1", "?", "(4,)",
    "Underscore", "X", "None", "(None, 3)", "tuple<_1,_2>", "((((1))))", "(" * 70 + "1" + ")" * 70, "1," * 2100, "(1,(2,(3,(4,5)))):(1,(2,(6,(24,96))))",
    "(4,8):(8,1)()", "Layout<Shape<_4>>(3)", "make_layout(make_shape(_2{}, _4{}))(1)", "smem_ptr[8b](0) o 8:1", "smem_ptr o 8:1", "ptr[16b] o 4:1",
)  # fmt: skip
CALLS = (
    "logical_divide((4,2,3):(2,1,8), 4:2)", "composition((6,2):(8,2), (4,3):(3,1))", "(6,2):(8,2) o (4,3):(3,1)", "complement(4:2, 24)", "complement(4:2)", "complement((2,2):(1,6), (24))",
    "complement(4:2, 4:1)", "coalesce((2,(1,6)):(1,(6,2)))", "coalesce((2,4):(1,2), (1,1))", "coalesce(4:2)", "coalesce((2,4):(1,4), (2,4):(1,2))", "filter((4,1,2):(0,3,1))", "filter(4:0)", "flatten((4,(2,3)):(1,(4,8)))",
    "logical_divide((8,8):(8,1), (4:1, 2:4))", "logical_divide(16:1, 4)", "zipped_divide((8,8):(8,1), (4, 2))", "tiled_divide((8,8):(8,1), (4, 2))", "flat_divide((8,8):(8,1), (4, 2))", "zipped_divide((8,8):(8,1), (4, _))",
    "logical_product(4:1, 3:1)", "logical_product((2,2):(4,1), 6:1)", "zipped_product((2,2):(4,1), 6)", "tiled_product((2,2):(4,1), 6:1)", "flat_product((2,2):(4,1), 6:1)", "blocked_product((2,5):(5,1), (3,4):(1,3))",
    "raked_product((2,5):(5,1), (3,4):(1,3))", "right_inverse((4,8):(8,1))", "left_inverse((4,8):(8,1))", "left_inverse(4:0)", "left_inverse((4,2):(1,8))", "nullspace((4,2):(0,1))", "max_common_layout((4,8):(8,1), 4:1)", "max_common_vector((4,8):(1,4), (4,8):(1,8))",
    "upcast<2>((4,8):(8,1))", "upcast((4,8):(1,4), 2)", "downcast<2>((4,8):(8,1))", "upcast<0>(4:1)", "with_shape(8:1, (2,4))", "with_shape((4,2):(2,1), 8)", "tile_to_shape((8,8):(8,1), (16,16))", "tile_to_shape((8,8):(8,1), (16,16), (1,0))",
    "size((4,8):(8,1))", "cosize((4,8):(8,1))", "rank((4,(2,8)))", "depth((4,(2,8)))", "shape((4,8):(8,1))", "stride((4,8):(8,1))", "size(4)", "rank(4:1)", "inverse(4:1)", "compose(4:1, 2:1)", "divide(8:1, 2)",
    "(4,8):(8,1)", "a = (4,8):(8,1); composition(a, 4:2)", "auto a = Layout<Shape<_4>>{}; size(a)", "a = 4:1\nb = logical_divide(16:1, a)\nsize(b)", "a = 4:1", "size = 4:1", "b", "a = 4:1; a = 8:1; size(a)",
    "logical_divide(zipped_divide((8,8):(8,1), (4,2)), 2)", "composition(composition(16:1, 8:2), 4:2)", "composition(8:1, (4:1, 2:1))", "composition((4,8):(8,1), (2:1, 4:2))", "composition((4,8):(8,1), (2, _))", "composition(Sw<3,4,3> o (8,64):(64,1), 8:1)",
    "(4,8):(8,1)(3)", "((4,8):(8,1))(1, 2)", "(4,8):(8,1)(1, _)", "(4,8):(8,1)(_, 2)", "((4,(2,2)):(8,(1,2)))(1, (_, 1))", "(4,8):(8,1)(9, 9)", "(4,8):(8,1)(1,2,3)", "slice((1,_), (4,8):(8,1))", "slice(_, 4:1)", "slice(1)", "slice(4:1, 4:1)",
    "(Sw<3,4,3> o (8,64):(64,1))(3, 5)", "(Sw<3,4,3> o (8,64):(64,1))(3, _)", "(4 o 8:1)(3)", "logical_divide(4:1)", "size()", "size(1, 2)", "logical_divide(3, 4, 5)", "upcast(4:1, (2,2))", "blocked_product(4:1, _)", "complement(4:1, _)", "logical_divide(4:1, Sw<1,2,3>)",
    "nothing(4:1)", "logical_devide(4:1, 2)", "zipped_produkt(4:1, 2)", "size(99999:1)", "99999:1", "complement((4,4):(1,3), 24)", "logical_divide(10:1, 4:3)", "composition(10:1, 4:3)", "composition((4,6):(1,10), 5:1)", "logical_divide((6,2):(1,7), 4:1)", "zipped_divide((6,2):(1,7), (4, 2))",
    "", ";", "// nothing", "4:1 // x\n8:1 # y", "4", "(4,8)", "_", "Sw<3,4,3>", "a = 4", "a = 4; complement(2:1, a)", "right_inverse((4,8):(0,1))", "coalesce(1:0)", "coalesce((1,1):(0,0))", "size(" * 66 + "4:1" + ")" * 66, "4:1;" * 70, "size(4:1", "(4,8):(8,1)(_)", "(4,8):(8,1)()", "x" * 5000,
)  # fmt: skip
CONSTANTS = (
    "1", "-1", "+1", "~0", "!3", "!0", "1 + 2 * 3", "(1 + 2) * 3", "7 / 2", "-7 / 2", "7 % 4", "-7 % 4", "1 / 0", "1 % 0", "0 ? 1 / 0 : 5", "1 ? 5 : 1 % 0", "0 && 1 / 0", "1 || 1 / 0", "1 << 62", "1 << 31", "1 << 32", "1ull << 62", "1ull << 64", "1 << -1", "8 >> 1", "-8 >> 1", "8u >> 33", "1 >> 32",
    "1 < 2", "2 > 1", "1 <= 1", "1 >= 2", "1 == 1", "1 != 1", "1 && 0", "1 || 0", "6 & 3", "6 | 3", "6 ^ 3", "1 ? 2 : 3", "0 ? 2 : 3ull", "2147483647 + 1", "4294967295u + 1", "0xFFFFFFFF + 1", "65536 * 65536", "-2147483648 - 1", "0 - 1u", "(int)0xFFFFFFFF", "(unsigned)-1", "(uint64_t)-1", "(uint64_t)1 << 62 | 0x100",
    "static_cast<uint64_t>(1) << 40", "uint64_t(1) << 40", "(unsigned long long)1 << 40", "(long unsigned int)5", "(unsigned char)300", "(short)40000", "(bool)4", "bool(0)", "true", "false", "true + true", "sizeof(int)", "sizeof(half)", "sizeof(uint64_t)", "sizeof(unsigned char)", "sizeof(bool)", "sizeof(cute::half_t)", "sizeof(x)", "sizeof(float)", "sizeof(__nv_bfloat16)",
    "0x10", "0X1F", "010", "08", "0b101", "1'000", "10u", "10l", "10ul", "10ull", "10LLU", "10z", "1.5", "0x", "18446744073709551615", "18446744073709551616", "9223372036854775808", "0xFFFFFFFFFFFFFFFFF", "12abc", "1u8", "uint64_t d = 1 << 4", "const auto d = 3;", "auto x = 5", "float x = 3", "x = 5", "int x = 0x1FFFFFFFF", "unsigned desc = 1ull << 40",
    "constexpr uint32_t k = 1 << 31;", "uint16_t s = 70000", "int8_t c = 200", "bool b = 7", "x", "f(3)", "1 +", "(1", "1)", "1 2", "", " ", ";", "1;", "1; 2", "()", "(int)", "(int)(3)", "(foo)3", "static_cast<int>(3", "static_cast<foo>(3)", "static_cast<int> 3", "sizeof 3", "sizeof(int", "- -1", "!!5", "~~5", "-(-3)", "1 ? 2", "1 ? 2 : ", "1 ? 0 ? 3 : 4 : 5",
    "(" * 70 + "1" + ")" * 70, "1+" * 2100 + "1", "1 // comment", "1 /* c */ + 2", "a::b", "std::uint32_t(7)", "cuda::std::uint64_t(7) << 40", "(std::size_t)3 << 33", "reinterpret_cast<int>(3)", "const_cast<int>(3)", "1 << 40u", "1u << 31 << 1", "(1 << 31) >> 31", "0x80000000 >> 31", "5 % -3", "-5 / -2", "1 and 2", "not 1", "1 , 2", "1 = 2", "@", "\"a\"", "'a'", "1 <=> 2",
    "((uint64_t)64 << 32) | ((uint64_t)1 << 16) | 0x4000000000000000", "64 << 32 | 1 << 16", "int64_t(-1) >> 60", "uint64_t(-1) >> 60", "(int)2147483648u", "(uint32_t)(1ull << 32)", "1ull - 2", "3 - 5u > 0", "-1 < 0u", "-1l < 0u", "-1 < 0ul", "__device__ static const unsigned long long desc = 0x1ull << 62;", "volatile int v = 3", "inline constexpr auto z = 1 << 20",
)  # fmt: skip


def value(text: str) -> str:
    """What is read, and how it is written in C++, in Python and as CuTe prints it."""
    found = cutetext.read(text)
    out = [said(found)]
    for read in (cutetext.read_layout, cutetext.read_tiler, cutetext.read_coordinate):
        try:
            one = read(text)
        except LayoutError as error:
            out.append(f"{error.field}: {error}")
            continue
        out.append(cutetext.cxx_tiler(one) if read is cutetext.read_tiler else str(one))
        if isinstance(one, CuteLayout):
            out += [cutetext.cxx(one), cutetext.python(one), cutetext.static(one)]
    return "\n  ".join(out)


def constant(text: str) -> str:
    found = evaluate(text)
    return f"{found.word:#x} {found.type} {' '.join(f'{note.code} {note.text}' for note in found.warnings)}"


def stepped(text: str) -> str:
    return "\n  ".join(said(step) for step in cutecalls.steps(text))


TEXTS: dict[str, tuple[Callable[[str], str], tuple[str, ...]]] = {
    "values": (value, VALUES),
    "calls": (stepped, CALLS),
    "constants": (constant, CONSTANTS),
}


def answer(read: Callable[[str], str], text: str) -> str:
    try:
        return read(text)
    except LayoutError as error:
        return f"{error.code} {error.field}: {error.message} | {error.hint}"


@pytest.mark.parametrize("name", TEXTS)
def test_what_a_text_gives_or_is_refused_with(name: str) -> None:
    read, texts = TEXTS[name]
    lines = [f"{text if len(text) < 200 else text[:40] + '…'}\n  {answer(read, text)}" for text in texts]
    held(f"written_{name}", "\n".join(lines) + "\n")


@pytest.mark.parametrize("name", TEXTS)
def test_texts_with_one_thing_changed_give_what_they_gave(name: str) -> None:
    read, texts = TEXTS[name]
    short = [text for text in texts if text.strip() and len(text) < 200]
    out = [answer(read, one) for text in short for one in edits(text, text, 8)]
    held_sum("evaluated", f"{name}, changed", "\n".join(out))
