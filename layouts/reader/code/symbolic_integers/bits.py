"""Bitwise operations: |, &, ^, ~, shifts and bit fields."""

from __future__ import annotations

from dataclasses import replace

from lanescope.cxx.integers import IntegerType, find_common_type, promote
from lanescope.reader.code.symbolic_integers.conversion import convert_int
from lanescope.reader.code.symbolic_integers.integer import (
    FitAssumption,
    Span,
    SymbolBits,
    SymbolicInt,
    TextMark,
    carry_marks,
    carry_origins,
    find_runs,
    format_factor,
    get_possible_bits,
    is_nonnegative,
    join_assumptions,
    make_inexact,
    make_reduced,
    mask_pieces,
)
from lanescope.reader.code.symbolic_integers.linear import MOST_TERMS, make_symbol

MOST_BITS = 4096  # bits of a Python integer


def or_ints(left: SymbolicInt, right: SymbolicInt) -> SymbolicInt:
    """Return left | right."""
    kind = find_common_type(left.type, right.type)
    a, b = convert_int(left, kind), convert_int(right, kind)
    const = a.const | b.const
    pieces = tuple(dict.fromkeys((*a.pieces, *b.pieces)))
    low = min(left.low, right.low)
    if len(pieces) > MOST_TERMS:
        reduced = make_reduced(f"{format_factor(a, True)} | {format_factor(b, True)}", kind)
        return carry_marks(
            SymbolicInt(const, kind, reduced.pieces if not const else make_inexact(reduced.pieces), low), left, right
        )
    return carry_marks(SymbolicInt(const, kind, _separate_pieces(pieces, const & kind.mask), low), left, right)


def _separate_pieces(pieces: tuple[SymbolBits, ...], const: int) -> tuple[SymbolBits, ...]:
    """Mark OR-ed pieces that overlap as not exact."""
    if len(pieces) + bool(const) < 2:
        return pieces
    separate = []
    for p in pieces:
        others = const
        for other in pieces:
            if other is not p:
                others |= other.mask
        separate.append(replace(p, exact=False) if p.exact and others & p.mask else p)
    return tuple(separate)


def and_ints(left: SymbolicInt, right: SymbolicInt) -> SymbolicInt:
    """Return left & right."""
    kind = find_common_type(left.type, right.type)
    a, b = convert_int(left, kind), convert_int(right, kind)
    if a.known is not None and b.known is None:
        a, b = b, a
    if b.known is not None:
        mask = b.const
        marks = tuple(m for m in a.marks if mask >> m.bit & 1)
        pieces = mask_pieces(a.pieces, mask, kind.bits)
        return carry_origins(SymbolicInt(kind.wrap(a.const & mask), kind, pieces, a.low, marks), a, b)
    if (a.const, a.pieces) == (b.const, b.pieces):
        return a
    ones = a.const & b.const & (kind.mask if kind.bits else (1 << MOST_BITS) - 1)
    may = get_possible_bits(a) & get_possible_bits(b) & ~ones
    return _weave_bits(f"{format_factor(a, True)} & {format_factor(b, True)}", kind, kind.wrap(ones), may, a, b)


def xor_ints(left: SymbolicInt, right: SymbolicInt) -> SymbolicInt:
    """Return left ^ right; bits that may be 1 in both become a symbol."""
    kind = find_common_type(left.type, right.type)
    a, b = convert_int(left, kind), convert_int(right, kind)
    if a.known is not None and b.known is not None:
        return carry_marks(SymbolicInt(kind.wrap(a.const ^ b.const), kind), left, right)
    if (a.const, a.pieces) == (b.const, b.pieces):
        return carry_marks(SymbolicInt(0, kind), left, right)
    at_l, at_r = get_possible_bits(a), get_possible_bits(b)
    if not at_l & at_r:
        return or_ints(a, b)
    open_ = 0
    for p in (*a.pieces, *b.pieces):
        open_ |= p.mask
    may = at_l & at_r & open_
    woven = _weave_bits(
        f"{format_factor(a, True)} ^ {format_factor(b, True)}", kind, kind.wrap((a.const ^ b.const) & ~open_), may, a, b
    )
    ones_l, ones_r = a.const & kind.mask & open_ & ~may, b.const & kind.mask & open_ & ~may
    alone = (*mask_pieces(a.pieces, ~at_r & kind.mask, kind.bits), *mask_pieces(b.pieces, ~at_l & kind.mask, kind.bits))
    return replace(woven, const=kind.wrap(woven.const | ones_l | ones_r), pieces=(*woven.pieces, *make_inexact(alone)))


def _weave_bits(
    text: str, kind: IntegerType, const: int, may: int, left: SymbolicInt, right: SymbolicInt
) -> SymbolicInt:
    """Return a word with the known bits `const`, and the bits `may` from a symbol for the result."""
    reduced = make_reduced(text, kind, left, right)
    source = reduced.pieces[0].source
    most = kind.bits or max(left.width, right.width, 64)
    pieces = tuple(SymbolBits(low, width, source, low) for low, width in find_runs(may, most))
    if len(pieces) > MOST_TERMS:
        pieces = (SymbolBits(0, most, source),)
    return SymbolicInt(const, kind, pieces, low=0, marks=reduced.marks, origin=reduced.origin, assumed=reduced.assumed)


def invert_int(value: SymbolicInt) -> SymbolicInt:
    """Return ~value."""
    kind = promote(value.type)
    converted = convert_int(value, kind)
    if converted.known is not None:
        return SymbolicInt(kind.wrap(~converted.known), kind, origin=converted.origin, assumed=converted.assumed)
    if not kind.bits:
        return make_reduced(f"~{format_factor(converted, True)}", kind, converted)
    symbolic_bits = 0
    for p in converted.pieces:
        symbolic_bits |= p.mask
    return _weave_bits(
        f"~{format_factor(converted, True)}",
        kind,
        kind.wrap(~converted.const & ~symbolic_bits),
        symbolic_bits & ~converted.const,
        converted,
        SymbolicInt(0, kind),
    )


def shift_int(value: SymbolicInt, by: int) -> SymbolicInt:
    """Return value << by, or value >> -by, in the type of the value."""
    kind = value.type
    return _shift_left(value, by, kind) if by >= 0 else shift_right(value, -by, kind)


def _shift_left(value: SymbolicInt, by: int, kind: IntegerType) -> SymbolicInt:
    pieces, rests = [], []
    for p in value.pieces:
        if kind.bits and p.low + by >= kind.bits:
            continue
        if by and _is_signed_product(p, by, kind):  # signed overflow is undefined
            rests.append(FitAssumption(p.source.scale(1 << (p.low + by)), kind.bits, True))
            exactly = True
        else:
            exactly = p.exact and (not by or _stays_exact(p, by, kind))
        width = min(p.width, kind.bits - p.low - by) if kind.bits else p.width
        pieces.append(SymbolBits(p.low + by, width, p.source, p.shift, exactly))
    marks = tuple([TextMark(m.bit + by, m.span, m.origin) for m in value.marks])
    assumed = join_assumptions(value, more=tuple(rests))
    const = kind.wrap(value.const << by)
    return SymbolicInt(const, value.type, tuple(pieces), value.low + by, marks, value.origin, assumed)


def _is_signed_product(piece: SymbolBits, by: int, kind: IntegerType) -> bool:
    """Return whether a piece, shifted left, is a signed product that reaches the top bit."""
    return piece.exact and not piece.shift and kind.signed and 0 < kind.bits <= piece.end + by


def _stays_exact(piece: SymbolBits, by: int, kind: IntegerType) -> bool:
    """Return whether a piece, shifted left, loses no bit and does not reach the sign."""
    if not kind.bits:
        return True
    end = piece.end + by
    return end < kind.bits or (end == kind.bits and not kind.signed)


def shift_right(value: SymbolicInt, down: int, kind: IntegerType) -> SymbolicInt:
    bits = kind.bits
    signed = kind.signed and bits > 0 and not is_nonnegative(value) and value.const >= 0
    top = [p for p in value.pieces if p.end == bits]
    extended = value.pieces
    if signed and len(top) == 1 and top[0].exact:  # the sign is shifted in
        extended = tuple(replace(p, width=p.width + down) if p is top[0] else p for p in extended)
    elif signed:
        extended = (*extended, SymbolBits(bits, down, make_symbol(f"({format_factor(value)} < 0 ? -1 : 0)")))
    pieces = tuple(
        [
            SymbolBits(
                max(p.low - down, 0),
                p.width - max(down - p.low, 0),
                p.source,
                p.shift + max(down - p.low, 0),
                p.exact,
            )
            for p in extended
            if p.end > down
        ]
    )
    marks = tuple([TextMark(m.bit - down, m.span, m.origin) for m in value.marks if m.bit >= down])
    low = max(value.low - down, 0)
    return SymbolicInt(value.const >> down, value.type, pieces, low, marks, value.origin, value.assumed)


def insert_bits(word: SymbolicInt, value: SymbolicInt, low: int, width: int, span: Span) -> SymbolicInt:
    """Return `word` with bits low … low + width − 1 replaced by the value's lowest, as a bit-field assignment does."""
    mask = (1 << width) - 1
    rest = and_ints(word, SymbolicInt(word.type.mask & ~(mask << low), word.type))
    unsigned = IntegerType("bits", max(value.type.bits, low + width, word.type.bits), False, 9)
    cut = and_ints(convert_int(value, unsigned), SymbolicInt(mask, unsigned))
    put = shift_int(replace(convert_int(cut, word.type), marks=(), low=0), low)
    mark = TextMark(low, span, value.origin)
    outer_marks = tuple(m for m in word.marks if not low <= m.bit < low + width)
    inner = tuple(replace(m, bit=m.bit + low) for m in value.marks if m.bit < width) if width > 16 else ()
    return replace(or_ints(rest, put), type=word.type, marks=(*outer_marks, *(inner or (mark,))), origin=())


def extract_bits(value: SymbolicInt, low: int, width: int, kind: IntegerType) -> SymbolicInt:
    """Return bits low … low + width − 1 as a value of a type, still marked as a bit field if it is narrower."""
    wide = IntegerType("bits", max(value.type.bits, low + width), False, 9)
    cut = shift_int(and_ints(convert_int(value, wide), SymbolicInt(((1 << width) - 1) << low, wide)), -low)
    if kind.signed and width < kind.bits:
        cut = convert_int(cut, IntegerType("bits", width, True, 9))
    extracted = convert_int(cut, kind)
    return replace(extracted, type=replace(kind, field_bits=width)) if width < kind.bits else extracted
