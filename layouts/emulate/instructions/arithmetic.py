"""Shared parts of arithmetic instructions, and the opcodes for both integers and floats.

PTX ISA 9.1, 9.7.1 to 9.7.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Builder, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.state.block import Group
from lanescope.emulate.text.program import OperandError, Statement
from lanescope.emulate.text.types import TYPES, RegisterType

Array = NDArray[Any]


def check_words(statement: Statement, allowed: Collection[str], types: int = 1) -> tuple[RegisterType, ...]:
    """Return the types of an opcode; UnknownInstructionError for another number of them or another word."""
    rows = []
    for word in statement.words[1:]:
        if word in TYPES:
            rows.append(TYPES[word])
        elif word not in allowed:
            raise UnknownInstructionError(statement, f"{statement.opcode}: .{word} is not emulated")
    if len(rows) != types:
        raise UnknownInstructionError(statement)
    return tuple(rows)


# opcode → how many sources it may have, if not two
SOURCES: dict[str, tuple[int, ...]] = {
    **dict.fromkeys("abs brev cnot cos ex2 lg2 neg not rcp rsqrt sin sqrt tanh".split(), (1,)),
    **dict.fromkeys("fma mad mad24 prmt sad shf".split(), (3,)),
    **dict.fromkeys(("max", "min"), (2, 3)),
}


def apply(compiler: Compiler, statement: Statement, row: RegisterType, compute: Callable[..., Any]) -> Action:
    """Return the action that writes compute(operands), all of one type, to the first operand."""
    if len(statement.operands) - 1 not in SOURCES.get(statement.words[0], (2,)):
        raise OperandError(f"it has {len(statement.operands)} operands")
    return apply_types(compiler, statement, row, [row] * (len(statement.operands) - 1), compute)


def apply_types(
    compiler: Compiler,
    statement: Statement,
    to: RegisterType,
    origins: Collection[RegisterType],
    compute: Callable[..., Any],
) -> Action:
    """Return the action that writes compute(operands) to the first operand; each operand has its own type."""
    target, *sources = statement.take(1, more=True)
    if len(sources) != len(origins):
        raise UnknownInstructionError(statement, f"{statement.opcode} with {len(sources)} sources")
    readers = [compiler.read(source, row) for source, row in zip(sources, origins, strict=True)]
    write = compiler.write(target, to)
    if len(readers) == 2:
        first, second = readers

        def act_on_two(group: Group) -> None:
            write(group, compute(first(group), second(group)))

        return act_on_two

    def act(group: Group) -> None:
        write(group, compute(*(read(group) for read in readers)))

    return act


def take_lanes(values: Array, dtype: Any) -> Array:
    """Return the packed elements of registers: [threads, lanes], or [1, lanes] for a scalar."""
    registers = np.atleast_1d(np.ascontiguousarray(values))
    return np.asarray(registers.view(dtype).reshape(len(registers), -1))


def join_lanes(lanes: Array, storage: np.dtype[Any]) -> Array:
    """Return registers made of packed elements [threads, lanes]."""
    return np.ascontiguousarray(lanes).view(storage)[:, 0]


_BUILDERS: dict[tuple[str, bool], Builder] = {}


def shared(*names: str, floats: bool) -> Callable[[Builder], Builder]:
    """Register a builder for opcodes that integers and floats share."""

    def register(builder: Builder) -> Builder:
        for name in names:
            _BUILDERS[name, floats] = builder
        return builder

    return register


@instruction("add", "sub", "mul", "mad", "div", "min", "max", "abs", "neg")
def build_shared(compiler: Compiler, statement: Statement) -> Action:
    """Build the integer or the float version of an opcode, by its type."""
    row = compiler.get_type(statement)
    floats = row.name.lstrip("b").startswith("f")
    builder = _BUILDERS.get((statement.words[0], floats))
    if builder is None:
        raise UnknownInstructionError(statement)
    return builder(compiler, statement)
