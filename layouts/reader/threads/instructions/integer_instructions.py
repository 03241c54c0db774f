"""Instructions of PTX on integers and bits: moves, conversions, arithmetic, comparisons, lop3 and prmt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lanescope.reader.code.ptx.inline_ptx import COMPARISONS
from lanescope.reader.threads.instructions.asm_code import AsmCode, InstructionRows
from lanescope.reader.threads.language.bit_words import combine_bits
from lanescope.reader.threads.language.numbers import Number, ThreadNumber, apply_operator, convert_number, get_number
from lanescope.reader.threads.language.packing import join_registers, pack_bytes, permute_bytes
from lanescope.reader.threads.language.program import split_operands
from lanescope.reader.threads.memory.storage import Pointer

_TYPE = re.compile(r"\.([usb])(8|16|32|64)\b")
_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}
# tables of lop3 that are an operator on two of its operands
_TABLES = {
    table: (op, left, right)
    for op, tables in (("&", (0xC0, 0xA0, 0x88)), ("|", (0xFC, 0xFA, 0xEE)))
    for table, (left, right) in zip(tables, ((0, 1), (0, 2), (1, 2)), strict=True)
}
_UNREAD = frozenset(("hi", "sat", "cc"))  # modifiers of arithmetic that is not evaluated


def _run_arithmetic(code: AsmCode, opcode: str, operands: list[str]) -> None:
    values = [code.get_value(operand) for operand in operands[1:]]
    kinds = [(int(bits), letter == "s") for letter, bits in _TYPE.findall(opcode)]
    result: Any = None
    if len(values) == 1:
        result = _convert_operand(values[0], kinds)
    elif len(values) == 2 and kinds:
        number = _compute(opcode, kinds[-1], *map(get_number, values))
        result = pack_bytes(_OPERATORS.get(opcode.split(".")[0], ""), *values) if number is None else number
    for operand in operands[:1]:
        code.put_value(operand, result)


def _move(code: AsmCode, opcode: str, operands: list[str]) -> None:
    braces = any(operand.strip().startswith("{") for operand in operands)
    (_move_vector if braces else _run_arithmetic)(code, opcode, operands)


def _move_vector(code: AsmCode, opcode: str, operands: list[str]) -> None:
    """Pack registers into one, or unpack one: mov.b32 d, {lo, hi}."""
    size = int(opcode.split(".b")[1]) // 8
    outputs, inputs = (split_operands(operand.strip().strip("{}")) for operand in operands[:2])
    data = join_registers([code.get_value(register) for register in inputs], size)
    for n, output in enumerate(outputs):
        part = size // len(outputs)
        code.put_value(output, data.cut_bytes(n * part, part) if data is not None else None)


def _combine_bits(code: AsmCode, opcode: str, operands: list[str]) -> None:
    """Execute lop3, on data as the and or the or of two of its operands."""
    *values, table = (code.get_value(operand) for operand in operands[1:5])
    known = table.known if isinstance(table, ThreadNumber) else None
    op, left, right = _TABLES.get(known or 0, ("", 0, 0))
    two = values[left], values[right]
    result = pack_bytes(op, *two) or apply_operator(op, *map(get_number, two)) if op else None
    code.put_value(operands[0], result or (combine_bits(known, *values) if known is not None else None))


def _permute(code: AsmCode, opcode: str, operands: list[str]) -> None:
    values = [code.get_value(operand) for operand in operands[1:4]]
    code.put_value(operands[0], permute_bytes(*values) if opcode == "prmt.b32" else None)


def _convert_operand(value: Any, kinds: Sequence[tuple[int, bool]]) -> Any:
    """Return the result of mov, cvta or cvt.to.from: the value in the last type, converted to the first."""
    if isinstance(value, Pointer) and value.space == "shared":
        value = value.offset
    for kind in reversed(kinds):
        value = convert_number(value, kind) if isinstance(value, ThreadNumber) else value
    return value


def _compute(opcode: str, kind: tuple[int, bool], left: Number, right: Number) -> Number:
    """Return the result of a comparison, or of arithmetic on two integers of a type; None if it is not evaluated."""
    head, *modifiers = opcode.split(".")
    left, right = convert_number(left, kind), convert_number(right, kind)
    if head == "setp":
        return apply_operator(COMPARISONS[modifiers[0]], left, right) if modifiers[0] in COMPARISONS else None
    if head not in _OPERATORS or not _UNREAD.isdisjoint(modifiers):
        return None
    if "wide" in modifiers:
        kind = (2 * kind[0], kind[1])
        left, right = convert_number(left, kind), convert_number(right, kind)
    return convert_number(apply_operator(_OPERATORS[head], left, right), kind)


INTEGER: InstructionRows = (
    (re.compile(r"mov\.b(?:32|64)$"), 2, _move),
    (re.compile(r"prmt\."), 4, _permute),
    (re.compile(r"lop3\.b32$"), 5, _combine_bits),
    (re.compile(r"(?:mov|cvta?|add|sub|mul|mad|and|x?or|sh[lr]|setp)(?=\.|$)"), 0, _run_arithmetic),
)
