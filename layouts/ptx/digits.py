"""The digits of patterns: their text, their weights inside a number, and numbers split into digits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value

_GROUP = re.compile(r"\(([^()]*)\)")
_NAME = re.compile(r"[a-z]\w*\Z", re.A)
_FACTOR = re.compile(r"([*/]?)(\d+|[A-Za-z]\w*)", re.A)
LONGEST = 4096  # characters
MOST = 1 << 22  # threads times values: a pattern is evaluated as whole arrays


@dataclass(frozen=True, slots=True)
class PatternDigit:
    """One name of a pattern and how many values it takes."""

    name: str
    size: int

    def __str__(self) -> str:
        return f"{self.name}:{self.size}"


@dataclass(frozen=True, slots=True)
class DigitTerm:
    """One digit inside a number: `number = … + weight · digit + …`."""

    name: str
    size: int
    weight: int


Terms: TypeAlias = tuple[DigitTerm, ...]


def make_pattern_error(text: str, why: str, allowed: str) -> LayoutError:
    """Return the error for a pattern that cannot be parsed."""
    return LayoutError(
        "bad_pattern", f"Pattern '{shorten_value(text, 120)}' cannot be read: {why}.", f"Allowed: {allowed}.", "pattern"
    )


def check_digits(text: str, digits: tuple[PatternDigit, ...]) -> None:
    """Raise LayoutError for a name that occurs twice on the left and for patterns with too many values."""
    if len({d.name for d in digits}) != len(digits):
        raise make_pattern_error(text, "a name occurs twice on the left", "each name once")
    if prod(d.size for d in digits) > MOST:
        raise make_pattern_error(text, f"it has more than {MOST} values of all threads together", "smaller sizes")


def check_coordinates(text: str, used: list[str], known: Mapping[str, int]) -> None:
    """Raise LayoutError for a name on the right that is unknown or occurs twice."""
    for name in used:
        if name not in known:
            raise make_pattern_error(
                text,
                f"'{shorten_value(name)}' occurs on the right but not on the left",
                f"one of {', '.join(list(known)[:12])}",
            )
    if len(set(used)) != len(used):
        raise make_pattern_error(text, "a name occurs twice on the right", "each name at most once")


def split_groups(text: str, side: str) -> list[list[str]]:
    """Return the words of each parenthesised group on one side of a pattern; LayoutError for other text."""
    if _GROUP.sub("", side).strip():
        raise make_pattern_error(
            text, f"'{shorten_value(_GROUP.sub('', side).strip())}' is outside parentheses", "groups in parentheses"
        )
    return [group.split() for group in _GROUP.findall(side)]


def parse_digit(text: str, token: str, sizes: Mapping[str, int]) -> PatternDigit:
    """Parse `name:size`; LayoutError if a letter in the size is not bound in `sizes`."""
    name, colon, expression = token.partition(":")
    if not _NAME.match(name) or not colon:
        raise make_pattern_error(
            text, f"'{shorten_value(token)}' is not a digit", "'name:size' with a small letter first"
        )
    factors = _FACTOR.findall(expression)
    if not factors or "".join(op + word for op, word in factors) != expression or factors[0][0]:
        raise make_pattern_error(
            text, f"'{shorten_value(expression)}' is not a size", "a number, a bound letter, or these with '*' and '/'"
        )
    size = 1
    for op, word in factors:
        factor = int(word) if word[0].isdigit() and len(word) < 10 else sizes.get(word, 0)
        if factor < 1:
            raise make_pattern_error(
                text,
                f"'{shorten_value(word)}' in the size of '{name}' is not bound to a positive number",
                ", ".join(sizes) or "numbers",
            )
        if op == "/" and size % factor:
            raise make_pattern_error(
                text, f"{size} of '{name}:{expression}' is not a multiple of {factor}", "whole sizes"
            )
        size = size // factor if op == "/" else size * factor
    return PatternDigit(name, size)


def weigh_digits(digits: tuple[PatternDigit, ...]) -> tuple[DigitTerm, ...]:
    """Return mixed-radix digits, slowest first, with the weight of each."""
    weight, terms = 1, []
    for digit in reversed(digits):
        terms.append(DigitTerm(digit.name, digit.size, weight))
        weight *= digit.size
    return tuple(reversed(terms))


def split_numbers(all_terms: tuple[Terms, ...], numbers: tuple[int, ...]) -> dict[str, int]:
    """Return the digits of several numbers by name."""
    pairs = zip(all_terms, numbers, strict=True)
    return {term.name: int(number) // term.weight % term.size for terms, number in pairs for term in terms}


def join_digits(terms: Terms, digits: Mapping[str, int]) -> int:
    """Return the number with the given digits."""
    return sum(term.weight * digits[term.name] for term in terms)
