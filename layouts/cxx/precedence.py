"""Expressions in C's grammar, read by precedence climbing: what the reader of C++ constants and that of formulas share.

A reader gives the tokens, the meaning of a primary, of signs and of operators, and the words of a refusal; it computes
on the way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from lanescope.errors import LayoutError
from lanescope.reading import shown

# Binary operators → how tightly they bind.
LEVEL = {
    op: level
    for level, ops in enumerate(("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %"), 1)
    for op in ops.split()
}
Value = TypeVar("Value")


class Climber(ABC, Generic[Value]):
    """A precedence-climbing parser: tokens (kind, text), the current place, and the nesting depth, at most
    `deepest`.
    """

    def __init__(self, deepest: int) -> None:
        self.deepest = deepest
        self.tokens: list[tuple[str, str]] = []
        self.at = self.depth = 0

    @abstractmethod
    def bad(self, why: str) -> LayoutError:
        """Return the error for the whole text."""

    @abstractmethod
    def unary(self) -> Value:
        """Parse a value with the signs in front of it."""

    @abstractmethod
    def choose(self, condition: Value) -> Value:
        """Parse `? … : …` after a condition; the question mark is already taken."""

    @abstractmethod
    def apply(self, op: str, left: Value, right: Value) -> Value:
        """Apply a binary operator."""

    def right(self, op: str, left: Value, least: int) -> Value:
        """Parse the right operand of an operator."""
        return self.binary(least)

    def peek(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead][1] if self.at + ahead < len(self.tokens) else ""

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1][1]

    def expect(self, token: str) -> None:
        if self.peek() != token:
            raise self.bad(f"'{token}' is missing before {self.here()}")
        self.take()

    def here(self) -> str:
        return f"'{shown(self.peek())}'" if self.peek() else "the end"

    def inside(self, opening: str, closing: str) -> Value:
        """Parse what stands between two parentheses."""
        self.expect(opening)
        found = self.conditional()
        self.expect(closing)
        return found

    def conditional(self) -> Value:
        self.depth += 1
        if self.depth > self.deepest:
            raise self.bad(f"it is nested deeper than {self.deepest}")
        found = self.binary(1)
        if self.peek() == "?":
            self.take()
            found = self.choose(found)
        self.depth -= 1
        return found

    def binary(self, least: int) -> Value:
        """Parse operators that bind at least as tightly as `least`, left to right."""
        left = self.unary()
        while (level := LEVEL.get(self.peek(), 0)) >= least:
            op = self.take()
            left = self.apply(op, left, self.right(op, left, level + 1))
        return left
