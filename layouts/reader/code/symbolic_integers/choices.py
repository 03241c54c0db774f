"""Compare integers, and merge the values of an undecided choice."""

from __future__ import annotations

import zlib
from functools import lru_cache

from lanescope.cxx import integers as c_integers
from lanescope.cxx.integers import IntegerType, find_common_type
from lanescope.reader.code.symbolic_integers.bits import shift_right
from lanescope.reader.code.symbolic_integers.conversion import convert_int
from lanescope.reader.code.symbolic_integers.integer import (
    SymbolBits,
    SymbolicInt,
    find_runs,
    format_name,
    get_exact_linear,
    get_possible_bits,
    is_nonnegative,
    join_assumptions,
    join_marks,
    join_origins,
    make_inexact,
    mask_pieces,
)
from lanescope.reader.code.symbolic_integers.linear import make_symbol
from lanescope.reader.code.symbolic_integers.rounding import round_up

MOST_SIDE = 32  # characters of an arm in the name of a choice
_NAMELESS = make_symbol("")


# Results if the left maximum equals the right minimum, and if the left minimum equals the right maximum.
_AT_MOST = {"<=": True, ">": False}
_AT_LEAST = {">=": True, "<": False}


def compare_ints(op: str, left: SymbolicInt, right: SymbolicInt) -> bool | None:
    """Return whether `left op right` holds in the common type for all symbols; None if it depends on them."""
    kind = find_common_type(left.type, right.type)
    a, b = convert_int(left, kind), convert_int(right, kind)
    if (a.const, a.pieces) == (b.const, b.pieces):
        return c_integers.COMPARED[op](0, 0)
    first, second = get_exact_linear(a), get_exact_linear(b)
    gap = first + second.scale(-1) if first is not None and second is not None else None
    if gap is not None and not gap.terms:
        return c_integers.COMPARED[op](gap.const, 0)
    if not kind.bits:
        return None
    if op in ("==", "!=") and _has_different_bit(a, b):
        return op == "!="
    return _compare_ranges(op, a, b) if is_nonnegative(a) and is_nonnegative(b) else None


def _compare_ranges(op: str, left: SymbolicInt, right: SymbolicInt) -> bool | None:
    """Compare two nonnegative values by their ranges."""
    (least, most), (low, high) = _get_range(left), _get_range(right)
    if most < low:
        return c_integers.COMPARED[op](-1, 0)
    if least > high:
        return c_integers.COMPARED[op](1, 0)
    if most <= low and op in _AT_MOST:
        return _AT_MOST[op]
    return _AT_LEAST.get(op) if least >= high else None


def _get_range(value: SymbolicInt) -> tuple[int, int]:
    """Return (minimum, maximum) of a nonnegative value."""
    return value.const, get_possible_bits(value)


def _has_different_bit(left: SymbolicInt, right: SymbolicInt) -> bool:
    """Return whether some bit is known in both and differs."""
    mask = left.type.mask
    return bool((left.const & ~get_possible_bits(right) | right.const & ~get_possible_bits(left)) & mask)


def merge_ints(condition: str, yes: SymbolicInt, no: SymbolicInt) -> SymbolicInt:
    """Merge the values of an undecided choice: equal bits are kept, the others become a symbol."""
    kind = c_integers.find_arms_type(yes.type, no.type)
    a, b = convert_int(yes, kind), convert_int(no, kind)
    rests = join_assumptions(a, b)
    if (a.const, a.pieces) == (b.const, b.pieces):
        return SymbolicInt(a.const, a.type, a.pieces, a.low, join_marks(a, b), join_origins(a, b), rests)
    rounded = round_up(condition, a, b)
    if rounded is not None:
        return rounded
    if a.plain is not None and b.plain is not None and (a.width <= 32 or b.width <= 32) and not (a.marks or b.marks):
        merged = _choose_number(condition, a, b, kind)
    else:
        merged = _choose_bits(condition, a, b, kind)
    low, origins = min(a.low, b.low), join_origins(a, b)
    return SymbolicInt(merged.const, merged.type, merged.pieces, low, merged.marks, origins, rests)


def _choose_number(condition: str, yes: SymbolicInt, no: SymbolicInt, kind: IntegerType) -> SymbolicInt:
    """Return a choice between two numbers as a symbol; common low zero bits stay zero."""
    text = f"({condition} ? {format_name(yes)} : {format_name(no)})"
    low = min(yes.low, no.low)
    shift = low if low and not (yes.const | no.const) & ((1 << low) - 1) and not (yes.pieces or no.pieces) else 0
    width = max(yes.width, no.width, shift + 1)
    width = min(width, kind.bits) if kind.bits else width
    return SymbolicInt(0, kind, (SymbolBits(shift, width - shift, make_symbol(text), shift, True),))


def _choose_bits(condition: str, yes: SymbolicInt, no: SymbolicInt, kind: IntegerType) -> SymbolicInt:
    """Return a choice between two words, with a symbol for each range of bits in which they differ."""
    common_pieces = tuple(p for p in yes.pieces if p in no.pieces)
    loose = [p for v in (yes, no) for p in v.pieces if p not in common_pieces]
    most = kind.bits or max(64, yes.width, no.width)
    differ = (yes.const ^ no.const) & ((1 << most) - 1)
    for p in loose:
        differ |= p.mask
    pieces: list[SymbolBits] = []
    hidden = 0
    for low, width in _split_difference(differ, most):
        sides = [_format_side(v, low, width) for v in (yes, no)]
        text = f"({condition} ? {sides[0]} : {sides[1]})"
        pieces.append(SymbolBits(low, width, make_symbol(text)))
        hidden |= ((1 << width) - 1) << low
    equal_pieces = mask_pieces(common_pieces, ~hidden & ((1 << most) - 1), most)
    const = kind.wrap(yes.const & no.const & ~hidden)
    return SymbolicInt(const, kind, (*make_inexact(equal_pieces), *pieces), marks=join_marks(yes, no))


def _format_side(value: SymbolicInt, low: int, width: int) -> str:
    """Format a range of bits of a value: a number or a name; a long name becomes a hash."""
    past = low + width
    inside = tuple([p for p in value.pieces if p.low < past and low < p.low + p.width])
    if not inside:
        return str(value.const >> low & ((1 << width) - 1))
    if any(p.source == _NAMELESS for p in value.pieces):
        return "…"
    mask = ((1 << width) - 1) << low
    pieces = mask_pieces(inside, mask, 64)
    return _format_bits(value.const & mask, pieces, tuple([p.exact for p in pieces]), low)


@lru_cache(maxsize=1 << 14)
def _format_bits(const: int, pieces: tuple[SymbolBits, ...], exact: tuple[bool, ...], low: int) -> str:
    """Format bits from `low` up of an unknown value. exact: of each piece, since equality of pieces ignores it."""
    cut = SymbolicInt(const, IntegerType("bits", 64, False, 9), pieces)
    text = format_name(shift_right(cut, low, cut.type))
    return text if len(text) <= MOST_SIDE else f"…{zlib.crc32(text.encode()) & 0xFFF:03x}"


def _split_difference(mask: int, most: int = 64) -> list[tuple[int, int]]:
    """Split a difference into (low, width): the lowest three 16-bit fields as units, bits from 48 up by runs."""
    result = [(low, 16) for low in (0, 16, 32) if mask >> low & 0xFFFF and low + 16 <= max(most, 16)]
    return result + [(low, width) for low, width in find_runs(mask >> 48 << 48, most)]
