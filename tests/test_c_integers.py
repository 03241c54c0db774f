"""C's integers are those of g++: values, types and sizes of random expressions, and whatever the reader of code claims
to know of a value whose parameters are open.
"""

from __future__ import annotations

import pytest

from lanescope.cxx import integers as c_integers
from lanescope.cxx.expression import evaluate_constant
from lanescope.cxx.integers import INT, LLONG, LONG, UINT, ULLONG, ULONG, IntegerType, find_integer_type
from lanescope.cxx.literals import parse_character, parse_literal
from lanescope.cxx.sizes import ELEMENT_BITS, VECTORS, find_size
from lanescope.reader.code.descriptors.code_words import build_word
from lanescope.reader.code.symbolic_integers import (
    SymbolBits,
    SymbolicInt,
    add_ints,
    compare_ints,
    convert_int,
    divide_ints,
    make_free,
    make_opaque,
    make_symbol,
    merge_ints,
    shift_int,
)
from lanescope.reader.grammars.grammar import TypedInteger, compute_integer
from tests import c_expressions, cpp
from tests.cases import for_each
from tests.sample import choose_count

needs_compiler = pytest.mark.skipif(cpp.find_compiler() is None, reason=cpp.MISSING)


@needs_compiler
def test_constant_expressions_are_those_of_gcc() -> None:
    assert c_expressions.find_wrong_constants(choose_count(800, 150), seed=20261123) == []


@pytest.mark.thorough
@needs_compiler
def test_what_is_known_of_an_open_value_is_true_for_every_parameter() -> None:
    count = choose_count(250, 50)
    tally = c_expressions.find_wrong_claims(count, seed=20261124, each=8)
    assert tally.wrong == []
    assert tally.asked > 4.8 * count, "most of it can be judged"
    assert tally.resting < tally.asked / 20, "little rests on what is taken for granted"
    assert tally.known > 0.7 * tally.bits, "unknown is no way out"


@needs_compiler
def test_types_sizes_and_characters_are_those_of_gcc() -> None:
    spelled = (
        *c_integers.TYPEDEFS,
        "long unsigned int",
        "short int",
        "signed",
        "long long unsigned",
        "char",
        "wchar_t",
    )
    own = {
        "CUdeviceptr",
        "cuuint32_t",
        "cuuint64_t",
        "uchar",
        "byte",
        "u8",
        "u16",
        "u32",
        "u64",
        "i32",
        "i64",
        "uint32",
        "uint64",
        "uint",
        "ulong",
        "ushort",
        "ssize_t",
        "__int128_t",
        "__uint128_t",
    }
    names = [name for name in spelled if name not in own]
    characters = [
        r"'a'",
        r"'\n'",
        r"'\x41'",
        r"'\0'",
        r"'\377'",
        r"'\''",
        r"'\\'",
        "'ab'",
        "u'a'",
        "U'a'",
        "L'a'",
        "u8'a'",
    ]
    literals = [
        "0",
        "2147483648",
        "0x80000000",
        "0xFFFFFFFFFFFFFFFF",
        "1u",
        "4294967296u",
        "1l",
        "1ul",
        "1ll",
        "1LLU",
        "0777",
        "0b101",
        "1'000'000",
        "9223372036854775807",
    ]
    bodies = [f"tell([] {{ return ({name})-1; }});" for name in names]
    bodies += [f"tell([] {{ return {one}; }});" for one in (*characters, *literals)]
    answers = c_expressions.compile_and_run(bodies)
    mask = (1 << 64) - 1
    for name, answer in zip(names, answers, strict=False):
        kind = find_integer_type(name)
        assert kind is not None and answer == (kind, kind.wrap(-1) & mask), name
    read = [*map(parse_character, characters), *map(parse_literal, literals)]
    for text, made, answer in zip((*characters, *literals), read, answers[len(names) :], strict=True):
        assert made is not None and answer == (made[1], made[0] & mask), text
    sizes = cpp.build_and_run(
        "#include <stddef.h>\n#include <cstdint>\n#include <cstdio>\nint main() {"
        + "".join(f'std::printf("%zu %zu ", sizeof({name}), alignof({name}));' for name in names)
        + "}"
    ).split()
    assert [int(n) for n in sizes] == [n for name in names for n in find_size(name) or ()]


def test_types_keep_their_identity() -> None:
    """uint64_t is unsigned long and no unsigned long long; the name in the text is kept for messages alone."""
    assert find_integer_type("uint64_t") == find_integer_type("unsigned long") == ULONG != ULLONG
    assert (
        find_integer_type("long") != find_integer_type("long long")
        and c_integers.find_common_type(LONG, LLONG) == LLONG
    )
    named = find_integer_type("uint64_t")
    assert named is not None and named.written == "uint64_t"
    assert [find_integer_type(text) for text in ("unsigned bool", "long char", "float", "long long long", "")] == [
        None
    ] * 5


@for_each("text", ["08", "0x", "1lL", "1uu", "1''0", "'1", "18446744073709551616", "0b2", "1.5", "1e3"])
def test_what_is_no_integer_is_refused(text: str) -> None:
    assert parse_literal(text) is None


@for_each("text", ["''", "'", r"'\q'", "'abcde'", "'é'", "a"])
def test_what_is_no_character_is_refused(text: str) -> None:
    assert parse_character(text) is None


@for_each(
    ("op", "left", "right", "value"),
    [
        ("/", 1, 0, None),
        ("%", 1, 0, None),
        ("/", -(1 << 31), -1, None),
        ("%", -(1 << 31), -1, None),
        ("<<", 1, 32, 0),
        ("<<", 1, -1, 0),
        (">>", -8, 40, -1),
        ("+", (1 << 31) - 1, 1, -(1 << 31)),
    ],
)
def test_what_is_undefined_says_so_and_gives_what_the_device_computes(
    op: str, left: int, right: int, value: int | None
) -> None:
    made = c_integers.compute_binary(op, left, INT, right, INT)
    assert made.undefined and made.defined is None and made.value == value


@for_each(
    ("name", "size", "align"),
    [
        ("float4", 16, 16),
        ("int2", 8, 8),
        ("uint4", 16, 16),
        ("double2", 16, 16),
        ("ulonglong2", 16, 16),
        ("dim3", 12, 4),
        ("float3", 12, 4),
        ("uchar4", 4, 4),
        ("short2", 4, 4),
        ("long2", 16, 16),
        ("double4", 32, 16),
        ("__half", 2, 2),
        ("__half2", 4, 4),
        ("__nv_bfloat16", 2, 2),
        ("__nv_fp8_e4m3", 1, 1),
        ("__nv_fp4_e2m1", 1, 1),
        ("bool", 1, 1),
        ("float", 4, 4),
        ("std::size_t", 8, 8),
        ("__nv_fp8x4_e4m3", 4, 4),
        ("__int128", 16, 16),
    ],
)
def test_sizes_of_cuda(name: str, size: int, align: int) -> None:
    """CUDA C++ Programming Guide, table of alignments; cuda_fp16.h and its like."""
    assert find_size(name) == (size, align)
    if "int128" not in name:
        assert evaluate_constant(f"sizeof({name}) + 0").word == size, "an expression"
        assert build_word(f"uint64_t d = sizeof({name}); return d;").word == size, "a declaration"


def test_elements_and_vectors_are_of_one_table() -> None:
    assert {
        name: bits for name, bits in ELEMENT_BITS.items() if name in VECTORS and bits != VECTORS[name].bytes * 8
    } == {}


# the same answer through every door -----------------------------------------------------------------------------------

C_WORDS = [
    ("(128 == 128 ? 1 : 64 == 64 ? 2 : 3ull) << 62", 1 << 62),
    ("(uint64_t)((-16 / 3u) & 0x3FFF) << 16 | 1", 0x1550 << 16 | 1),
    ("(uint64_t)(-1 % 64u) << 16", 63 << 16),
    ("(uint64_t)(7 % -4) << 16", 3 << 16),
    ("(uint64_t)sizeof(float4) << 32", 16 << 32),
    ("(uint64_t)(-1 / 2u) << 1", 0x7FFFFFFF << 1),
    ("(true ? -1 : 0u) | 0ull", 0xFFFFFFFF),
    ("(uint64_t)(-8 >> 1)", (1 << 64) - 4),
]


@for_each(("text", "word"), C_WORDS)
@for_each("name", ["desc", "d"])
def test_the_name_of_a_variable_decides_nothing(text: str, word: int, name: str) -> None:
    assert evaluate_constant(text).word == word
    assert evaluate_constant(f"uint64_t {name} = {text};").word == word
    for code in (
        f"uint64_t {name} = {text}; return {name};",
        f"uint64_t {name} = 0; {name} |= {text}; return {name};",
        f"__device__ uint64_t make() {{ uint64_t {name} = 0; {name} |= {text}; return {name}; }}",
    ):
        assert build_word(code).word == word


def test_template_arguments_are_computed_in_their_types() -> None:
    assert compute_integer("/", -16, TypedInteger(3, UINT), False) == (2**32 - 16) // 3
    assert (
        compute_integer("%", 7, -4, False),
        compute_integer("/", -7, 2, False),
        compute_integer("%", -7, 4, True),
    ) == (3, -3, 1)
    assert compute_integer("*", 1 << 30, 4, False) is None, "int overflows: undefined"
    assert compute_integer("*", 1 << 30, TypedInteger(4, ULONG), False) == 1 << 32


# values of which bits are open ----------------------------------------------------------------------------------------

K, U, L = make_free("k", INT), make_free("u", UINT), make_free("x", ULONG)


def test_a_signed_symbol_takes_its_sign_along() -> None:
    wide = convert_int(K, ULONG)
    assert wide.pieces == (SymbolBits(0, 64, make_symbol("k")),), "bits 32 to 63 are copies of its sign"
    assert convert_int(U, ULONG).pieces == (SymbolBits(0, 32, make_symbol("u")),)
    assert shift_int(K, -4).pieces == (SymbolBits(0, 32, make_symbol("k"), 4),)
    assert divide_ints(K, SymbolicInt(16)).pieces[0].source == make_symbol("(k / 16)"), (
        "-1 / 16 is 0, and -1 >> 4 is not"
    )
    assert divide_ints(U, SymbolicInt(16)).pieces == (SymbolBits(0, 28, make_symbol("u"), 4),)


def test_a_sum_of_bits_that_may_meet_is_no_or() -> None:
    cut = SymbolicInt(0, ULONG, (SymbolBits(0, 8, make_symbol("x")),))
    assert str(add_ints(cut, SymbolicInt(0x80, ULONG))) != str(add_ints(cut, SymbolicInt(0x100, ULONG)))
    assert add_ints(cut, SymbolicInt(0x100, ULONG)).const == 0x100
    assert add_ints(cut, SymbolicInt(0x80, ULONG)).const == 0


def test_an_address_grows_in_its_field() -> None:
    """(smem & 0x3FFFF) >> 4 and a step of 32 bytes: the start of the next slice, as every kernel counts."""
    desc = SymbolicInt(1 << 62 | 64 << 32, ULONG, (SymbolBits(0, 14, make_symbol("smem"), 4),))
    grown = add_ints(desc, SymbolicInt(2, INT))
    assert grown.const == desc.const and str(grown.pieces[0].source) == "smem + 32"
    assert [one.bits for one in grown.assumed] == [18, 18], "it rests on both being shared addresses"


def test_comparisons_do_not_take_what_may_wrap() -> None:
    assert compare_ints("<", L, add_ints(L, SymbolicInt(1, ULONG))) is None, "x + 1 may be 0"
    assert compare_ints("<", K, add_ints(K, SymbolicInt(1))) is True, (
        "k + 1 of a signed k that does not fit is undefined"
    )
    assert compare_ints("==", L, L) is True and compare_ints("<", U, SymbolicInt(0, UINT)) is False
    assert compare_ints("==", L, make_free("y", ULONG)) is None


def test_two_long_names_are_two_symbols() -> None:
    assert make_symbol("n" * 170 + "a") != make_symbol("n" * 170 + "b") and len(str(make_symbol("n" * 170))) <= 160
    assert make_opaque("a * b", UINT, U, U) != make_opaque("a * b", ULONG, U, U), "of 32 bits and of 64"


def test_a_choice_keeps_what_both_sides_have() -> None:
    yes = SymbolicInt(1 << 62 | 1 << 16, ULONG, (SymbolBits(10, 30, make_symbol("x")),))
    no = SymbolicInt(1 << 62 | 2 << 16, ULONG, (SymbolBits(10, 30, make_symbol("x")),))
    made = merge_ints("c", yes, no)
    open_ = 0
    for piece in made.pieces:
        open_ |= piece.mask
    assert made.const == 1 << 62 and open_ >> 32 & 0xFF == 0xFF and not open_ >> 40


def test_a_bit_field_is_promoted_by_its_width() -> None:
    assert c_integers.promote(IntegerType("unsigned long", 64, False, 4, 8, field_bits=14)) == INT
    struct = "struct F { uint64_t lo : 14, hi : 50; }; uint64_t f() { F d; d.lo = 9; return d.lo << 31; }"
    assert build_word(struct).word == (1 << 64) - (1 << 31), "int: bit 31 is its sign"


def test_an_enumeration_has_the_type_that_its_values_need() -> None:
    assert build_word("enum { A = 1ull << 40, B }; uint64_t f() { return B; }").word == (1 << 40) + 1
    assert build_word("enum E : uint64_t { A = 1 }; uint64_t f() { return A << 40; }").word == 1 << 40


def test_a_common_type_is_spelled_as_the_operand_it_is() -> None:
    """Whatever was computed before: types that differ in their spelling alone are equal."""
    words = ("unsigned int", "uint32_t", "unsigned int")
    spelled = [c_integers.find_common_type(find_integer_type(one), INT).written for one in words]  # type: ignore[arg-type]
    assert spelled == ["", "uint32_t", ""]
