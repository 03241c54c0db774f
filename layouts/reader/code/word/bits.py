"""Operations bit by bit: |, &, ^, ~, shifts, and bit fields."""

from __future__ import annotations

from dataclasses import replace

from lanescope.cxx.integers import IntegerType, common, promoted
from lanescope.reader.code.word.conversion import convert
from lanescope.reader.code.word.integer import (
    Assumption,
    Int,
    Mark,
    Piece,
    Span,
    carry_marks,
    carry_origins,
    covered,
    factor,
    join_assumptions,
    make_inexact,
    mask_pieces,
    nonnegative,
    reduced,
    runs,
)
from lanescope.reader.code.word.linear import MOST_TERMS, symbol

MOST_BITS = 4096  # of one of Python's integers


def either(left: Int, right: Int) -> Int:
    """left | right."""
    kind = common(left.type, right.type)
    a, b = convert(left, kind), convert(right, kind)
    const = a.const | b.const
    pieces = tuple(dict.fromkeys((*a.pieces, *b.pieces)))
    low = min(left.low, right.low)
    if len(pieces) > MOST_TERMS:
        made = reduced(f"{factor(a, True)} | {factor(b, True)}", kind)
        return carry_marks(Int(const, kind, made.pieces if not const else make_inexact(made.pieces), low), left, right)
    return carry_marks(Int(const, kind, _apart(pieces, const & kind.mask), low), left, right)


def _apart(pieces: tuple[Piece, ...], const: int) -> tuple[Piece, ...]:
    """Pieces that are OR-ed together: those that others overlap are no numbers of their own."""
    if len(pieces) + bool(const) < 2:
        return pieces
    out = []
    for p in pieces:
        others = const
        for other in pieces:
            if other is not p:
                others |= other.mask
        out.append(replace(p, exact=False) if p.exact and others & p.mask else p)
    return tuple(out)


def both(left: Int, right: Int) -> Int:
    """left & right."""
    kind = common(left.type, right.type)
    a, b = convert(left, kind), convert(right, kind)
    if a.known is not None and b.known is None:
        a, b = b, a
    if b.known is not None:
        mask = b.const
        kept = tuple(m for m in a.marks if mask >> m.bit & 1)
        pieces = mask_pieces(a.pieces, mask, kind.bits)
        return carry_origins(Int(kind.wrap(a.const & mask), kind, pieces, a.low, kept), a, b)
    if (a.const, a.pieces) == (b.const, b.pieces):
        return a
    ones = a.const & b.const & (kind.mask if kind.bits else (1 << MOST_BITS) - 1)
    may = covered(a) & covered(b) & ~ones
    return _woven(f"{factor(a, True)} & {factor(b, True)}", kind, kind.wrap(ones), may, a, b)


def exclusive(left: Int, right: Int) -> Int:
    """left ^ right; a symbol where both may have a bit."""
    kind = common(left.type, right.type)
    a, b = convert(left, kind), convert(right, kind)
    if a.known is not None and b.known is not None:
        return carry_marks(Int(kind.wrap(a.const ^ b.const), kind), left, right)
    if (a.const, a.pieces) == (b.const, b.pieces):
        return carry_marks(Int(0, kind), left, right)
    at_l, at_r = covered(a), covered(b)
    if not at_l & at_r:
        return either(a, b)
    open_ = 0
    for p in (*a.pieces, *b.pieces):
        open_ |= p.mask
    may = at_l & at_r & open_
    made = _woven(f"{factor(a, True)} ^ {factor(b, True)}", kind, kind.wrap((a.const ^ b.const) & ~open_), may, a, b)
    ones_l, ones_r = a.const & kind.mask & open_ & ~may, b.const & kind.mask & open_ & ~may
    alone = (*mask_pieces(a.pieces, ~at_r & kind.mask, kind.bits), *mask_pieces(b.pieces, ~at_l & kind.mask, kind.bits))
    return replace(made, const=kind.wrap(made.const | ones_l | ones_r), pieces=(*made.pieces, *make_inexact(alone)))


def _woven(text: str, kind: IntegerType, const: int, may: int, left: Int, right: Int) -> Int:
    """Known bits, and those of `may` as bits of a symbol of the whole result."""
    whole = reduced(text, kind, left, right)
    source = whole.pieces[0].source
    most = kind.bits or max(left.width, right.width, 64)
    pieces = tuple(Piece(low, width, source, low) for low, width in runs(may, most))
    if len(pieces) > MOST_TERMS:
        pieces = (Piece(0, most, source),)
    return Int(const, kind, pieces, low=0, marks=whole.marks, origin=whole.origin, assumed=whole.assumed)


def inverted(value: Int) -> Int:
    """~value."""
    kind = promoted(value.type)
    own = convert(value, kind)
    if own.known is not None:
        return Int(kind.wrap(~own.known), kind, origin=own.origin, assumed=own.assumed)
    if not kind.bits:
        return reduced(f"~{factor(own, True)}", kind, own)
    taken = 0
    for p in own.pieces:
        taken |= p.mask
    return _woven(f"~{factor(own, True)}", kind, kind.wrap(~own.const & ~taken), taken & ~own.const, own, Int(0, kind))


def shifted(value: Int, by: int) -> Int:
    """value << by, or value >> -by; the type stays."""
    kind = value.type
    return _shifted_left(value, by, kind) if by >= 0 else shifted_right(value, -by, kind)


def _shifted_left(value: Int, by: int, kind: IntegerType) -> Int:
    pieces, rests = [], []
    for p in value.pieces:
        if kind.bits and p.low + by >= kind.bits:
            continue
        if by and _is_signed_product(p, by, kind):  # one that does not fit its signed type is a mistake
            rests.append(Assumption(p.source.scaled(1 << (p.low + by)), kind.bits, True))
            exactly = True
        else:
            exactly = p.exact and (not by or _stays_exact(p, by, kind))
        width = min(p.width, kind.bits - p.low - by) if kind.bits else p.width
        pieces.append(replace(p, low=p.low + by, width=width, exact=exactly))
    marks = tuple(replace(m, bit=m.bit + by) for m in value.marks)
    return replace(
        value,
        const=kind.wrap(value.const << by),
        pieces=tuple(pieces),
        low=value.low + by,
        marks=marks,
        assumed=join_assumptions(value, more=tuple(rests)),
    )


def _is_signed_product(piece: Piece, by: int, kind: IntegerType) -> bool:
    """Whether a piece that is shifted left is a number times a power of two that reaches a signed type's top bit."""
    return piece.exact and not piece.shift and kind.signed and 0 < kind.bits <= piece.end + by


def _stays_exact(piece: Piece, by: int, kind: IntegerType) -> bool:
    """Whether no bit of a piece that is shifted left is cut, and none becomes the sign."""
    if not kind.bits:
        return True
    end = piece.end + by
    return end < kind.bits or (end == kind.bits and not kind.signed)


def shifted_right(value: Int, down: int, kind: IntegerType) -> Int:
    bits = kind.bits
    signed = kind.signed and bits > 0 and not nonnegative(value) and value.const >= 0
    top = [p for p in value.pieces if p.end == bits]
    given = value.pieces
    if signed and len(top) == 1 and top[0].exact:  # the sign moves in from above
        given = tuple(replace(p, width=p.width + down) if p is top[0] else p for p in given)
    elif signed:
        given = (*given, Piece(bits, down, symbol(f"({factor(value)} < 0 ? -1 : 0)")))
    pieces = tuple(
        replace(
            p,
            low=max(p.low - down, 0),
            width=p.width - max(down - p.low, 0),
            shift=p.shift + max(down - p.low, 0),
        )
        for p in given
        if p.end > down
    )
    marks = tuple(replace(m, bit=m.bit - down) for m in value.marks if m.bit >= down)
    return replace(value, const=value.const >> down, pieces=pieces, low=max(value.low - down, 0), marks=marks)


def inserted(into: Int, value: Int, low: int, width: int, span: Span) -> Int:
    """`into` with bits low … low + width − 1 replaced by value's lowest, as a bit field's assignment does."""
    mask = (1 << width) - 1
    rest = both(into, Int(into.type.mask & ~(mask << low), into.type))
    unsigned = IntegerType("bits", max(value.type.bits, low + width, into.type.bits), False, 9)
    cut = both(convert(value, unsigned), Int(mask, unsigned))
    put = shifted(replace(convert(cut, into.type), marks=(), low=0), low)
    mark = Mark(low, span, value.origin)
    kept = tuple(m for m in into.marks if not low <= m.bit < low + width)
    inner = tuple(replace(m, bit=m.bit + low) for m in value.marks if m.bit < width) if width > 16 else ()
    return replace(either(rest, put), type=into.type, marks=(*kept, *(inner or (mark,))), origin=())


def extracted(value: Int, low: int, width: int, kind: IntegerType) -> Int:
    """Bits low … low + width − 1 as a value of a type; of a bit field narrower than that, as such."""
    wide = IntegerType("bits", max(value.type.bits, low + width), False, 9)
    cut = shifted(both(convert(value, wide), Int(((1 << width) - 1) << low, wide)), -low)
    if kind.signed and width < kind.bits:
        cut = convert(cut, IntegerType("bits", width, True, 9))
    made = convert(cut, kind)
    return replace(made, type=replace(kind, field_bits=width)) if width < kind.bits else made
