"""Tokens and terms of a text, and integer arithmetic of C++ and Python."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lanescope.cxx import integers as c_integers
from lanescope.cxx.integers import BOOL, INT, LONG, PYTHON, IntegerType

MOST_STEPS = 24_000  # tokens examined per text
DEEPEST = 48
_TOKENS = r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/|\#[ \t][^\n]*|\\\n)
    |(?P<number>0[xX][0-9a-fA-F']+|\d[\d']*\.\d+f?|\d[\d']*)[uUlLzZ]*\b
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<name>\#?[A-Za-z_]\w*)
    |(?P<mark>::|<<|->|:\+|==|!=|&&|\|\||[<>()\[\]{},=:+\-*/%.?;&|!])"""
TOKEN = re.compile(_TOKENS, re.X | re.S)
PYTHON_TOKEN = re.compile(_TOKENS.replace("|//[^\\n]*", "").replace("(?P<mark>", "(?P<mark>//|"), re.X | re.S)
MOST_SHIFT = 64  # of a Python text


@dataclass(frozen=True, slots=True)
class SyntaxTerm:
    """A name with the contents of its <…>, (…) or {…}, and its keywords.

    symbol: whether its value is unknown; owner: the part of its path before the last `::` or `.`, None without one.
    """

    path: str
    angle: tuple[Any, ...] | None = None
    args: tuple[Any, ...] | None = None
    named: tuple[tuple[str, Any], ...] = ()
    span: tuple[int, int] = (0, 0)
    symbol: bool = False
    owner: Any = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """The last component of its path."""
        return re.split(r"::|\.", self.path)[-1]

    @property
    def inside(self) -> tuple[Any, ...]:
        """The arguments in its <…> and its (…)."""
        return (*(self.angle or ()), *(self.args or ()))

    @property
    def keywords(self) -> Mapping[str, Any]:
        """The keyword arguments by name."""
        return dict(self.named)

    def get_argument(self, place: int, *names: str, of_type: bool = False) -> Any:
        """Return the argument at a position or under one of the keywords; None if it is missing.

        of_type: look at the arguments in its <…>.
        """
        arguments = (self.angle if of_type else self.args) or ()
        if place < len(arguments):
            return arguments[place]
        return next((self.keywords[name] for name in names if name in self.keywords), None)


Value = Any  # int, str (a literal), tuple of values, Term


class TypedInteger(int):
    """An integer whose C++ type does not follow from its value, such as 3u."""

    type: IntegerType

    def __new__(cls, value: int, kind: IntegerType = INT) -> TypedInteger:
        integer = super().__new__(cls, value)
        integer.type = kind
        return integer


def make_typed_integer(value: int, kind: IntegerType) -> int:
    """Return an integer, typed if its C++ type does not follow from its value."""
    return value if kind in (INT, PYTHON, BOOL) else TypedInteger(value, kind)


def get_integer_type(value: int) -> IntegerType:
    """Return the C++ type of an integer: its own type, else the first signed type that can represent it."""
    if isinstance(value, TypedInteger):
        return value.type
    return INT if INT.can_hold(value) else LONG


class UnreadableError(Exception):
    """The text cannot be parsed as a term."""


def compute_integer(op: str, left: int, right: int, python: bool) -> int | None:
    """Compute an integer operation as C++ does with the operands' types, or as Python does.

    Returns None if the operation is unknown, or undefined in C++.

    >>> (compute_integer("/", -7, 2, False),
    ... compute_integer("/", -16, TypedInteger(3, c_integers.UINT), False), compute_integer("%", -7, 4, True))
    (-3, 1431655760, 1)
    """
    if op not in ("<<", "+", "-", "*", "/", "//", "%"):
        return None
    if python or op == "//":
        result = c_integers.compute_binary(op, left, PYTHON, right, PYTHON)
        return result.value if op != "<<" or 0 <= right < MOST_SHIFT else None
    result = c_integers.compute_binary(op, left, get_integer_type(left), right, get_integer_type(right))
    return None if result.defined is None else make_typed_integer(result.defined, result.type)
