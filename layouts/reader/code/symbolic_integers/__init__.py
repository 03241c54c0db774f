"""Integers with known bits and bits of symbols, such as a descriptor with an unknown start address.

The package knows bits, names and C's types (lanescope.cxx.integers), but no statements.

The known bits of a result are right for every value of its symbols: operands are converted to C's common type, a sum
that may wrap is known modulo 2^bits only, and unknown bits become symbols. Assumptions that values are addresses or
field amounts are recorded in `assumed`.
"""

from lanescope.reader.code.symbolic_integers.bits import (
    MOST_BITS as MOST_BITS,
    and_ints as and_ints,
    extract_bits as extract_bits,
    insert_bits as insert_bits,
    invert_int as invert_int,
    or_ints as or_ints,
    shift_int as shift_int,
    xor_ints as xor_ints,
)
from lanescope.reader.code.symbolic_integers.choices import compare_ints as compare_ints, merge_ints as merge_ints
from lanescope.reader.code.symbolic_integers.conversion import (
    convert_int as convert_int,
    convert_to_bool as convert_to_bool,
    divide_as_symbol as divide_as_symbol,
    round_as_symbol as round_as_symbol,
)
from lanescope.reader.code.symbolic_integers.integer import (
    FIELD_BITS as FIELD_BITS,
    FIELD_SHIFT as FIELD_SHIFT,
    MOST_ORIGINS as MOST_ORIGINS,
    SHARED_BITS as SHARED_BITS,
    UNKNOWN as UNKNOWN,
    FitAssumption as FitAssumption,
    Span as Span,
    SymbolBits as SymbolBits,
    SymbolicInt as SymbolicInt,
    TextMark as TextMark,
    find_runs as find_runs,
    format_factor as format_factor,
    format_name as format_name,
    get_exact_linear as get_exact_linear,
    get_modular_linear as get_modular_linear,
    get_possible_bits as get_possible_bits,
    int_from_linear as int_from_linear,
    is_nonnegative as is_nonnegative,
    make_free as make_free,
    make_opaque as make_opaque,
    make_reduced as make_reduced,
)
from lanescope.reader.code.symbolic_integers.linear import (
    MOST_TERMS as MOST_TERMS,
    MOST_TEXT as MOST_TEXT,
    LinearExpression as LinearExpression,
    make_symbol as make_symbol,
)
from lanescope.reader.code.symbolic_integers.rounding import mask_int as mask_int
from lanescope.reader.code.symbolic_integers.sums import (
    add_ints as add_ints,
    divide_ints as divide_ints,
    get_remainder as get_remainder,
    multiply_ints as multiply_ints,
)
