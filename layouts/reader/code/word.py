"""Integers of which some bits are known and others come from a symbol: what is left when a descriptor's start address
is free. Knows bits and names, nothing of C's statements.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layouts.reader.code.ctype import INT, CType, common

Span = tuple[int, int]
MOST_ORIGINS = 8
MOST_TEXT = 80  # characters of a symbol's name
MOST_TERMS = 24  # symbols of an expression, pieces of a word
MOST_BITS = 4096  # of one of Python's integers


@dataclass(frozen=True, slots=True)
class Linear:
    """const + Σ factor·symbol; symbols are texts, sorted."""

    const: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    def __add__(self, other: Linear) -> Linear:
        if not other.terms or not self.terms:
            return Linear(self.const + other.const, self.terms or other.terms)
        factors = dict(self.terms)
        for name, factor in other.terms:
            factors[name] = factors.get(name, 0) + factor
        if len(factors) > MOST_TERMS:
            return symbol("(…)")
        return Linear(self.const + other.const, tuple(sorted((n, f) for n, f in factors.items() if f)))

    def scaled(self, by: int) -> Linear:
        if by == 1:
            return self
        return Linear(self.const * by, tuple((n, f * by) for n, f in self.terms) if by else ())

    def divided(self, by: int) -> Linear | None:
        """The exact quotient, None where there is none."""
        if self.const % by or any(f % by for _, f in self.terms):
            return None
        return Linear(self.const // by, tuple((n, f // by) for n, f in self.terms))

    def __str__(self) -> str:
        """Names first, as an engineer writes it: smem_A + 32·k + 64."""
        if not self.const and len(self.terms) == 1 and self.terms[0][1] == 1:
            return self.terms[0][0]
        ordered = sorted(self.terms, key=lambda term: (term[1] != 1, term[0]))
        parts = [(f, n if abs(f) == 1 else f"{abs(f)}·{n}") for n, f in ordered]
        if self.const or not parts:
            parts.insert(len(parts) if parts and ordered[0][1] == 1 else 0, (self.const, str(abs(self.const))))
        first = ("-" if parts[0][0] < 0 else "") + parts[0][1]
        return first + "".join(f" {'-' if f < 0 else '+'} {text}" for f, text in parts[1:])


def symbol(name: str) -> Linear:
    return Linear(0, ((name[:MOST_TEXT], 1),))


@dataclass(frozen=True, slots=True)
class Piece:
    """Bits `shift` and up of a symbolic value, `width` of them, standing at bit `low` and up."""

    low: int
    width: int
    source: Linear
    shift: int = 0

    @property
    def end(self) -> int:
        return self.low + self.width


@dataclass(frozen=True, slots=True)
class Mark:
    """The text that put something at bit `bit`: the expression itself, and the literals it was made of."""

    bit: int
    span: Span
    origin: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Int:
    """const OR pieces, of a type. low: the bit its lowest digit was shifted to; origin: the literals it came from."""

    const: int
    type: CType = INT
    pieces: tuple[Piece, ...] = ()
    low: int = 0
    marks: tuple[Mark, ...] = ()
    origin: tuple[Span, ...] = ()

    @property
    def known(self) -> int | None:
        """Its value where no bit is free."""
        return None if self.pieces else self.const

    @property
    def plain(self) -> Linear | None:
        """The linear expression it is, as a whole; None where its bits were put together."""
        if not self.pieces:
            return Linear(self.const)
        one = self.pieces[0]
        whole = len(self.pieces) == 1 and not self.const and not one.low and not one.shift
        return one.source if whole else None

    @property
    def width(self) -> int:
        """Bits above which it has none."""
        return max([self.const.bit_length() if self.const >= 0 else self.type.bits, *(p.end for p in self.pieces)])

    def linear(self) -> Linear:
        """The same as a linear expression; bits that were cut out become symbols of their own."""
        plain = self.plain
        if plain is not None:
            return plain
        total = Linear(self.const)
        for p in self.pieces:
            source: Linear | None = p.source
            if p.shift:
                source = p.source.divided(1 << p.shift) or symbol(f"({p.source} >> {p.shift})")
            total += (source or Linear()).scaled(1 << p.low)
        return total

    def __str__(self) -> str:
        return str(self.linear())


def free(name: str, kind: CType, width: int = 0, origin: tuple[Span, ...] = ()) -> Int:
    """A symbol of a type; width: bits above which it is known to have none."""
    return of_linear(symbol(name), kind, width, origin)


def of_linear(source: Linear, kind: CType, width: int = 0, origin: tuple[Span, ...] = ()) -> Int:
    if not source.terms:
        return Int(kind.wrap(source.const), kind, origin=origin)
    return Int(0, kind, (Piece(0, width or kind.bits or 64, source),), origin=origin)


def convert(value: Int, kind: CType) -> Int:
    """The value in a variable of another type: cut to its width, a known sign extended."""
    if not value.pieces or not kind.bits:
        const = kind.wrap(value.const)
        if const == value.const and kind == value.type:
            return value
        return Int(const, kind, value.pieces, value.low, value.marks, value.origin)
    pieces = tuple(
        p if p.end <= kind.bits else replace(p, width=kind.bits - p.low) for p in value.pieces if p.low < kind.bits
    )
    return Int(value.const & kind.mask, kind, pieces, value.low, value.marks, value.origin)


def _origins(*values: Int) -> tuple[Span, ...]:
    having = [v.origin for v in values if v.origin]
    if len(having) < 2:
        return having[0][:MOST_ORIGINS] if having else ()
    return tuple(dict.fromkeys(span for origin in having for span in origin))[:MOST_ORIGINS]


def _marks(*values: Int) -> tuple[Mark, ...]:
    having = [v.marks for v in values if v.marks]
    if len(having) < 2:
        return having[0][:MOST_TERMS] if having else ()
    return tuple(dict.fromkeys(mark for marks in having for mark in marks))[:MOST_TERMS]


def opaque(text: str, kind: CType, *values: Int) -> Int:
    """A result nothing is known of but its name."""
    return replace(free(f"({text})", kind), marks=_marks(*values), origin=_origins(*values))


def add(left: Int, right: Int, sign: int = 1) -> Int:
    """left + sign·right. A step added to bits that were put together goes into the field at bit 0."""
    kind = common(left.type, right.type)
    origin, marks = _origins(left, right), _marks(left, right)
    if left.known is not None and right.known is not None:
        return Int(kind.wrap(left.const + sign * right.const), kind, marks=marks, origin=origin)
    one, two = left.plain, right.plain
    if one is not None and two is not None:
        width = max(left.width, right.width)
        return replace(
            of_linear(one + two.scaled(sign), kind, min(width, kind.bits or width) or kind.bits), origin=origin
        )
    for whole, step, by in ((left, right, sign), (right, left, 1)):
        stepped = _stepped(whole, step, by)
        if stepped is not None and (by == 1 or whole is left):
            return replace(stepped, type=kind, origin=origin, marks=marks, low=min(left.low, right.low))
    if sign == 1:
        return replace(either(left, right), origin=origin)
    return opaque(f"{left} - {right}", kind, left, right)


def _stepped(whole: Int, step: Int, by: int) -> Int | None:
    """Bits put together, with a small step added: the piece at bit 0 grows; None where there is none."""
    amount = step.plain
    base = next((p for p in whole.pieces if not p.low), None)
    if amount is None or base is None or step.low >= base.width or whole.plain is not None:
        return None
    if step.known is not None and abs(step.known) >= 1 << base.width:
        return None
    grown = replace(base, source=base.source + amount.scaled(by << base.shift))
    return replace(whole, pieces=tuple(grown if p is base else p for p in whole.pieces))


def either(left: Int, right: Int) -> Int:
    """left | right."""
    kind = common(left.type, right.type)
    pieces = tuple(dict.fromkeys((*convert(left, kind).pieces, *convert(right, kind).pieces)))
    if len(pieces) > MOST_TERMS:
        return free("(…)", kind)
    const = convert(left, kind).const | convert(right, kind).const
    return Int(const, kind, pieces, min(left.low, right.low), _marks(left, right), _origins(left, right))


def runs(mask: int, most: int = 64) -> list[tuple[int, int]]:
    """(low, width) of the runs of ones among a mask's lowest bits."""
    out: list[tuple[int, int]] = []
    bit = 0
    while bit < most:
        if mask >> bit & 1:
            low = bit
            while bit < most and mask >> bit & 1:
                bit += 1
            out.append((low, bit - low))
        bit += 1
    return out


def both(left: Int, right: Int) -> Int:
    """left & right."""
    kind = common(left.type, right.type)
    left, right = convert(left, kind), convert(right, kind)
    if left.known is not None:
        left, right = right, left
    if right.known is None:
        return left if left.pieces == right.pieces else opaque(f"{left} & {right}", kind, left, right)
    mask = right.const
    pieces = tuple(
        Piece(max(low, p.low), min(low + width, p.end) - max(low, p.low), p.source, p.shift + max(low, p.low) - p.low)
        for p in left.pieces
        for low, width in runs(mask, max(kind.bits or 64, p.end))
        if low < p.end and p.low < low + width
    )
    kept = tuple(m for m in left.marks if mask >> m.bit & 1)
    const = kind.wrap(left.const & mask)
    return Int(const, kind, pieces, left.low, kept, _origins(left, right))


def exclusive(left: Int, right: Int) -> Int:
    """left ^ right; a symbol where both may have a bit."""
    kind = common(left.type, right.type)
    left, right = convert(left, kind), convert(right, kind)
    if left.known is not None and right.known is not None:
        return Int(kind.wrap(left.const ^ right.const), kind, marks=_marks(left, right), origin=_origins(left, right))
    if not _covered(left) & _covered(right):
        return either(left, right)
    return opaque(f"{left} ^ {right}", kind, left, right)


def _covered(value: Int) -> int:
    out = value.const if value.const >= 0 else value.type.mask
    for p in value.pieces:
        out |= ((1 << p.width) - 1) << p.low
    return out


def shifted(value: Int, by: int) -> Int:
    """value << by, or value >> -by; the type stays."""
    kind = value.type
    if by >= 0:
        pieces = tuple(
            replace(p, low=p.low + by, width=min(p.width, (kind.bits or 1 << 20) - p.low - by))
            for p in value.pieces
            if not kind.bits or p.low + by < kind.bits
        )
        marks = tuple(replace(m, bit=m.bit + by) for m in value.marks)
        return replace(value, const=kind.wrap(value.const << by), pieces=pieces, low=value.low + by, marks=marks)
    down = -by
    pieces = tuple(
        replace(
            p,
            low=max(p.low - down, 0),
            width=p.width - max(down - p.low, 0),
            shift=p.shift + max(down - p.low, 0),
        )
        for p in value.pieces
        if p.end > down
    )
    marks = tuple(replace(m, bit=m.bit - down) for m in value.marks if m.bit >= down)
    return replace(value, const=value.const >> down, pieces=pieces, low=max(value.low - down, 0), marks=marks)


def times(left: Int, right: Int) -> Int:
    kind = common(left.type, right.type)
    origin, marks = _origins(left, right), _marks(left, right)
    if left.known is not None and right.known is not None:
        return Int(kind.wrap(left.const * right.const), kind, origin=origin, marks=marks)
    if left.known is not None:
        left, right = right, left
    by = right.known
    if by is None:
        return opaque(" * ".join(sorted((_factor(left), _factor(right)))), kind, left, right)
    plain = left.plain
    if plain is None and by > 0 and not by & (by - 1):
        return replace(shifted(convert(left, kind), by.bit_length() - 1), origin=origin)
    width = left.width + by.bit_length() if by >= 0 else kind.bits
    out = of_linear((left.linear() if plain is None else plain).scaled(by), kind, min(width, kind.bits or width))
    return replace(out, origin=origin, marks=marks)


def _factor(value: Int) -> str:
    text = str(value)
    return f"({text})" if " " in text and not (text[0] == "(" and text[-1] == ")") else text


def quotient(left: Int, right: Int) -> Int | None:
    """left / right as C has it (towards zero; Python's // of the evaluator is for known values only); None for /0."""
    kind = common(left.type, right.type)
    origin = _origins(left, right)
    if right.known == 0:
        return None
    if left.known is not None and right.known is not None:
        down = left.const // right.const
        exact = -(-left.const // right.const) if kind.bits and down < 0 else down
        return Int(kind.wrap(exact), kind, origin=origin)
    if right.known is not None:
        exactly = left.linear().divided(right.const)
        if exactly is not None:
            return replace(of_linear(exactly, kind, left.width), origin=origin)
        if right.known > 0 and not right.known & (right.known - 1):
            return replace(shifted(convert(left, kind), 1 - right.known.bit_length()), origin=origin)
    return opaque(f"{_factor(left)} / {_factor(right)}", kind, left, right)


def remainder(left: Int, right: Int) -> Int | None:
    kind = common(left.type, right.type)
    if right.known == 0:
        return None
    if left.known is not None and right.known is not None:
        value = left.const % right.const
        if kind.bits and left.const < 0:
            value = -(-left.const % abs(right.const))
        return Int(kind.wrap(value), kind, origin=_origins(left, right))
    if right.known is not None:
        linear = left.linear()
        if all(f % right.known == 0 for _, f in linear.terms):
            return Int(kind.wrap(linear.const % right.known), kind, origin=_origins(left, right))
        if right.known > 0 and not right.known & (right.known - 1):
            return both(convert(left, kind), Int(right.known - 1, kind, origin=right.origin))
    return opaque(f"{_factor(left)} % {_factor(right)}", kind, left, right)


def merged(condition: str, yes: Int, no: Int) -> Int:
    """The value after a choice that the text leaves open: bits that agree stay, the others are a symbol."""
    kind = yes.type if yes.type == no.type else common(yes.type, no.type)
    a, b = convert(yes, kind), convert(no, kind)
    if (a.const, a.pieces) == (b.const, b.pieces):
        return replace(a, marks=_marks(a, b), origin=_origins(a, b))
    if a.plain is not None and b.plain is not None and (a.width <= 32 or b.width <= 32) and not (a.marks or b.marks):
        text = f"{condition} ? {a} : {b}"
        low = min(a.low, b.low)
        shift = low if low and not (a.const | b.const) & ((1 << low) - 1) else 0
        width = max(a.width, b.width) - shift
        out = Int(0, kind, (Piece(shift, max(width, 1), symbol(f"({text})")),), low)
        return replace(out, origin=_origins(a, b))
    common_pieces = tuple(p for p in a.pieces if p in b.pieces)
    loose = [p for v in (a, b) for p in v.pieces if p not in common_pieces]
    differ = (a.const ^ b.const) & (kind.mask if kind.bits else (1 << 64) - 1)
    for p in loose:
        differ |= ((1 << p.width) - 1) << p.low
    pieces: list[Piece] = []
    hidden = 0
    for low, width in _halves(differ):
        sides = [
            "…"
            if any(p.low < low + width and low < p.end for p in v.pieces)
            else str(v.const >> low & ((1 << width) - 1))
            for v in (a, b)
        ]
        pieces.append(Piece(low, width, symbol(f"({condition} ? {sides[0]} : {sides[1]})")))
        hidden |= ((1 << width) - 1) << low
    kept = tuple(p for p in common_pieces if not hidden >> p.low & 1)
    const = kind.wrap(a.const & b.const & ~hidden)
    return Int(const, kind, (*kept, *pieces), min(a.low, b.low), _marks(a, b), _origins(a, b))


def _halves(mask: int) -> list[tuple[int, int]]:
    """(low, width) of what differs: of the lowest three 16 bits as a whole, of bits from 48 on run by run."""
    out = [(low, 16) for low in (0, 16, 32) if mask >> low & 0xFFFF]
    return out + [(low, width) for low, width in runs(mask >> 48 << 48)]


def inserted(into: Int, value: Int, low: int, width: int, span: Span) -> Int:
    """`into` with bits low … low + width − 1 replaced by value's lowest, as a bit field's assignment does."""
    mask = (1 << width) - 1
    rest = both(into, Int(into.type.mask & ~(mask << low), into.type))
    unsigned = CType("bits", max(value.type.bits, low + width, into.type.bits), False)
    cut = both(convert(value, unsigned), Int(mask, unsigned))
    put = shifted(replace(convert(cut, into.type), marks=(), low=0), low)
    mark = Mark(low, span, value.origin)
    kept = tuple(m for m in into.marks if not low <= m.bit < low + width)
    inner = tuple(replace(m, bit=m.bit + low) for m in value.marks if m.bit < width) if width > 16 else ()
    return replace(either(rest, put), type=into.type, marks=(*kept, *(inner or (mark,))), origin=())


def extracted(value: Int, low: int, width: int, kind: CType) -> Int:
    """Bits low … low + width − 1 as a value of a type."""
    wide = CType("bits", max(value.type.bits, low + width), False)
    cut = shifted(both(convert(value, wide), Int(((1 << width) - 1) << low, wide)), -low)
    if kind.signed and cut.known is not None and width < kind.bits and cut.const >> (width - 1):
        cut = replace(cut, const=cut.const - (1 << width))
    return convert(cut, kind)
