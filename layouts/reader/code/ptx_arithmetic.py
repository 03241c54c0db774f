"""PTX integer arithmetic, logic and shifts, a row per opcode, for known integers and for symbols.

Source: PTX ISA 9.1, integer arithmetic, logic and shift instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

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


# known integers ----------------------------------------------------------------------------------------------------


def shift_left(bits: int, _: bool, value: int, by: int) -> int:
    """Evaluate shl: an amount beyond the type's width shifts everything out."""
    return value << min(by, bits)


def shift_right(bits: int, _: bool, value: int, by: int) -> int:
    """Evaluate shr: a signed type shifts in the sign, however large the amount."""
    return value >> min(by, bits)


def permute_bytes(_: int, __: bool, low: int, high: int, selector: int) -> int:
    """Evaluate prmt without a mode: each nibble of the selector takes one of eight bytes; its bit 3 takes the sign."""
    eight = (high << 32 | low).to_bytes(8, "little")
    permuted = bytearray()
    for n in range(4):
        nibble = selector >> 4 * n & 15
        byte = eight[nibble & 7]
        permuted.append((255 if byte & 128 else 0) if nibble & 8 else byte)
    return int.from_bytes(permuted, "little")


def insert_bits(bits: int, _: bool, value: int, word: int, at: int, count: int) -> int:
    """Evaluate bfi: insert the value's lowest bits into another at bit `at`; position and length are modulo 256."""
    mask = ((1 << (count & 255)) - 1) << (at & 255)
    return (word & ~mask | value << (at & 255) & mask) & ((1 << bits) - 1)


def extract_bits(bits: int, signed: bool, value: int, at: int, count: int) -> int:
    """Evaluate bfe: extract `count` bits from bit `at`; a signed type extends the highest of them."""
    at, count = at & 255, count & 255
    value &= (1 << bits) - 1
    cut = value >> at & ((1 << count) - 1)
    sign = value >> min(at + count - 1, bits - 1) & 1 if signed and count else 0
    if sign:
        reached = max(min(count, bits - at), 0)
        cut |= -1 << reached
    return cut


def compute_lop3(bits: int, _: bool, a: int, b: int, c: int, table: int) -> int:
    """Evaluate lop3: bit n of the table is the result for the inputs' bits n = one·4 + two·2 + three."""
    full = (1 << bits) - 1
    result = 0
    for n in range(8):
        if table >> n & 1:
            result |= (a if n & 4 else ~a) & (b if n & 2 else ~b) & (c if n & 1 else ~c)
    return result & full


def _divide(_: int, __: bool, left: int, right: int) -> int | None:
    if not right:
        return None
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def _compute_remainder(bits: int, signed: bool, left: int, right: int) -> int | None:
    quotient = _divide(bits, signed, left, right)
    return None if quotient is None else left - quotient * right


# symbols -----------------------------------------------------------------------------------------------------------


def _shift_symbolic(value: SymbolicInt, by: SymbolicInt, up: bool, bits: int) -> SymbolicInt | None:
    if by.known is None:
        return None
    if by.known >= bits:
        return SymbolicInt(0, value.type)
    return symbolic_integers.shift_int(value, by.known if up else -by.known)


def _insert_symbolic(
    bits: int, _: bool, value: SymbolicInt, word: SymbolicInt, at: SymbolicInt, count: SymbolicInt
) -> SymbolicInt | None:
    if at.known is None or count.known is None:
        return None
    low, width = at.known & 255, min(count.known & 255, bits - (at.known & 255))
    if width <= 0:
        return word
    mask = (1 << width) - 1
    full = (1 << bits) - 1
    rest = symbolic_integers.and_ints(word, SymbolicInt(full & ~(mask << low), word.type))
    return symbolic_integers.or_ints(
        rest, symbolic_integers.shift_int(symbolic_integers.and_ints(value, SymbolicInt(mask, value.type)), low)
    )


def _extract_symbolic(
    bits: int, signed: bool, value: SymbolicInt, at: SymbolicInt, count: SymbolicInt
) -> SymbolicInt | None:
    if at.known is None or count.known is None or signed:
        return None
    low, width = at.known & 255, min(count.known & 255, bits - (at.known & 255))
    return (
        SymbolicInt(0, value.type)
        if width <= 0
        else symbolic_integers.extract_bits(value, low, width, get_integer_type(bits))
    )


def _permute_symbolic(
    _: int, __: bool, low: SymbolicInt, high: SymbolicInt, selector: SymbolicInt
) -> SymbolicInt | None:
    if selector.known is None or selector.known & 0x8888:
        return None
    result = SymbolicInt(0, get_integer_type(32))
    for n in range(4):
        nibble = selector.known >> 4 * n & 7
        byte = symbolic_integers.extract_bits(high if nibble & 4 else low, nibble % 4 * 8, 8, get_integer_type(32))
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
    _: int, __: bool, a: SymbolicInt, b: SymbolicInt, c: SymbolicInt, table: SymbolicInt
) -> SymbolicInt | None:
    logic = _LOGIC.get(table.known) if table.known is not None else None
    return logic(a, b, c) if logic is not None else None


@dataclass(frozen=True, slots=True)
class ArithmeticRow:
    """One opcode.

    reads: its sources, t of its type, u of 32 bits. known, symbolic: functions of (bits, signed, *sources). signs:
    whether sources are read as signed by the type. only: the allowed widths, () for all.
    """

    reads: str
    known: Callable[..., int | None] | None
    symbolic: Callable[..., SymbolicInt | None] | None = None
    signs: bool = False
    only: tuple[int, ...] = ()

    def fits(self, operands: int, bits: int) -> bool:
        """Return whether it takes `operands` operands, including the target, of a type of `bits` bits."""
        return operands == 1 + len(self.reads) and (not self.only or bits in self.only)


ARITHMETIC: Mapping[str, ArithmeticRow] = {
    "and": ArithmeticRow("tt", lambda _, __, a, b: a & b, lambda _, __, a, b: symbolic_integers.and_ints(a, b)),
    "or": ArithmeticRow("tt", lambda _, __, a, b: a | b, lambda _, __, a, b: symbolic_integers.or_ints(a, b)),
    "xor": ArithmeticRow("tt", lambda _, __, a, b: a ^ b, lambda _, __, a, b: symbolic_integers.xor_ints(a, b)),
    "not": ArithmeticRow("t", lambda bits, _, a: a ^ ((1 << bits) - 1)),
    "cnot": ArithmeticRow("t", lambda _, __, a: int(not a)),
    "shl": ArithmeticRow("tu", shift_left, lambda bits, _, a, by: _shift_symbolic(a, by, True, bits)),
    "shr": ArithmeticRow("tu", shift_right, lambda bits, _, a, by: _shift_symbolic(a, by, False, bits), signs=True),
    "add": ArithmeticRow("tt", lambda _, __, a, b: a + b, lambda _, __, a, b: symbolic_integers.add_ints(a, b)),
    "sub": ArithmeticRow("tt", lambda _, __, a, b: a - b, lambda _, __, a, b: symbolic_integers.add_ints(a, b, -1)),
    "neg": ArithmeticRow("t", lambda _, __, a: -a),
    "abs": ArithmeticRow("t", lambda _, __, a: abs(a), signs=True),
    "min": ArithmeticRow("tt", lambda _, __, a, b: min(a, b), signs=True),
    "max": ArithmeticRow("tt", lambda _, __, a, b: max(a, b), signs=True),
    "div": ArithmeticRow(
        "tt", _divide, lambda _, __, a, b: symbolic_integers.divide_ints(a, b) if b.known else None, signs=True
    ),
    "rem": ArithmeticRow(
        "tt",
        _compute_remainder,
        lambda _, __, a, b: symbolic_integers.get_remainder(a, b) if b.known else None,
        signs=True,
    ),
    "popc": ArithmeticRow("t", lambda _, __, a: a.bit_count(), only=(32, 64)),
    "clz": ArithmeticRow("t", lambda bits, _, a: bits - a.bit_length(), only=(32, 64)),
    "brev": ArithmeticRow("t", lambda bits, _, a: int(f"{a:0{bits}b}"[::-1], 2), only=(32, 64)),
    "prmt": ArithmeticRow("ttu", permute_bytes, _permute_symbolic, only=(32,)),
    "bfi": ArithmeticRow("ttuu", insert_bits, _insert_symbolic, only=(32, 64)),
    "bfe": ArithmeticRow("tuu", extract_bits, _extract_symbolic, only=(32, 64)),
    "lop3": ArithmeticRow("tttu", compute_lop3, _apply_lop3, only=(32,)),
}
