"""Integer arithmetic, logic, comparison and conversion. PTX ISA 9.1, 9.7.1, 9.7.5 to 9.7.8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.block import Group
from lanescope.emulate.code import Action, Compiler, UnknownInstruction, instruction
from lanescope.emulate.program import Statement
from lanescope.emulate.types import TYPES, RegisterType

Array = NDArray[Any]


def apply(compiler: Compiler, statement: Statement, row: RegisterType, compute: Callable[..., Any]) -> Action:
    """Return the action that writes compute(operands) of one type to the first operand."""
    target, *sources = statement.operands
    readers = [compiler.read(source, row) for source in sources]
    write = compiler.write(target, row)

    def act(group: Group) -> None:
        write(group, compute(*(read(group) for read in readers)))

    return act


@instruction("add", "sub")
def build_sum(compiler: Compiler, statement: Statement) -> Action:
    row = compiler.get_type(statement)
    if row.kind not in "usbf" or (len(statement.words) > 2 and row.kind != "f"):
        raise UnknownInstruction(statement)
    return apply(compiler, statement, row, np.add if statement.words[0] == "add" else np.subtract)


@instruction("mul", "mad")
def build_product(compiler: Compiler, statement: Statement) -> Action:
    row = compiler.get_type(statement)
    if row.kind not in "us":
        if row.kind == "f" and statement.words[0] == "mul":
            return apply(compiler, statement, row, np.multiply)
        raise UnknownInstruction(statement)
    adds = statement.words[0] == "mad"
    if statement.has("wide"):
        wide = TYPES[f"{row.kind}{row.bits * 2}"]
        target, *sources = statement.operands
        readers = [compiler.read(source, row) for source in sources[:2]]
        readers += [compiler.read(source, wide) for source in sources[2:]]
        write = compiler.write(target, wide)

        def act(group: Group) -> None:
            values = [read(group).astype(wide.dtype) for read in readers]
            product = values[0] * values[1]
            write(group, product + values[2] if adds else product)

        return act
    if not statement.has("lo"):
        raise UnknownInstruction(statement)
    return apply(compiler, statement, row, (lambda a, b, c: a * b + c) if adds else np.multiply)


_LOGIC = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert}


@instruction(*_LOGIC)
def build_logic(compiler: Compiler, statement: Statement) -> Action:
    return apply(compiler, statement, compiler.get_type(statement), _LOGIC[statement.words[0]])


@instruction("shl", "shr")
def build_shift(compiler: Compiler, statement: Statement) -> Action:
    """Shift by an unsigned 32-bit amount; amounts beyond the width are clamped to it."""
    target, source, amount = statement.operands
    row = compiler.get_type(statement)
    read, by, write = compiler.read(source, row), compiler.read(amount, TYPES["u32"]), compiler.write(target, row)
    left, bits, dtype = statement.words[0] == "shl", row.bits, row.dtype

    def act(group: Group) -> None:
        value, count = np.asarray(read(group)), np.asarray(by(group))
        clamped = np.minimum(count, bits - 1).astype(dtype)
        shifted = value << clamped if left else value >> clamped
        if row.kind != "s" or left:
            shifted = np.where(count >= bits, dtype.type(0), shifted)
        write(group, shifted)

    return act


_COMPARE: dict[str, Callable[..., Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}


@instruction("setp")
def build_comparison(compiler: Compiler, statement: Statement) -> Action:
    row, name = compiler.get_type(statement), statement.words[1]
    if name not in _COMPARE or len(statement.operands) != 3 or row.kind not in "usb":
        raise UnknownInstruction(statement)
    target, *sources = statement.operands
    readers = [compiler.read(source, row) for source in sources]
    write, compare = compiler.write(target, TYPES["pred"]), _COMPARE[name]

    def act(group: Group) -> None:
        write(group, compare(*(read(group) for read in readers)))

    return act


@instruction("selp")
def build_selection(compiler: Compiler, statement: Statement) -> Action:
    target, first, second, condition = statement.operands
    row = compiler.get_type(statement)
    row = row if row.bits == 1 else TYPES[f"b{row.bits}"]
    a, b = compiler.read(first, row), compiler.read(second, row)
    chosen, write = compiler.read(condition, TYPES["pred"]), compiler.write(target, row)
    return lambda group: write(group, np.where(chosen(group), a(group), b(group)))


@instruction("cvt")
def build_conversion(compiler: Compiler, statement: Statement) -> Action:
    to, origin = (TYPES[word] for word in statement.words[1:] if word in TYPES)
    if to.kind not in "us" or origin.kind not in "us" or statement.has("sat"):
        raise UnknownInstruction(statement)
    target, source = statement.operands
    read, write = compiler.read(source, origin), compiler.write(target, to)
    return lambda group: write(group, read(group).astype(to.dtype))
