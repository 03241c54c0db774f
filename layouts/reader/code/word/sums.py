"""Sums, products, quotients and remainders."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lanescope.cxx import integers as c_integers
from lanescope.cxx.integers import IntegerType, common
from lanescope.reader.code.word.bits import both, either, shifted
from lanescope.reader.code.word.conversion import convert
from lanescope.reader.code.word.integer import (
    FIELD_BITS,
    FIELD_SHIFT,
    SHARED_BITS,
    UNKNOWN,
    Assumption,
    Int,
    Piece,
    carry_marks,
    carry_origins,
    covered,
    exact,
    factor,
    join_assumptions,
    join_marks,
    join_origins,
    modular,
    nonnegative,
    of_linear,
    opaque,
    reduced,
)
from lanescope.reader.code.word.linear import Linear

FIELD_LOWS = (0, 16, 32)  # where start, LBO and SBO begin


def add(left: Int, right: Int, sign: int = 1) -> Int:
    """left + sign·right. A step added to bits that were put together goes into the start field at bit 0."""
    kind = common(left.type, right.type)
    a, b = convert(left, kind), convert(right, kind)
    if a.known is not None and b.known is not None:
        return carry_marks(Int(kind.wrap(a.const + sign * b.const), kind, assumed=join_assumptions(a, b)), left, right)
    halves = (_halved(a, b) or _halved(b, a)) if sign == 1 else ()
    if halves:
        return replace(either(a, b), assumed=join_assumptions(a, b, more=halves))
    one, two = modular(a), modular(b)
    if one is not None and two is not None:
        total = one + two.scaled(sign)
        width, whole, more = _reach(a, b, sign, total)
        made = of_linear(total, kind, width, join_origins(left, right), whole)
        return replace(made, assumed=join_assumptions(a, b, more=more))
    if sign == 1 and not covered(a) & covered(b):
        return either(a, b)
    for whole_, step in ((a, b), (b, a)) if sign == 1 else ((a, b),):
        stepped = _stepped(whole_, step, sign)
        if stepped is not None:
            return carry_marks(replace(stepped, type=kind, low=min(left.low, right.low)), left, right)
    if sign == 1 and (fields := _fitted(a, b)):
        return replace(either(a, b), assumed=join_assumptions(a, b, more=fields))
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
        marks=join_marks(left, right),
        origin=join_origins(left, right),
        assumed=join_assumptions(left, right),
    )


def times(left: Int, right: Int) -> Int:
    """Return left · right."""
    kind = common(left.type, right.type)
    a, b = convert(left, kind), convert(right, kind)
    if a.known is not None and b.known is not None:
        return carry_marks(Int(kind.wrap(a.const * b.const), kind), left, right)
    if a.known is not None:
        a, b = b, a
    if b.known is None:
        text = " * ".join(sorted((factor(a, True), factor(b, True))))
        return reduced(text, kind, a, b, width=_product_width(a, b))
    if not b.known:
        return carry_marks(Int(0, kind), left, right)
    product = _times_number(a, b, kind)
    if product is None:
        return reduced(f"{factor(a, True)} * {b.known}", kind, a, b, width=_product_width(a, b))
    return carry_marks(product, left, right)


def _product_width(left: Int, right: Int) -> int:
    """Return the bits above which a product has none."""
    wide = left.width + right.width
    return wide if nonnegative(left) and nonnegative(right) else left.type.bits or wide


def _times_number(value: Int, number: Int, kind: IntegerType) -> Int | None:
    """Return a value times a known number that is not 0, both of one type; None where only its name is known."""
    by = number.const
    line = modular(value)
    if _is_power_of_two(by) and (line is None or by >= 1 << FIELD_BITS):
        return shifted(value, by.bit_length() - 1)
    if line is None:
        return None
    bound = _product_width(value, number)
    whole = exact(value) is not None
    fits = whole and nonnegative(value) and nonnegative(number) and bound <= kind.bits
    if not kind.bits or fits:
        return of_linear(line.scaled(by), kind, bound)
    return of_linear(line.scaled(by), kind, kind.bits, exact=whole and kind.signed)


def _is_power_of_two(number: int) -> bool:
    return number > 0 and not number & (number - 1)


@dataclass(frozen=True, slots=True)
class _Division:
    """left op right; dividend, divisor: both in the common type, `kind`."""

    op: str
    left: Int
    right: Int
    kind: IntegerType
    dividend: Int
    divisor: Int

    @classmethod
    def of(cls, op: str, left: Int, right: Int) -> _Division:
        kind = common(left.type, right.type)
        return cls(op, left, right, kind, convert(left, kind), convert(right, kind))

    def decide(self) -> Int | None:
        """Return the result where nothing is to be worked out: both are known, or the divisor is open or 0."""
        if self.divisor.known is not None and self.dividend.known is not None:
            made = c_integers.binary(self.op, self.dividend.known, self.kind, self.divisor.known, self.kind)
            return self.carry(Int(made.value, self.kind)) if made.value is not None else self.leave_open()
        return None if self.divisor.known else self.leave_open()

    def carry(self, result: Int) -> Int:
        """Return a result with what the operands came from and rest on."""
        return carry_origins(result, self.left, self.right)

    def leave_open(self, width: int = 0) -> Int:
        """Return a result of which only the name is known."""
        text = f"{factor(self.dividend)} {self.op} {factor(self.divisor)}"
        return opaque(text, self.kind, self.dividend, self.divisor, width=width)

    def take_as_nonnegative(self, line: Linear) -> tuple[Assumption, ...]:
        """Return what the dividend rests on that is taken not to be negative."""
        return join_assumptions(self.dividend, more=(Assumption(line, self.kind.bits - 1),))


def quotient(left: Int, right: Int, op: str = "/") -> Int:
    """Return left / right as the common type has it; Python's / of whole numbers, and //."""
    division = _Division.of(op, left, right)
    decided = division.decide()
    if decided is not None:
        return decided
    kind, value, by = division.kind, division.dividend, division.divisor.const
    small = nonnegative(value)
    line = exact(value)
    exactly = line.divided(by) if line is not None else None
    if exactly is not None:
        return division.carry(of_linear(exactly, kind, value.width if small and by > 0 else kind.bits))
    if _is_power_of_two(by) and (kind.bits or op != "/"):
        down = 1 - by.bit_length()
        if small or not kind.bits:
            return division.carry(shifted(value, down))
        if kind == UNKNOWN and line is not None:  # a name without a declaration counts or addresses something
            moved = shifted(Int(0, kind, (Piece(0, kind.bits - 1, line, exact=True),)), down)
            return replace(moved, origin=join_origins(left, right), assumed=division.take_as_nonnegative(line))
    return division.leave_open(value.width if small and by > 0 else 0)


def remainder(left: Int, right: Int) -> Int:
    """Return left % right as the common type has it."""
    division = _Division.of("%", left, right)
    decided = division.decide()
    if decided is not None:
        return decided
    kind, value, by = division.kind, division.dividend, division.divisor.const
    small = nonnegative(value)
    counts = small and by > 0
    line = exact(value)
    rest = _constant_remainder(line, by)
    if rest is not None and (rest == 0 or not kind.bits or counts):
        return division.carry(Int(rest, kind))
    if _is_power_of_two(by):
        mask = Int(by - 1, kind, origin=right.origin)
        if small or not kind.bits:
            return both(value, mask)
        if kind == UNKNOWN and line is not None:
            return replace(both(value, mask), assumed=division.take_as_nonnegative(line))
    return division.leave_open(min(value.width, (by - 1).bit_length()) if counts else 0)


def _constant_remainder(line: Linear | None, by: int) -> int | None:
    """Return the remainder of the constant alone; None where a symbol's factor is no multiple of the divisor."""
    if line is None or any(f % by for _, f in line.terms):
        return None
    return line.const % by
