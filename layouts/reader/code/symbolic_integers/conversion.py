"""Convert integers: truncate, sign-extend, convert to bool, or name as a new symbol."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from lanescope.cxx.integers import BOOL, INT, IntegerType
from lanescope.reader.code.symbolic_integers.integer import (
    SHARED_BITS,
    UNKNOWN,
    FitAssumption,
    SymbolBits,
    SymbolicInt,
    carry_marks,
    format_factor,
    get_exact_linear,
    get_possible_bits,
    join_assumptions,
    make_free,
    make_opaque,
)
from lanescope.reader.code.symbolic_integers.linear import LinearExpression, make_symbol

ROUNDED = range(4, 14)  # powers of two that addresses are rounded to


def convert_int(value: SymbolicInt, kind: IntegerType) -> SymbolicInt:
    """Convert a value to another type: truncated, or sign-extended."""
    old = value.type
    if kind is old or kind == old:
        return value
    if kind.bits == 1 and not kind.signed:
        return convert_to_bool(value)
    if not value.pieces or not kind.bits:
        pieces = value.pieces
    elif old == UNKNOWN and kind.bits >= INT.bits and (line := get_exact_linear(value)) is not None:
        return _convert_undeclared(value, line, kind)
    else:
        pieces = _convert_pieces(value, kind)
    return SymbolicInt(
        kind.wrap(value.const),
        kind,
        pieces,
        low=value.low,
        marks=value.marks,
        origin=value.origin,
        assumed=value.assumed,
    )


def _convert_pieces(value: SymbolicInt, kind: IntegerType) -> tuple[SymbolBits, ...]:
    """Convert the pieces of a value to another type of known width."""
    old = value.type
    pieces_before = _extend_sign(value, kind.bits) if old.signed and 0 < old.bits < kind.bits else value.pieces
    pieces = []
    for p in pieces_before:
        if p.low >= kind.bits:
            continue
        width = min(p.width, kind.bits - p.low)
        top = p.low + width == kind.bits and kind.signed
        negative = old.signed and p.end >= max(old.bits, 1)
        is_kept = (top and kind.bits >= old.bits) if negative else not top
        pieces.append(SymbolBits(p.low, width, p.source, p.shift, p.exact and width == p.width and is_kept))
    return tuple(pieces)


def _convert_undeclared(value: SymbolicInt, line: LinearExpression, kind: IntegerType) -> SymbolicInt:
    """Convert an undeclared value to a variable's type, assuming that it has that type."""
    rests = join_assumptions(value, more=(FitAssumption(line, kind.bits, kind.signed),))
    pieces = tuple(replace(p, width=min(p.width, kind.bits - p.low)) for p in value.pieces if p.low < kind.bits)
    return replace(value, const=kind.wrap(value.const), type=kind, pieces=pieces, assumed=rests)


def _extend_sign(value: SymbolicInt, bits: int) -> tuple[SymbolBits, ...]:
    """Sign-extend the pieces of a signed value to more bits."""
    old = value.type.bits
    top = [p for p in value.pieces if p.end == old]
    if value.const < 0 or not top:
        return value.pieces
    if len(top) == 1 and top[0].exact:
        return tuple(replace(p, width=bits - p.low) if p is top[0] else p for p in value.pieces)
    return (*value.pieces, SymbolBits(old, bits - old, make_symbol(f"({format_factor(value)} < 0 ? -1 : 0)")))


def convert_to_bool(value: SymbolicInt) -> SymbolicInt:
    """Convert a value to bool: whether it is not 0."""
    if value.known is not None or value.const:
        return replace(value, const=int(value.const != 0), type=BOOL, pieces=())
    if get_possible_bits(value) == 1 and len(value.pieces) == 1:
        return replace(value, type=BOOL, pieces=(replace(value.pieces[0], exact=False),))
    return make_opaque(f"{format_factor(value)} != 0", BOOL, value)


def round_as_symbol(value: SymbolicInt) -> SymbolicInt:
    """Return an address rounded to a multiple of a power of two as a new symbol, so that sums stay linear.

    smem + 127 & ~127 is smem⌈128⌉, smem & ~127 is smem⌊128⌋.
    """
    if value.const or len(value.pieces) != 1:
        return value
    (piece,) = value.pieces
    terms, least = piece.source.terms, 1 << piece.low
    complete = piece.end in (SHARED_BITS, value.type.bits) or piece.exact
    if piece.shift != piece.low or piece.low not in ROUNDED or len(terms) != 1 or terms[0][1] != 1 or not complete:
        return value
    if piece.source.const not in (0, least - 1):
        return value
    name = f"{terms[0][0]}⌈{least}⌉" if piece.source.const else f"{terms[0][0]}⌊{least}⌋"
    return carry_marks(make_free(name, value.type, piece.end), value, value)


def divide_as_symbol(value: SymbolicInt, names: Container[str]) -> SymbolicInt:
    """Return threadIdx.x / 128 and the like as a new symbol, so that products and sums stay linear."""
    if value.const or len(value.pieces) != 1 or value.low:
        return value
    (piece,) = value.pieces
    (name, by), *more = piece.source.terms or (("", 0),)
    base_name, _, before = name.partition("/")
    if (
        piece.low
        or not piece.shift
        or not piece.exact
        or more
        or by != 1
        or piece.source.const
        or base_name not in names
    ):
        return value
    return carry_marks(
        make_free(f"{base_name}/{int(before or 1) << piece.shift}", value.type, piece.width), value, value
    )
