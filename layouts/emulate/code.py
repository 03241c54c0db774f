"""Prepare a function for execution: each statement becomes a Python function when it is first reached.

A builder (registered with `instruction`) turns a statement into an action on a group of threads. Operands become
readers and writers of NumPy arrays, so an action is a few NumPy calls for all threads.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.state.block import Group, simplify
from lanescope.emulate.text.program import (
    AddressOperand,
    Discarded,
    Function,
    Immediate,
    NegatedOperand,
    Operand,
    OperandError,
    Register,
    SpecialRegister,
    Statement,
    Symbol,
    VectorOperand,
)
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.ptx import catalog
from lanescope.ptx.register_types import TYPES, RegisterType
from lanescope.ptx.table.opcodes import FIRST_WORDS

if TYPE_CHECKING:
    from lanescope.emulate.launching.linking import Program

Array = NDArray[Any]
Action = Callable[[Group], None]
Reader = Callable[[Group], Array]
Writer = Callable[[Group, Array], None]
Builder = Callable[["Compiler", Statement], Action]

BUILDERS: dict[str, Builder] = {}  # prefix of an opcode → its builder
CONTROL: dict[str, Builder] = {}  # opcodes whose actions set the program counter


class UnknownInstructionError(Exception):
    """A statement that has no builder."""

    def __init__(self, statement: Statement, reason: str = "") -> None:
        super().__init__(reason or statement.opcode)
        self.statement, self.reason = statement, reason

    def describe(self) -> str:
        """Return whether the instruction exists, with the nearest that do, or else why it is not emulated."""
        opcode, word = self.statement.opcode, self.statement.words[0]
        if word not in FIRST_WORDS and not word.startswith("_"):  # which ptxas keeps for itself
            alike = join_words(get_close_matches(word, sorted(FIRST_WORDS)), "or")
            return f"PTX has no instruction {opcode}" + f". Nearest: {alike}" * bool(alike)
        if any(opcode.startswith(f"{known}.") for known in catalog.OPCODES):
            try:
                catalog.find(opcode)
            except LayoutError as error:
                if error.code == "unknown_instruction":
                    return f"{error.message} Nearest: {join_words(error.nearest[:3], 'or')}"
        return self.reason or f"{opcode} is not emulated"


def instruction(*names: str) -> Callable[[Builder], Builder]:
    """Register a builder for opcodes by their first words: "add", "mbarrier.try_wait", "cp.async.bulk.tensor"."""

    def register(builder: Builder) -> Builder:
        for name in names:
            if name in BUILDERS:
                raise ValueError(f"two builders for {name}")
            BUILDERS[name] = builder
        return builder

    return register


def control(*names: str) -> Callable[[Builder], Builder]:
    """Register a builder whose action sets the program counter, as a branch does."""

    def register(builder: Builder) -> Builder:
        for name in names:
            CONTROL[name] = BUILDERS[name] = builder
        return builder

    return register


def find_prefix(words: tuple[str, ...]) -> str:
    """Return the longest prefix of an opcode that has a builder, "" if none has."""
    for length in range(min(len(words), 6), 0, -1):
        name = ".".join(words[:length])
        if name in BUILDERS:
            return name
    return ""


class Code:
    """A function's statements as actions, built when they are first reached."""

    def __init__(self, program: Program, function: Function) -> None:
        self.program, self.function = program, function
        self.steps: list[Action] = [self._make_first_step(n) for n in range(len(function.statements))]
        self.parameter_bytes, self.offsets = _assign_offsets(function, "param")
        self.local_bytes, self.local_offsets = _assign_offsets(function, "local")
        self.watched = False  # whether statements report accesses to registers of asynchronous instructions

    def _make_first_step(self, number: int) -> Action:
        def compile_first(group: Group) -> None:
            self.steps[number] = step = self._compile(number)
            step(group)

        return compile_first

    def _compile(self, number: int) -> Action:
        statement = self.function.statements[number]
        name = find_prefix(statement.words)
        if not name:
            raise UnknownInstructionError(statement)
        try:
            action = BUILDERS[name](Compiler(self), statement)
        except OperandError as error:
            raise UnknownInstructionError(
                statement, f"{statement.opcode} with these operands is not emulated: {error}"
            ) from None
        guard = statement.guard
        if guard is None:
            return action if name in CONTROL else _advance_after(action)
        slot, negated = guard.register.slot, guard.negated
        if name in CONTROL:
            return _guard_control(action, slot, negated)

        def run_guarded(group: Group) -> None:
            active = group.frame.registers[slot][group.threads] ^ negated
            if active.all():
                action(group)
            elif active.any():
                part = group.select(active)
                count = part.count
                action(part)
                if part.wait is not None or part.count != count:
                    group.run.machine.separate(group, active, part)
            group.pc += 1

        return run_guarded


def _advance_after(action: Action) -> Action:
    def run(group: Group) -> None:
        action(group)
        group.pc += 1

    return run


def _guard_control(action: Action, slot: int, negated: bool) -> Action:
    """Return an action that moves the program counter of the threads whose guard is true; the others continue."""

    def run(group: Group) -> None:
        active = group.frame.registers[slot][group.threads] ^ negated
        if active.all():
            action(group)
        elif active.any():
            part = group.select(active)
            group.run.machine.add(part, group)
            action(part)
            group.threads = simplify(group.ids[~active])
            group.pc += 1
        else:
            group.pc += 1

    return run


def _assign_offsets(function: Function, space: str) -> tuple[int, dict[str, int]]:
    """Return (bytes of a function's variables in a space, name → offset)."""
    offset, offsets = 0, {}
    for name, variable in function.variables.items():
        if variable.space == space:
            offset = -(-offset // max(1, variable.align)) * max(1, variable.align)
            offsets[name] = offset
            offset += variable.size
    return offset, offsets


class Compiler:
    """The context of a builder: access to variables, types, and operands as readers and writers."""

    def __init__(self, code: Code) -> None:
        self.code, self.function = code, code.function
        self.program, self.module = code.program, code.program.module

    def get_type(self, statement: Statement) -> RegisterType:
        """Return the last type of the opcode; UnknownInstructionError if it has none."""
        named = [word for word in statement.words[1:] if word in TYPES]
        if not named:
            raise UnknownInstructionError(statement, f"{statement.opcode} names no type")
        return TYPES[named[-1]]

    def read(self, operand: Operand, row: RegisterType) -> Reader:
        """Return a reader of an operand's values in a type: [threads], or a scalar where all are equal."""
        dtype = row.dtype
        match operand:
            case Register():
                return _read_register(operand, dtype, row)
            case Immediate():
                value = encode_immediate(operand, row)
                return lambda group: value
            case SpecialRegister():
                return self._read_special(operand.name, dtype)
            case Symbol():
                return self._read_symbol(operand, dtype)
            case NegatedOperand():
                slot = operand.register.slot
                return lambda group: ~group.frame.registers[slot][group.threads]
            case _:
                raise OperandError(f"{operand} is not a value")

    def read_all(self, operand: Operand, row: RegisterType) -> Callable[[Group], Array]:
        """Return a reader of an operand or a vector operand: [threads, count]."""
        items = operand.items if isinstance(operand, VectorOperand) else (operand,)
        readers = [self.read(item, row) for item in items]
        dtype = row.dtype

        def read(group: Group) -> Array:
            values = np.empty((group.count, len(readers)), dtype)
            for number, reader in enumerate(readers):
                values[:, number] = reader(group)
            return values

        return read

    def write(self, operand: Operand, row: RegisterType) -> Writer:
        """Return a writer of values of a type to a register; a wider register extends them."""
        if isinstance(operand, Discarded):
            return lambda group, values: None
        if not isinstance(operand, Register):
            raise OperandError(f"{operand} is not a register")
        slot, storage = operand.slot, operand.type.storage
        dtype = row.dtype
        if operand.type.bits == 1 and row.bits > 1:
            raise OperandError(f"{operand} is a predicate")
        if storage.itemsize == dtype.itemsize:

            def write(group: Group, values: Array) -> None:
                group.frame.registers[slot][group.threads] = np.asarray(values, dtype).view(storage)

            return write
        signed = np.dtype(f"int{operand.type.bits}") if row.kind == "s" else storage

        def write_extended(group: Group, values: Array) -> None:
            bits = np.asarray(values, dtype)
            if dtype.kind == "f":
                bits = bits.view(row.storage)
            group.frame.registers[slot][group.threads] = bits.astype(signed).view(storage)

        return write_extended

    def write_all(self, operand: Operand, row: RegisterType) -> Writer:
        """Return a writer of [threads, count] values to an operand or a vector operand."""
        items = operand.items if isinstance(operand, VectorOperand) else (operand,)
        writers = [self.write(item, row) for item in items]

        def write(group: Group, values: Array) -> None:
            for number, writer in enumerate(writers):
                writer(group, values[:, number])

        return write

    def read_address(self, operand: Operand) -> Callable[[Group], NDArray[np.int64]]:
        """Return a reader of an address in brackets: int64 [threads]."""
        if not isinstance(operand, AddressOperand):
            raise OperandError(f"{operand} is not an address")
        base, offset = operand.base, operand.offset
        row = TYPES["u64"]
        if isinstance(base, Register) and base.type.bits == 32:
            row = TYPES["u32"]
        reader = self.read(base, row)
        wraps = row.bits == 32

        def read(group: Group) -> NDArray[np.int64]:
            value = np.asarray(reader(group)).astype(np.int64)
            if offset:
                value = value + offset & 0xFFFFFFFF if wraps else value + offset
            return value if value.ndim else np.full(group.count, value)

        return read

    def _read_special(self, name: str, dtype: np.dtype[Any]) -> Reader:
        from lanescope.emulate.instructions.special import (  # shared by builders and the machine
            compute_special,
            is_known,
        )

        if not is_known(name):
            raise OperandError(f"{name} has no value here")

        def read(group: Group) -> Array:
            values = group.block.special.get(name)
            if values is None:
                values = compute_special(group, name)
            chosen = values if values.ndim == 0 else values[group.threads]
            return chosen.astype(dtype)

        return read

    def _read_symbol(self, operand: Symbol, dtype: np.dtype[Any]) -> Reader:
        name, offset = operand.name, operand.offset
        if name in self.code.local_offsets:
            local = self.code.local_offsets[name] + offset
            return lambda group: np.array(group.frame.local_base + local).astype(dtype)
        if name in self.code.offsets:
            if self.function.entry and all(name != parameter.name for parameter in self.function.parameters):
                raise OperandError(f"the address of {name}, an argument of a call")
            within = self.code.offsets[name] + offset
            # among the parameters of the kernel, or of the function
            return lambda group: np.array(within).astype(dtype)
        if name in self.program.shared_offsets:
            shared = self.program.shared_offsets[name] + offset
            return lambda group: np.array(group.block.shared_rank_bits | shared).astype(dtype)
        address = self.program.find_address(name)
        if address is None:
            raise OperandError(f"{name} is not declared")
        return lambda group: np.array(address + offset).astype(dtype)


def _read_register(operand: Register, dtype: np.dtype[Any], row: RegisterType) -> Reader:
    slot, storage = operand.slot, operand.type.storage
    if storage == dtype:
        return lambda group: group.frame.registers[slot][group.threads]
    if storage.itemsize == dtype.itemsize:
        return lambda group: group.frame.registers[slot][group.threads].view(dtype)
    narrow = row.storage
    if storage.itemsize > dtype.itemsize:
        return lambda group: group.frame.registers[slot][group.threads].astype(narrow).view(dtype)
    return lambda group: group.frame.registers[slot][group.threads].astype(dtype)


def encode_immediate(operand: Immediate, row: RegisterType) -> Array:
    """Return a number as a scalar of a type: an integer's low bits, a float rounded to the type."""
    value = operand.value
    if operand.bits:
        number = struct.unpack("<f" if operand.bits == 32 else "<d", int(value).to_bytes(operand.bits // 8, "little"))[
            0
        ]
        if row.kind == "f":
            if operand.bits == row.bits:
                return np.array(int(value), row.storage).view(row.dtype)
            return np.array(number).astype(row.dtype)
        if operand.bits == row.bits:
            return np.array(int(value), row.storage)
        raise OperandError(f"the number {number} as .{row.name}")
    if row.kind == "pred":
        return np.array(bool(value))
    if row.kind == "f":
        return np.array(int(value)).astype(row.dtype)
    if row.bits == 128:
        raise OperandError("a number of 128 bits")
    return np.array(int(value) & ((1 << row.bits) - 1), row.storage).view(row.dtype)
