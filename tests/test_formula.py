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
from hypothesis import assume, given, settings, strategies as st

from lanescope.cxx.formula import DEEPEST, LONGEST, evaluate_formula
from lanescope.errors import LayoutError
from tests.cases import for_each
from tests.sample import choose_count

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
class FormulaCase:
    """A formula: its text, its precedence, its value for one element, and whether that is C's int."""

    text: str
    level: int
    value: Callable[[dict[str, int]], Any]
    whole: bool

    def at(self, level: int) -> str:
        return self.text if self.level >= level else f"({self.text})"


def divide(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


WHOLE: dict[str, Callable[[Any, Any], Any]] = {
    "/": divide,
    "%": lambda a, b: a - divide(a, b) * b,
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


def make_binary(op: str, left: FormulaCase, right: FormulaCase) -> FormulaCase | None:
    whole = left.whole and right.whole
    if op in WHOLE_ONLY and not whole:
        return None
    make = WHOLE.get(op, EITHER.get(op)) if whole else EITHER[op]
    level = PRECEDENCE[op]
    assert make is not None
    text = f"{left.at(level)} {op} {right.at(level + 1)}"
    return FormulaCase(
        text,
        level,
        lambda e: make(left.value(e), right.value(e)),
        whole or op in ("==", "!=", "<", ">", "<=", ">=", "&&", "||"),
    )


def make_unary(sign: str, of: FormulaCase) -> FormulaCase | None:
    if sign == "~" and not of.whole:
        return None
    make = {"-": lambda a: -a, "+": lambda a: a, "~": lambda a: ~a, "!": lambda a: int(a == 0)}[sign]
    return FormulaCase(f"{sign}{of.at(11)}", 11, lambda e: make(of.value(e)), of.whole or sign == "!")


def make_choice(condition: FormulaCase, yes: FormulaCase, no: FormulaCase) -> FormulaCase:
    text = f"{condition.at(1)} ? {yes.text} : {no.text}"
    return FormulaCase(text, 0, lambda e: yes.value(e) if condition.value(e) else no.value(e), yes.whole and no.whole)


def make_call(name: str, *of: FormulaCase) -> FormulaCase:
    make = {"abs": abs, "min": min, "max": max}[name]
    return FormulaCase(
        f"{name}({', '.join(one.text for one in of)})",
        12,
        lambda e: make(*(one.value(e) for one in of)),
        all(one.whole for one in of),
    )


def make_leaf(number: str) -> FormulaCase:
    value = float(number) if "." in number else int(number, 0)
    return FormulaCase(number, 12, lambda e: value, "." not in number)


LEAVES = st.one_of(
    st.sampled_from([FormulaCase("i", 12, lambda e: e["i"], True), FormulaCase("j", 12, lambda e: e["j"], True)]),
    st.sampled_from(["0", "1", "2", "7", "0x1F", "0b101", "12'0", "2.5", "0.25", ".5"]).map(
        lambda text: make_leaf(text) if "'" not in text else FormulaCase(text, 12, lambda e: 120, True)
    ),
)


def extend_formula(inner: st.SearchStrategy[FormulaCase]) -> st.SearchStrategy[FormulaCase]:
    return st.one_of(
        st.builds(make_binary, st.sampled_from(sorted(PRECEDENCE)), inner, inner),
        st.builds(make_unary, st.sampled_from("-+~!"), inner),
        st.builds(make_choice, inner, inner, inner),
        st.builds(lambda of: make_call("abs", of), inner),
        st.builds(make_call, st.sampled_from(["min", "max"]), inner, inner),
    ).filter(lambda made: made is not None)  # type: ignore[return-value]


@settings(max_examples=choose_count(400, 100))
@given(st.recursive(LEAVES, extend_formula, max_leaves=7))
def test_values_are_what_c_computes(made: FormulaCase) -> None:
    assume(len(made.text) <= LONGEST)
    try:
        wanted = [made.value({"i": int(i), "j": int(j)}) for i, j in zip(I, J, strict=True)]
    except (ZeroDivisionError, ValueError, OverflowError):
        assume(False)
    assume(all(abs(value) < 1 << 40 for value in wanted))
    try:
        found, whole = evaluate_formula(made.text, {"i": I, "j": J})
    except LayoutError as error:
        assert any(why in error.message for why in ("zero", "2^53", "shifts by")), made.text
        return
    assert whole == made.whole, made.text
    np.testing.assert_allclose(found, wanted, rtol=1e-12, err_msg=made.text)


@for_each(
    ("text", "says"),
    [
        ("", "a value is missing"),
        ("i +", "missing at the end"),
        ("(i", "')' is missing before the end"),
        ("i j", "'j' follows a complete formula"),
        ("k", "'k' has no value"),
        ("i ? 1", "':' is missing"),
        ("abs i", "'(' is missing"),
        ("abs(i, j)", "abs needs 1 argument, not 2"),
        ("min(i)", "min needs 2 arguments, not 1"),
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
        ("* 2", "'*' was found where a value is expected"),
        ("1e400", "a value is too large"),
        ("-" * 33 + "i", f"more than {DEEPEST} signs"),
        ("(" * 32 + "i" + ")" * 32, f"nested deeper than {DEEPEST}"),
        ("max(1, 2", "')' is missing"),
    ],
)
def test_what_is_no_formula(text: str, says: str) -> None:
    with pytest.raises(LayoutError) as caught:
        evaluate_formula(text, {"i": I, "j": J}, "data.a")
    error = caught.value
    assert error.code == "bad_formula" and error.field == "data.a" and says in error.message
    assert (
        error.hint
        == "Allowed: numbers, i, j, + - * / % << >> & | ^ ~ ! comparisons && || ?: parentheses, abs, min, max."
    )


def test_the_limits_themselves_are_allowed() -> None:
    one = {"i": np.arange(3)}
    assert evaluate_formula("i" + " " * (LONGEST - 1), one)[0].tolist() == [0, 1, 2]
    with pytest.raises(LayoutError, match=f"has {LONGEST + 1} characters"):
        evaluate_formula("i" + " " * LONGEST, one)
    assert evaluate_formula("-" * DEEPEST + "i", one)[0].tolist() == [0, 1, 2]
    assert evaluate_formula("(" * (DEEPEST - 1) + "i" + ")" * (DEEPEST - 1), one)[0].tolist() == [0, 1, 2]
    assert evaluate_formula("9007199254740991", one)[0].tolist() == [2**53 - 1] * 3
    assert evaluate_formula("1 << 52", one)[0].tolist() == [2**52] * 3


def test_what_is_not_chosen_does_not_count() -> None:
    """As in C: the other branch, and the right side of && and || once the left one decides."""
    one = {"i": np.arange(4)}
    assert evaluate_formula("i ? 12 / i : 7", one)[0].tolist() == [7, 12, 6, 4]
    assert evaluate_formula("i && 12 / i > 5", one)[0].tolist() == [0, 1, 1, 0]
    assert evaluate_formula("!i || 12 / i > 5", one)[0].tolist() == [1, 1, 1, 0]
    assert evaluate_formula("i == 0 || i % 2", {"i": np.arange(4)})[1] is True
