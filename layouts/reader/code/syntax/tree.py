"""The syntax tree of C++, CUDA and Python: expressions, declarations and statements, each with its span.

`span` is (first, past last) in characters of the pasted text. The statements of function bodies are in
tree_statements.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lanescope.cxx.integers import IntegerType
from lanescope.reader.code.symbolic_integers import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntaxNode:
    span: Span = (0, 0)


class Expression(SyntaxNode):
    __slots__ = ()


class Statement(SyntaxNode):
    __slots__ = ()


Path = tuple[tuple[str, tuple[Expression, ...] | None], ...]  # a::b<c> as (name, template arguments) parts


@dataclass(frozen=True, slots=True)
class Type(Expression):
    """A type: its name with template arguments, number of pointers and array sizes.

    const: whether the named type is const, not a pointer to it. A path that begins with "" starts in the global
    namespace.
    """

    path: Path
    pointers: int = 0
    reference: str = ""  # & or &&
    dims: tuple[Expression | None, ...] = ()
    body: Statement | None = None  # a struct defined in place
    const: bool = False

    @property
    def name(self) -> str:
        return self.path[-1][0] if self.path else ""


@dataclass(frozen=True, slots=True)
class NumberLiteral(Expression):
    value: int
    type: IntegerType


@dataclass(frozen=True, slots=True)
class RealLiteral(Expression):
    """A floating-point literal, as spelled."""

    text: str
    bits: int


@dataclass(frozen=True, slots=True)
class StringLiteral(Expression):
    value: str


@dataclass(frozen=True, slots=True)
class Name(Expression):
    """A qualified name such as a::b<c>::d."""

    path: Path

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
class ConditionalExpression(Expression):
    condition: Expression
    yes: Expression
    no: Expression


@dataclass(frozen=True, slots=True)
class Cast(Expression):
    type: Type
    value: Expression
    pointer: bool = False  # reinterpret_cast, whose operand is a pointer


@dataclass(frozen=True, slots=True)
class Call(Expression):
    function: Expression
    arguments: tuple[Expression, ...]
    named: tuple[tuple[str, Expression], ...] = ()
    launch: tuple[Expression, ...] = ()  # what stands in <<<…>>>


@dataclass(frozen=True, slots=True)
class Member(Expression):
    value: Expression
    name: str
    arrow: bool = False
    templates: tuple[Expression, ...] | None = None
    owner: Path = ()  # Base of object.Base::name


@dataclass(frozen=True, slots=True)
class Index(Expression):
    value: Expression
    indices: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Assignment(Expression):
    target: Expression
    op: str  # "" for plain =
    value: Expression
    step: bool = False  # ++ or --


@dataclass(frozen=True, slots=True)
class ItemList(Expression):
    """C's {a, .b = c}, T{…} with a type, or a list or tuple of Python."""

    items: tuple[tuple[str, Expression], ...]
    type: Type | None = None


@dataclass(frozen=True, slots=True)
class DictLiteral(Expression):
    """A dict of Python."""

    items: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class SizeOf(Expression):
    """sizeof and alignof. pack: sizeof...(names), the number of elements of a parameter pack."""

    value: Expression
    align: bool = False
    pack: bool = False


@dataclass(frozen=True, slots=True)
class New(Expression):
    """new (placement) T(arguments) and new T{arguments}; for new T[n] the type has the size. bare: no arguments."""

    type: Type
    arguments: tuple[Expression, ...]
    braced: bool = False
    bare: bool = False
    placement: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Delete(Expression):
    """delete p, delete[] p."""

    value: Expression
    array: bool = False


@dataclass(frozen=True, slots=True)
class OffsetOf(Expression):
    """offsetof(type, member)."""

    type: Type
    member: str


@dataclass(frozen=True, slots=True)
class LambdaCapture(SyntaxNode):
    """A capture of a lambda: a name by value or by reference, `name = value`, or this."""

    name: str
    by_reference: bool = False
    value: Expression | None = None


@dataclass(frozen=True, slots=True)
class Lambda(Expression):
    """A lambda. default: = or &; "" if it captures only what it names."""

    function: Function
    default: str = "&"
    captures: tuple[LambdaCapture, ...] = ()


@dataclass(frozen=True, slots=True)
class ConditionDeclaration(Expression):
    """A declaration used as a condition: `if (int x = f())`."""

    statement: Declaration


@dataclass(frozen=True, slots=True)
class Fold(Expression):
    """(left op … op right): one side is a parameter pack, the other the initial value or None."""

    op: str
    left: Expression | None
    right: Expression | None


@dataclass(frozen=True, slots=True)
class OpaqueExpression(Expression):
    """An unsupported expression, evaluated as a symbol named by its text."""

    text: str


@dataclass(frozen=True, slots=True)
class Parameter(SyntaxNode):
    name: str
    type: Type | None
    default: Expression | None = None
    is_type: bool = False
    pack: bool = False


@dataclass(frozen=True, slots=True)
class Declaration(Statement):
    """`type name = value`, `type name(arguments)` or `type name{…}`.

    static: static or constexpr, of a class member. lasting: `static` in a function, so that the value is kept. owner:
    the class or namespace of `S::name`. specialized: the template arguments of an explicit or partial specialization of
    a variable template.
    """

    type: Type | None
    name: str
    value: Expression | None = None
    arguments: tuple[Expression, ...] | None = None
    bits: Expression | None = None  # the width of a bit field
    static: bool = False
    lasting: bool = False
    const: bool = False
    templates: tuple[Parameter, ...] = ()
    specialized: tuple[Expression, ...] | None = None
    owner: Path = ()
    external: bool = False  # extern without a value


@dataclass(frozen=True, slots=True)
class UnpackDeclaration(Statement):
    """`auto [a, b] = value` and Python's `a, b = value`."""

    names: tuple[str, ...]
    value: Expression
    reference: bool = False


@dataclass(frozen=True, slots=True)
class Alias(Statement):
    name: str
    type: Type
    templates: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Namespace(Statement):
    """A namespace. names: a and b of `namespace a::b`; () for an unnamed namespace."""

    names: tuple[str, ...]
    body: tuple[Statement, ...]
    inline: bool = False


@dataclass(frozen=True, slots=True)
class UsingDeclaration(Statement):
    """`using namespace a::b` (of_namespace) or `using a::b`."""

    path: Path
    of_namespace: bool = False


@dataclass(frozen=True, slots=True)
class NamespaceAlias(Statement):
    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class Enum(Statement):
    name: str
    members: tuple[tuple[str, Expression | None, Span], ...]
    base: Type | None = None
    scoped: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class DeferredBody(Statement):
    """The body of a function, lowered when it is first run, since most functions of a long text are never run.

    make: returns the block, the same one at each call.
    """

    make: Callable[[], Statement]


@dataclass(frozen=True, slots=True, eq=False)
class Function(Statement):
    """A function definition, or a declaration if `body` is None.

    owner: the class or namespace of `S<N>::f`; owner_templates: the template parameters of that class. specialized: the
    template arguments of an explicit specialization, () if they are deduced. constraint: of a requires clause.
    """

    name: str
    parameters: tuple[Parameter, ...]
    body: Statement | None
    templates: tuple[Parameter, ...] = ()
    starts: tuple[tuple[str, tuple[Expression, ...]], ...] = ()  # a constructor's member initializers
    returns: Type | None = None
    python: bool = False
    owner: Path = ()
    owner_templates: tuple[Parameter, ...] = ()
    specialized: tuple[Expression, ...] | None = None
    constraint: Expression | None = None
    static: bool = False
    const: bool = False
    virtual: bool = False
    deleted: bool = False
    explicit: bool = False
    defaulted: bool = False
    qualifier: str = ""  # & or && after a member function's parameters
    since: int = -1  # place of an earlier first declaration

    @property
    def key(self) -> int:
        """A number of this function, also with the default arguments of an earlier declaration."""
        return id(self if self.body is None else self.body)

    @property
    def first(self) -> int:
        """The place from which on its name is visible."""
        return self.since if self.since >= 0 else self.span[0]


@dataclass(frozen=True, slots=True, eq=False)
class FriendFunction(Statement):
    """A friend function that a class defines; it belongs to the enclosing namespace."""

    function: Function


@dataclass(frozen=True, slots=True, eq=False)
class StructDefinition(Statement):
    name: str
    members: tuple[Statement, ...]
    union: bool = False
    templates: tuple[Parameter, ...] = ()
    bases: tuple[Type, ...] = ()
    specialized: tuple[Expression, ...] | None = None
    complete: bool = True  # False for a forward declaration
