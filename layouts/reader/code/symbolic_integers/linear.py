"""Linear expressions of symbols: const + Σ factor·symbol."""

from __future__ import annotations

import zlib

from lanescope.cxx.value_class import value_class

MOST_TEXT = 160  # characters of a symbol's name
MOST_TERMS = 24  # symbols in an expression, or pieces in a word


@value_class(frozen=True, slots=True)
class LinearExpression:
    """const + Σ factor·symbol, with symbols sorted by name."""

    const: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    def __add__(self, other: LinearExpression) -> LinearExpression:
        if not other.terms or not self.terms:
            return LinearExpression(self.const + other.const, self.terms or other.terms)
        factors = dict(self.terms)
        for name, factor in other.terms:
            factors[name] = factors.get(name, 0) + factor
        if len(factors) > MOST_TERMS:
            return make_symbol(f"({self.const + other.const} + {sorted(factors.items())})")
        return LinearExpression(self.const + other.const, tuple(sorted((n, f) for n, f in factors.items() if f)))

    def scale(self, by: int) -> LinearExpression:
        if by == 1:
            return self
        return LinearExpression(self.const * by, tuple((n, f * by) for n, f in self.terms) if by else ())

    def divide_exactly(self, by: int) -> LinearExpression | None:
        """Return the exact quotient, None if there is a remainder."""
        if self.const % by or any(f % by for _, f in self.terms):
            return None
        return LinearExpression(self.const // by, tuple((n, f // by) for n, f in self.terms))

    def __str__(self) -> str:
        """Format with plain names first: smem_A + 32·k + 64."""
        if not self.const and len(self.terms) == 1 and self.terms[0][1] == 1:
            return self.terms[0][0]
        ordered = sorted(self.terms, key=lambda term: (term[1] != 1, term[0]))
        parts = [(f, n if abs(f) == 1 else f"{abs(f)}·{n}") for n, f in ordered]
        if self.const or not parts:
            parts.insert(len(parts) if parts and ordered[0][1] == 1 else 0, (self.const, str(abs(self.const))))
        first = ("-" if parts[0][0] < 0 else "") + parts[0][1]
        return first + "".join(f" {'-' if f < 0 else '+'} {text}" for f, text in parts[1:])


def make_symbol(name: str) -> LinearExpression:
    """Make a symbol; different long names stay distinct."""
    if len(name) > MOST_TEXT:
        name = f"{name[: MOST_TEXT - 10]}…{zlib.crc32(name.encode()):08x}"
    return LinearExpression(0, ((name, 1),))
