"""A C++ integer with known and symbolic bits: its type, its pieces, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from lanescope.cxx.integers import INT, IntegerType
from lanescope.cxx.source_text import is_parenthesized
from lanescope.cxx.value_class import value_class
from lanescope.reader.code.symbolic_integers.linear import MOST_TERMS, LinearExpression, make_symbol

Span = tuple[int, int]
MOST_ORIGINS = 8
MOST_ASSUMED = 64
SHARED_BITS = 18  # of a shared-window address: PTX ISA 9.1, matrix-descriptor-encode
FIELD_BITS, FIELD_SHIFT = 14, 4  # of start, LBO and SBO, which count 16 bytes
UNKNOWN = IntegerType("unknown", 64, True, 4)  # the type of an undeclared name


@value_class(frozen=True, slots=True)
class SymbolBits:
    """`width` bits of a symbolic value, from bit `shift` of `source`, placed at bit `low`.

    exact: `source >> shift` has no other bits, so the piece is that number. Above them are only zeros, or copies of the
    sign if the piece ends at the top of a signed type.
    """

    low: int
    width: int
    source: LinearExpression
    shift: int = 0
    exact: bool = field(default=False, compare=False)

    @property
    def end(self) -> int:
        return self.low + self.width

    @property
    def mask(self) -> int:
        return ((1 << self.width) - 1) << self.low

    @property
    def is_cut(self) -> bool:
        """Whether a mask has cut it from a larger number, as in threadIdx.x / 128 & 1, which is not the range of an
        address or a field.
        """
        return not self.exact and self.width < FIELD_BITS


@value_class(frozen=True, slots=True)
class TextMark:
    """The text that set bit `bit`: the span of the expression, and of the literals in it."""

    bit: int
    span: Span
    origin: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class FitAssumption:
    """The assumption that a linear expression fits `bits` bits.

    An address is assumed to fit the shared window, an amount its field, and a signed product its type.
    """

    source: LinearExpression
    bits: int
    signed: bool = False


@value_class(frozen=True, slots=True)
class SymbolicInt:
    """An integer of a type: `const` OR-ed with pieces.

    low: the bit to which its lowest digit was shifted. origin: spans of the literals it came from. assumed: the
    assumptions behind its known bits.
    """

    const: int
    type: IntegerType = INT
    pieces: tuple[SymbolBits, ...] = ()
    low: int = 0
    marks: tuple[TextMark, ...] = ()
    origin: tuple[Span, ...] = ()
    assumed: tuple[FitAssumption, ...] = field(default=(), compare=False)

    @property
    def known(self) -> int | None:
        """Its value if all bits are known, else None."""
        return None if self.pieces else self.const

    @property
    def plain(self) -> LinearExpression | None:
        """The value as one linear expression; None if it was assembled from bits."""
        if not self.pieces:
            return LinearExpression(self.const)
        piece = self.pieces[0]
        alone = len(self.pieces) == 1 and not self.const and not piece.low and not piece.shift
        return piece.source if alone else None

    @property
    def width(self) -> int:
        """The number of bits that may be 1, from bit 0 up."""
        return max([self.const.bit_length() if self.const >= 0 else self.type.bits, *(p.end for p in self.pieces)])

    def make_linear(self) -> LinearExpression:
        """Return the value as a linear expression; extracted bits become new symbols."""
        plain = self.plain
        if plain is not None and not any(p.is_cut for p in self.pieces):
            return plain
        total = LinearExpression(self.const)
        for p in self.pieces:
            source: LinearExpression | None = p.source
            if p.shift:
                source = p.source.divide_exactly(1 << p.shift) or make_symbol(f"({p.source} >> {p.shift})")
            if source is not None and p.is_cut:
                source = make_symbol(f"(({source}) & {(1 << p.width) - 1})")
            total += (source or LinearExpression()).scale(1 << p.low)
        return total

    def __str__(self) -> str:
        return str(self.make_linear())


def make_free(name: str, kind: IntegerType, width: int = 0, origin: tuple[Span, ...] = ()) -> SymbolicInt:
    """Make a symbol of a type; width: the number of bits that may be 1, 0 for all of the type."""
    return int_from_linear(make_symbol(name), kind, width, origin)


def int_from_linear(
    source: LinearExpression, kind: IntegerType, width: int = 0, origin: tuple[Span, ...] = (), exact: bool = True
) -> SymbolicInt:
    """Convert a linear expression to a type; exact: its value needs no more than `width` bits there."""
    if not source.terms:
        return SymbolicInt(kind.wrap(source.const), kind, origin=origin)
    if not exact and kind.bits:  # modulo 2^bits -1 is shorter than 2^64 - 1
        near = replace(kind, name="bits", signed=True)
        source = LinearExpression(
            near.wrap(source.const), tuple((name, near.wrap(f)) for name, f in source.terms if near.wrap(f))
        )
        if not source.terms:
            return SymbolicInt(kind.wrap(source.const), kind, origin=origin)
    return SymbolicInt(0, kind, (SymbolBits(0, width or kind.bits or 64, source, exact=exact),), origin=origin)


# what is known of a value ---------------------------------------------------------------------------------------------


def get_possible_bits(value: SymbolicInt) -> int:
    """Return the bits that may be 1."""
    bits = value.const if value.const >= 0 else value.const & value.type.mask
    for p in value.pieces:
        bits |= p.mask
    return bits


def is_nonnegative(value: SymbolicInt) -> bool:
    """Return whether a value is certainly not negative."""
    if value.const < 0:
        return False
    return not value.type.signed or not value.type.bits or all(p.end < value.type.bits for p in value.pieces)


def _sum_linear(value: SymbolicInt, modulo: bool) -> LinearExpression | None:
    """Return the linear expression that a value is, None if it is not linear.

    modulo: equality modulo 2^bits of its type is enough.
    """
    if not value.pieces:
        return LinearExpression(value.const)
    plain = value.plain
    if plain is not None and value.pieces[0].exact:
        return plain
    total, used_bits = LinearExpression(value.const), value.const & value.type.mask
    for p in value.pieces:
        source = p.source.divide_exactly(1 << p.shift) if p.shift else p.source
        exact = p.exact or (modulo and not p.shift and p.end >= value.type.bits > 0)
        if source is None or not exact or used_bits & p.mask:
            return None
        used_bits |= p.mask
        total += source.scale(1 << p.low)
    return total


def get_exact_linear(value: SymbolicInt) -> LinearExpression | None:
    """Return the linear expression equal to a value for all symbols; None if the value may wrap or is cut."""
    return _sum_linear(value, False)


def get_modular_linear(value: SymbolicInt) -> LinearExpression | None:
    """Return the linear expression that a value equals modulo 2^bits of its type."""
    return _sum_linear(value, True)


# names ----------------------------------------------------------------------------------------------------------------


def format_name(value: SymbolicInt, modulo: bool = False) -> str:
    """Return a unique text for a value.

    modulo: bits above the type do not matter, as for operands of sums, products and bitwise operations.
    """
    if value.known is not None:
        return str(value.const)
    line = get_exact_linear(value)
    if line is not None:
        return str(line)
    parts = [f"{value.const:#x}"] if value.const else []
    return " | ".join([*parts, *(_name_piece(value, p, modulo) for p in value.pieces)])


def _name_piece(value: SymbolicInt, piece: SymbolBits, modulo: bool) -> str:
    """Return the text of one piece of a value."""
    text = _bracket(str(piece.source))
    if piece.end == value.type.bits and not piece.low and not piece.shift:
        return text if modulo else f"({value.type.written or value.type.name}){text}"
    if piece.shift:
        text = f"{text} >> {piece.shift}"
    if not piece.exact:
        text = f"({text})" if piece.shift else text
        text = f"{text} & {(1 << piece.width) - 1:#x}"
    if piece.low:
        return f"({text}) << {piece.low}"
    return f"({text})" if len(value.pieces) > 1 else text


def _bracket(text: str) -> str:
    """Parenthesize a text of several words unless it is parenthesized."""
    return f"({text})" if " " in text and not is_parenthesized(text) else text


def format_factor(value: SymbolicInt, modulo: bool = False) -> str:
    """Return the name of a value as an operand."""
    return _bracket(format_name(value, modulo))


def make_reduced(text: str, kind: IntegerType, *values: SymbolicInt, width: int = 0) -> SymbolicInt:
    """Make a sum, product or bitwise result of which only the name is known: a symbol for the untruncated number."""
    free = make_free(f"({text})", kind, min(width, kind.bits) if kind.bits else width)
    fits = kind.signed or 0 < width <= kind.bits
    exact = not kind.bits or (fits and all(get_exact_linear(v) is not None for v in values))
    return _carry_all(free, free.pieces if exact else make_inexact(free.pieces), values)


def make_opaque(text: str, kind: IntegerType, *values: SymbolicInt, width: int = 0) -> SymbolicInt:
    """Make a result of which only the name is known, with the names of its operands in it."""
    small = kind.bits == 64 and any(v.pieces for v in values) and all(v.width <= 32 for v in values)
    text_in_type = f"({kind.written or kind.name})({text})" if small else f"({text})"
    free = make_free(text_in_type, kind, min(width, kind.bits) if kind.bits else width)
    return _carry_all(free, free.pieces, values)


def _carry_all(free: SymbolicInt, pieces: tuple[SymbolBits, ...], values: Sequence[SymbolicInt]) -> SymbolicInt:
    """Return a result with the pieces given, and the marks, origins and assumptions of several operands."""
    joined = join_marks(*values), join_origins(*values), join_assumptions(*values)
    return SymbolicInt(free.const, free.type, pieces, free.low, *joined)


# origins, marks and assumptions of results ---------------------------------------------------------------------------


def join_assumptions(*values: SymbolicInt, more: tuple[FitAssumption, ...] = ()) -> tuple[FitAssumption, ...]:
    """Join the assumptions of several values."""
    every = [assumption for v in values for assumption in v.assumed]
    return tuple(dict.fromkeys((*every, *more)))[:MOST_ASSUMED] if every or more else ()


def join_origins(*values: SymbolicInt) -> tuple[Span, ...]:
    """Join the origins of several values."""
    having = [v.origin for v in values if v.origin]
    if len(having) < 2:
        return having[0][:MOST_ORIGINS] if having else ()
    return tuple(dict.fromkeys(span for origin in having for span in origin))[:MOST_ORIGINS]


def join_marks(*values: SymbolicInt) -> tuple[TextMark, ...]:
    """Join the marks of several values."""
    having = [v.marks for v in values if v.marks]
    if len(having) < 2:
        return having[0][:MOST_TERMS] if having else ()
    return tuple(dict.fromkeys(mark for marks in having for mark in marks))[:MOST_TERMS]


def carry_marks(integer: SymbolicInt, left: SymbolicInt, right: SymbolicInt) -> SymbolicInt:
    """Return a result with the marks, origins and assumptions of its operands."""
    i = integer
    assumed = join_assumptions(i, left, right)
    return SymbolicInt(i.const, i.type, i.pieces, i.low, join_marks(left, right), join_origins(left, right), assumed)


def carry_origins(integer: SymbolicInt, left: SymbolicInt, right: SymbolicInt) -> SymbolicInt:
    """Return a result with the origins and assumptions of its operands, whose marks no longer apply."""
    i = integer
    assumed = join_assumptions(i, left, right)
    return SymbolicInt(i.const, i.type, i.pieces, i.low, i.marks, join_origins(left, right), assumed)


# pieces ---------------------------------------------------------------------------------------------------------------


def make_inexact(pieces: tuple[SymbolBits, ...]) -> tuple[SymbolBits, ...]:
    """Return the pieces, marked as not exact."""
    return tuple([SymbolBits(p.low, p.width, p.source, p.shift) if p.exact else p for p in pieces])


@lru_cache(maxsize=1 << 12)
def find_runs(mask: int, most: int = 64) -> tuple[tuple[int, int], ...]:
    """Return (low, width) of each run of ones in a mask's lowest `most` bits."""
    runs: list[tuple[int, int]] = []
    bit = 0
    while bit < most:
        if mask >> bit & 1:
            low = bit
            while bit < most and mask >> bit & 1:
                bit += 1
            runs.append((low, bit - low))
        bit += 1
    return tuple(runs)


def mask_pieces(pieces: tuple[SymbolBits, ...], mask: int, bits: int) -> tuple[SymbolBits, ...]:
    """Mask pieces; a piece that loses its upper bits is no longer exact."""
    masked = []
    for p in pieces:
        for low, width in find_runs(mask, max(bits or 64, p.end)):
            first, past = max(low, p.low), min(low + width, p.end)
            if first < past:
                exact = p.exact and past == p.end
                masked.append(SymbolBits(first, past - first, p.source, p.shift + first - p.low, exact))
    return tuple(masked)
