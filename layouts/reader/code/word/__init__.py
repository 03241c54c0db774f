"""Integers of which some bits are known and others come from a symbol: what is left when a descriptor's start address
is free. Knows bits, names and C's types (lanescope.cxx.integers), nothing of C's statements.

Whatever is known of a result's bits is true for every value of its symbols: operands are converted to the type that C
computes in, a sum that may wrap is known only modulo 2^bits, and what is not known becomes a symbol. What rests on the
values being addresses or field amounts is written into `assumed`.
"""

from lanescope.reader.code.word.bits import MOST_BITS, both, either, exclusive, extracted, inserted, inverted, shifted
from lanescope.reader.code.word.choices import compare, merged
from lanescope.reader.code.word.conversion import convert, rounded, shared_out, truth_of
from lanescope.reader.code.word.integer import (
    FIELD_BITS,
    FIELD_SHIFT,
    MOST_ORIGINS,
    SHARED_BITS,
    UNKNOWN,
    Assumption,
    Int,
    Mark,
    Piece,
    Span,
    bracketed,
    covered,
    exact,
    factor,
    free,
    modular,
    name,
    nonnegative,
    of_linear,
    opaque,
    reduced,
    runs,
)
from lanescope.reader.code.word.linear import MOST_TERMS, MOST_TEXT, Linear, symbol
from lanescope.reader.code.word.sums import add, quotient, remainder, times

__all__ = [
    "FIELD_BITS",
    "FIELD_SHIFT",
    "MOST_BITS",
    "MOST_ORIGINS",
    "MOST_TERMS",
    "MOST_TEXT",
    "SHARED_BITS",
    "UNKNOWN",
    "Assumption",
    "Int",
    "Linear",
    "Mark",
    "Piece",
    "Span",
    "add",
    "both",
    "bracketed",
    "compare",
    "convert",
    "covered",
    "either",
    "exact",
    "exclusive",
    "extracted",
    "factor",
    "free",
    "inserted",
    "inverted",
    "merged",
    "modular",
    "name",
    "nonnegative",
    "of_linear",
    "opaque",
    "quotient",
    "reduced",
    "remainder",
    "rounded",
    "runs",
    "shared_out",
    "shifted",
    "symbol",
    "times",
    "truth_of",
]
