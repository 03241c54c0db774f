"""Integers of which some bits are known and others come from a symbol: what is left when a descriptor's start address
is free. Knows bits, names and C's types (lanescope.cxx.integers), nothing of C's statements.

Whatever is known of a result's bits is true for every value of its symbols: operands are converted to the type that C
computes in, a sum that may wrap is known only modulo 2^bits, and what is not known becomes a symbol. What rests on the
values being addresses or field amounts is written into `assumed`.
"""

from __future__ import annotations

import zlib
from collections.abc import Container
from dataclasses import dataclass, field, replace

from lanescope.cxx import integers as c_integers
from lanescope.cxx.integers import BOOL, INT, IntegerType, common, promoted

Span = tuple[int, int]
MOST_ORIGINS = 8
MOST_TEXT = 80  # characters of a symbol's name
ROUNDED = range(4, 14)  # powers of two that addresses are rounded to
MOST_TERMS = 24  # symbols of an expression, pieces of a word
MOST_BITS = 4096  # of one of Python's integers
MOST_ASSUMED = 64
MOST_SIDE = 32  # characters of an arm in the name of a choice
SHARED_BITS = 18  # of a shared-window address: PTX ISA 9.1, matrix-descriptor-encode
FIELD_BITS, FIELD_SHIFT = 14, 4  # of start, LBO and SBO, which count 16 bytes
FIELD_LOWS = (0, 16, 32)  # where they begin
UNKNOWN = IntegerType("unknown", 64, True, 4)  # of a symbol whose declaration the text does not have


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
            return symbol(f"({self.const + other.const} + {sorted(factors.items())})")
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
    """A value of which only the name is known; two long names stay two."""
    if len(name) > MOST_TEXT:
        name = f"{name[: MOST_TEXT - 10]}…{zlib.crc32(name.encode()):08x}"
    return Linear(0, ((name, 1),))


@dataclass(frozen=True, slots=True)
class Piece:
    """Bits `shift` and up of a symbolic value, `width` of them, standing at bit `low` and up.

    exact: `source >> shift` has no other bits, so that the piece is that number: above them are zeros only, or
    copies of the sign where the piece ends at the top of a signed type.
    """

    low: int
    width: int
    source: Linear
    shift: int = 0
    exact: bool = field(default=False, compare=False)

    @property
    def end(self) -> int:
        return self.low + self.width

    @property
    def mask(self) -> int:
        return ((1 << self.width) - 1) << self.low


@dataclass(frozen=True, slots=True)
class Mark:
    """The text that put something at bit `bit`: the expression itself, and the literals it was made of."""

    bit: int
    span: Span
    origin: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Assumption:
    """A linear expression is taken to fit so many bits: an address the shared window, an amount its field, a product of
    a signed type that type.
    """

    source: Linear
    bits: int
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Int:
    """const OR pieces, of a type. low: the bit its lowest digit was shifted to; origin: the literals it came from.

    assumed: what its known bits rest on.
    """

    const: int
    type: IntegerType = INT
    pieces: tuple[Piece, ...] = ()
    low: int = 0
    marks: tuple[Mark, ...] = ()
    origin: tuple[Span, ...] = ()
    assumed: tuple[Assumption, ...] = field(default=(), compare=False)

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


def free(name: str, kind: IntegerType, width: int = 0, origin: tuple[Span, ...] = ()) -> Int:
    """A symbol of a type; width: bits above which it is known to have none."""
    return of_linear(symbol(name), kind, width, origin)


def of_linear(
    source: Linear, kind: IntegerType, width: int = 0, origin: tuple[Span, ...] = (), exact: bool = True
) -> Int:
    """A linear expression in a type; exact: its value needs no more than `width` bits there."""
    if not source.terms:
        return Int(kind.wrap(source.const), kind, origin=origin)
    if not exact and kind.bits:  # modulo 2^bits -1 is shorter than 2^64 - 1
        near = replace(kind, name="bits", signed=True)
        source = Linear(
            near.wrap(source.const), tuple((name, near.wrap(f)) for name, f in source.terms if near.wrap(f))
        )
        if not source.terms:
            return Int(kind.wrap(source.const), kind, origin=origin)
    return Int(0, kind, (Piece(0, width or kind.bits or 64, source, exact=exact),), origin=origin)


# what is known of a value ---------------------------------------------------------------------------------------------


def rounded(value: Int) -> Int:
    """An address that was rounded to a multiple of a power of two, as a symbol of its own: sums with it are linear.

    smem + 127 & ~127 is smem⌈128⌉, smem & ~127 is smem⌊128⌋.
    """
    if value.const or len(value.pieces) != 1:
        return value
    (one,) = value.pieces
    terms, least = one.source.terms, 1 << one.low
    whole = one.end in (SHARED_BITS, value.type.bits) or one.exact
    if one.shift != one.low or one.low not in ROUNDED or len(terms) != 1 or terms[0][1] != 1 or not whole:
        return value
    if one.source.const not in (0, least - 1):
        return value
    name = f"{terms[0][0]}⌈{least}⌉" if one.source.const else f"{terms[0][0]}⌊{least}⌋"
    return _carried(free(name, value.type, one.end), value, value)


def shared_out(value: Int, names: Container[str]) -> Int:
    """threadIdx.x / 128, and its like of other names, as a symbol of its own: what it is multiplied by and added to is
    linear then.
    """
    if value.const or len(value.pieces) != 1 or value.low:
        return value
    (one,) = value.pieces
    (name, by), *more = one.source.terms or (("", 0),)
    whole, _, before = name.partition("/")
    if one.low or not one.shift or not one.exact or more or by != 1 or one.source.const or whole not in names:
        return value
    return _carried(free(f"{whole}/{int(before or 1) << one.shift}", value.type, one.width), value, value)


def covered(value: Int) -> int:
    """The bits that may be 1."""
    out = value.const if value.const >= 0 else value.const & value.type.mask
    for p in value.pieces:
        out |= p.mask
    return out


def nonnegative(value: Int) -> bool:
    """Whether no value of its symbols makes it negative."""
    if value.const < 0:
        return False
    return not value.type.signed or not value.type.bits or all(p.end < value.type.bits for p in value.pieces)


def _summed(value: Int, modulo: bool) -> Linear | None:
    """The linear expression that a value is; modulo: that it is modulo 2^bits of its type. None where it is none."""
    total, taken = Linear(value.const), value.const & value.type.mask if value.pieces else 0
    for p in value.pieces:
        source = p.source.divided(1 << p.shift) if p.shift else p.source
        whole = p.exact or (modulo and not p.shift and p.end >= value.type.bits > 0)
        if source is None or not whole or taken & p.mask:
            return None
        taken |= p.mask
        total += source.scaled(1 << p.low)
    return total


def exact(value: Int) -> Linear | None:
    """The linear expression whose value a value is, whatever its symbols are; None where it may wrap or is cut."""
    return _summed(value, False)


def modular(value: Int) -> Linear | None:
    """The linear expression that a value is modulo 2^bits of its type."""
    return _summed(value, True)


def name(value: Int, modulo: bool = False) -> str:
    """A text for a value, another one for each other value.

    modulo: of an operand whose bits above its type do not count, as in a sum, a product or an operation bit by bit.
    """
    if value.known is not None:
        return str(value.const)
    line = exact(value)
    if line is not None:
        return str(line)
    parts = [f"{value.const:#x}"] if value.const else []
    for p in value.pieces:
        text = str(p.source)
        text = f"({text})" if " " in text and not bracketed(text) else text
        if p.end == value.type.bits and not p.low and not p.shift:
            parts.append(text if modulo else f"({value.type.written or value.type.name}){text}")
            continue
        text = f"{text} >> {p.shift}" if p.shift else text
        if not p.exact:
            text = f"({text}) & {(1 << p.width) - 1:#x}" if p.shift else f"{text} & {(1 << p.width) - 1:#x}"
        parts.append(f"({text}) << {p.low}" if p.low else f"({text})" if len(value.pieces) > 1 else text)
    return " | ".join(parts)


def bracketed(text: str) -> bool:
    """Whether one pair of brackets is around a whole text."""
    if text[:1] != "(" or text[-1:] != ")":
        return False
    deep = 0
    for at, letter in enumerate(text):
        deep += (letter == "(") - (letter == ")")
        if not deep:
            return at == len(text) - 1
    return False


def factor(value: Int, modulo: bool = False) -> str:
    """The name of a value as an operand."""
    text = name(value, modulo)
    return f"({text})" if " " in text and not bracketed(text) else text


def reduced(text: str, kind: IntegerType, *values: Int, width: int = 0) -> Int:
    """A sum, a product or an operation bit by bit of which only the name is known: the bits of a symbol that stands for
    the number that no type cuts.
    """
    made = free(f"({text})", kind, min(width, kind.bits) if kind.bits else width)
    fits = kind.signed or 0 < width <= kind.bits
    whole = not kind.bits or (fits and all(exact(v) is not None for v in values))
    return replace(
        made,
        pieces=made.pieces if whole else _inexact(made.pieces),
        marks=_marks(*values),
        origin=_origins(*values),
        assumed=_assumed(*values),
    )


def opaque(text: str, kind: IntegerType, *values: Int, width: int = 0) -> Int:
    """A result nothing is known of but its name, which its operands' names are part of."""
    small = kind.bits == 64 and any(v.pieces for v in values) and all(v.width <= 32 for v in values)
    told = f"({kind.written or kind.name})({text})" if small else f"({text})"
    return replace(
        free(told, kind, min(width, kind.bits) if kind.bits else width),
        marks=_marks(*values),
        origin=_origins(*values),
        assumed=_assumed(*values),
    )


def _assumed(*values: Int, more: tuple[Assumption, ...] = ()) -> tuple[Assumption, ...]:
    every = [one for v in values for one in v.assumed]
    return tuple(dict.fromkeys((*every, *more)))[:MOST_ASSUMED] if every or more else ()


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


def _carried(made: Int, left: Int, right: Int) -> Int:
    """A result with what its operands came from and rest on."""
    return replace(made, origin=_origins(left, right), marks=_marks(left, right), assumed=_assumed(made, left, right))


def _unmarked(made: Int, left: Int, right: Int) -> Int:
    """The same, where the operands' marks do not stand at their bits any more."""
    return replace(made, origin=_origins(left, right), assumed=_assumed(made, left, right))


# conversions ----------------------------------------------------------------------------------------------------------


def convert(value: Int, kind: IntegerType) -> Int:
    """The value in a variable of another type: cut to its width, or its sign extended."""
    old = value.type
    if kind == old:
        return value
    if kind.bits == 1:
        return truth_of(value)
    if not value.pieces or not kind.bits:
        return Int(
            kind.wrap(value.const),
            kind,
            value.pieces,
            low=value.low,
            marks=value.marks,
            origin=value.origin,
            assumed=value.assumed,
        )
    if old == UNKNOWN and kind.bits >= INT.bits and (line := exact(value)) is not None:
        return _declared(value, line, kind)
    given = _extended(value, kind.bits) if old.signed and 0 < old.bits < kind.bits else value.pieces
    pieces = []
    for p in given:
        if p.low >= kind.bits:
            continue
        width = min(p.width, kind.bits - p.low)
        top = p.low + width == kind.bits and kind.signed
        negative = old.signed and p.end >= max(old.bits, 1)
        kept = (top and kind.bits >= old.bits) if negative else not top
        pieces.append(replace(p, width=width, exact=p.exact and width == p.width and kept))
    const = kind.wrap(value.const)
    return Int(const, kind, tuple(pieces), low=value.low, marks=value.marks, origin=value.origin, assumed=value.assumed)


def _declared(value: Int, line: Linear, kind: IntegerType) -> Int:
    """What the text does not declare, put into a variable: it is taken to be of that type."""
    rests = _assumed(value, more=(Assumption(line, kind.bits, kind.signed),))
    pieces = tuple(replace(p, width=min(p.width, kind.bits - p.low)) for p in value.pieces if p.low < kind.bits)
    return replace(value, const=kind.wrap(value.const), type=kind, pieces=pieces, assumed=rests)


def _extended(value: Int, bits: int) -> tuple[Piece, ...]:
    """The pieces of a signed value in more bits: its sign goes on above them."""
    old = value.type.bits
    top = [p for p in value.pieces if p.end == old]
    if value.const < 0 or not top:
        return value.pieces
    if len(top) == 1 and top[0].exact:
        return tuple(replace(p, width=bits - p.low) if p is top[0] else p for p in value.pieces)
    return (*value.pieces, Piece(old, bits - old, symbol(f"({factor(value)} < 0 ? -1 : 0)")))


def truth_of(value: Int) -> Int:
    """The value as a bool: whether it is not 0."""
    if value.known is not None or value.const:
        return replace(value, const=int(value.const != 0), type=BOOL, pieces=())
    if covered(value) == 1 and len(value.pieces) == 1:
        return replace(value, type=BOOL, pieces=(replace(value.pieces[0], exact=False),))
    return opaque(f"{factor(value)} != 0", BOOL, value)


# sums and products ----------------------------------------------------------------------------------------------------


def add(left: Int, right: Int, sign: int = 1) -> Int:
    """left + sign·right. A step added to bits that were put together goes into the start field at bit 0."""
    kind = common(left.type, right.type)
    a, b = convert(left, kind), convert(right, kind)
    if a.known is not None and b.known is not None:
        return _carried(Int(kind.wrap(a.const + sign * b.const), kind, assumed=_assumed(a, b)), left, right)
    halves = (_halved(a, b) or _halved(b, a)) if sign == 1 else ()
    if halves:
        return replace(either(a, b), assumed=_assumed(a, b, more=halves))
    one, two = modular(a), modular(b)
    if one is not None and two is not None:
        total = one + two.scaled(sign)
        width, whole, more = _reach(a, b, sign, total)
        made = of_linear(total, kind, width, _origins(left, right), whole)
        return replace(made, assumed=_assumed(a, b, more=more))
    if sign == 1 and not covered(a) & covered(b):
        return either(a, b)
    for whole_, step in ((a, b), (b, a)) if sign == 1 else ((a, b),):
        stepped = _stepped(whole_, step, sign)
        if stepped is not None:
            return _carried(replace(stepped, type=kind, low=min(left.low, right.low)), left, right)
    if sign == 1 and (fields := _fitted(a, b)):
        return replace(either(a, b), assumed=_assumed(a, b, more=fields))
    return _added(a, b, sign)


def _reach(left: Int, right: Int, sign: int, total: Linear) -> tuple[int, bool, tuple[Assumption, ...]]:
    """(bits of a sum of linear expressions, whether it is exact in them, what that rests on)."""
    kind = left.type
    homes = [_is_address(left), _is_address(right)]
    if homes == [True, False] or (homes == [False, True] and sign == 1):
        return SHARED_BITS, True, (Assumption(total, SHARED_BITS),)
    wide = max(left.width, right.width)
    if not kind.bits:
        return wide, True, ()
    both_exact = exact(left) is not None and exact(right) is not None
    if both_exact and sign == 1 and nonnegative(left) and nonnegative(right) and wide < kind.bits:
        return wide + 1, True, ()
    return kind.bits, both_exact and kind.signed, ()  # a signed sum that does not fit is undefined


def _halved(low: Int, high: Int) -> tuple[Assumption, ...]:
    """What `low + (high << 32)` rests on, two words side by side: the low one has 32 bits. () for another sum."""
    whole = low.plain is not None and bool(low.pieces) and low.type.bits == 64
    if not whole or not high.pieces or covered(high) & 0xFFFFFFFF or not low.plain:
        return ()
    return (Assumption(low.plain, 32),)


def _is_address(value: Int) -> bool:
    """Whether it is an address of the shared window, and nothing but it."""
    one = value.pieces[0] if len(value.pieces) == 1 and not value.const else None
    return one is not None and one.exact and not one.low and not one.shift and one.width == SHARED_BITS


def _stepped(whole: Int, step: Int, by: int) -> Int | None:
    """Bits put together with an address's at the bottom, and a small step added: the address grows. None where there is
    no address. Taken to stay in its field, as every shared address does.
    """
    amount = modular(step)
    base = next((p for p in whole.pieces if not p.low), None)
    if amount is None or base is None or amount.divided(1 << FIELD_BITS) is not None:
        return None
    ends = base.shift + base.width
    if not (base.shift == FIELD_SHIFT and ends >= SHARED_BITS) and not (not base.shift and ends == SHARED_BITS):
        return None
    if step.known is not None and abs(step.known) >= 1 << min(base.width, SHARED_BITS - base.shift):
        return None
    grown = replace(base, source=base.source + amount.scaled(by << base.shift), exact=False)
    rests = (Assumption(base.source, SHARED_BITS), Assumption(grown.source, SHARED_BITS))
    return replace(whole, pieces=tuple(grown if p is base else p for p in whole.pieces), assumed=rests)


def _fitted(left: Int, right: Int) -> tuple[Assumption, ...]:
    """What a sum rests on that puts fields side by side of which some are not masked: each amount fits its field. ()
    where that does not make it one.
    """
    rests: list[Assumption] = []
    masks = []
    for value in (left, right):
        mask = value.const & value.type.mask
        for p in value.pieces:
            cut = p.low in FIELD_LOWS and p.width > FIELD_BITS
            if cut:
                rests.append(Assumption(p.source, FIELD_BITS + p.shift))
            mask |= ((1 << FIELD_BITS) - 1) << p.low if cut else p.mask
        masks.append(mask)
    return tuple(rests) if rests and not masks[0] & masks[1] else ()


def _added(left: Int, right: Int, sign: int) -> Int:
    """A sum of which only the bits below the other operand's lowest are known."""
    kind = left.type
    lows = [(covered(v) & -covered(v)).bit_length() - 1 if covered(v) else kind.bits for v in (left, right)]
    kept, at = (right, lows[0]) if sign == 1 and lows[0] > lows[1] else (left, lows[1])
    text = f"{factor(left, True)} {'+' if sign == 1 else '-'} {factor(right, True)}"
    bound = max(left.width, right.width) + 1 if sign == 1 and nonnegative(left) and nonnegative(right) else kind.bits
    bound = min(bound, kind.bits) if kind.bits else max(left.width, right.width)
    if not 0 < at < bound:
        return reduced(text, kind, left, right, width=bound if bound < kind.bits else 0)
    below = both(kept, Int((1 << at) - 1, kind))
    above = reduced(text, kind, left, right, width=bound).pieces[0]
    piece = replace(above, low=at, width=bound - at, shift=at, exact=False)
    return replace(
        below,
        pieces=(*below.pieces, piece),
        marks=_marks(left, right),
        origin=_origins(left, right),
        assumed=_assumed(left, right),
    )


def times(left: Int, right: Int) -> Int:
    """left · right."""
    kind = common(left.type, right.type)
    a, b = convert(left, kind), convert(right, kind)
    if a.known is not None and b.known is not None:
        return _carried(Int(kind.wrap(a.const * b.const), kind), left, right)
    if a.known is not None:
        a, b = b, a
    by = b.known
    small = nonnegative(a) and nonnegative(b)
    bound = a.width + b.width if small else kind.bits or a.width + b.width
    if by is None:
        text = " * ".join(sorted((factor(a, True), factor(b, True))))
        return reduced(text, kind, a, b, width=bound)
    if not by:
        return _carried(Int(0, kind), left, right)
    line = modular(a)
    power = by > 0 and not by & (by - 1)
    if power and (line is None or by >= 1 << FIELD_BITS):
        return _carried(shifted(a, by.bit_length() - 1), left, right)
    if line is None:
        return reduced(f"{factor(a, True)} * {by}", kind, a, b, width=bound)
    whole = exact(a) is not None
    if not kind.bits or (small and whole and bound <= kind.bits):
        made = of_linear(line.scaled(by), kind, bound)
    else:
        made = of_linear(line.scaled(by), kind, kind.bits, exact=whole and kind.signed)
    return _carried(made, left, right)


def quotient(left: Int, right: Int, op: str = "/") -> Int:
    """left / right as the common type has it; Python's / of whole numbers, and //."""
    kind = common(left.type, right.type)
    a, b = convert(left, kind), convert(right, kind)
    text = f"{factor(a)} {op} {factor(b)}"
    by = b.known
    if a.known is not None and by is not None:
        made = c_integers.binary(op, a.known, kind, by, kind)
        return _unmarked(Int(made.value, kind), left, right) if made.value is not None else opaque(text, kind, a, b)
    if not by:
        return opaque(text, kind, a, b)
    small = nonnegative(a)
    line = exact(a)
    exactly = line.divided(by) if line is not None else None
    if exactly is not None:
        return _unmarked(of_linear(exactly, kind, a.width if small and by > 0 else kind.bits), left, right)
    if by > 0 and not by & (by - 1) and op != ("/" if not kind.bits else ""):
        if small or not kind.bits:
            return _unmarked(shifted(a, 1 - by.bit_length()), left, right)
        if kind == UNKNOWN and line is not None:  # a name without a declaration counts or addresses something
            made_ = shifted(Int(0, kind, (Piece(0, kind.bits - 1, line, exact=True),)), 1 - by.bit_length())
            rests = _assumed(a, more=(Assumption(line, kind.bits - 1),))
            return replace(made_, origin=_origins(left, right), assumed=rests)
    return opaque(text, kind, a, b, width=a.width if small and by > 0 else 0)


def remainder(left: Int, right: Int) -> Int:
    """left % right as the common type has it."""
    kind = common(left.type, right.type)
    a, b = convert(left, kind), convert(right, kind)
    by = b.known
    text = f"{factor(a)} % {factor(b)}"
    if a.known is not None and by is not None:
        made = c_integers.binary("%", a.known, kind, by, kind)
        return _unmarked(Int(made.value, kind), left, right) if made.value is not None else opaque(text, kind, a, b)
    if not by:
        return opaque(text, kind, a, b)
    small = nonnegative(a)
    line = exact(a)
    if line is not None and all(f % by == 0 for _, f in line.terms):  # the rest is the constant's
        whole = line.const % by == 0 or not kind.bits or (small and by > 0)
        if whole:
            return _unmarked(Int(line.const % by, kind), left, right)
    if by > 0 and not by & (by - 1):
        if small or not kind.bits:
            return both(a, Int(by - 1, kind, origin=right.origin))
        if kind == UNKNOWN and line is not None:
            rests = _assumed(a, more=(Assumption(line, kind.bits - 1),))
            return replace(both(a, Int(by - 1, kind, origin=right.origin)), assumed=rests)
    bound = min(a.width, (by - 1).bit_length()) if small and by > 0 else 0
    return opaque(text, kind, a, b, width=max(bound, 1) if bound else 0)


# bits -----------------------------------------------------------------------------------------------------------------


def either(left: Int, right: Int) -> Int:
    """left | right."""
    kind = common(left.type, right.type)
    a, b = convert(left, kind), convert(right, kind)
    const = a.const | b.const
    pieces = tuple(dict.fromkeys((*a.pieces, *b.pieces)))
    low = min(left.low, right.low)
    if len(pieces) > MOST_TERMS:
        made = reduced(f"{factor(a, True)} | {factor(b, True)}", kind)
        return _carried(Int(const, kind, made.pieces if not const else _inexact(made.pieces), low), left, right)
    return _carried(Int(const, kind, _apart(pieces, const & kind.mask), low), left, right)


def _inexact(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    return tuple(replace(p, exact=False) for p in pieces)


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


def _masked(pieces: tuple[Piece, ...], mask: int, bits: int) -> tuple[Piece, ...]:
    """What a mask leaves of pieces; one whose upper bits it cuts is no number of its own."""
    out = []
    for p in pieces:
        for low, width in runs(mask, max(bits or 64, p.end)):
            first, past = max(low, p.low), min(low + width, p.end)
            if first < past:
                whole = p.exact and past == p.end
                out.append(Piece(first, past - first, p.source, p.shift + first - p.low, whole))
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
        pieces = _masked(a.pieces, mask, kind.bits)
        return _unmarked(Int(kind.wrap(a.const & mask), kind, pieces, a.low, kept), a, b)
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
        return _carried(Int(kind.wrap(a.const ^ b.const), kind), left, right)
    if (a.const, a.pieces) == (b.const, b.pieces):
        return _carried(Int(0, kind), left, right)
    at_l, at_r = covered(a), covered(b)
    if not at_l & at_r:
        return either(a, b)
    open_ = 0
    for p in (*a.pieces, *b.pieces):
        open_ |= p.mask
    may = at_l & at_r & open_
    made = _woven(f"{factor(a, True)} ^ {factor(b, True)}", kind, kind.wrap((a.const ^ b.const) & ~open_), may, a, b)
    ones_l, ones_r = a.const & kind.mask & open_ & ~may, b.const & kind.mask & open_ & ~may
    alone = (*_masked(a.pieces, ~at_r & kind.mask, kind.bits), *_masked(b.pieces, ~at_l & kind.mask, kind.bits))
    return replace(made, const=kind.wrap(made.const | ones_l | ones_r), pieces=(*made.pieces, *_inexact(alone)))


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
    return _shifted_left(value, by, kind) if by >= 0 else _shifted_right(value, -by, kind)


def _shifted_left(value: Int, by: int, kind: IntegerType) -> Int:
    pieces, rests = [], []
    for p in value.pieces:
        if kind.bits and p.low + by >= kind.bits:
            continue
        width = min(p.width, kind.bits - p.low - by) if kind.bits else p.width
        top = bool(kind.bits) and kind.signed and p.low + by + width == kind.bits
        kept = p.exact and width == p.width and not top
        if p.exact and top and by and not p.shift:  # a product that does not fit its signed type is a mistake
            kept = True
            rests.append(Assumption(p.source.scaled(1 << (p.low + by)), kind.bits, True))
        pieces.append(replace(p, low=p.low + by, width=width, exact=kept or (p.exact and not by)))
    marks = tuple(replace(m, bit=m.bit + by) for m in value.marks)
    return replace(
        value,
        const=kind.wrap(value.const << by),
        pieces=tuple(pieces),
        low=value.low + by,
        marks=marks,
        assumed=_assumed(value, more=tuple(rests)),
    )


def _shifted_right(value: Int, down: int, kind: IntegerType) -> Int:
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


# comparisons and choices ----------------------------------------------------------------------------------------------


def compare(op: str, left: Int, right: Int) -> bool | None:
    """Whether `left op right` holds in the common type, whatever the symbols are; None where it depends on them."""
    kind = common(left.type, right.type)
    a, b = convert(left, kind), convert(right, kind)
    if (a.const, a.pieces) == (b.const, b.pieces):
        return c_integers.COMPARED[op](0, 0)
    one, two = exact(a), exact(b)
    gap = one + two.scaled(-1) if one is not None and two is not None else None
    if gap is not None and not gap.terms:
        return c_integers.COMPARED[op](gap.const, 0)
    if not kind.bits:
        return None
    if op in ("==", "!=") and _differ(a, b):
        return op == "!="
    if nonnegative(a) and nonnegative(b):
        (least, most), (low, high) = _range(a), _range(b)
        for surely, answer in ((most < low, (-1, 0)), (least > high, (1, 0))):
            if surely:
                return c_integers.COMPARED[op](*answer)
        if (op == "<=" and most <= low) or (op == ">=" and least >= high):
            return True
        if (op == ">" and most <= low) or (op == "<" and least >= high):
            return False
    return None


def _range(value: Int) -> tuple[int, int]:
    """The least and the most that a value may be that is not negative."""
    return value.const, covered(value)


def _differ(left: Int, right: Int) -> bool:
    """Whether a bit is known of both, and another in each."""
    mask = left.type.mask
    return bool((left.const & ~covered(right) | right.const & ~covered(left)) & mask)


def merged(condition: str, yes: Int, no: Int) -> Int:
    """The value after a choice that the text leaves open: bits that agree stay, the others are a symbol."""
    kind = c_integers.arms(yes.type, no.type)
    a, b = convert(yes, kind), convert(no, kind)
    rests = _assumed(a, b)
    if (a.const, a.pieces) == (b.const, b.pieces):
        return replace(a, marks=_marks(a, b), origin=_origins(a, b), assumed=rests)
    if a.plain is not None and b.plain is not None and (a.width <= 32 or b.width <= 32) and not (a.marks or b.marks):
        text = f"({condition} ? {name(a)} : {name(b)})"
        low = min(a.low, b.low)
        shift = low if low and not (a.const | b.const) & ((1 << low) - 1) and not (a.pieces or b.pieces) else 0
        width = max(a.width, b.width, shift + 1)
        width = min(width, kind.bits) if kind.bits else width
        made = Int(0, kind, (Piece(shift, width - shift, symbol(text), shift, True),), low)
        return replace(made, origin=_origins(a, b), assumed=rests)
    common_pieces = tuple(p for p in a.pieces if p in b.pieces)
    loose = [p for v in (a, b) for p in v.pieces if p not in common_pieces]
    most = kind.bits or max(64, a.width, b.width)
    differ = (a.const ^ b.const) & ((1 << most) - 1)
    for p in loose:
        differ |= p.mask
    pieces: list[Piece] = []
    hidden = 0
    for low, width in _halves(differ, most):
        sides = [_side(v, low, width) for v in (a, b)]
        text = f"({condition} ? {sides[0]} : {sides[1]})"
        pieces.append(Piece(low, width, symbol(text)))
        hidden |= ((1 << width) - 1) << low
    kept = _masked(common_pieces, ~hidden & ((1 << most) - 1), most)
    const = kind.wrap(a.const & b.const & ~hidden)
    return Int(
        const,
        kind,
        (*_inexact(kept), *pieces),
        low=min(a.low, b.low),
        marks=_marks(a, b),
        origin=_origins(a, b),
        assumed=rests,
    )


def _side(value: Int, low: int, width: int) -> str:
    """What a value has at some bits: a number, or an open value's name; a long one's is a mark of its own."""
    mask = ((1 << width) - 1) << low
    if not any(p.mask & mask for p in value.pieces):
        return str(value.const >> low & ((1 << width) - 1))
    if not all(str(p.source) for p in value.pieces):
        return "…"
    cut = Int(value.const & mask, IntegerType("bits", 64, False, 9), _masked(value.pieces, mask, 64))
    text = name(_shifted_right(cut, low, cut.type))
    return text if len(text) <= MOST_SIDE else f"…{zlib.crc32(text.encode()) & 0xFFF:03x}"


def _halves(mask: int, most: int = 64) -> list[tuple[int, int]]:
    """(low, width) of what differs: of the lowest three 16 bits as a whole, of bits from 48 on run by run."""
    out = [(low, 16) for low in (0, 16, 32) if mask >> low & 0xFFFF and low + 16 <= max(most, 16)]
    return out + [(low, width) for low, width in runs(mask >> 48 << 48, most)]


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
