"""A precedence-climbing parser of C's expressions, shared by C++ constants, conditions of #if and formulas.

A subclass provides tokens, primaries, signs, operators and error messages; what it makes of an operator is its value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from lanescope.inputs import shorten_value

# Binary operator → precedence.
LEVEL = {
    op: level
    for level, ops in enumerate(("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %"), 1)
    for op in ops.split()
}
Value = TypeVar("Value")


class PrecedenceClimber(ABC, Generic[Value]):
    """The parser: tokens (kind, text), the current position, and the nesting depth, at most `deepest`."""

    def __init__(self, deepest: int) -> None:
        self.deepest = deepest
        self.tokens: list[tuple[str, str]] = []
        self.at = self.depth = 0

    @abstractmethod
    def make_error(self, why: str) -> Exception:
        """Return the error for the complete text."""

    @abstractmethod
    def parse_unary(self) -> Value:
        """Parse a value with its prefix signs."""

    @abstractmethod
    def parse_choice(self, condition: Value) -> Value:
        """Parse `? … : …` after a condition; the question mark is already consumed."""

    @abstractmethod
    def apply_operator(self, op: str, left: Value, right: Value) -> Value:
        """Apply a binary operator."""

    def parse_right(self, op: str, left: Value, least: int) -> Value:
        """Parse the right operand of an operator."""
        return self.parse_binary(least)

    def peek_token(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead][1] if self.at + ahead < len(self.tokens) else ""

    def take_token(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1][1]

    def expect_token(self, token: str) -> None:
        if self.peek_token() != token:
            raise self.make_error(f"'{token}' is missing before {self.describe_place()}")
        self.take_token()

    def describe_place(self) -> str:
        return f"'{shorten_value(self.peek_token())}'" if self.peek_token() else "the end"

    def parse_parentheses(self, opening: str, closing: str) -> Value:
        """Parse a parenthesised expression."""
        self.expect_token(opening)
        value = self.parse_conditional()
        self.expect_token(closing)
        return value

    def parse_conditional(self) -> Value:
        self.depth += 1
        if self.depth > self.deepest:
            raise self.make_error(f"it is nested deeper than {self.deepest}")
        value = self.parse_binary(1)
        if self.peek_token() == "?":
            self.take_token()
            value = self.parse_choice(value)
        self.depth -= 1
        return value

    def parse_binary(self, least: int) -> Value:
        """Parse operators of at least a precedence, left to right."""
        left = self.parse_unary()
        while (level := LEVEL.get(self.peek_token(), 0)) >= least:
            op = self.take_token()
            left = self.apply_operator(op, left, self.parse_right(op, left, level + 1))
        return left
