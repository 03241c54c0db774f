"""Constant expressions mean what C++ means: against NVRTC, which folds them itself, and against values computed by
hand.
"""

from __future__ import annotations

import random
import re

import pytest

from lanescope.cxx.expression import DEEPEST, LONGEST, evaluate_constant
from lanescope.errors import LayoutError
from tests.cases import for_each
from tests.ptxas import nvrtc

TYPES = (
    "int",
    "unsigned",
    "long long",
    "unsigned long long",
    "uint64_t",
    "uint32_t",
    "int32_t",
    "short",
    "unsigned char",
    "bool",
)
LITERALS = (
    "0",
    "1",
    "7",
    "010",
    "0x10",
    "255",
    "1024",
    "65535",
    "0x7FFFFFFF",
    "0x80000000",
    "0xFFFFFFFF",
    "2147483648",
    "4294967296",
    "0x100000000",
    "1u",
    "16u",
    "1ul",
    "3ull",
    "64ll",
    "0b1011",
    "1'000",
    "0xFFFFu",
    "true",
    "false",
    "0x8000000000000000",
)
BINARY = ("+", "-", "*", "/", "%", "&", "|", "^", "==", "!=", "<", ">", "<=", ">=", "&&", "||")


def make_expression(pick: random.Random, depth: int) -> str:
    """An expression without blanks of its own parentheses where precedence decides; shift counts stay below 32."""
    if not depth:
        return pick.choice(LITERALS)

    def inner() -> str:
        return make_expression(pick, depth - 1)

    form = pick.randrange(10)
    if form < 5:
        return f"{inner()} {pick.choice(BINARY)} {inner()}"
    if form == 5:
        return f"(({inner()}) {pick.choice(('<<', '>>'))} {pick.randrange(32)})"
    if form == 6:
        return f"({pick.choice(TYPES)})({inner()})"
    if form == 7:
        return f"static_cast<{pick.choice(TYPES)}>({inner()})"
    if form == 8:
        return f"{pick.choice('-~!+')}({inner()})"
    return f"({inner()} ? {inner()} : {inner()})"


@pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
def test_random_expressions_equal_nvrtc() -> None:
    pick = random.Random(20261121)
    known: dict[str, int] = {}
    while len(known) < 400:
        text = make_expression(pick, pick.randrange(1, 5))
        try:
            value = evaluate_constant(text)
        except LayoutError as error:
            assert "divides by zero" in error.message
            continue
        known[text] = value.word
    names = "typedef unsigned long long uint64_t; typedef unsigned uint32_t; typedef int int32_t;\n"
    lines = [f"__device__ unsigned long long r{number} = {text};" for number, text in enumerate(known)]
    _, log = nvrtc.compile_ptx(names + "\n".join(lines), "sm_90a")
    # From 13.5 on, NVRTC folds no signed product or sum that overflows.
    overflows = [int(line) - 2 for line in re.findall(r"\((\d+)\): error: dynamic initialization", log)]
    assert len(overflows) < 8 and log.count("): error: ") == len(overflows)
    known = {text: word for number, (text, word) in enumerate(known.items()) if number not in overflows}
    lines = [f"__device__ unsigned long long r{number} = {text};" for number, text in enumerate(known)]
    ptx, log = nvrtc.compile_ptx(names + "\n".join(lines), "sm_90a")
    assert "error" not in log
    folded = {int(number): int(value) for number, value in re.findall(r"\.u64 r(\d+) = (-?\d+);", ptx)}
    zero = {int(number) for number in re.findall(r"\.u64 r(\d+);", ptx)}
    assert len(folded) + len(zero) == len(known)
    for number, (text, word) in enumerate(known.items()):
        assert word == folded.get(number, 0) % (1 << 64), text


@pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
def test_a_shift_of_an_int_is_32_bits_wide_on_the_device() -> None:
    """The PTX that stands behind the value of `1 << 62`: shl.b32, whose amount is clamped, then sign extension."""
    ptx, _ = nvrtc.compile_ptx(
        'extern "C" __global__ void k(unsigned long long* out, int n) { *out = 1 << n; }', "sm_90a"
    )
    assert "shl.b32" in ptx and "cvt.s64.s32" in ptx and "shl.b64" not in ptx


@for_each(
    ("text", "word"),
    [
        ("(uint64_t)(int)0x80000000", 0xFFFFFFFF80000000),
        ("(uint64_t)0x80000000", 0x80000000),
        ("0x80000000", 0x80000000),
        ("-1", 2**64 - 1),
        ("~0u", 2**32 - 1),
        ("3 & 2 == 2", 1),
        ("1 + 2 << 3", 24),
        ("1 << 2 + 3", 32),
        ("8 | 4 ^ 4 & 1", 12),
        ("-7 % 3 + 5 / -2", 2**64 - 3),
        ("010 + 8", 16),
        ("0b11", 3),
        ("4'096", 4096),
        ("7 // 2\n + 1", 8),
        ("7 /* two */ / 2", 3),
        ("0 && 1 / 0", 0),
        ("1 || 1 / 0", 1),
        ("1 ? 2 : 1 / 0", 2),
        ("0 ? 1 : 0 ? 2 : 3", 3),
        ("uint64_t(1) << 62", 1 << 62),
        ("std::uint64_t{1} << 62", 1 << 62),
        ("static_cast<unsigned long long>(1) << 62", 1 << 62),
        ("(unsigned long)1 << 62", 1 << 62),
        ("64 * sizeof(half)", 128),
        ("sizeof(unsigned short) + sizeof(float)", 6),
        ("(short)70000", 4464),
        ("(bool)64", 1),
        ("9223372036854775808", 1 << 63),
        ("18446744073709551615", 2**64 - 1),
        ("constexpr uint64_t desc = 0x4000004000010100ull;", 0x4000004000010100),
        ("auto d = 5u - 6u;", 2**32 - 1),
        (
            "(uint64_t)1 << 62 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)(16 >> 4) << 16 | 0x1000 >> 4",
            0x4000004000010100,
        ),
        ("1z", 1),
        ("2uz", 2),
    ],
)
def test_values(text: str, word: int) -> None:
    value = evaluate_constant(text)
    assert (value.word, value.warnings) == (word, ())


@for_each(
    ("text", "word", "code", "wide"),
    [
        ("1 << 62 | 0x100", 0x100, "shifts_of_32_bits", 1 << 62 | 0x100),
        ("1 << 46", 0, "shifts_of_32_bits", 1 << 46),
        ("(uint32_t)64 << 32 | 0x10", 0x10, "shifts_of_32_bits", 64 << 32 | 0x10),
        ("64u << 30", 0, "shifts_of_32_bits", 64 << 30),
        ("0x40 << 26", 0, "shifts_of_32_bits", 1 << 32),
        ("1 << 31", 0xFFFFFFFF80000000, "sign_extended", 1 << 31),
        ("(3 << 30) | 1ull << 62", 0xFFFFFFFFC0000000, "sign_extended", 1 << 62 | 3 << 30),
        ("65536 * 65536", 0, "overflow_of_32_bits", 1 << 32),
        ("0xFFFFFFFF + 1", 0, "overflow_of_32_bits", 1 << 32),
        ("uint64_t desc = 1 << 62;", 0, "shifts_of_32_bits", 1 << 62),
    ],
)
def test_what_32_bits_lose_is_told_with_the_word_that_64_give(text: str, word: int, code: str, wide: int) -> None:
    value = evaluate_constant(text)
    assert value.word == word and (value.warnings[0].code, value.warnings[0].word) == (code, wide)
    assert "64 bits wide" in value.warnings[0].message


@for_each(
    "text",
    ["(uint32_t)(1 << 31)", "1 << 31 | 0u", "0 ? 1 << 62 : 5", "1u << 31", "(uint64_t)1 << 46", "(1 << 31) >> 31 & 1"],
)
def test_shifts_that_lose_nothing_are_not_told(text: str) -> None:
    assert evaluate_constant(text).warnings == ()


@for_each(
    ("text", "why"),
    [
        ("", "a value is missing"),
        ("   ", "a value is missing"),
        ("()", "')' was found where"),
        ("(1", "')' is missing"),
        ("1)", "')' follows"),
        ("1 2", "'2' follows"),
        ("2**3", "'*' was found where"),
        ("7//2/", ""),
        ("--1", "'--' was found where"),
        ("1 ++ 2", "follows"),
        ("08", "octal"),
        ("1lL", "not an integer"),
        ("0x", "not an integer"),
        ("1.5", "no meaning"),
        ("1e18", "not an integer"),
        ("'a'", "no meaning"),
        ("0x1_", "not an integer"),
        ("foo", "name without a value"),
        ("1/0", "zero"),
        ("5 % 0", "zero"),
        ("1ull << 64", "undefined"),
        ("1 << -1", "undefined"),
        ("1 << 1 << 100", "undefined"),
        ("18446744073709551616", "64 bits"),
        ("9" * 3000, "64 bits"),
        ("static_cast<foo>(1)", "'foo' is not an integer type"),
        ("(unsigned bool)1", "not an integer type"),
        ("= 5", "no name"),
        ("5 = 6", "no name"),
        ("float x = 5", "not an integer type"),
        ("1 ? 2", "':' is missing"),
        ("１", "no meaning"),
        ("1 @ 2", "no meaning"),
        ("(" * 500 + "1" + ")" * 500, "deeper"),
        ("1?" * 500, "deeper"),
        ("(" * 4000, "deeper"),
        ("static_cast<uint64_t>(" * 40000, "characters"),
        ("1" * 100000, "characters"),
        ("1,2", "follows"),
        ("__import__('os')", "no meaning"),
    ],
)
def test_what_is_refused_says_why(text: str, why: str) -> None:
    if text == "7//2/":
        assert evaluate_constant(text).word == 7  # a comment, as in C++
        return
    with pytest.raises(LayoutError, match=re.escape(why)) as caught:
        evaluate_constant(text, "word")
    assert caught.value.field == "word" and len(caught.value.message) < 300 and caught.value.hint


def test_depth_and_length_have_limits_that_expressions_keep() -> None:
    assert evaluate_constant("(" * (DEEPEST - 1) + "1" + ")" * (DEEPEST - 1)).word == 1
    assert evaluate_constant("+".join(["1"] * (LONGEST // 2))).word == LONGEST // 2
    assert evaluate_constant("- " * (LONGEST // 2 - 1) + "1").word == 2**64 - 1
