"""Instructions of PTX on integers and bits: moves, conversions, arithmetic, comparisons, lop3 and prmt."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from lanescope.ptx.operations import compute_integers, find_operation
from lanescope.ptx.operations.operation import MAKERS, Operation
from lanescope.ptx.register_types import RegisterType
from lanescope.reader.code.ptx.inline_ptx import COMPARISONS
from lanescope.reader.threads.instructions.asm_code import AsmCode, InstructionRows
from lanescope.reader.threads.language.bit_words import combine_bits
from lanescope.reader.threads.language.number_bytes import join_numbers
from lanescope.reader.threads.language.numbers import (
    ThreadNumber,
    apply_operator,
    convert_number,
    get_number,
    make_number,
)
from lanescope.reader.threads.language.packing import join_registers, pack_bytes, permute_bytes
from lanescope.reader.threads.language.program import split_operands
from lanescope.reader.threads.memory.storage import Pointer, cut_value

_TYPE = re.compile(r"\.([usb])(8|16|32|64)\b")
# operations that are an operator of C on the low bits of their sources
_OPERATORS = {
    **{"add": "+", "sub": "-", "mul.lo": "*", "mul.wide": "*", "and": "&", "or": "|", "xor": "^"},
    **{"shl": "<<", "shr": ">>"},
}
# tables of lop3 that are an operator on two of its operands
_TABLES = {
    table: (op, left, right)
    for op, tables in (("&", (0xC0, 0xA0, 0x88)), ("|", (0xFC, 0xFA, 0xEE)))
    for table, (left, right) in zip(tables, ((0, 1), (0, 2), (1, 2)), strict=True)
}


def _move(code: AsmCode, opcode: str, operands: list[str]) -> None:
    braces = any(operand.strip().startswith("{") for operand in operands)
    (_move_vector if braces else _convert)(code, opcode, operands)


def _move_vector(code: AsmCode, opcode: str, operands: list[str]) -> None:
    """Pack registers into one, or unpack one: mov.b32 d, {lo, hi}."""
    size = int(opcode.split(".b")[1]) // 8
    outputs, inputs = (split_operands(operand.strip().strip("{}")) for operand in operands[:2])
    values = [code.get_value(register) for register in inputs]
    numbers = [(value, size // len(inputs)) for value in values if isinstance(value, ThreadNumber)]
    data = join_numbers(numbers) if len(numbers) == len(inputs) else join_registers(values, size)
    for n, output in enumerate(outputs):
        part = size // len(outputs)
        code.put_value(output, cut_value(data, size, n * part, part))


def _convert(code: AsmCode, opcode: str, operands: list[str]) -> None:
    """Execute mov, cvta or cvt.to.from: the value in the last type, converted to the first."""
    value = code.get_value(operands[1])
    if isinstance(value, Pointer) and value.space == "shared":
        value = value.offset
    if ".sat." in opcode:
        value = None
    for kind in reversed(_list_types(opcode)):
        value = convert_number(value, kind) if isinstance(value, ThreadNumber) else value
    code.put_value(operands[0], value)


def _list_types(opcode: str) -> list[tuple[int, bool]]:
    """Return (bits, whether signed) of each integer type of an opcode."""
    return [(int(bits), letter == "s") for letter, bits in _TYPE.findall(opcode)]


def _compare(code: AsmCode, opcode: str, operands: list[str]) -> None:
    """Execute setp on integers, without a second predicate or one to combine with."""
    test, kinds = COMPARISONS.get(opcode.split(".")[1]), _list_types(opcode)
    result = None
    if test and kinds and len(operands) == 3:
        left, right = (convert_number(get_number(code.get_value(operand)), kinds[0]) for operand in operands[1:])
        result = apply_operator(test, left, right)
    code.put_value(operands[0], result)


def _operate(code: AsmCode, opcode: str, operands: list[str]) -> None:
    """Execute an operation on integers."""
    found = find_operation(opcode)
    values = [code.get_value(operand) for operand in operands[1:]]
    fits = found is not None and len(values) == len(found.sources)
    code.put_value(operands[0], _compute(opcode, found, values) if found is not None and fits else None)


def _compute(opcode: str, found: Operation, values: Sequence[Any]) -> Any:
    """Return the result of an operation: of data, of integers with open names, or of known ones; None if unknown."""
    name = opcode.rpartition(".")[0]
    known = [value for value in values if isinstance(value, ThreadNumber) and value.const is not None]
    operate = _OPERATORS.get(name) if found.to.kind != "packed" else None
    result = _apply(operate, found, values) if operate else None
    if result is None and len(known) == len(values):
        result = _compute_known(found, *known)
    return _SELECTIONS[name](*values) if result is None and name in _SELECTIONS else result


@lru_cache(maxsize=1 << 10)
def _compute_known(found: Operation, *values: ThreadNumber) -> ThreadNumber | None:
    numbers = compute_integers(found, [value.const for value in values])
    return None if numbers is None else make_number(numbers, _get_kind(found.to))


def _apply(op: str, found: Operation, values: Sequence[Any]) -> Any:
    """Apply an operator of C to integers of the type of the result, or to data."""
    kind, to = (_get_kind(row) for row in (found.sources[0], found.to))
    sources = [convert_number(convert_number(get_number(value), kind), to) for value in values]
    number = convert_number(apply_operator(op, *sources), to)
    return pack_bytes(op, *values) if number is None else number


def _get_kind(row: RegisterType) -> tuple[int, bool]:
    return row.bits, row.kind == "s"


def _combine(*operands: Any) -> Any:
    """Return the result of lop3 of data, as the and or the or of two operands or bit by bit."""
    *values, table = operands
    known = table.known if isinstance(table, ThreadNumber) else None
    op, left, right = _TABLES.get(known or 0, ("", 0, 0))
    two = values[left], values[right]
    result = pack_bytes(op, *two) or apply_operator(op, *map(get_number, two)) if op else None
    return result or (combine_bits(known, *values) if known is not None else None)


_SELECTIONS: dict[str, Callable[..., Any]] = {"lop3": _combine, "prmt": permute_bytes}
INTEGER: InstructionRows = (
    (re.compile(r"mov\.b(?:32|64)$"), 2, _move),
    (re.compile(r"(?:mov|cvta?)(?=\.|$)"), 2, _convert),
    (re.compile(r"setp\."), 3, _compare),
    (re.compile(rf"(?:{'|'.join(MAKERS)})\."), 2, _operate),
)
