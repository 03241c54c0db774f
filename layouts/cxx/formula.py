"""Parse and evaluate formulas of matrix elements, such as `-(i + 1)` or `row == col ? 1 : 0`, for all elements at once.

Operators and precedence are C's: + - * / % << >> & | ^ ~ ! == != < <= > >= && || ?: and parentheses; abs(x), min(x, y),
max(x, y). Integers divide as in C (7 / 2 is 3, -7 / 2 is -3, the remainder has the dividend's sign); a number with a
point makes the result real (i / 2.0). Integers stay below 2^53, so all of them are exact. Nothing is executed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lanescope.cxx.integers import COMPARED, EXACT
from lanescope.cxx.precedence import PrecedenceClimber
from lanescope.errors import LayoutError
from lanescope.inputs import format_count, parse_real, shorten_value

LONGEST, DEEPEST, MOST = 500, 32, float(2**53 - 1)  # characters, nesting, the largest integer
Array = NDArray[np.float64]
_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xXbB][0-9a-fA-F_']+|(?:[0-9][0-9_']*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|("
    r"?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<op><<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:(),]))"
)
_FUNCTIONS = {"abs": 1, "min": 2, "max": 2}
ALLOWED = "Allowed: numbers, {names}, + - * / % << >> & | ^ ~ ! comparisons && || ?: parentheses, abs, min, max."


class _ElementValues(NamedTuple):
    """The values of all elements, and whether they are integers (C's int) or real numbers."""

    array: Array
    integral: bool


def evaluate_formula(text: str, names: Mapping[str, NDArray[Any]], field: str = "formula") -> tuple[Array, bool]:
    """Evaluate a formula over names → arrays of one shape; return (values, whether they are integers).

    LayoutError says what cannot be parsed.

    >>> evaluate_formula("-(i + 1) / 2", {"i": np.arange(5)})[0].tolist()
    [0.0, -1.0, -1.0, -2.0, -2.0]
    """
    reader = _FormulaReader(text, names, field)
    with np.errstate(all="ignore"):
        values = reader.evaluate_text()
    shape = np.broadcast_shapes(*(array.shape for array in names.values()))
    return np.broadcast_to(values.array, shape).copy(), values.integral


class _FormulaReader(PrecedenceClimber[_ElementValues]):
    """A parser that computes the values of all elements while parsing."""

    def __init__(self, text: str, names: Mapping[str, NDArray[Any]], field: str) -> None:
        super().__init__(DEEPEST)
        self.text, self.field = text, field
        self.names = {name: _ElementValues(np.asarray(array, dtype=np.float64), True) for name, array in names.items()}
        if len(text) > LONGEST:
            raise LayoutError("bad_formula", f"{field} has {len(text)} characters.", f"At most {LONGEST}.", field)
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None or match.lastgroup is None:
                raise self.make_error(f"'{shorten_value(text[at:].strip(), 20)}' has no meaning here")
            self.tokens.append((match.lastgroup, match[match.lastgroup]))
            at = match.end()

    def make_error(self, why: str) -> LayoutError:
        return LayoutError(
            "bad_formula",
            f"{self.field} = '{shorten_value(self.text, 60)}' is not a formula: {why}.",
            ALLOWED.format(names=", ".join(self.names)),
            self.field,
        )

    def evaluate_text(self) -> _ElementValues:
        values = self.parse_conditional()
        if self.peek_token():
            raise self.make_error(f"{self.describe_place()} follows a complete formula")
        if not np.isfinite(values.array).all():
            raise self.make_error("a value is too large, or divided by zero")
        return values

    def parse_choice(self, condition: _ElementValues) -> _ElementValues:
        yes = self.parse_conditional()
        self.expect_token(":")
        no = self.parse_conditional()
        chosen = np.where(condition.array != 0, yes.array, no.array)
        return _ElementValues(np.where(np.isnan(condition.array), np.nan, chosen), yes.integral and no.integral)

    def parse_unary(self) -> _ElementValues:
        signs = []
        while self.peek_token() in ("+", "-", "~", "!"):
            signs.append(self.take_token())
            if len(signs) > DEEPEST:
                raise self.make_error(f"it has more than {DEEPEST} signs in a row")
        values = self.parse_primary()
        for sign in reversed(signs):
            if sign == "~" and not values.integral:
                raise self.make_error("~ takes integers")
            array = values.array
            if sign in ("-", "~"):
                array = (-1.0 if sign == "~" else 0.0) - array if values.integral else -array
            elif sign == "!":
                array = np.where(np.isnan(array), np.nan, array == 0)
            values = _ElementValues(array, values.integral or sign == "!")
        return values

    def parse_primary(self) -> _ElementValues:
        if self.at >= len(self.tokens):
            raise self.make_error("a value is missing at the end")
        group, token = self.tokens[self.at]
        if token == "(":
            return self.parse_parentheses("(", ")")
        self.take_token()
        if group == "number":
            read = parse_real(token)
            if read is None:
                raise self.make_error(f"'{shorten_value(token, 20)}' is not a number")
            return self.check_range(np.asarray(read[0]), read[1])
        if group == "name" and token in _FUNCTIONS:
            return self._evaluate_call(token)
        if group == "name" and token in self.names:
            return self.names[token]
        raise self.make_error(
            f"'{shorten_value(token, 20)}' has no value"
            if group == "name"
            else f"'{token}' was found where a value is expected"
        )

    def _evaluate_call(self, name: str) -> _ElementValues:
        self.expect_token("(")
        arguments = [self.parse_conditional()]
        while self.peek_token() == ",":
            self.take_token()
            arguments.append(self.parse_conditional())
        self.expect_token(")")
        if len(arguments) != _FUNCTIONS[name]:
            raise self.make_error(f"{name} needs {format_count(_FUNCTIONS[name], 'argument')}, not {len(arguments)}")
        if name == "abs":
            return _ElementValues(np.abs(arguments[0].array), arguments[0].integral)
        make = np.minimum if name == "min" else np.maximum
        return _ElementValues(
            make(arguments[0].array, arguments[1].array), arguments[0].integral and arguments[1].integral
        )

    def apply_operator(self, op: str, left: _ElementValues, right: _ElementValues) -> _ElementValues:
        a, b, integral = left.array, right.array, left.integral and right.integral
        if op in COMPARED:
            return _ElementValues(np.where(np.isnan(a) | np.isnan(b), np.nan, COMPARED[op](a, b)), True)
        if op in ("&&", "||"):  # the right side matters only where the left side does not decide
            settled = a == 0 if op == "&&" else (a != 0) & ~np.isnan(a)
            truth = np.where(np.isnan(a) | np.isnan(b), np.nan, b != 0)
            return _ElementValues(np.where(settled, float(op == "||"), np.where(np.isnan(a), np.nan, truth)), True)
        if op in ("<<", ">>", "&", "|", "^"):
            if not integral:
                raise self.make_error(f"{op} takes integers")
            if op in ("<<", ">>") and ((b < 0) | (b > 52)).any():
                raise self.make_error(f"{op} shifts by 0 to 52")
            return self.check_range(_apply_bitwise(op, a, b), True)
        if op in ("/", "%"):
            quotient = _divide(op, a, b) if integral else (a / b if op == "/" else np.fmod(a, b))
            return _ElementValues(np.where(b == 0, np.nan, quotient), integral)
        return self.check_range({"+": np.add, "-": np.subtract, "*": np.multiply}[op](a, b), integral)

    def check_range(self, array: Array, integral: bool) -> _ElementValues:
        if integral and (np.abs(array) > MOST).any():
            raise self.make_error("an integer is 2^53 or more")
        return _ElementValues(array, integral)


def _divide(op: str, a: Array, b: Array) -> Array:
    """Return C's quotient or remainder of integers; arbitrary if the divisor is 0 or an operand is not a number."""
    x, y = (np.where(np.isfinite(n), n, 0).astype(np.int64) for n in np.broadcast_arrays(a, b))
    y = np.where(y == 0, 1, y)
    return np.where(np.isfinite(a) & np.isfinite(b), EXACT[op](x, y), np.nan)


def _apply_bitwise(op: str, a: Array, b: Array) -> Array:
    """Compute shifts and bitwise operators of integers; a left shift multiplies, so that it does not wrap."""
    if op == "<<":
        return np.asarray(a * np.exp2(b))
    x, y = (np.where(np.isfinite(n), n, 0).astype(np.int64) for n in (a, b))
    result = x >> y if op == ">>" else EXACT[op](x, y)
    return np.where(np.isfinite(a) & np.isfinite(b), result, np.nan)
