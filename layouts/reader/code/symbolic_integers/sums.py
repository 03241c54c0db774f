"""Sums, products, quotients and remainders."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lanescope.cxx import integers as c_integers
from lanescope.cxx.integers import IntegerType, find_common_type
from lanescope.reader.code.symbolic_integers.bits import and_ints, or_ints, shift_int
from lanescope.reader.code.symbolic_integers.conversion import convert_int
from lanescope.reader.code.symbolic_integers.integer import (
    FIELD_BITS,
    FIELD_SHIFT,
    SHARED_BITS,
    UNKNOWN,
    FitAssumption,
    SymbolBits,
    SymbolicInt,
    carry_marks,
    carry_origins,
    format_factor,
    get_exact_linear,
    get_modular_linear,
    get_possible_bits,
    int_from_linear,
    is_nonnegative,
    join_assumptions,
    join_marks,
    join_origins,
    make_opaque,
    make_reduced,
)
from lanescope.reader.code.symbolic_integers.linear import LinearExpression
from lanescope.reader.code.symbolic_integers.rounding import pad_up

FIELD_LOWS = (0, 16, 32)  # first bits of start, LBO and SBO
_FIELD = (1 << FIELD_BITS) - 1


def add_ints(left: SymbolicInt, right: SymbolicInt, sign: int = 1) -> SymbolicInt:
    """Return left + sign·right. A step added to an assembled descriptor goes into the start field at bit 0."""
    kind = find_common_type(left.type, right.type)
    a, b = convert_int(left, kind), convert_int(right, kind)
    if a.known is not None and b.known is not None:
        return carry_marks(
            SymbolicInt(kind.wrap(a.const + sign * b.const), kind, assumed=join_assumptions(a, b)), left, right
        )
    halves = (_assume_halves(a, b) or _assume_halves(b, a)) if sign == 1 else ()
    if halves:
        return replace(or_ints(a, b), assumed=join_assumptions(a, b, more=halves))
    first, second = get_modular_linear(a), get_modular_linear(b)
    if first is not None and second is not None:
        total = first + second.scale(sign)
        width, exact, more = _measure_sum(a, b, sign, total)
        s = int_from_linear(total, kind, width, join_origins(left, right), exact)
        return SymbolicInt(s.const, s.type, s.pieces, s.low, s.marks, s.origin, join_assumptions(a, b, more=more))
    if sign == 1 and not get_possible_bits(a) & get_possible_bits(b):
        return or_ints(a, b)
    stepped = _step_address(a, b, sign) or (_step_address(b, a, 1) if sign == 1 else None)
    if stepped is not None:
        return carry_marks(replace(stepped, type=kind, low=min(left.low, right.low)), left, right)
    if sign == 1 and (fields := _assume_fitting_fields(a, b)):
        return replace(or_ints(a, b), assumed=join_assumptions(a, b, more=fields))
    return _add_low_bits(a, b, sign)


def _measure_sum(
    left: SymbolicInt, right: SymbolicInt, sign: int, total: LinearExpression
) -> tuple[int, bool, tuple[FitAssumption, ...]]:
    """Measure a sum of linear expressions: return (bits, whether it is exact in them, assumptions)."""
    kind = left.type
    homes = [_is_shared_address(left), _is_shared_address(right)]
    if homes == [True, False] or (homes == [False, True] and sign == 1):
        return SHARED_BITS, True, (FitAssumption(total, SHARED_BITS),)
    wide = max(left.width, right.width)
    if not kind.bits:
        return wide, True, ()
    both_exact = get_exact_linear(left) is not None and get_exact_linear(right) is not None
    if both_exact and sign == 1 and is_nonnegative(left) and is_nonnegative(right) and wide < kind.bits:
        return wide + 1, True, ()
    return kind.bits, both_exact and kind.signed, ()  # a signed sum that does not fit is undefined


def _assume_halves(low: SymbolicInt, high: SymbolicInt) -> tuple[FitAssumption, ...]:
    """Return the assumption of `low + (high << 32)`: the low word fits 32 bits. () for another sum."""
    full_low = low.plain is not None and bool(low.pieces) and low.type.bits == 64
    if not full_low or not high.pieces or get_possible_bits(high) & 0xFFFFFFFF or not low.plain:
        return ()
    return (FitAssumption(low.plain, 32),)


def _is_shared_address(value: SymbolicInt) -> bool:
    """Return whether a value is a shared-window address."""
    piece = value.pieces[0] if len(value.pieces) == 1 and not value.const else None
    return piece is not None and piece.exact and not piece.low and not piece.shift and piece.width == SHARED_BITS


def _step_address(integer: SymbolicInt, step: SymbolicInt, by: int) -> SymbolicInt | None:
    """Add a small step, or one with other fields above it, to a word with an address in its lowest field; None without
    an address. The address is assumed to stay in its field, as every shared address does.
    """
    return _step_start(integer, step, by) or (_step_field(integer, step) if by == 1 else None)


def _get_amount(step: SymbolicInt) -> LinearExpression | None:
    """Return a step as one expression, which may be of masked bits, as (warp & 3) << 7; None if it has no such."""
    amount = get_modular_linear(step)
    masked = amount is None and is_nonnegative(step) and step.width <= FIELD_BITS
    return step.make_linear() if masked else amount


def _step_start(integer: SymbolicInt, step: SymbolicInt, by: int) -> SymbolicInt | None:
    """Add a small step to the start field."""
    amount = _get_amount(step)
    base = next((p for p in integer.pieces if not p.low), None)
    if amount is None or base is None or amount.divide_exactly(1 << FIELD_BITS) is not None:
        return None
    ends = base.shift + base.width
    if not (base.shift == FIELD_SHIFT and ends >= SHARED_BITS) and not (not base.shift and ends == SHARED_BITS):
        return None
    if step.known is not None and abs(step.known) >= 1 << min(base.width, SHARED_BITS - base.shift):
        return None
    grown = replace(base, source=base.source + amount.scale(by << base.shift), exact=False)
    rests = (FitAssumption(base.source, SHARED_BITS), FitAssumption(grown.source, SHARED_BITS))
    return replace(integer, pieces=tuple(grown if p is base else p for p in integer.pieces), assumed=rests)


def _step_field(field: SymbolicInt, number: SymbolicInt) -> SymbolicInt | None:
    """Add the number that has a step in its lowest field and the other fields of a descriptor above it to an address
    field, as compilers write `(address >> 4 & 0x3FFF) + 0x4000004000000002`; None for another sum.
    """
    if number.known is None or get_possible_bits(field) >> FIELD_BITS:
        return None
    step, above = (replace(number, const=number.const & bits) for bits in (_FIELD, number.type.mask & ~_FIELD))
    stepped = _step_start(field, step, 1) if step.const and above.const else None
    return stepped and replace(or_ints(stepped, above), assumed=stepped.assumed)


def _assume_fitting_fields(left: SymbolicInt, right: SymbolicInt) -> tuple[FitAssumption, ...]:
    """Return the assumption that each amount fits its field, for a sum of unmasked fields; () for another sum."""
    rests: list[FitAssumption] = []
    masks = []
    for value in (left, right):
        mask = value.const & value.type.mask
        for p in value.pieces:
            cut = p.low in FIELD_LOWS and p.width > FIELD_BITS
            if cut:
                rests.append(FitAssumption(p.source, FIELD_BITS + p.shift))
            mask |= ((1 << FIELD_BITS) - 1) << p.low if cut else p.mask
        masks.append(mask)
    return tuple(rests) if rests and not masks[0] & masks[1] else ()


def _add_low_bits(left: SymbolicInt, right: SymbolicInt, sign: int) -> SymbolicInt:
    """Add operands; only the bits below the other operand's lowest bit are known."""
    kind = left.type
    lows = [
        (get_possible_bits(v) & -get_possible_bits(v)).bit_length() - 1 if get_possible_bits(v) else kind.bits
        for v in (left, right)
    ]
    operand, at = (right, lows[0]) if sign == 1 and lows[0] > lows[1] else (left, lows[1])
    text = f"{format_factor(left, True)} {'+' if sign == 1 else '-'} {format_factor(right, True)}"
    bound = (
        max(left.width, right.width) + 1 if sign == 1 and is_nonnegative(left) and is_nonnegative(right) else kind.bits
    )
    bound = min(bound, kind.bits) if kind.bits else max(left.width, right.width)
    if not 0 < at < bound:
        return make_reduced(text, kind, left, right, width=bound if bound < kind.bits else 0)
    below = and_ints(operand, SymbolicInt((1 << at) - 1, kind))
    above = make_reduced(text, kind, left, right, width=bound).pieces[0]
    piece = replace(above, low=at, width=bound - at, shift=at, exact=False)
    return replace(
        below,
        pieces=(*below.pieces, piece),
        marks=join_marks(left, right),
        origin=join_origins(left, right),
        assumed=join_assumptions(left, right),
    )


def multiply_ints(left: SymbolicInt, right: SymbolicInt) -> SymbolicInt:
    """Return left · right."""
    kind = find_common_type(left.type, right.type)
    a, b = convert_int(left, kind), convert_int(right, kind)
    if a.known is not None and b.known is not None:
        return carry_marks(SymbolicInt(kind.wrap(a.const * b.const), kind), left, right)
    if a.known is not None:
        a, b = b, a
    if b.known is None:
        text = " * ".join(sorted((format_factor(a, True), format_factor(b, True))))
        return make_reduced(text, kind, a, b, width=_get_product_width(a, b))
    if not b.known:
        return carry_marks(SymbolicInt(0, kind), left, right)
    product = _multiply_by_number(a, b, kind)
    if product is None:
        return make_reduced(f"{format_factor(a, True)} * {b.known}", kind, a, b, width=_get_product_width(a, b))
    return carry_marks(product, left, right)


def _get_product_width(left: SymbolicInt, right: SymbolicInt) -> int:
    """Return the number of bits of a product that may be 1."""
    wide = left.width + right.width
    return wide if is_nonnegative(left) and is_nonnegative(right) else left.type.bits or wide


def _multiply_by_number(value: SymbolicInt, number: SymbolicInt, kind: IntegerType) -> SymbolicInt | None:
    """Multiply a value by a known nonzero number of the same type; None if only the name of the product is known."""
    by = number.const
    line = get_modular_linear(value)
    if _is_power_of_two(by) and (line is None or by >= 1 << FIELD_BITS):
        return shift_int(value, by.bit_length() - 1)
    if line is None:
        return None
    bound = _get_product_width(value, number)
    exact = get_exact_linear(value) is not None
    fits = exact and is_nonnegative(value) and is_nonnegative(number) and bound <= kind.bits
    if not kind.bits or fits:
        return int_from_linear(line.scale(by), kind, bound)
    return int_from_linear(line.scale(by), kind, kind.bits, exact=exact and kind.signed)


def _is_power_of_two(number: int) -> bool:
    return number > 0 and not number & (number - 1)


@dataclass(frozen=True, slots=True)
class _Division:
    """The operation left op right. dividend, divisor: the operands in the common type `kind`."""

    op: str
    left: SymbolicInt
    right: SymbolicInt
    kind: IntegerType
    dividend: SymbolicInt
    divisor: SymbolicInt

    @classmethod
    def from_operands(cls, op: str, left: SymbolicInt, right: SymbolicInt) -> _Division:
        kind = find_common_type(left.type, right.type)
        return cls(op, left, right, kind, convert_int(left, kind), convert_int(right, kind))

    def decide(self) -> SymbolicInt | None:
        """Return the result if both operands are known, an unknown one if the divisor is unknown or 0, else None."""
        if self.divisor.known is not None and self.dividend.known is not None:
            result = c_integers.compute_binary(self.op, self.dividend.known, self.kind, self.divisor.known, self.kind)
            return self.carry(SymbolicInt(result.value, self.kind)) if result.value is not None else self.make_unknown()
        return None if self.divisor.known else self.make_unknown()

    def carry(self, result: SymbolicInt) -> SymbolicInt:
        """Return a result with the origins and assumptions of the operands."""
        return carry_origins(result, self.left, self.right)

    def make_unknown(self, width: int = 0) -> SymbolicInt:
        """Make a result of which only the name is known."""
        text = f"{format_factor(self.dividend)} {self.op} {format_factor(self.divisor)}"
        return make_opaque(text, self.kind, self.dividend, self.divisor, width=width)

    def assume_nonnegative(self, line: LinearExpression) -> tuple[FitAssumption, ...]:
        """Return the dividend's assumptions, with that of being nonnegative."""
        return join_assumptions(self.dividend, more=(FitAssumption(line, self.kind.bits - 1),))


def divide_ints(left: SymbolicInt, right: SymbolicInt, op: str = "/") -> SymbolicInt:
    """Return left / right in the common type; op: / or Python's //."""
    division = _Division.from_operands(op, left, right)
    decided = division.decide()
    if decided is not None:
        return decided
    kind, value, by = division.kind, division.dividend, division.divisor.const
    small = is_nonnegative(value)
    line = get_exact_linear(value)
    exactly = line.divide_exactly(by) if line is not None else None
    if exactly is not None:
        return division.carry(int_from_linear(exactly, kind, value.width if small and by > 0 else kind.bits))
    if _is_power_of_two(by) and (kind.bits or op != "/"):
        down = 1 - by.bit_length()
        if small or not kind.bits:
            return division.carry(shift_int(value, down))
        if kind == UNKNOWN and line is not None:  # an undeclared name is assumed to be a count or an address
            moved = shift_int(SymbolicInt(0, kind, (SymbolBits(0, kind.bits - 1, line, exact=True),)), down)
            return replace(moved, origin=join_origins(left, right), assumed=division.assume_nonnegative(line))
    return division.make_unknown(value.width if small and by > 0 else 0)


def get_remainder(left: SymbolicInt, right: SymbolicInt) -> SymbolicInt:
    """Return left % right in the common type."""
    division = _Division.from_operands("%", left, right)
    decided = division.decide()
    if decided is not None:
        return decided
    kind, value, by = division.kind, division.dividend, division.divisor.const
    small = is_nonnegative(value)
    counts = small and by > 0
    line = get_exact_linear(value)
    rest = _get_constant_remainder(line, by)
    if rest is not None and (rest == 0 or not kind.bits or counts):
        return division.carry(SymbolicInt(rest, kind))
    padding = pad_up(value, by)
    if padding is not None:
        return padding
    if _is_power_of_two(by):
        mask = SymbolicInt(by - 1, kind, origin=right.origin)
        if small or not kind.bits:
            return and_ints(value, mask)
        if kind == UNKNOWN and line is not None:
            return replace(and_ints(value, mask), assumed=division.assume_nonnegative(line))
    return division.make_unknown(min(value.width, (by - 1).bit_length()) if counts else 0)


def _get_constant_remainder(line: LinearExpression | None, by: int) -> int | None:
    """Return the remainder of the constant; None unless the divisor divides the factor of every symbol."""
    if line is None or any(f % by for _, f in line.terms):
        return None
    return line.const % by
