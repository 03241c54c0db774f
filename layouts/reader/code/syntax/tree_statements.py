"""The statements of a function's body: blocks, branches, loops, jumps, exceptions, inline assembly and unread text."""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.reader.code.syntax.tree import Expression, Parameter, Statement, Type


@dataclass(frozen=True, slots=True)
class ExpressionStatement(Statement):
    value: Expression


@dataclass(frozen=True, slots=True)
class If(Statement):
    condition: Expression
    yes: Statement
    no: Statement | None
    start: Statement | None = None  # if (start; condition)


@dataclass(frozen=True, slots=True)
class Loop(Statement):
    """A for, while or do loop; late: the condition is tested after the body."""

    start: Statement | None
    condition: Expression | None
    step: Expression | None
    body: Statement
    late: bool = False


@dataclass(frozen=True, slots=True)
class RangeLoop(Statement):
    """Python's for and C++'s range-based for."""

    names: tuple[str, ...]
    values: Expression
    body: Statement
    type: Type | None = None  # of the C++ variable; a reference writes the items
    start: Statement | None = None


@dataclass(frozen=True, slots=True)
class Switch(Statement):
    value: Expression
    cases: tuple[tuple[Expression | None, tuple[Statement, ...]], ...]
    start: Statement | None = None


@dataclass(frozen=True, slots=True)
class Return(Statement):
    value: Expression | None


@dataclass(frozen=True, slots=True)
class Jump(Statement):
    word: str  # "break", "continue" or "goto"
    label: str = ""


@dataclass(frozen=True, slots=True)
class LabelStatement(Statement):
    name: str


@dataclass(frozen=True, slots=True)
class Throw(Statement):
    value: Expression | None


@dataclass(frozen=True, slots=True)
class Try(Statement):
    """A try block. handlers: (parameter, block) of each; the parameter is None for `catch (...)`."""

    body: Statement
    handlers: tuple[tuple[Parameter | None, Statement], ...]


@dataclass(frozen=True, slots=True)
class Instantiation(Statement):
    """An explicit instantiation of a function template: template void f<3>(int);"""

    function: Expression


@dataclass(frozen=True, slots=True)
class UnreadText(Statement):
    """Text that did not parse, with the statements inside it that did."""

    text: str
    body: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Block(Statement):
    body: tuple[Statement, ...]
    scoped: bool = True


@dataclass(frozen=True, slots=True)
class Assembly(Statement):
    """An asm statement. operands: (constraint, expression) of each. code: the PTX text, None if it is not all literal
    or if it is an asm goto.
    """

    text: str
    operands: tuple[tuple[str, Expression], ...]
    names: tuple[str, ...] = ()  # the symbolic name of each operand, "" without one
    clobbers: tuple[str, ...] = ()
    code: str | None = None
    volatile: bool = False
