"""What an evaluated expression can be beside an integer: pointers, objects, arrays, types, functions and unknown
terms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lanescope.cxx.integers import INT, IntegerType
from lanescope.cxx.sizes import ELEMENT_BITS
from lanescope.reader.code import tree
from lanescope.reader.code.header_names import OPAQUE_BYTES
from lanescope.reader.code.scopes import Cell, NameScope, take_birth_number
from lanescope.reader.code.symbolic_integers import LinearExpression, Span, SymbolicInt
from lanescope.value_class import value_class

MOST_NAME = 120  # characters of what an unknown value is called


def shorten_name(value: Any) -> str:
    """Shorten a value's name: values hold one another, and their names must not grow with them."""
    if isinstance(value, ResolvedType) and value.arguments:
        return value.name[:36] + "<…>" + "*" * value.pointers
    text = f'"{value}"' if isinstance(value, str) else "{…}" if isinstance(value, ArrayValue) else str(value)
    return text if len(text) <= 40 else text[:39] + "…"


@value_class(frozen=True, slots=True)
class ResolvedType:
    """A resolved type. whole: of an integer; bits: of a value, None if unknown; record: of a struct. arguments: of
    its template. const: of what the name means, not of a pointer to it.
    """

    name: str
    whole: IntegerType | None = None
    bits: int | None = None
    record: RecordType | None = None
    pointers: int = 0
    dims: tuple[SymbolicInt, ...] = ()
    arguments: tuple[Any, ...] = ()
    reference: str = ""  # & or &&
    const: bool = False
    unbound: bool = False  # a template's parameter without an argument, or a type that could not be computed

    @property
    def open(self) -> bool:
        """Whether nothing is known of it but its name: a template's type, auto."""
        return not self.bits and self.whole is None and self.record is None and not self.pointers

    def __str__(self) -> str:
        arguments = f"<{', '.join(map(shorten_name, self.arguments[:8]))}>" if self.arguments else ""
        return (self.name + arguments)[:MOST_NAME] + "*" * self.pointers


VOID = ResolvedType("void", None, 8)
AUTO = ResolvedType("auto")


def find_element_type(name: str) -> ResolvedType | None:
    """Find a type of known size that is no integer: of a tensor's elements, or one that programs only pass on."""
    last = name.split("::")[-1]
    bits = ELEMENT_BITS.get(last) or 8 * OPAQUE_BYTES.get(last, 0)
    return ResolvedType(name, None, bits) if bits else None


def can_be_element(kind: ResolvedType) -> bool:
    """Return whether a tensor may have elements of a type: no pointers, structs and handles."""
    known = kind.whole is not None or kind.name.split("::")[-1] in ELEMENT_BITS
    return bool(kind.bits) and known and not kind.pointers and kind.record is None


@dataclass(frozen=True, slots=True)
class RecordField:
    """A member of a struct kept as bits: where it starts, its width, its type; `inner` where it has members itself."""

    low: int
    width: int
    whole: IntegerType | None
    inner: RecordType | None = None
    count: int = 0  # of an array


@dataclass(eq=False, slots=True)
class RecordType:
    """A struct or union. fields and bits: its layout, where every member is an integer or such a struct; else None.

    members: its own and its bases', each with the scope that it was written in. methods: of each name those of the
    class that declares it. hidden: data members of bases that a derived class has as well. template, arguments: what it
    is an instance of.
    """

    name: str
    decl: tree.StructDefinition | None
    scope: NameScope
    fields: dict[str, RecordField] | None = None
    bits: int = 0
    align: int = 8
    members: dict[str, tree.Declaration] = field(default_factory=dict)
    homes: dict[str, NameScope] = field(default_factory=dict)
    methods: dict[str, FunctionSet] = field(default_factory=dict)
    bases: tuple[RecordType, ...] = ()
    hidden: set[str] = field(default_factory=set)
    dependent: set[str] = field(default_factory=set)  # members of bases that depend on its template's parameters
    template: Any = None
    arguments: tuple[Any, ...] = ()
    python: bool = False
    polymorphic: bool = False
    library: tuple[ResolvedType, ...] = ()  # bases of the standard library
    overlaid: set[str] = field(default_factory=set)  # members that share their bytes in a way that is not known
    begins: bool = False  # whether a constructor, or an initializer of a member, says how it or a part of it begins
    copies: bool = False  # whether it, a member or a base has a copy or move constructor of its own
    assigns: bool = False  # the same of assignment operators
    ends: bool = False  # the same of destructors that do something
    opaque: bool = False  # whether a base is not in the text, whose names are found before those around the class
    of_std: bool = False  # whether that is one of the standard library

    @property
    def converts(self) -> bool:
        """Whether it has a conversion function."""
        return any(name.startswith("operator ") for name in self.methods)

    def has_virtual(self, name: str) -> bool:
        """Return whether a function of a name is virtual, here or in a base."""
        overloads = self.methods.get(name)
        mine = overloads is not None and any(function.virtual for function in overloads.functions)
        return mine or any(base.has_virtual(name) for base in self.bases)

    def is_derived_from(self, other: RecordType) -> bool:
        """Return whether this is a record or derived from it."""
        return self is other or any(base.is_derived_from(other) for base in self.bases)


@dataclass(eq=False, slots=True)
class ObjectValue:
    """An instance: bits in one cell, or a cell for each member."""

    record: RecordType
    store: Cell
    members: dict[str, Cell] = field(default_factory=dict)
    held: bool = False  # whether a variable holds it, so that another gets a copy
    dynamic: RecordType | None = None  # the class whose constructor or destructor is running
    whole: ObjectValue | None = None  # the object of a derived class that it is a part of
    loose: bool = False  # whether it may be a part of an object of a class that is not known

    def __str__(self) -> str:
        return self.record.name


@dataclass(frozen=True, slots=True)
class ObjectPart:
    """A member of an object that is kept as bits."""

    of: ObjectValue
    field: RecordField


@value_class(frozen=True, slots=True)
class Pointer:
    """base in bytes; `element` it points to; dims: sizes below it, of an array of arrays.

    array: what it points into, where its items are known; at: which item, counted in `element`, None if not known.
    """

    base: LinearExpression
    element: ResolvedType | None = None
    dims: tuple[SymbolicInt, ...] = ()
    shared: bool = False  # a shared-window address already
    array: ArrayValue | None = field(default=None, compare=False)
    at: SymbolicInt | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return str(self.base)


@dataclass(frozen=True, slots=True)
class Address:
    """&variable: what stands behind the pointer is known. element: what a cast says that it points to; at: how many of
    these it was moved by.
    """

    place: Any
    element: ResolvedType | None = None
    at: SymbolicInt = field(default=SymbolicInt(0), compare=False)

    def __str__(self) -> str:
        return "&…"


@dataclass(frozen=True, slots=True)
class PointedPlace:
    """What a pointer points to."""

    pointer: Pointer


@dataclass(frozen=True, slots=True)
class JointPlace:
    """Several places that are read and written as one integer, the lowest bits first; widths: bits of each."""

    places: tuple[Any, ...]
    widths: tuple[int, ...]
    whole: IntegerType


@dataclass(frozen=True, slots=True)
class SplitPlace:
    """One of two places, by a condition that the text leaves open."""

    condition: str
    yes: Any
    no: Any
    born: int = field(default_factory=take_birth_number, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class OverlayPlace:
    """A member of a union whose layout is not known, or a place in it: writing it makes the other members unknown."""

    of: ObjectValue
    name: str
    place: Any


@dataclass(frozen=True, slots=True)
class BlurredPlace:
    """Somewhere in an object: reading gives a value that is not known, writing makes all of it so."""

    place: Any
    kind: ResolvedType | None = None
    born: int = field(default_factory=take_birth_number, compare=False, repr=False)


PLACES = (Cell, ObjectPart, PointedPlace, JointPlace, SplitPlace, BlurredPlace, OverlayPlace)


@dataclass(eq=False, slots=True)
class ArrayValue:
    cells: list[Cell]
    element: ResolvedType | None = None
    name: str = ""
    typed: Any = None  # T of T{…}
    inside: ArrayValue | None = None  # the array that it is an item of

    def __str__(self) -> str:
        if self.name or not self.cells:
            return self.name or f"{self.typed or ''}{{}}"
        return ("{" + ", ".join(shorten_name(c.value) for c in self.cells[:4]) + "}")[:MOST_NAME]


CALLED = "()"  # among what a call names: the value that is called, as a tensor of CuTe is by tensor(_, _, 0)


@value_class(frozen=True, slots=True, eq=False)
class OpaqueValue:
    """Something of which only its text is known, or a call of a function that the text does not have."""

    text: str
    kind: ResolvedType | None = None
    head: str = ""
    arguments: tuple[Any, ...] = ()
    named: tuple[tuple[str, Any], ...] = ()
    span: Span = (0, 0)

    def __post_init__(self) -> None:
        if len(self.text) > MOST_NAME:
            object.__setattr__(self, "text", self.text[: MOST_NAME - 1] + "…")

    def __eq__(self, other: object) -> bool:
        """Compare by text: its arguments may hold one another many times over."""
        return isinstance(other, OpaqueValue) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class FunctionSet:
    """Functions of one name, with the scope they were written in, and the object they are a method of.

    homes: the scope of each function, where they are of several. captured: the variables that a lambda has copies of.
    """

    functions: tuple[tree.Function, ...]
    scope: NameScope
    this: Any = None
    templates: tuple[Any, ...] | None = None
    homes: tuple[NameScope, ...] = ()
    captured: NameScope | None = None
    constant: bool | None = None  # whether `this` is const, None where not known
    direct: bool = False  # whether the call names the class, so that no override is called

    def __str__(self) -> str:
        return self.functions[0].name

    def get_home(self, function: tree.Function) -> NameScope:
        """Return the scope that a function of these was written in."""
        for candidate, scope in zip(self.functions, self.homes, strict=False):
            if candidate is function:
                return scope
        return self.scope

    def join_functions(self, other: FunctionSet) -> FunctionSet:
        """Join the functions of both."""
        mine = self.homes or (self.scope,) * len(self.functions)
        theirs = other.homes or (other.scope,) * len(other.functions)
        more = [(f, s) for f, s in zip(other.functions, theirs, strict=True) if f not in self.functions]
        functions = (*self.functions, *(f for f, _ in more))
        return FunctionSet(
            functions, self.scope, self.this, self.templates, (*mine, *(s for _, s in more)), self.captured
        )


@dataclass(frozen=True, slots=True)
class EitherFunction:
    """One of two functions, as a condition of the text decides: debug ? kernel<true> : kernel<false>."""

    condition: str
    yes: FunctionSet | EitherFunction
    no: FunctionSet | EitherFunction

    def __str__(self) -> str:
        return f"({self.condition} ? {self.yes} : {self.no})"


@dataclass(slots=True, eq=False)
class TemplateEntity:
    """A struct, alias or variable that may take arguments; specials: its explicit and partial specializations; outside:
    members of a struct that are defined outside it; meaning: of an alias without parameters, once it is known.
    """

    decl: tree.StructDefinition | tree.Alias | tree.Declaration
    scope: NameScope
    parameters: tuple[tree.Parameter, ...] = ()
    specials: list[tree.StructDefinition | tree.Declaration] = field(default_factory=list)
    outside: list[tree.Function | tree.Declaration] = field(default_factory=list)
    meaning: ResolvedType | None = None

    def __str__(self) -> str:
        return self.decl.name


@dataclass(frozen=True, slots=True)
class EnumerationType:
    """whole: its type, one of its own; scoped: enum class."""

    name: str
    scope: NameScope
    whole: IntegerType = INT
    scoped: bool = False

    @property
    def kind(self) -> ResolvedType:
        return ResolvedType(self.name, self.whole, self.whole.bits)


@dataclass(frozen=True, slots=True, eq=False)
class NamespaceValue:
    name: str
    scope: NameScope


@dataclass(frozen=True, slots=True)
class ReferredPlace:
    """What a function that returns a reference gives: a place."""

    place: Any


class ParameterPack(tuple[Any, ...]):
    """A parameter pack: types, or cells."""

    __slots__ = ()
