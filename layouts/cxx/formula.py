"""Formulas of matrix elements, as `-(i + 1)` or `row == col ? 1 : 0`: read and computed here, for all elements at once;
nothing is executed.

Operators and precedence are C's: + - * / % << >> & | ^ ~ ! == != < <= > >= && || ?: and parentheses; abs(x), min(x, y),
max(x, y). Whole numbers divide as in C (7 / 2 is 3, -7 / 2 is -3, the remainder has the dividend's sign); a number with
a point makes a real result (i / 2.0). Whole numbers stay below 2^53, so that every one of them is exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lanescope.cxx.integers import truncated_quotient, truncated_remainder
from lanescope.cxx.precedence import Climber
from lanescope.errors import LayoutError
from lanescope.reading import real, shown

LONGEST, DEEPEST, MOST = 500, 32, float(2**53 - 1)  # characters, nesting, the largest whole number
Array = NDArray[np.float64]
_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xXbB][0-9a-fA-F_']+|(?:[0-9][0-9_']*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|("
    r"?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<op><<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:(),]))"
)
_FUNCTIONS = {"abs": 1, "min": 2, "max": 2}
ALLOWED = "Allowed: numbers, {names}, + - * / % << >> & | ^ ~ ! comparisons && || ?: parentheses, abs, min, max."


class _Values(NamedTuple):
    """Values of all elements, and whether they are integers (C's int) or real numbers."""

    array: Array
    whole: bool


def evaluate(text: str, names: Mapping[str, NDArray[Any]], field: str = "formula") -> tuple[Array, bool]:
    """Evaluate a formula over names → arrays of one shape; return (values, whether they are integers).

    LayoutError says what cannot be read.

    >>> evaluate("-(i + 1) / 2", {"i": np.arange(5)})[0].tolist()
    [0.0, -1.0, -1.0, -2.0, -2.0]
    """
    reader = _Reader(text, names, field)
    with np.errstate(all="ignore"):
        found = reader.read()
    shape = np.broadcast_shapes(*(array.shape for array in names.values()))
    return np.broadcast_to(found.array, shape).copy(), found.whole


class _Reader(Climber[_Values]):
    """A parser that computes the values of all elements while it reads."""

    def __init__(self, text: str, names: Mapping[str, NDArray[Any]], field: str) -> None:
        super().__init__(DEEPEST)
        self.text, self.field = text, field
        self.names = {name: _Values(np.asarray(array, dtype=np.float64), True) for name, array in names.items()}
        if len(text) > LONGEST:
            raise LayoutError("bad_formula", f"{field} has {len(text)} characters.", f"At most {LONGEST}.", field)
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None or match.lastgroup is None:
                raise self.bad(f"'{shown(text[at:].strip(), 20)}' has no meaning here")
            self.tokens.append((match.lastgroup, match[match.lastgroup]))
            at = match.end()

    def bad(self, why: str) -> LayoutError:
        return LayoutError(
            "bad_formula",
            f"{self.field} = '{shown(self.text, 60)}' is not a formula: {why}.",
            ALLOWED.format(names=", ".join(self.names)),
            self.field,
        )

    def read(self) -> _Values:
        found = self.conditional()
        if self.peek():
            raise self.bad(f"{self.here()} follows a complete formula")
        if not np.isfinite(found.array).all():
            raise self.bad("a value is too large, or divided by zero")
        return found

    def choose(self, condition: _Values) -> _Values:
        yes = self.conditional()
        self.expect(":")
        no = self.conditional()
        chosen = np.where(condition.array != 0, yes.array, no.array)
        return _Values(np.where(np.isnan(condition.array), np.nan, chosen), yes.whole and no.whole)

    def unary(self) -> _Values:
        signs = []
        while self.peek() in ("+", "-", "~", "!"):
            signs.append(self.take())
            if len(signs) > DEEPEST:
                raise self.bad(f"it has more than {DEEPEST} signs in a row")
        found = self.primary()
        for sign in reversed(signs):
            if sign == "~" and not found.whole:
                raise self.bad("~ takes integers")
            array = found.array
            if sign in ("-", "~"):
                array = (-1.0 if sign == "~" else 0.0) - array if found.whole else -array
            elif sign == "!":
                array = np.where(np.isnan(array), np.nan, array == 0)
            found = _Values(array, found.whole or sign == "!")
        return found

    def primary(self) -> _Values:
        if self.at >= len(self.tokens):
            raise self.bad("a value is missing at the end")
        group, token = self.tokens[self.at]
        if token == "(":
            return self.inside("(", ")")
        self.take()
        if group == "number":
            read = real(token)
            if read is None:
                raise self.bad(f"'{shown(token, 20)}' is not a number")
            return self.checked(np.asarray(read[0]), read[1])
        if group == "name" and token in _FUNCTIONS:
            return self._call(token)
        if group == "name" and token in self.names:
            return self.names[token]
        raise self.bad(
            f"'{shown(token, 20)}' has no value" if group == "name" else f"'{token}' stands where a value is expected"
        )

    def _call(self, name: str) -> _Values:
        self.expect("(")
        given = [self.conditional()]
        while self.peek() == ",":
            self.take()
            given.append(self.conditional())
        self.expect(")")
        if len(given) != _FUNCTIONS[name]:
            raise self.bad(f"{name} takes {_FUNCTIONS[name]}, not {len(given)}")
        if name == "abs":
            return _Values(np.abs(given[0].array), given[0].whole)
        make = np.minimum if name == "min" else np.maximum
        return _Values(make(given[0].array, given[1].array), given[0].whole and given[1].whole)

    def apply(self, op: str, left: _Values, right: _Values) -> _Values:
        a, b, whole = left.array, right.array, left.whole and right.whole
        if op in _COMPARE:
            return _Values(np.where(np.isnan(a) | np.isnan(b), np.nan, _COMPARE[op](a, b)), True)
        if op in ("&&", "||"):  # the right side counts only where the left one leaves it open
            settled = a == 0 if op == "&&" else (a != 0) & ~np.isnan(a)
            truth = np.where(np.isnan(a) | np.isnan(b), np.nan, b != 0)
            return _Values(np.where(settled, float(op == "||"), np.where(np.isnan(a), np.nan, truth)), True)
        if op in ("<<", ">>", "&", "|", "^"):
            if not whole:
                raise self.bad(f"{op} takes integers")
            if op in ("<<", ">>") and ((b < 0) | (b > 52)).any():
                raise self.bad(f"{op} shifts by 0 to 52")
            return self.checked(_bits(op, a, b), True)
        if op in ("/", "%"):
            made = _divide(op, a, b) if whole else (a / b if op == "/" else np.fmod(a, b))
            return _Values(np.where(b == 0, np.nan, made), whole)
        return self.checked({"+": np.add, "-": np.subtract, "*": np.multiply}[op](a, b), whole)

    def checked(self, array: Array, whole: bool) -> _Values:
        if whole and (np.abs(array) > MOST).any():
            raise self.bad("a whole number is 2^53 or more")
        return _Values(array, whole)


_COMPARE: dict[str, Callable[[Array, Array], Any]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    ">": np.greater,
    "<=": np.less_equal,
    ">=": np.greater_equal,
}


def _divide(op: str, a: Array, b: Array) -> Array:
    """Return C's quotient or remainder of integers; unspecified where the divisor is 0 or an operand is not a
    number.
    """
    x, y = (np.where(np.isfinite(n), n, 0).astype(np.int64) for n in np.broadcast_arrays(a, b))
    y = np.where(y == 0, 1, y)
    divide: Callable[[Any, Any], Any] = truncated_quotient if op == "/" else truncated_remainder
    made = divide(x, y)
    return np.where(np.isfinite(a) & np.isfinite(b), made, np.nan)


def _bits(op: str, a: Array, b: Array) -> Array:
    """Compute shifts and bitwise operators of integers; a left shift multiplies, so that nothing wraps."""
    if op == "<<":
        return np.asarray(a * np.exp2(b))
    x, y = (np.where(np.isfinite(n), n, 0).astype(np.int64) for n in (a, b))
    made = {">>": np.right_shift, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}[op](x, y)
    return np.where(np.isfinite(a) & np.isfinite(b), made, np.nan)
