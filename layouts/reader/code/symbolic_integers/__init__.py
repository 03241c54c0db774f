"""Integers with known bits and bits of symbols, such as a descriptor with an unknown start address.

The package knows bits, names and C's types (lanescope.cxx.integers), but no statements.

The known bits of a result are right for every value of its symbols: operands are converted to C's common type, a sum
that may wrap is known modulo 2^bits only, and unknown bits become symbols. Assumptions that values are addresses or
field amounts are recorded in `assumed`.
"""

from lanescope.reader.code.symbolic_integers.bits import (
    MOST_BITS,
    and_ints,
    extract_bits,
    insert_bits,
    invert_int,
    or_ints,
    shift_int,
    xor_ints,
)
from lanescope.reader.code.symbolic_integers.choices import compare_ints, merge_ints
from lanescope.reader.code.symbolic_integers.conversion import (
    convert_int,
    convert_to_bool,
    divide_as_symbol,
    round_as_symbol,
)
from lanescope.reader.code.symbolic_integers.integer import (
    FIELD_BITS,
    FIELD_SHIFT,
    MOST_ORIGINS,
    SHARED_BITS,
    UNKNOWN,
    FitAssumption,
    Span,
    SymbolBits,
    SymbolicInt,
    TextMark,
    find_runs,
    format_factor,
    format_name,
    get_exact_linear,
    get_modular_linear,
    get_possible_bits,
    int_from_linear,
    is_nonnegative,
    make_free,
    make_opaque,
    make_reduced,
)
from lanescope.reader.code.symbolic_integers.linear import MOST_TERMS, MOST_TEXT, LinearExpression, make_symbol
from lanescope.reader.code.symbolic_integers.sums import add_ints, divide_ints, get_remainder, multiply_ints

__all__ = [
    "FIELD_BITS",
    "FIELD_SHIFT",
    "MOST_BITS",
    "MOST_ORIGINS",
    "MOST_TERMS",
    "MOST_TEXT",
    "SHARED_BITS",
    "UNKNOWN",
    "FitAssumption",
    "LinearExpression",
    "Span",
    "SymbolBits",
    "SymbolicInt",
    "TextMark",
    "add_ints",
    "and_ints",
    "compare_ints",
    "convert_int",
    "convert_to_bool",
    "divide_as_symbol",
    "divide_ints",
    "extract_bits",
    "find_runs",
    "format_factor",
    "format_name",
    "get_exact_linear",
    "get_modular_linear",
    "get_possible_bits",
    "get_remainder",
    "insert_bits",
    "int_from_linear",
    "invert_int",
    "is_nonnegative",
    "make_free",
    "make_opaque",
    "make_reduced",
    "make_symbol",
    "merge_ints",
    "multiply_ints",
    "or_ints",
    "round_as_symbol",
    "shift_int",
    "xor_ints",
]
