"""The contents of a PTX text: modules, functions, statements and their operands. PTX ISA 9.1, chapters 4 to 6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import SupportsIndex

from lanescope.ptx.register_types import RegisterType


@dataclass(frozen=True, slots=True)
class Register:
    """A register, as an index among those of its function."""

    name: str
    slot: int
    type: RegisterType

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Immediate:
    """A number. bits: the width of a float literal (0f… 32, 0d… 64), 0 for an integer."""

    value: int | float
    bits: int = 0

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """A register that the hardware sets, e.g. %tid.x."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable or function, or a label, plus an offset in bytes."""

    name: str
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.name}{_format_offset(self.offset)}"


@dataclass(frozen=True, slots=True)
class VectorOperand:
    """Operands in braces."""

    items: tuple[Operand, ...]

    def __str__(self) -> str:
        return f"{{{', '.join(map(str, self.items))}}}"


@dataclass(frozen=True, slots=True)
class AddressOperand:
    """An address in brackets. rest: the operands after the base inside the brackets, e.g. a tensor's coordinates."""

    base: Operand
    offset: int = 0
    rest: tuple[Operand, ...] = ()

    def __str__(self) -> str:
        return f"[{', '.join(map(str, (f'{self.base}{_format_offset(self.offset)}', *self.rest)))}]"


@dataclass(frozen=True, slots=True)
class PairOperand:
    """Two results of one instruction, d|p. Either may be None, written `_`."""

    first: Operand
    second: Operand

    def __str__(self) -> str:
        return f"{self.first}|{self.second}"


@dataclass(frozen=True, slots=True)
class NegatedOperand:
    """A negated predicate, !p."""

    register: Register

    def __str__(self) -> str:
        return f"!{self.register}"


@dataclass(frozen=True, slots=True)
class ListOperand:
    """Operands in parentheses: the results or arguments of a call."""

    items: tuple[Operand, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"


@dataclass(frozen=True, slots=True)
class Discarded:
    """A result that is discarded, `_`."""

    def __str__(self) -> str:
        return "_"


def _format_offset(offset: int) -> str:
    """Format a byte offset with its sign; "" for 0."""
    return f"{offset:+}" if offset else ""


Operand = (
    Register
    | Immediate
    | SpecialRegister
    | Symbol
    | VectorOperand
    | AddressOperand
    | PairOperand
    | NegatedOperand
    | ListOperand
    | Discarded
)


@dataclass(frozen=True, slots=True)
class Guard:
    """The predicate in front of an instruction."""

    register: Register
    negated: bool


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A line of the source from which the PTX was compiled (.loc).

    called: for an inlined function, the outermost call.
    """

    file: str
    line: int
    called: SourcePlace | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f", inlined at {self.called}" if self.called else "")

    @property
    def brief(self) -> str:
        """The place without directories, for sentences with several places."""
        name = self.file.replace("\\", "/").rpartition("/")[2]
        return f"{name}:{self.line}" + (f", inlined at {self.called.brief}" if self.called else "")


@dataclass(frozen=True, slots=True)
class Statement:
    """One instruction. words: its opcode, split at the dots; line: in the PTX text, from 1."""

    words: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    line: int
    place: SourcePlace | None

    @property
    def opcode(self) -> str:
        return ".".join(self.words)

    def has(self, word: str) -> bool:
        return word in self.words

    def find_word(self, choices: Mapping[str, object] | Sequence[str]) -> str:
        """Return the first word of the opcode that is among the choices, "" if there is none."""
        return next((word for word in self.words[1:] if word in choices), "")

    def operand(self, number: int) -> Operand:
        """Return one operand; OperandError if there are fewer."""
        if not -len(self.operands) <= number < len(self.operands):
            raise OperandError(f"it has {len(self.operands)} operands")
        return self.operands[number]

    def take(self, least: int, *, more: bool = False) -> tuple[Operand, ...]:
        """Return all operands, of which there must be so many; more: or more of them."""
        if len(self.operands) < least or (not more and len(self.operands) > least):
            raise OperandError(f"it has {len(self.operands)} operands")
        return self.operands


class OperandError(Exception):
    """Operands that an instruction does not take, or that are not emulated."""


class RemainingOperands(list[Operand]):
    """The operands of a statement that a builder has not yet taken."""

    @property
    def first(self) -> Operand:
        """Return the next operand; OperandError if there is none."""
        if not self:
            raise OperandError("an operand is missing")
        return self[0]

    def pop(self, index: SupportsIndex = -1) -> Operand:
        """Take an operand; OperandError if there is none."""
        if not self:
            raise OperandError("an operand is missing")
        return super().pop(index)


def require_address(operand: Operand) -> AddressOperand:
    """Return an operand that must be an address in brackets."""
    if not isinstance(operand, AddressOperand):
        raise OperandError(f"{operand} is not an address")
    return operand


def require_symbol(operand: Operand) -> Symbol:
    """Return an operand that must be a name."""
    if not isinstance(operand, Symbol):
        raise OperandError(f"{operand} is not a name")
    return operand


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable.

    space: global, const, shared, local or param. size: in bytes, 0 if open (extern … []). initial: initial bytes;
    links: offset → symbol whose address is stored there.
    """

    name: str
    space: str
    align: int
    size: int
    initial: bytes = b""
    links: tuple[tuple[int, Symbol], ...] = ()
    type: str = "b8"


@dataclass(slots=True)
class Function:
    """A kernel or a function. labels: name → index of a statement."""

    name: str
    entry: bool
    parameters: list[Variable] = field(default_factory=list)
    results: list[Variable] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    registers: list[RegisterType] = field(default_factory=list)
    variables: dict[str, Variable] = field(default_factory=dict)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)  # .branchtargets and .calltargets
    limits: dict[str, tuple[int, ...]] = field(default_factory=dict)  # maxntid, reqntid, reqnctapercluster, …
    line: int = 0


@dataclass(slots=True)
class Module:
    """A PTX text."""

    version: tuple[int, int]
    target: str
    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)

    @property
    def entries(self) -> list[Function]:
        return [function for function in self.functions.values() if function.entry]
