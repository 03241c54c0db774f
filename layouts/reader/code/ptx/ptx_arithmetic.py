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


def _shift(value: SymbolicInt, by: SymbolicInt, bits: int, up: bool) -> SymbolicInt | None:
    """Evaluate shl and shr: an amount beyond the type's width shifts everything out, for shr of a signed type but the
    sign.
    """
    if by.known is None:
        return None
    amount = min(by.known, bits)
    return symbolic_integers.shift_int(value, amount if up else -amount)


def _insert_bits(
    bits: int, _: bool, value: SymbolicInt, word: SymbolicInt, at: SymbolicInt, count: SymbolicInt
) -> SymbolicInt | None:
    """Evaluate bfi: insert the value's lowest bits into another at bit `at`; position and length are modulo 256."""
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


def _extract_bits(
    bits: int, signed: bool, value: SymbolicInt, at: SymbolicInt, count: SymbolicInt
) -> SymbolicInt | None:
    """Evaluate bfe: extract `count` bits from bit `at`; a signed type extends the highest of them."""
    if at.known is None or count.known is None or (signed and value.known is None):
        return None
    low, wanted = at.known & 255, count.known & 255
    width = min(wanted, bits - low)
    if not wanted or (width <= 0 and not signed):
        return SymbolicInt(0, value.type)
    if width <= 0:  # nothing but the sign
        low, width = bits - 1, 1
    return symbolic_integers.extract_bits(value, low, width, get_integer_type(bits, signed))


def _permute_bytes(_: int, __: bool, low: SymbolicInt, high: SymbolicInt, selector: SymbolicInt) -> SymbolicInt | None:
    """Evaluate prmt without a mode: each nibble of the selector takes one of eight bytes; its bit 3 takes the sign."""
    if selector.known is None or (selector.known & 0x8888 and (low.known is None or high.known is None)):
        return None
    kind = get_integer_type(32)
    result = SymbolicInt(0, kind)
    for n in range(4):
        nibble = selector.known >> 4 * n & 15
        source, at = high if nibble & 4 else low, nibble % 4 * 8
        if nibble & 8:
            sign = symbolic_integers.extract_bits(source, at + 7, 1, get_integer_type(32, True))
            byte = symbolic_integers.and_ints(sign, SymbolicInt(0xFF, kind))
        else:
            byte = symbolic_integers.extract_bits(source, at, 8, kind)
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
    """Evaluate lop3: bit n of the table is the result for the inputs' bits n = one·4 + two·2 + three."""
    logic = _LOGIC.get(table.known) if table.known is not None else None
    if logic is not None:
        return logic(a, b, c)
    if None in (table.known, a.known, b.known, c.known):
        return None
    result = 0
    for n in range(8):
        if table.const >> n & 1:
            result |= (
                (a.const if n & 4 else ~a.const) & (b.const if n & 2 else ~b.const) & (c.const if n & 1 else ~c.const)
            )
    return SymbolicInt(result & 0xFFFFFFFF, a.type)


def _of_numbers(function: Callable[..., int]) -> Callable[..., SymbolicInt | None]:
    """Make a row's function of one of (bits, *numbers), which gives None for symbols."""

    def evaluate(bits: int, _: bool, *sources: SymbolicInt) -> SymbolicInt | None:
        numbers = [source.known for source in sources]
        if None in numbers:
            return None
        kind = sources[0].type
        return SymbolicInt(kind.wrap(function(bits, *numbers)), kind)

    return evaluate


@dataclass(frozen=True, slots=True)
class ArithmeticRow:
    """One opcode.

    reads: its sources, t of its type, u of 32 bits. act: its function of (bits, signed, *sources), None if the result
    is unknown. signs: whether sources are read as signed by the type. only: the allowed widths, () for all.
    """

    reads: str
    act: Callable[..., SymbolicInt | None]
    signs: bool = False
    only: tuple[int, ...] = ()

    def fits(self, operands: int, bits: int) -> bool:
        """Return whether it takes `operands` operands, including the target, of a type of `bits` bits."""
        return operands == 1 + len(self.reads) and (not self.only or bits in self.only)


ARITHMETIC: Mapping[str, ArithmeticRow] = {
    "and": ArithmeticRow("tt", lambda _, __, a, b: symbolic_integers.and_ints(a, b)),
    "or": ArithmeticRow("tt", lambda _, __, a, b: symbolic_integers.or_ints(a, b)),
    "xor": ArithmeticRow("tt", lambda _, __, a, b: symbolic_integers.xor_ints(a, b)),
    "not": ArithmeticRow("t", _of_numbers(lambda bits, a: a ^ ((1 << bits) - 1))),
    "cnot": ArithmeticRow("t", _of_numbers(lambda _, a: int(not a))),
    "shl": ArithmeticRow("tu", lambda bits, _, a, by: _shift(a, by, bits, up=True)),
    "shr": ArithmeticRow("tu", lambda bits, _, a, by: _shift(a, by, bits, up=False), signs=True),
    "add": ArithmeticRow("tt", lambda _, __, a, b: symbolic_integers.add_ints(a, b)),
    "sub": ArithmeticRow("tt", lambda _, __, a, b: symbolic_integers.add_ints(a, b, -1)),
    "neg": ArithmeticRow("t", _of_numbers(lambda _, a: -a)),
    "abs": ArithmeticRow("t", _of_numbers(lambda _, a: abs(a)), signs=True),
    "min": ArithmeticRow("tt", _of_numbers(lambda _, a, b: min(a, b)), signs=True),
    "max": ArithmeticRow("tt", _of_numbers(lambda _, a, b: max(a, b)), signs=True),
    "div": ArithmeticRow(
        "tt", lambda _, __, a, b: symbolic_integers.divide_ints(a, b) if b.known else None, signs=True
    ),
    "rem": ArithmeticRow(
        "tt", lambda _, __, a, b: symbolic_integers.get_remainder(a, b) if b.known else None, signs=True
    ),
    "popc": ArithmeticRow("t", _of_numbers(lambda _, a: a.bit_count()), only=(32, 64)),
    "clz": ArithmeticRow("t", _of_numbers(lambda bits, a: bits - a.bit_length()), only=(32, 64)),
    "brev": ArithmeticRow("t", _of_numbers(lambda bits, a: int(f"{a:0{bits}b}"[::-1], 2)), only=(32, 64)),
    "prmt": ArithmeticRow("ttu", _permute_bytes, only=(32,)),
    "bfi": ArithmeticRow("ttuu", _insert_bits, only=(32, 64)),
    "bfe": ArithmeticRow("tuu", _extract_bits, only=(32, 64)),
    "lop3": ArithmeticRow("tttu", _apply_lop3, only=(32,)),
}
