"""Formulas of elements: against a reference that computes one element at a time in Python, printed with no more
parentheses than C needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lanescope.cxx.formula import DEEPEST, LONGEST, evaluate
from lanescope.errors import LayoutError

I, J = (part.ravel() for part in np.meshgrid(np.arange(-3, 5), np.arange(6)))
PRECEDENCE = {
    "||": 1,
    "&&": 2,
    "|": 3,
    "^": 4,
    "&": 5,
    "==": 6,
    "!=": 6,
    "<": 7,
    ">": 7,
    "<=": 7,
    ">=": 7,
    "<<": 8,
    ">>": 8,
    "+": 9,
    "-": 9,
    "*": 10,
    "/": 10,
    "%": 10,
}
WHOLE_ONLY = {"<<", ">>", "&", "|", "^"}


@dataclass(frozen=True)
class Made:
    """A formula: its text, its precedence, its value for one element, and whether that is C's int."""

    text: str
    level: int
    value: Callable[[dict[str, int]], Any]
    whole: bool

    def at(self, level: int) -> str:
        return self.text if self.level >= level else f"({self.text})"


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


WHOLE: dict[str, Callable[[Any, Any], Any]] = {
    "/": quotient,
    "%": lambda a, b: a - quotient(a, b) * b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
EITHER: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": math.fmod,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "&&": lambda a, b: int(bool(a and b)),
    "||": lambda a, b: int(bool(a or b)),
}


def binary(op: str, left: Made, right: Made) -> Made | None:
    whole = left.whole and right.whole
    if op in WHOLE_ONLY and not whole:
        return None
    make = WHOLE.get(op, EITHER.get(op)) if whole else EITHER[op]
    level = PRECEDENCE[op]
    assert make is not None
    text = f"{left.at(level)} {op} {right.at(level + 1)}"
    return Made(
        text,
        level,
        lambda e: make(left.value(e), right.value(e)),
        whole or op in ("==", "!=", "<", ">", "<=", ">=", "&&", "||"),
    )


def unary(sign: str, of: Made) -> Made | None:
    if sign == "~" and not of.whole:
        return None
    make = {"-": lambda a: -a, "+": lambda a: a, "~": lambda a: ~a, "!": lambda a: int(a == 0)}[sign]
    return Made(f"{sign}{of.at(11)}", 11, lambda e: make(of.value(e)), of.whole or sign == "!")


def choice(condition: Made, yes: Made, no: Made) -> Made:
    text = f"{condition.at(1)} ? {yes.text} : {no.text}"
    return Made(text, 0, lambda e: yes.value(e) if condition.value(e) else no.value(e), yes.whole and no.whole)


def called(name: str, *of: Made) -> Made:
    make = {"abs": abs, "min": min, "max": max}[name]
    return Made(
        f"{name}({', '.join(one.text for one in of)})",
        12,
        lambda e: make(*(one.value(e) for one in of)),
        all(one.whole for one in of),
    )


def leaf(number: str) -> Made:
    value = float(number) if "." in number else int(number, 0)
    return Made(number, 12, lambda e: value, "." not in number)


LEAVES = st.one_of(
    st.sampled_from([Made("i", 12, lambda e: e["i"], True), Made("j", 12, lambda e: e["j"], True)]),
    st.sampled_from(["0", "1", "2", "7", "0x1F", "0b101", "12'0", "2.5", "0.25", ".5"]).map(
        lambda text: leaf(text) if "'" not in text else Made(text, 12, lambda e: 120, True)
    ),
)


def extended(inner: st.SearchStrategy[Made]) -> st.SearchStrategy[Made]:
    return st.one_of(
        st.builds(binary, st.sampled_from(sorted(PRECEDENCE)), inner, inner),
        st.builds(unary, st.sampled_from("-+~!"), inner),
        st.builds(choice, inner, inner, inner),
        st.builds(lambda of: called("abs", of), inner),
        st.builds(called, st.sampled_from(["min", "max"]), inner, inner),
    ).filter(lambda made: made is not None)  # type: ignore[return-value]


@settings(max_examples=400)
@given(st.recursive(LEAVES, extended, max_leaves=7))
def test_values_are_what_c_computes(made: Made) -> None:
    assume(len(made.text) <= LONGEST)
    try:
        wanted = [made.value({"i": int(i), "j": int(j)}) for i, j in zip(I, J, strict=True)]
    except (ZeroDivisionError, ValueError, OverflowError):
        assume(False)
    assume(all(abs(value) < 1 << 40 for value in wanted))
    try:
        found, whole = evaluate(made.text, {"i": I, "j": J})
    except LayoutError as error:
        assert any(why in error.message for why in ("zero", "2^53", "shifts by")), made.text
        return
    assert whole == made.whole, made.text
    np.testing.assert_allclose(found, wanted, rtol=1e-12, err_msg=made.text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "a value is missing"),
        ("i +", "missing at the end"),
        ("(i", "')' is missing before the end"),
        ("i j", "'j' follows a complete formula"),
        ("k", "'k' has no value"),
        ("i ? 1", "':' is missing"),
        ("abs i", "'(' is missing"),
        ("abs(i, j)", "abs takes 1, not 2"),
        ("min(i)", "min takes 2, not 1"),
        ("i $ 2", "'$ 2' has no meaning here"),
        ("~2.5", "~ takes integers"),
        ("2.5 & 1", "& takes integers"),
        ("1.0 << 2", "<< takes integers"),
        ("1 << 53", "<< shifts by 0 to 52"),
        ("1 << i", "<< shifts by 0 to 52"),
        ("1 / i", "divided by zero"),
        ("i % j", "divided by zero"),
        ("1 / 0.0", "divided by zero"),
        ("9007199254740992", "2^53 or more"),
        ("9007199254740991 + 1", "2^53 or more"),
        ("* 2", "'*' stands where a value is expected"),
        ("1e400", "a value is too large"),
        ("-" * 33 + "i", f"more than {DEEPEST} signs"),
        ("(" * 32 + "i" + ")" * 32, f"nested deeper than {DEEPEST}"),
        ("max(1, 2", "')' is missing"),
    ],
)
def test_what_is_no_formula(text: str, says: str) -> None:
    with pytest.raises(LayoutError) as caught:
        evaluate(text, {"i": I, "j": J}, "data.a")
    error = caught.value
    assert error.code == "bad_formula" and error.field == "data.a" and says in error.message
    assert (
        error.hint
        == "Allowed: numbers, i, j, + - * / % << >> & | ^ ~ ! comparisons && || ?: parentheses, abs, min, max."
    )


def test_the_limits_themselves_are_allowed() -> None:
    one = {"i": np.arange(3)}
    assert evaluate("i" + " " * (LONGEST - 1), one)[0].tolist() == [0, 1, 2]
    with pytest.raises(LayoutError, match=f"has {LONGEST + 1} characters"):
        evaluate("i" + " " * LONGEST, one)
    assert evaluate("-" * DEEPEST + "i", one)[0].tolist() == [0, 1, 2]
    assert evaluate("(" * (DEEPEST - 1) + "i" + ")" * (DEEPEST - 1), one)[0].tolist() == [0, 1, 2]
    assert evaluate("9007199254740991", one)[0].tolist() == [2**53 - 1] * 3
    assert evaluate("1 << 52", one)[0].tolist() == [2**52] * 3


def test_what_is_not_chosen_does_not_count() -> None:
    """As in C: the other branch, and the right side of && and || once the left one decides."""
    one = {"i": np.arange(4)}
    assert evaluate("i ? 12 / i : 7", one)[0].tolist() == [7, 12, 6, 4]
    assert evaluate("i && 12 / i > 5", one)[0].tolist() == [0, 1, 1, 0]
    assert evaluate("!i || 12 / i > 5", one)[0].tolist() == [1, 1, 1, 0]
    assert evaluate("i == 0 || i % 2", {"i": np.arange(4)})[1] is True
