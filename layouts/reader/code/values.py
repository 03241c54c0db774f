"""Values of expressions other than integers: pointers, objects, arrays, types, functions and unknown terms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lanescope.cxx.integers import INT, IntegerType
from lanescope.cxx.sizes import ELEMENT_BITS
from lanescope.cxx.value_class import value_class
from lanescope.reader.code.naming.header_names import OPAQUE_BYTES
from lanescope.reader.code.naming.scopes import Cell, NameScope, take_birth_number
from lanescope.reader.code.symbolic_integers import LinearExpression, Span, SymbolicInt
from lanescope.reader.code.syntax import tree

MOST_NAME = 120  # characters in the name of an unknown value


def shorten_name(value: Any) -> str:
    """Return a value's name, shortened so that names of nested values stay short."""
    if isinstance(value, ResolvedType) and value.arguments:
        return value.name[:36] + "<…>" + "*" * value.pointers
    text = f'"{value}"' if isinstance(value, str) else "{…}" if isinstance(value, ArrayValue) else str(value)
    return text if len(text) <= 40 else text[:39] + "…"


@value_class(frozen=True, slots=True)
class ResolvedType:
    """A resolved type.

    integer: its integer type, if it is one. bits: the size of a value, None if unknown. record: its struct, if it is
    one. arguments: its template arguments. const: whether the named type is const, not a pointer to it.
    """

    name: str
    integer: IntegerType | None = None
    bits: int | None = None
    record: RecordType | None = None
    pointers: int = 0
    dims: tuple[SymbolicInt, ...] = ()
    arguments: tuple[Any, ...] = ()
    reference: str = ""  # & or &&
    const: bool = False
    unbound: bool = False  # a template parameter without an argument, or a type that could not be computed

    @property
    def open(self) -> bool:
        """Whether only its name is known: auto, or a template parameter."""
        return not self.bits and self.integer is None and self.record is None and not self.pointers

    def __str__(self) -> str:
        arguments = f"<{', '.join(map(shorten_name, self.arguments[:8]))}>" if self.arguments else ""
        return (self.name + arguments)[:MOST_NAME] + "*" * self.pointers


VOID = ResolvedType("void", None, 8)


def find_element_type(name: str) -> ResolvedType | None:
    """Find a non-integer type of known size: a tensor's element type, or a handle that programs only pass on."""
    last = name.split("::")[-1]
    bits = ELEMENT_BITS.get(last) or 8 * OPAQUE_BYTES.get(last, 0)
    return ResolvedType(name, None, bits) if bits else None


def can_be_element(kind: ResolvedType) -> bool:
    """Return whether a tensor may have elements of a type: not pointers, structs or handles."""
    known = kind.integer is not None or kind.name.split("::")[-1] in ELEMENT_BITS
    return bool(kind.bits) and known and not kind.pointers and kind.record is None


@dataclass(frozen=True, slots=True)
class RecordField:
    """A member of a struct kept as bits: its first bit, width in bits and type; `inner` if it is a struct itself."""

    low: int
    width: int
    integer: IntegerType | None
    inner: RecordType | None = None
    count: int = 0  # items, if it is an array


@dataclass(eq=False, slots=True)
class RecordType:
    """A struct, class or union.

    fields, bits: its layout if every member is an integer or such a struct, else None. members: its members and those
    of its bases; homes: the scope that each was written in. methods: by name, the functions of the class that declares
    the name. hidden: data members of bases that a derived class redeclares. template, arguments: what it is an instance
    of.
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
    dependent: set[str] = field(default_factory=set)  # members of bases that depend on its template parameters
    template: Any = None
    arguments: tuple[Any, ...] = ()
    python: bool = False
    polymorphic: bool = False
    library: tuple[ResolvedType, ...] = ()  # bases of the standard library
    overlaid: set[str] = field(default_factory=set)  # members that share bytes in an unknown way
    begins: bool = False  # it, a member or a base has a constructor or a default member initializer
    copies: bool = False  # it, a member or a base defines a copy or move constructor
    assigns: bool = False  # it, a member or a base defines an assignment operator
    ends: bool = False  # it, a member or a base has a destructor with an effect
    opaque: bool = False  # a base is not in the text; its names hide those of the enclosing scopes
    of_std: bool = False  # that base is of the standard library

    @property
    def converts(self) -> bool:
        """Whether it has a conversion function."""
        return any(name.startswith("operator ") for name in self.methods)

    def has_virtual(self, name: str) -> bool:
        """Return whether the class or a base has a virtual function of this name."""
        overloads = self.methods.get(name)
        is_declared = overloads is not None and any(function.virtual for function in overloads.functions)
        return is_declared or any(base.has_virtual(name) for base in self.bases)

    def is_derived_from(self, other: RecordType) -> bool:
        """Return whether this record is `other` or is derived from it."""
        return self is other or any(base.is_derived_from(other) for base in self.bases)


@dataclass(eq=False, slots=True)
class ObjectValue:
    """An instance: bits in one cell, or a cell for each member."""

    record: RecordType
    store: Cell
    members: dict[str, Cell] = field(default_factory=dict)
    stored: bool = False  # not a temporary, so that another variable gets a copy
    dynamic: RecordType | None = None  # the class whose constructor or destructor is running
    derived: ObjectValue | None = None  # the object of a derived class whose base part this is
    loose: bool = False  # it may be the base part of an object of an unknown class

    def __str__(self) -> str:
        return self.record.name


@dataclass(frozen=True, slots=True)
class ObjectPart:
    """A member of an object that is kept as bits."""

    of: ObjectValue
    field: RecordField


@value_class(frozen=True, slots=True)
class Pointer:
    """A pointer: a byte address, and the type that it points to.

    dims: the inner sizes of an array of arrays. array: the array that it points into, if its items are known; at: the
    index of the item in units of `element`, None if unknown.
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
    """&variable, a pointer to a known place. element: the pointed-to type after a cast; at: the offset in elements."""

    place: Any
    element: ResolvedType | None = None
    at: SymbolicInt = field(default=SymbolicInt(0), compare=False)

    def __str__(self) -> str:
        return "&…"


@dataclass(frozen=True, slots=True)
class PointedPlace:
    """The memory that a pointer points to."""

    pointer: Pointer


@dataclass(frozen=True, slots=True)
class JointPlace:
    """Several places read and written as one integer, lowest bits first; widths: bits of each."""

    places: tuple[Any, ...]
    widths: tuple[int, ...]
    integer: IntegerType


@dataclass(frozen=True, slots=True)
class SplitPlace:
    """One of two places, depending on an undecided condition."""

    condition: str
    yes: Any
    no: Any
    born: int = field(default_factory=take_birth_number, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class OverlayPlace:
    """A member of a union of unknown layout, or a place inside one: writing it makes the other members unknown."""

    of: ObjectValue
    name: str
    place: Any


@dataclass(frozen=True, slots=True)
class BlurredPlace:
    """An unknown part of an object: reading gives an unknown value, writing makes the whole object unknown."""

    place: Any
    kind: ResolvedType | None = None
    born: int = field(default_factory=take_birth_number, compare=False, repr=False)


PLACES = (Cell, ObjectPart, PointedPlace, JointPlace, SplitPlace, BlurredPlace, OverlayPlace)


@dataclass(eq=False, slots=True)
class ArrayValue:
    cells: list[Cell]
    element: ResolvedType | None = None
    name: str = ""
    typed: Any = None  # the type T of T{…}
    inside: ArrayValue | None = None  # the array of which this is an item

    def __str__(self) -> str:
        if self.name or not self.cells:
            return self.name or f"{self.typed or ''}{{}}"
        return ("{" + ", ".join(shorten_name(c.value) for c in self.cells[:4]) + "}")[:MOST_NAME]


CALLED = "()"  # key in OpaqueValue.named for the called value, such as the CuTe tensor in tensor(_, _, 0)


@value_class(frozen=True, slots=True, eq=False)
class OpaqueValue:
    """A value of which only its text is known, or a call of a bodiless function."""

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
        """Compare by text: arguments may be nested very deeply."""
        return isinstance(other, OpaqueValue) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


class LostValue:
    """The value of memory that a store may have overwritten; the next load names it."""

    __slots__ = ()

    def __str__(self) -> str:
        return "?"


LOST = LostValue()


@dataclass(frozen=True, slots=True)
class FunctionSet:
    """The functions of one name, with their scope and the object of which they are methods.

    homes: the scope of each function, if they differ. captured: the variables that a lambda copied.
    """

    functions: tuple[tree.Function, ...]
    scope: NameScope
    this: Any = None
    templates: tuple[Any, ...] | None = None
    homes: tuple[NameScope, ...] = ()
    captured: NameScope | None = None
    constant: bool | None = None  # whether `this` is const, None if unknown
    direct: bool = False  # the call names the class, so no override is called

    def __str__(self) -> str:
        return self.functions[0].name

    def get_home(self, function: tree.Function) -> NameScope:
        """Return the scope in which one of these functions was written."""
        for candidate, scope in zip(self.functions, self.homes, strict=False):
            if candidate is function:
                return scope
        return self.scope

    def join_functions(self, other: FunctionSet) -> FunctionSet:
        """Join the functions of both."""
        own_homes = self.homes or (self.scope,) * len(self.functions)
        other_homes = other.homes or (other.scope,) * len(other.functions)
        more = [(f, s) for f, s in zip(other.functions, other_homes, strict=True) if f not in self.functions]
        functions = (*self.functions, *(f for f, _ in more))
        return FunctionSet(
            functions, self.scope, self.this, self.templates, (*own_homes, *(s for _, s in more)), self.captured
        )


@dataclass(frozen=True, slots=True)
class EitherFunction:
    """One of two functions, depending on an undecided condition: debug ? kernel<true> : kernel<false>."""

    condition: str
    yes: FunctionSet | EitherFunction
    no: FunctionSet | EitherFunction

    def __str__(self) -> str:
        return f"({self.condition} ? {self.yes} : {self.no})"


@dataclass(slots=True, eq=False)
class TemplateEntity:
    """A struct, alias or variable that may be a template.

    specials: explicit and partial specializations. outside: members that are defined outside the struct. meaning: the
    type of an alias without parameters, once resolved.
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
    """An enumeration. integer: its own integer type."""

    name: str
    scope: NameScope
    integer: IntegerType = INT

    @property
    def kind(self) -> ResolvedType:
        return ResolvedType(self.name, self.integer, self.integer.bits)


@dataclass(frozen=True, slots=True, eq=False)
class NamespaceValue:
    name: str
    scope: NameScope


@dataclass(frozen=True, slots=True)
class ReferredPlace:
    """The result of a function that returns a reference."""

    place: Any


class ParameterPack(tuple[Any, ...]):
    """A parameter pack of types or cells."""

    __slots__ = ()
