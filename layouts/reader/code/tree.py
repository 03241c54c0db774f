"""What C++, CUDA and Python are read into: one small tree of expressions and statements with their places in the text.

`span` is (first, past last) in characters of what was pasted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from layouts.reader.code.ctype import CType
from layouts.reader.code.word import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    span: Span = (0, 0)


class Expression(Node):
    __slots__ = ()


class Statement(Node):
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Type(Expression):
    """A type: its name with template arguments, how many pointers to it, its array's sizes."""

    path: tuple[tuple[str, tuple[Expression, ...] | None], ...]
    pointers: int = 0
    reference: bool = False
    dims: tuple[Expression | None, ...] = ()
    body: Statement | None = None  # a struct written in place

    @property
    def name(self) -> str:
        return self.path[-1][0] if self.path else ""


@dataclass(frozen=True, slots=True)
class Num(Expression):
    value: int
    type: CType


@dataclass(frozen=True, slots=True)
class Text(Expression):
    value: str


@dataclass(frozen=True, slots=True)
class Name(Expression):
    """a::b<c>::d: each part with its template arguments."""

    path: tuple[tuple[str, tuple[Expression, ...] | None], ...]

    @property
    def last(self) -> str:
        return self.path[-1][0]

    def __str__(self) -> str:
        return "::".join(name for name, _ in self.path)


@dataclass(frozen=True, slots=True)
class Unary(Expression):
    op: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Binary(Expression):
    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Choice(Expression):
    condition: Expression
    yes: Expression
    no: Expression


@dataclass(frozen=True, slots=True)
class Cast(Expression):
    type: Type
    value: Expression
    pointer: bool = False  # reinterpret_cast, which takes a pointer


@dataclass(frozen=True, slots=True)
class Call(Expression):
    function: Expression
    arguments: tuple[Expression, ...]
    named: tuple[tuple[str, Expression], ...] = ()


@dataclass(frozen=True, slots=True)
class Member(Expression):
    value: Expression
    name: str
    arrow: bool = False
    templates: tuple[Expression, ...] | None = None


@dataclass(frozen=True, slots=True)
class Index(Expression):
    value: Expression
    indices: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Assign(Expression):
    target: Expression
    op: str  # "" for plain =
    value: Expression


@dataclass(frozen=True, slots=True)
class Items(Expression):
    """{a, .b = c} of C, T{…} with a type; a list or tuple of Python."""

    items: tuple[tuple[str, Expression], ...]
    type: Type | None = None


@dataclass(frozen=True, slots=True)
class Table(Expression):
    """A dict of Python."""

    items: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class SizeOf(Expression):
    value: Expression


@dataclass(frozen=True, slots=True)
class Lambda(Expression):
    function: Function


@dataclass(frozen=True, slots=True)
class Other(Expression):
    """What the evaluator has no meaning for: a symbol of its text."""

    text: str


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    name: str
    type: Type | None
    default: Expression | None = None
    is_type: bool = False
    pack: bool = False


@dataclass(frozen=True, slots=True)
class Declare(Statement):
    """`type name = value`, `type name(arguments)` or `type name{…}`."""

    type: Type | None
    name: str
    value: Expression | None = None
    arguments: tuple[Expression, ...] | None = None
    bits: Expression | None = None  # a bit field's width
    static: bool = False


@dataclass(frozen=True, slots=True)
class Unpack(Statement):
    """`auto [a, b] = value` and Python's `a, b = value`."""

    names: tuple[str, ...]
    value: Expression


@dataclass(frozen=True, slots=True)
class Do(Statement):
    value: Expression


@dataclass(frozen=True, slots=True)
class If(Statement):
    condition: Expression
    yes: Statement
    no: Statement | None


@dataclass(frozen=True, slots=True)
class Loop(Statement):
    """for and while; `late`: the condition is asked after the body."""

    start: Statement | None
    condition: Expression | None
    step: Expression | None
    body: Statement
    late: bool = False


@dataclass(frozen=True, slots=True)
class Each(Statement):
    """Python's for, C++'s range for."""

    names: tuple[str, ...]
    values: Expression
    body: Statement


@dataclass(frozen=True, slots=True)
class Switch(Statement):
    value: Expression
    cases: tuple[tuple[Expression | None, tuple[Statement, ...]], ...]


@dataclass(frozen=True, slots=True)
class Return(Statement):
    value: Expression | None


@dataclass(frozen=True, slots=True)
class Jump(Statement):
    word: str  # break or continue


@dataclass(frozen=True, slots=True)
class Block(Statement):
    body: tuple[Statement, ...]
    scoped: bool = True


@dataclass(frozen=True, slots=True)
class Alias(Statement):
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Enum(Statement):
    name: str
    members: tuple[tuple[str, Expression | None, Span], ...]


@dataclass(frozen=True, slots=True)
class Assembly(Statement):
    """asm(…): its text and what it is given, each with its constraint."""

    text: str
    operands: tuple[tuple[str, Expression], ...]
    names: tuple[str, ...] = ()  # %[name], "" where an operand has none


@dataclass(frozen=True, slots=True, eq=False)
class Deferred(Statement):
    """The body of a function: most of a long text's are never run, so each is made when it is. make gives one and the
    same block however often it is asked.
    """

    make: Callable[[], Statement]


@dataclass(frozen=True, slots=True, eq=False)
class Function(Statement):
    name: str
    parameters: tuple[Parameter, ...]
    body: Statement
    templates: tuple[Parameter, ...] = ()
    starts: tuple[tuple[str, tuple[Expression, ...]], ...] = ()  # a constructor's member initialisers
    returns: Type | None = None
    python: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Struct(Statement):
    name: str
    members: tuple[Statement, ...]
    union: bool = False
    templates: tuple[Parameter, ...] = ()
    bases: tuple[str, ...] = ()
    variables: tuple[Declare, ...] = field(default=())  # declared in the same statement: `union {…} desc;`
