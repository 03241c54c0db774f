"""PTX integer arithmetic, logic and shifts of symbols, as far as their results are known in bits or as sums.

lanescope.ptx.operations computes known integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lanescope.cxx.integers import IntegerType, find_integer_type
from lanescope.reader.code import symbolic_integers
from lanescope.reader.code.symbolic_integers import SymbolicInt


def get_integer_type(bits: int, signed: bool = False) -> IntegerType:
    """Return the integer type of a register of `bits` bits."""
    known = find_integer_type(f"{'' if signed else 'u'}int{bits}_t")
    return known or IntegerType(f"{'s' if signed else 'u'}{bits}", bits, signed)


def reinterpret_bits(value: SymbolicInt, bits: int, signed: bool) -> SymbolicInt | None:
    """Return the lowest bits of a value, read with or without a sign; None for a symbol that may be negative."""
    cut = symbolic_integers.convert_int(value, get_integer_type(bits))
    if signed and cut.known is None and cut.width >= bits:
        return None
    return symbolic_integers.convert_int(cut, get_integer_type(bits, True)) if signed else cut


def extend_value(value: SymbolicInt, kind: IntegerType) -> SymbolicInt | None:
    """Extend a value to a wider register, with its sign if it has one."""
    if value.type.signed and value.known is None and value.width >= value.type.bits < kind.bits:
        return None
    return symbolic_integers.convert_int(value, kind)


Rule = Callable[..., SymbolicInt | None]  # of the type of the result and the sources


def _shift(kind: IntegerType, value: SymbolicInt, by: SymbolicInt, sign: int) -> SymbolicInt | None:
    """Evaluate shl and shr: an amount beyond the type's width shifts everything out, for shr of a signed type but the
    sign.
    """
    return None if by.known is None else symbolic_integers.shift_int(value, sign * min(by.known, kind.bits))


def _multiply(kind: IntegerType, left: SymbolicInt, right: SymbolicInt) -> SymbolicInt | None:
    """Evaluate mul.lo and mul.wide."""
    if left.known is not None and right.known is not None:
        return SymbolicInt(kind.wrap(left.known * right.known), kind)
    return symbolic_integers.multiply_ints(*(symbolic_integers.convert_int(factor, kind) for factor in (left, right)))


def _multiply_add(kind: IntegerType, left: SymbolicInt, right: SymbolicInt, more: SymbolicInt) -> SymbolicInt | None:
    product = _multiply(kind, left, right)
    if product is None:
        return None
    more = symbolic_integers.convert_int(more, kind)
    return symbolic_integers.add_ints(symbolic_integers.convert_int(product, kind), more)


def _insert_bits(
    kind: IntegerType, value: SymbolicInt, word: SymbolicInt, at: SymbolicInt, count: SymbolicInt
) -> SymbolicInt | None:
    """Evaluate bfi: insert the value's lowest bits into another at bit `at`."""
    low, width = _cut_field(kind, at, count)
    if width < 1:
        return None
    mask = (1 << width) - 1
    rest = symbolic_integers.and_ints(word, SymbolicInt(kind.mask & ~(mask << low), word.type))
    return symbolic_integers.or_ints(
        rest, symbolic_integers.shift_int(symbolic_integers.and_ints(value, SymbolicInt(mask, value.type)), low)
    )


def _extract_bits(kind: IntegerType, value: SymbolicInt, at: SymbolicInt, count: SymbolicInt) -> SymbolicInt | None:
    """Evaluate bfe of an unsigned type: extract `count` bits from bit `at`."""
    low, width = _cut_field(kind, at, count)
    return None if kind.signed or width < 1 else symbolic_integers.extract_bits(value, low, width, kind)


def _cut_field(kind: IntegerType, at: SymbolicInt, count: SymbolicInt) -> tuple[int, int]:
    """Return the first bit and the width of a field inside a register; a width of 0 if they are not known."""
    if at.known is None or count.known is None or max(at.known, count.known) > 255:
        return 0, 0
    return at.known, min(count.known, kind.bits - at.known)


def _permute_bytes(kind: IntegerType, low: SymbolicInt, high: SymbolicInt, selector: SymbolicInt) -> SymbolicInt | None:
    """Evaluate prmt without a mode: each nibble of the selector takes one of eight bytes."""
    if selector.known is None or selector.known & 0x8888:
        return None
    result = SymbolicInt(0, kind)
    for n in range(4):
        nibble = selector.known >> 4 * n & 7
        byte = symbolic_integers.extract_bits(high if nibble & 4 else low, nibble % 4 * 8, 8, kind)
        result = symbolic_integers.or_ints(result, symbolic_integers.shift_int(byte, 8 * n))
    return result


_LOGIC: dict[
    int, Callable[[SymbolicInt, SymbolicInt, SymbolicInt], SymbolicInt]
] = {  # lop3 tables of one or two operators
    0xC0: lambda a, b, _: symbolic_integers.and_ints(a, b),
    0xFC: lambda a, b, _: symbolic_integers.or_ints(a, b),
    0x80: lambda a, b, c: symbolic_integers.and_ints(symbolic_integers.and_ints(a, b), c),
    0xFE: lambda a, b, c: symbolic_integers.or_ints(symbolic_integers.or_ints(a, b), c),
    0xEA: lambda a, b, c: symbolic_integers.or_ints(symbolic_integers.and_ints(a, b), c),
    0xF8: lambda a, b, c: symbolic_integers.or_ints(a, symbolic_integers.and_ints(b, c)),
    0xA8: lambda a, b, c: symbolic_integers.and_ints(symbolic_integers.or_ints(a, b), c),
}


def _apply_lop3(
    _: IntegerType, a: SymbolicInt, b: SymbolicInt, c: SymbolicInt, table: SymbolicInt
) -> SymbolicInt | None:
    logic = _LOGIC.get(table.const) if table.known is not None else None
    return logic(a, b, c) if logic is not None else None


MODULAR: Mapping[str, Rule] = {  # their results do not depend on how the sources' signs are read
    "and": lambda _, a, b: symbolic_integers.and_ints(a, b),
    "or": lambda _, a, b: symbolic_integers.or_ints(a, b),
    "xor": lambda _, a, b: symbolic_integers.xor_ints(a, b),
    "shl": lambda kind, a, by: _shift(kind, a, by, 1),
    "add": lambda _, a, b: symbolic_integers.add_ints(a, b),
    "sub": lambda _, a, b: symbolic_integers.add_ints(a, b, -1),
    "mul.lo": _multiply,
    "mad.lo": _multiply_add,
}
RULES: Mapping[str, Rule] = {
    **MODULAR,
    "mul.wide": _multiply,
    "mad.wide": _multiply_add,
    "shr": lambda kind, a, by: _shift(kind, a, by, -1),
    "div": lambda _, a, b: symbolic_integers.divide_ints(a, b) if b.known else None,
    "rem": lambda _, a, b: symbolic_integers.get_remainder(a, b) if b.known else None,
    "prmt": _permute_bytes,
    "bfi": _insert_bits,
    "bfe": _extract_bits,
    "lop3": _apply_lop3,
}
