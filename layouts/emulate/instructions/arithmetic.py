"""Shared parts of arithmetic instructions, and integer arithmetic, logic and bits.

lanescope.ptx.operations has what they compute; those with a flag besides are here. PTX ISA 9.1, 9.7.1, 9.7.2 and 9.7.8.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from lanescope.emulate.code import Action, Builder, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.state.block import Group
from lanescope.emulate.text.program import Immediate, OperandError, PairOperand, Statement
from lanescope.ptx.operations import bits, integers, operation
from lanescope.ptx.operations.operation import MAKERS, Array, OperationError
from lanescope.ptx.register_types import TYPES, RegisterType

# opcode → how many sources it may have, if not two
SOURCES: dict[str, tuple[int, ...]] = {
    **dict.fromkeys("abs cos ex2 lg2 neg rcp rsqrt sin sqrt tanh".split(), (1,)),
    **dict.fromkeys(("fma", "mad"), (3,)),
    **dict.fromkeys(("max", "min"), (2, 3)),
}
FLOATS: dict[str, Builder] = {}  # builders for opcodes that integers have, too


def check_words(statement: Statement, allowed: Collection[str], types: int = 1) -> tuple[RegisterType, ...]:
    """Return the types of an opcode; UnknownInstructionError for another number of them or another word."""
    try:
        return operation.check_words(statement.words, allowed, types)
    except operation.OperationError as error:
        raise UnknownInstructionError(statement, str(error)) from None


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


def floating(*names: str) -> Callable[[Builder], Builder]:
    """Register a builder of floating-point numbers for opcodes that integers have, too."""

    def register(builder: Builder) -> Builder:
        FLOATS.update(dict.fromkeys(names, builder))
        return builder

    return register


@instruction(*MAKERS.keys() - {"lop3"})
def build_operation(compiler: Compiler, statement: Statement) -> Action:
    """Build an operation on integers, or the one of the same name on floating-point numbers."""
    name = statement.words[0]
    if name in FLOATS and compiler.get_type(statement).name.lstrip("b").startswith("f"):
        return FLOATS[name](compiler, statement)
    if statement.has("cc"):
        return _extend(compiler, statement)
    try:
        found = MAKERS[name](statement.words)
    except OperationError as error:
        raise UnknownInstructionError(statement, str(error)) from None
    if len(statement.operands) - 1 != len(found.sources):
        raise OperandError(f"it has {len(statement.operands)} operands")
    compute = _refuse_undefined(statement, found.compute) if name == "fns" else found.compute
    return apply_types(compiler, statement, found.to, found.sources, compute)


def _refuse_undefined(statement: Statement, compute: Callable[..., Array]) -> Callable[..., Array]:
    """Return a function that stops the run for values for which PTX defines no result."""

    def refuse(*values: Array) -> Array:
        try:
            return compute(*values)
        except OperationError as error:
            raise UnknownInstructionError(statement, str(error)) from None

    return refuse


@instruction("lop3")
def build_table_logic(compiler: Compiler, statement: Statement) -> Action:
    """Build lop3: combine three words by a table of 8 bits.

    With .or or .and, also a predicate: whether any bit is set.
    """
    (row,) = check_words(statement, ("or", "and"))
    combine = {"or": np.logical_or, "and": np.logical_and}.get(statement.find_word(("or", "and")))
    target, *sources = statement.take(1, more=True)
    if row.name != "b32" or (combine is not None) != (len(sources) == 5) or len(sources) not in (4, 5):
        raise UnknownInstructionError(statement)
    if not isinstance(sources[3], Immediate) or (combine is not None) != isinstance(target, PairOperand):
        raise UnknownInstructionError(statement)
    table = int(sources[3].value)
    readers = [compiler.read(source, row) for source in sources[:3]]
    first = target.first if isinstance(target, PairOperand) else target
    write = compiler.write(first, row)
    if combine is None or not isinstance(target, PairOperand):
        return lambda group: write(group, bits.look_up(table, *(read(group) for read in readers)))
    condition, write_flag = compiler.read(sources[4], TYPES["pred"]), compiler.write(target.second, TYPES["pred"])

    def act(group: Group) -> None:
        value = bits.look_up(table, *(read(group) for read in readers))
        combined = combine(value != 0, condition(group))
        write(group, value)
        write_flag(group, combined)

    return act


@instruction("addc", "subc", "madc")
def build_carried(compiler: Compiler, statement: Statement) -> Action:
    return _extend(compiler, statement)


def _extend(compiler: Compiler, statement: Statement) -> Action:
    """Build addition or subtraction with carry flag CC.CF in (addc) and out (.cc).

    Of a subtraction the flag is the borrow.
    """
    name = statement.words[0]
    multiplies = name.startswith("mad")
    (row,) = check_words(statement, ("cc", "lo", "hi") if multiplies else ("cc",))
    if row.name not in ("u32", "s32", "u64", "s64"):
        raise UnknownInstructionError(statement, f"{statement.opcode}: type .{row.name} is not emulated")
    takes, gives = name.endswith("c") and name != "mad", statement.has("cc")
    unsigned = TYPES[f"u{row.bits}"]
    target, *sources = statement.take(1, more=True)
    if multiplies and statement.has("lo") == statement.has("hi"):
        raise UnknownInstructionError(statement)
    readers = [compiler.read(source, row if multiplies else unsigned) for source in sources]
    product = integers.multiply_high if statement.has("hi") else np.multiply
    write = compiler.write(target, unsigned)
    subtracts = name.startswith("sub")

    def act(group: Group) -> None:
        values = [read(group) for read in readers]
        if multiplies:
            values = [product(values[0], values[1]), values[2]]
        a, b = (np.asarray(value).astype(unsigned.dtype) for value in values)
        flag = group.frame.carry[group.threads] if takes else np.zeros((), bool)
        step = flag.astype(unsigned.dtype)
        if subtracts:
            first = a - b
            result = first - step
            out = (a < b) | (first < step)
        else:
            first = a + b
            result = first + step
            out = (first < a) | (result < first)
        write(group, result)
        if gives:
            group.frame.carry[group.threads] = out

    return act
