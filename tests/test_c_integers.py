"""C's integers are those of g++: values, types and sizes of random expressions, and whatever the reader of code claims
to know of a value whose parameters are open.
"""

from __future__ import annotations

import pytest

from lanescope.cxx import integers as c_integers
from lanescope.cxx.expression import evaluate
from lanescope.cxx.integers import INT, LLONG, LONG, UINT, ULLONG, ULONG, IntegerType, type_named
from lanescope.cxx.sizes import ELEMENT_BITS, VECTORS, size_of
from lanescope.reader.code.word import (
    Int,
    Piece,
    add,
    compare,
    convert,
    free,
    merged,
    opaque,
    quotient,
    shifted,
    symbol,
)
from lanescope.reader.code.words import built_word
from lanescope.reader.grammar import Typed, computed
from tests import c_expressions, cpp

needs_compiler = pytest.mark.skipif(cpp.compiler() is None, reason=cpp.MISSING)


@needs_compiler
def test_constant_expressions_are_those_of_gcc() -> None:
    assert c_expressions.wrong_constants(800, seed=20261123) == []


@needs_compiler
def test_what_is_known_of_an_open_value_is_true_for_every_parameter() -> None:
    tally = c_expressions.wrong_claims(250, seed=20261124, each=8)
    assert tally.wrong == []
    assert tally.asked > 1200, "most of it can be judged"
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
    answers = c_expressions.compiled(bodies)
    mask = (1 << 64) - 1
    for name, answer in zip(names, answers, strict=False):
        kind = type_named(name)
        assert kind is not None and answer == (kind, kind.wrap(-1) & mask), name
    read = [*map(c_integers.character, characters), *map(c_integers.literal, literals)]
    for text, made, answer in zip((*characters, *literals), read, answers[len(names) :], strict=True):
        assert made is not None and answer == (made[1], made[0] & mask), text
    sizes = cpp.run(
        "#include <stddef.h>\n#include <cstdint>\n#include <cstdio>\nint main() {"
        + "".join(f'std::printf("%zu %zu ", sizeof({name}), alignof({name}));' for name in names)
        + "}"
    ).split()
    assert [int(n) for n in sizes] == [n for name in names for n in size_of(name) or ()]


def test_types_keep_their_identity() -> None:
    """uint64_t is unsigned long and no unsigned long long; the name in the text is kept for messages alone."""
    assert type_named("uint64_t") == type_named("unsigned long") == ULONG != ULLONG
    assert type_named("long") != type_named("long long") and c_integers.common(LONG, LLONG) == LLONG
    named = type_named("uint64_t")
    assert named is not None and named.written == "uint64_t"
    assert [type_named(text) for text in ("unsigned bool", "long char", "float", "long long long", "")] == [None] * 5


@pytest.mark.parametrize("text", ["08", "0x", "1lL", "1uu", "1''0", "'1", "18446744073709551616", "0b2", "1.5", "1e3"])
def test_what_is_no_integer_is_refused(text: str) -> None:
    assert c_integers.literal(text) is None


@pytest.mark.parametrize("text", ["''", "'", r"'\q'", "'abcde'", "'é'", "a"])
def test_what_is_no_character_is_refused(text: str) -> None:
    assert c_integers.character(text) is None


@pytest.mark.parametrize(
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
    made = c_integers.binary(op, left, INT, right, INT)
    assert made.undefined and made.defined is None and made.value == value


@pytest.mark.parametrize(
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
    assert size_of(name) == (size, align)
    if "int128" not in name:
        assert evaluate(f"sizeof({name}) + 0").word == size, "an expression"
        assert built_word(f"uint64_t d = sizeof({name}); return d;").word == size, "a declaration"


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


@pytest.mark.parametrize(("text", "word"), C_WORDS)
@pytest.mark.parametrize("name", ["desc", "d"])
def test_the_name_of_a_variable_decides_nothing(text: str, word: int, name: str) -> None:
    assert evaluate(text).word == word
    assert evaluate(f"uint64_t {name} = {text};").word == word
    for code in (
        f"uint64_t {name} = {text}; return {name};",
        f"uint64_t {name} = 0; {name} |= {text}; return {name};",
        f"__device__ uint64_t make() {{ uint64_t {name} = 0; {name} |= {text}; return {name}; }}",
    ):
        assert built_word(code).word == word


def test_template_arguments_are_computed_in_their_types() -> None:
    assert computed("/", -16, Typed(3, UINT), False) == (2**32 - 16) // 3
    assert (computed("%", 7, -4, False), computed("/", -7, 2, False), computed("%", -7, 4, True)) == (3, -3, 1)
    assert computed("*", 1 << 30, 4, False) is None, "int overflows: undefined"
    assert computed("*", 1 << 30, Typed(4, ULONG), False) == 1 << 32


# values of which bits are open ----------------------------------------------------------------------------------------

K, U, L = free("k", INT), free("u", UINT), free("x", ULONG)


def test_a_signed_symbol_takes_its_sign_along() -> None:
    wide = convert(K, ULONG)
    assert wide.pieces == (Piece(0, 64, symbol("k")),), "bits 32 to 63 are copies of its sign"
    assert convert(U, ULONG).pieces == (Piece(0, 32, symbol("u")),)
    assert shifted(K, -4).pieces == (Piece(0, 32, symbol("k"), 4),)
    assert quotient(K, Int(16)).pieces[0].source == symbol("(k / 16)"), "-1 / 16 is 0, and -1 >> 4 is not"
    assert quotient(U, Int(16)).pieces == (Piece(0, 28, symbol("u"), 4),)


def test_a_sum_of_bits_that_may_meet_is_no_or() -> None:
    cut = Int(0, ULONG, (Piece(0, 8, symbol("x")),))
    assert str(add(cut, Int(0x80, ULONG))) != str(add(cut, Int(0x100, ULONG)))
    assert add(cut, Int(0x100, ULONG)).const == 0x100
    assert add(cut, Int(0x80, ULONG)).const == 0


def test_an_address_grows_in_its_field() -> None:
    """(smem & 0x3FFFF) >> 4 and a step of 32 bytes: the start of the next slice, as every kernel counts."""
    desc = Int(1 << 62 | 64 << 32, ULONG, (Piece(0, 14, symbol("smem"), 4),))
    grown = add(desc, Int(2, INT))
    assert grown.const == desc.const and str(grown.pieces[0].source) == "smem + 32"
    assert [one.bits for one in grown.assumed] == [18, 18], "it rests on both being shared addresses"


def test_comparisons_do_not_take_what_may_wrap() -> None:
    assert compare("<", L, add(L, Int(1, ULONG))) is None, "x + 1 may be 0"
    assert compare("<", K, add(K, Int(1))) is True, "k + 1 of a signed k that does not fit is undefined"
    assert compare("==", L, L) is True and compare("<", U, Int(0, UINT)) is False
    assert compare("==", L, free("y", ULONG)) is None


def test_two_long_names_are_two_symbols() -> None:
    assert symbol("n" * 90 + "a") != symbol("n" * 90 + "b") and len(str(symbol("n" * 90))) <= 80
    assert opaque("a * b", UINT, U, U) != opaque("a * b", ULONG, U, U), "of 32 bits and of 64"


def test_a_choice_keeps_what_both_sides_have() -> None:
    yes = Int(1 << 62 | 1 << 16, ULONG, (Piece(10, 30, symbol("x")),))
    no = Int(1 << 62 | 2 << 16, ULONG, (Piece(10, 30, symbol("x")),))
    made = merged("c", yes, no)
    open_ = 0
    for piece in made.pieces:
        open_ |= piece.mask
    assert made.const == 1 << 62 and open_ >> 32 & 0xFF == 0xFF and not open_ >> 40


def test_a_bit_field_is_promoted_by_its_width() -> None:
    assert c_integers.promoted(IntegerType("unsigned long", 64, False, 4, 8, field_bits=14)) == INT
    struct = "struct F { uint64_t lo : 14, hi : 50; }; uint64_t f() { F d; d.lo = 9; return d.lo << 31; }"
    assert built_word(struct).word == (1 << 64) - (1 << 31), "int: bit 31 is its sign"


def test_an_enumeration_has_the_type_that_its_values_need() -> None:
    assert built_word("enum { A = 1ull << 40, B }; uint64_t f() { return B; }").word == (1 << 40) + 1
    assert built_word("enum E : uint64_t { A = 1 }; uint64_t f() { return A << 40; }").word == 1 << 40
