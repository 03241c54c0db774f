"""The PTX instructions that are evaluated: a function per opcode that returns the values it writes, None if unknown.

lanescope.ptx.operations computes known integers; RULES are for symbols, as far as their results are known in bits or as
sums. Source: PTX ISA 9.1, integer arithmetic, logic and shift, data movement and conversion instructions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL, COMPARED, IntegerType, find_integer_type
from lanescope.ptx.operations import compute_integers, find_operation
from lanescope.reader.code.ptx import inline_ptx as ptx
from lanescope.reader.code.symbolic_integers import (
    SymbolicInt,
    add_ints,
    and_ints,
    convert_int,
    divide_ints,
    extract_bits,
    get_remainder,
    multiply_ints,
    or_ints,
    shift_int,
    xor_ints,
)

if TYPE_CHECKING:
    from lanescope.reader.code.ptx.ptx_evaluation import RegisterFile

Rule = Callable[..., SymbolicInt | None]  # of the type of the result and the sources
# lop3 tables of one or two operators
_LOGIC: dict[int, Callable[[SymbolicInt, SymbolicInt, SymbolicInt], SymbolicInt]] = {
    0xC0: lambda a, b, _: and_ints(a, b),
    0xFC: lambda a, b, _: or_ints(a, b),
    0x80: lambda a, b, c: and_ints(and_ints(a, b), c),
    0xFE: lambda a, b, c: or_ints(or_ints(a, b), c),
    0xEA: lambda a, b, c: or_ints(and_ints(a, b), c),
    0xF8: lambda a, b, c: or_ints(a, and_ints(b, c)),
    0xA8: lambda a, b, c: and_ints(or_ints(a, b), c),
}
_INTEGER = re.compile(r"([usb])(8|16|32|64|128)")
_WARPS = re.compile(r"threadIdx\.x ?(?:/ ?(?:32|64|128|256|512)|>> ?[5-9])(?!\d)")  # the same for a whole warp
_UNIFORM = re.compile(r"(?:blockIdx|blockDim|gridDim)\.[xyz]|\b0x[\da-fA-F]+\b|\b\d+\b")  # the same for all threads
_NAME = re.compile(r"[A-Za-z_]")
_Outputs = list[Any] | None
_Reader = Callable[["RegisterFile", ptx.PtxInstruction], _Outputs]


def get_integer_type(bits: int, signed: bool = False) -> IntegerType:
    """Return the integer type of a register of `bits` bits."""
    known = find_integer_type(f"{'' if signed else 'u'}int{bits}_t")
    return known or IntegerType(f"{'s' if signed else 'u'}{bits}", bits, signed)


def reinterpret_bits(value: SymbolicInt, bits: int, signed: bool) -> SymbolicInt | None:
    """Return the lowest bits of a value, read with or without a sign; None for a symbol that may be negative."""
    cut = convert_int(value, get_integer_type(bits))
    if signed and cut.known is None and cut.width >= bits:
        return None
    return convert_int(cut, get_integer_type(bits, True)) if signed else cut


def extend_value(value: SymbolicInt, kind: IntegerType) -> SymbolicInt | None:
    """Extend a value to a wider register, with its sign if it has one."""
    if value.type.signed and value.known is None and value.width >= value.type.bits < kind.bits:
        return None
    return convert_int(value, kind)


def _shift(kind: IntegerType, value: SymbolicInt, by: SymbolicInt, sign: int) -> SymbolicInt | None:
    """Evaluate shl and shr: an amount beyond the type's width shifts everything out, for shr of a signed type but the
    sign.
    """
    return None if by.known is None else shift_int(value, sign * min(by.known, kind.bits))


def _multiply(kind: IntegerType, left: SymbolicInt, right: SymbolicInt) -> SymbolicInt | None:
    """Evaluate mul.lo and mul.wide."""
    if left.known is not None and right.known is not None:
        return SymbolicInt(kind.wrap(left.known * right.known), kind)
    unsigned = get_integer_type(kind.bits)
    return multiply_ints(convert_int(left, unsigned), convert_int(right, unsigned))


def _multiply_add(kind: IntegerType, left: SymbolicInt, right: SymbolicInt, more: SymbolicInt) -> SymbolicInt | None:
    product, unsigned = _multiply(kind, left, right), get_integer_type(kind.bits)
    return None if product is None else add_ints(convert_int(product, unsigned), convert_int(more, unsigned))


def _insert_bits(
    kind: IntegerType, value: SymbolicInt, word: SymbolicInt, at: SymbolicInt, count: SymbolicInt
) -> SymbolicInt | None:
    """Evaluate bfi: insert the value's lowest bits into another at bit `at`."""
    low, width = _cut_field(kind, at, count)
    if width < 1:
        return None
    mask = (1 << width) - 1
    rest = and_ints(word, SymbolicInt(kind.mask & ~(mask << low), word.type))
    return or_ints(rest, shift_int(and_ints(value, SymbolicInt(mask, value.type)), low))


def _extract_bits(kind: IntegerType, value: SymbolicInt, at: SymbolicInt, count: SymbolicInt) -> SymbolicInt | None:
    """Evaluate bfe of an unsigned type: extract `count` bits from bit `at`."""
    low, width = _cut_field(kind, at, count)
    return None if kind.signed or width < 1 else extract_bits(value, low, width, kind)


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
        byte = extract_bits(high if nibble & 4 else low, nibble % 4 * 8, 8, kind)
        result = or_ints(result, shift_int(byte, 8 * n))
    return result


def _apply_lop3(
    _: IntegerType, a: SymbolicInt, b: SymbolicInt, c: SymbolicInt, table: SymbolicInt
) -> SymbolicInt | None:
    logic = _LOGIC.get(table.const) if table.known is not None else None
    return logic(a, b, c) if logic is not None else None


MODULAR: Mapping[str, Rule] = {  # their results do not depend on how the sources' signs are read
    "and": lambda _, a, b: and_ints(a, b),
    "or": lambda _, a, b: or_ints(a, b),
    "xor": lambda _, a, b: xor_ints(a, b),
    "shl": lambda kind, a, by: _shift(kind, a, by, 1),
    "add": lambda _, a, b: add_ints(a, b),
    "sub": lambda _, a, b: add_ints(a, b, -1),
    "mul.lo": _multiply,
    "mad.lo": _multiply_add,
}
RULES: Mapping[str, Rule] = {
    **MODULAR,
    "mul.wide": _multiply,
    "mad.wide": _multiply_add,
    "shr": lambda kind, a, by: _shift(kind, a, by, -1),
    "div": lambda _, a, b: divide_ints(a, b) if b.known else None,
    "rem": lambda _, a, b: get_remainder(a, b) if b.known else None,
    "prmt": _permute_bytes,
    "bfi": _insert_bits,
    "bfe": _extract_bits,
    "lop3": _apply_lop3,
}


def find_reader(opcode: str) -> _Reader | None:
    """Find the function that evaluates an opcode; None for an unknown opcode or unknown modifiers."""
    name, *modifiers = opcode.split(".")
    row = _OPCODES.get(name)
    if row is not None:
        return row.reader if row.fits(modifiers) else None
    return _evaluate_operation if find_operation(opcode) is not None else None


def _is_type(modifier: str, *others: str) -> bool:
    """Return whether a modifier is an integer type, or one of some others."""
    return modifier in others or _INTEGER.fullmatch(modifier) is not None


def _parse_type(opcode: str) -> tuple[int, bool]:
    """Parse (bits, whether signed) of an opcode's last type."""
    match = _INTEGER.fullmatch(opcode.rpartition(".")[2])
    return (int(match[2]), match[1] == "s") if match else (1, False)


def _evaluate_cvta(registers: RegisterFile, instruction: ptx.PtxInstruction) -> _Outputs:
    value = registers.read_operand(instruction.operands[1]) if len(instruction.operands) == 2 else None
    return None if value is None else [registers.shared(value)]


def _evaluate_cvt(registers: RegisterFile, instruction: ptx.PtxInstruction) -> _Outputs:
    """Evaluate cvt.to.from: the source's lowest bits, extended by its own sign, cut to the destination's type."""
    target, source = (_INTEGER.fullmatch(part) for part in instruction.opcode.split(".")[1:])
    if target is None or source is None or len(instruction.operands) != 2:
        return None
    value = registers.read_integer(instruction.operands[1], int(source[2]), source[1] == "s")
    if value is None:
        return None
    cut = extend_value(value, get_integer_type(int(target[2])))
    return [None if cut is None else reinterpret_bits(cut, int(target[2]), target[1] == "s")]


def _evaluate_mov(registers: RegisterFile, instruction: ptx.PtxInstruction) -> _Outputs:
    """Evaluate mov of a register, and mov.b that packs `{low, …, high}` into one or takes one apart."""
    if len(instruction.operands) != 2:
        return None
    target, source = instruction.operands
    if not target.startswith("{") and not source.startswith("{"):
        return [registers.read_operand(source)]
    bits, _ = _parse_type(instruction.opcode)
    if source.startswith("{"):
        parts = [part.strip() for part in source.strip("{} ").split(",")]
        part_bits = bits // len(parts)
        integer = SymbolicInt(0, get_integer_type(bits))
        for n, part in enumerate(parts):
            value = registers.read_integer(part, part_bits)
            if value is None:
                return None
            integer = or_ints(
                integer,
                shift_int(convert_int(value, get_integer_type(bits)), n * part_bits),
            )
        return [integer]
    parts = ptx.list_targets(instruction)
    part_bits = bits // len(parts)
    value = registers.read_integer(source, bits)
    if value is None:
        return None
    kind = get_integer_type(part_bits)
    return [extract_bits(value, n * part_bits, part_bits, kind) for n in range(len(parts))]


def _evaluate_shuffle(registers: RegisterFile, instruction: ptx.PtxInstruction) -> _Outputs:
    """Evaluate shfl.sync.idx of a value that all threads of a warp have; None where it may differ between them."""
    if len(instruction.operands) != 5 or "|" in instruction.operands[0]:
        return None
    value = registers.read_integer(instruction.operands[1], 32)
    if value is None or _NAME.search(_UNIFORM.sub("", _WARPS.sub("", str(value)))):
        return None
    return [value]


def _evaluate_setp(registers: RegisterFile, instruction: ptx.PtxInstruction) -> _Outputs:
    """Evaluate setp.cmp.type p, a, b and p|q, where q is not p."""
    bits, signed = _parse_type(instruction.opcode)
    test = instruction.opcode.split(".")[1]
    signed = signed and test not in ("lo", "ls", "hi", "hs")
    if len(instruction.operands) != 3:
        return None
    left, right = (registers.read_integer(text, bits, signed) for text in instruction.operands[1:])
    if left is None or right is None or left.known is None or right.known is None:
        return None
    truth = int(COMPARED[ptx.COMPARISONS[test]](left.known, right.known))
    return [SymbolicInt(truth, BOOL), SymbolicInt(1 - truth, BOOL)][: len(ptx.list_targets(instruction))]


def _evaluate_selp(registers: RegisterFile, instruction: ptx.PtxInstruction) -> _Outputs:
    """Evaluate selp d, a, b, p: a if p is true, else b."""
    if len(instruction.operands) != 4:
        return None
    choice = registers.read_integer(instruction.operands[3], 1)
    if choice is None or choice.known is None:
        return None
    bits, signed = _parse_type(instruction.opcode)
    chosen = instruction.operands[1 if choice.known else 2]
    return [registers.read_integer(chosen, bits, signed) if bits > 1 else registers.read_operand(chosen)]


def _evaluate_operation(registers: RegisterFile, instruction: ptx.PtxInstruction) -> _Outputs:
    """Evaluate arithmetic, logic or a shift by its rule for symbols, else for known integers."""
    found = find_operation(instruction.opcode)
    if found is None or len(instruction.operands) != 1 + len(found.sources):
        return None
    name = "" if found.to.kind == "packed" else instruction.opcode.rpartition(".")[0]
    plain = name in MODULAR
    read = [
        registers.read_integer(text, row.bits, row.kind == "s" and not plain)
        for text, row in zip(instruction.operands[1:], found.sources, strict=True)
    ]
    sources = [value for value in read if value is not None]
    if len(sources) < len(read):
        return None
    kind = get_integer_type(found.to.bits, found.to.kind == "s" and not plain)
    result = RULES[name](kind, *sources) if name in RULES else None
    numbers = [source.known for source in sources if source.known is not None]
    if result is None and len(numbers) == len(sources):
        number = compute_integers(found, numbers)
        result = None if number is None else SymbolicInt(kind.wrap(number), kind)
    return None if result is None else [convert_int(result, kind)]


@dataclass(frozen=True, slots=True)
class _Opcode:
    """An evaluated opcode. reader: evaluates it; fits: whether its modifiers are supported, the type last."""

    reader: _Reader
    fits: Callable[[list[str]], bool]


_OPCODES: dict[str, _Opcode] = {
    "cvta": _Opcode(
        _evaluate_cvta,
        lambda modifiers: len(modifiers) == 3 and modifiers[0] == "to" and modifiers[1] in ("shared", "shared::cta"),
    ),
    "cvt": _Opcode(_evaluate_cvt, lambda modifiers: len(modifiers) == 2 and all(map(_is_type, modifiers))),
    "mov": _Opcode(
        _evaluate_mov, lambda modifiers: len(modifiers) == 1 and _is_type(modifiers[0], "pred", "f32", "f64")
    ),
    "shfl": _Opcode(_evaluate_shuffle, lambda modifiers: modifiers == ["sync", "idx", "b32"]),
    "setp": _Opcode(
        _evaluate_setp,
        lambda modifiers: len(modifiers) == 2 and modifiers[0] in ptx.COMPARISONS and _is_type(modifiers[1]),
    ),
    "selp": _Opcode(_evaluate_selp, lambda modifiers: len(modifiers) == 1 and _is_type(modifiers[0], "f32", "f64")),
}
