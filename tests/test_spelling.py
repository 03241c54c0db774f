"""A 64-bit word in every spelling the descriptor page promises; what could be two numbers is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from lanescope.app.memory import descriptors as memory
from lanescope.bits import format_word
from lanescope.descriptor.spelling import parse_word
from lanescope.errors import LayoutError
from tests.cases import for_each
from tests.sample import choose_count

WORD = 0x4000004000010100


@for_each(
    ("text", "value"),
    [
        *(
            (text, WORD)
            for text in (
                "0x4000004000010100",
                "0X4000004000010100",
                "4000004000010100",
                "4000 0040 0001 0100",
                "0x4000_0040_0001_0100",
                "0x4000'0040'0001'0100",
                "40000040`00010100",
                "0x40000040 00010100",
                " 0x4000004000010100\\n".replace("\\n", "\n"),
                "0x4000004000010100ull",
                "0x4000004000010100ULL;",
                "0x4000004000010100l",
                "4611686293305360640",
                "0d4611686293305360640",
                "4611686293305360640ull",
                f"0b{WORD:b}",
                f"0b{WORD:b}ull",
                f"{WORD:064b}",
                " ".join(f"{WORD:064b}"[at : at + 8] for at in range(0, 64, 8)),
                "40000040:00010100",
                "0x40000040:0x10100",
                "{0x00010100, 0x40000040}",
                "{ 0x10100u, 0x40000040u }",
                "{x = 0x10100, y = 0x40000040}",
                "{y = 0x40000040, x = 0x10100}",
                "{lo=0x10100,hi=0x40000040}",
                "{hi = 0x40000040, lo = 0x10100}",
                "make_uint2(0x10100, 0x40000040)",
                "(uint64_t)0x40000040 << 32 | 0x10100",
                "constexpr uint64_t desc = 0x4000004000010100ull;",
            )
        ),
        ("0b101", 5),
        ("0d42", 42),
        ("0b12", 0xB12),
        ("0x1_0ull", 16),
        ("10", 16),
        ("0", 0),
        ("{1, 2}", 2 << 32 | 1),
        ("18446744073709551615", 2**64 - 1),
        (WORD, WORD),
        (0, 0),
    ],
)
def test_words_in_every_spelling(text: Any, value: int) -> None:
    assert parse_word(text).word == value


@for_each(
    ("text", "says"),
    [
        ("-1", "negative"),
        (-1, "negative"),
        ("", "not a number"),
        ("0xzz", "not a number"),
        ("0x", "not a number"),
        ("0dff", "not a number"),
        ("0x_1", "not a number"),
        ("１", "not a number"),
        ("f" + "0" * 16, "68 bits"),
        ("18446744073709551616", "65 bits"),
        (1 << 64, "65 bits"),
        (1 << 4000, "more than 64"),
        ("null", "not a number"),
        (None, "word is missing"),
        (True, "'true'"),
        (1e18, r"'1e\+18'"),
        (float("nan"), "'nan'"),
        ([], "a list"),
        ("9" * 5000, "5000 characters"),
        ("0" * 1000, "1000 characters"),
        ("4000004000010100ull", "decimal in C"),
        ("4000004000010100;", "decimal in C"),
        ("0x40000040 0x00010100", "high one"),
        ("0x40000040, 0x00010100", "high one"),
        ("(0x10100, 0x40000040)", "high one"),
        ("[0x10100, 0x40000040]", "high one"),
        ("{65792, 1073741888}", "decimal or hexadecimal"),
        ("{a=0x1, b=0x2}", "low and a high"),
        ("{x=0x1, x=0x2}", "low and a high"),
        ("{0x100000000, 0x1}", "not a 32-bit word"),
        ("{0xzz, 0x1}", "not a 32-bit word"),
        ("{0x1, 0x2, 0x3}", "not a constant expression"),
    ],
)
def test_words_that_are_none(text: Any, says: str) -> None:
    with pytest.raises(LayoutError, match=says) as caught:
        parse_word(text, "word")
    assert caught.value.field == "word" and caught.value.hint and len(str(caught.value)) < 400


def test_a_long_text_is_refused_before_it_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_CODE", None)  # a search of 40,000 letters takes 15 seconds
    with pytest.raises(LayoutError, match="40000 characters"):
        memory.parse_descriptor("a" * 40000)


@settings(max_examples=choose_count(300, 100), deadline=None)
@given(
    st.text(max_size=60)
    | st.text(alphabet="0123456789abcdefxXbdD_'` :{},=loxyhiul\n", max_size=60)
    | st.text(alphabet="0123456789abxulz'_()<>|&^~!?:+-*/%={};, ", max_size=60)
)
def test_any_text_is_a_word_or_refused(text: str) -> None:
    try:
        assert 0 <= parse_word(text).word < 1 << 64
    except LayoutError as error:
        assert error.message and error.hint and error.field == "descriptor"


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**64 - 1))
def test_what_is_printed_is_read_back(word: int) -> None:
    halves = word >> 32, word & 0xFFFFFFFF
    for text in (
        format_word(word),
        f"{word:#x}",
        f"{word:016x}",
        f"0d{word}",
        f"{word:#b}",
        f"{halves[0]:#x}:{halves[1]:#x}",
        f"{{{halves[1]:#x}, {halves[0]:#x}}}",
        f"{word:#_x}ull",
    ):
        assert parse_word(text).word == word, text
