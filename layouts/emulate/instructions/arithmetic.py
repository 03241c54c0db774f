"""Shared parts of arithmetic instructions. PTX ISA 9.1, 9.7.1 to 9.7.4."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from numpy.typing import NDArray

from lanescope.emulate.code import Action, Builder, Compiler, UnknownInstructionError
from lanescope.emulate.state.block import Group
from lanescope.emulate.text.program import OperandError, Statement
from lanescope.ptx.operations import operation
from lanescope.ptx.register_types import RegisterType

Array = NDArray[Any]


def check_words(statement: Statement, allowed: Collection[str], types: int = 1) -> tuple[RegisterType, ...]:
    """Return the types of an opcode; UnknownInstructionError for another number of them or another word."""
    try:
        return operation.check_words(statement.words, allowed, types)
    except operation.OperationError as error:
        raise UnknownInstructionError(statement, str(error)) from None


# opcode → how many sources it may have, if not two
SOURCES: dict[str, tuple[int, ...]] = {
    **dict.fromkeys("abs cos ex2 lg2 neg rcp rsqrt sin sqrt tanh".split(), (1,)),
    **dict.fromkeys(("fma", "mad"), (3,)),
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


FLOATS: dict[str, Builder] = {}  # builders for opcodes that integers have, too


def floating(*names: str) -> Callable[[Builder], Builder]:
    """Register a builder of floating-point numbers for opcodes that integers have, too."""

    def register(builder: Builder) -> Builder:
        FLOATS.update(dict.fromkeys(names, builder))
        return builder

    return register
