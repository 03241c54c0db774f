"""What an evaluated expression can be beside an integer: pointers, objects, arrays, types, functions and unknown terms;
and the scopes and cells that hold them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from layouts.reader.code import tree
from layouts.reader.code.ctype import ELEMENT_BITS, LONG, ULONG, CType
from layouts.reader.code.word import Int, Linear, Span, free, of_linear, symbol, times
from layouts.table.descriptors import START

SHARED_BITS = START.mask.bit_length()  # of a shared-window address
UNKNOWN = CType("unknown", 64, True)  # of a symbol whose declaration the text does not have


MOST_POINTER = 60  # characters of a pointer's name, inside sizeof(*…)
MOST_NAME = 120  # characters of what an unknown value is called


def short(value: Any) -> str:
    """A value's name, cut: values hold one another, and their names must not grow with them."""
    if isinstance(value, Kind) and value.arguments:
        return value.name[:36] + "<…>" + "*" * value.pointers
    text = f'"{value}"' if isinstance(value, str) else "{…}" if isinstance(value, Array) else str(value)
    return text if len(text) <= 40 else text[:39] + "…"


@dataclass(slots=True)
class Cell:
    """A variable. Writes go through Machine.put, which can take them back."""

    value: Any
    kind: Kind | None = None
    name: str = ""
    span: Span = (0, 0)
    frame: int = 0


class Scope:
    """Names of one block, function, struct or text; looks in its parent for what it lacks."""

    __slots__ = ("names", "owner", "parent")

    def __init__(self, parent: Scope | None = None, owner: Any = None) -> None:
        self.parent = parent
        self.names: dict[str, Any] = {}
        self.owner = owner

    def find(self, name: str) -> Any:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def chain(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


@dataclass(frozen=True, slots=True)
class Kind:
    """A resolved type. whole: of an integer; bits: of a value, None where unknown; record: of a struct."""

    name: str
    whole: CType | None = None
    bits: int | None = None
    record: Record | None = None
    pointers: int = 0
    dims: tuple[Int, ...] = ()
    arguments: tuple[Any, ...] = ()
    reference: bool = False

    @property
    def open(self) -> bool:
        """Whether nothing is known of it but its name: a template's type, auto."""
        return not self.bits and self.whole is None and self.record is None and not self.pointers

    def __str__(self) -> str:
        given = f"<{', '.join(map(short, self.arguments[:8]))}>" if self.arguments else ""
        return (self.name + given)[:MOST_NAME] + "*" * self.pointers


VOID = Kind("void", None, 8)


def element_kind(name: str) -> Kind | None:
    bits = ELEMENT_BITS.get(name.split("::")[-1])
    return Kind(name, None, bits) if bits else None


@dataclass(frozen=True, slots=True)
class Field:
    """A member of a struct kept as bits: where it starts, its width, its type; `inner` where it has members itself."""

    low: int
    width: int
    whole: CType | None
    inner: Record | None = None
    count: int = 0  # of an array


@dataclass(eq=False, slots=True)
class Record:
    """A struct or union. fields and bits: its layout, where every member is an integer or such a struct; else None."""

    name: str
    decl: tree.Struct | None
    scope: Scope
    fields: dict[str, Field] | None = None
    bits: int = 0
    align: int = 8
    members: dict[str, tree.Declare] = field(default_factory=dict)
    methods: dict[str, list[tree.Function]] = field(default_factory=dict)
    python: bool = False


@dataclass(eq=False, slots=True)
class Object:
    """An instance: bits in one cell, or a cell a member."""

    record: Record
    store: Cell
    members: dict[str, Cell] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.record.name


@dataclass(frozen=True, slots=True)
class Part:
    """A member of an object that is kept as bits."""

    of: Object
    field: Field


@dataclass(frozen=True, slots=True)
class Pointer:
    """base in bytes; `element` it points to; dims: sizes below it, of an array of arrays."""

    base: Linear
    element: Kind | None = None
    dims: tuple[Int, ...] = ()
    shared: bool = False  # a shared-window address already
    array: Array | None = field(default=None, compare=False)  # that it points into, where its items are known

    def __str__(self) -> str:
        return str(self.base)


@dataclass(frozen=True, slots=True)
class Address:
    """&variable: what stands behind the pointer is known."""

    place: Any

    def __str__(self) -> str:
        return "&…"


@dataclass(eq=False, slots=True)
class Array:
    cells: list[Cell]
    element: Kind | None = None
    name: str = ""
    typed: Any = None  # T of T{…}

    def __str__(self) -> str:
        if self.name or not self.cells:
            return self.name or f"{self.typed or ''}{{}}"
        return ("{" + ", ".join(short(c.value) for c in self.cells[:4]) + "}")[:MOST_NAME]


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """Something of which only its text is known, or a call of a function that the text does not have."""

    text: str
    kind: Kind | None = None
    head: str = ""
    arguments: tuple[Any, ...] = ()
    named: tuple[tuple[str, Any], ...] = ()
    span: Span = (0, 0)

    def __post_init__(self) -> None:
        if len(self.text) > MOST_NAME:
            object.__setattr__(self, "text", self.text[: MOST_NAME - 1] + "…")

    def __eq__(self, other: object) -> bool:
        """By text: its arguments may hold one another many times over."""
        return isinstance(other, Term) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Closure:
    """Functions of one name, with the scope they were written in, and the object they are a method of."""

    functions: tuple[tree.Function, ...]
    scope: Scope
    this: Any = None
    templates: tuple[Any, ...] | None = None

    def __str__(self) -> str:
        return self.functions[0].name


@dataclass(frozen=True, slots=True)
class Template:
    """A struct or alias that may take arguments."""

    decl: tree.Struct | tree.Alias
    scope: Scope
    parameters: tuple[tree.Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class Enumeration:
    name: str
    scope: Scope


def size_bytes(kind: Kind | None, name: str = "") -> Int:
    """sizeof, a symbol where it is not known."""
    if kind is None:
        return free(f"sizeof({name or '?'})", ULONG, 16)
    if kind.pointers:
        one = Int(8, ULONG)
    elif kind.bits:
        one = Int(max(kind.bits // 8, 1), ULONG)
    else:
        one = free(f"sizeof({kind})", ULONG, 16)
    for dim in kind.dims:
        one = times(one, dim)
    return one


def unsized(name: str) -> Kind:
    """What a name points to that the text uses as a pointer and does not declare: an element of unknown size.

    >>> str(size_bytes(unsized("smem_a")))
    'sizeof(*smem_a)'
    """
    return Kind(f"*{name[:MOST_POINTER]}")


def moved(pointer: Pointer, by: Int, sign: int = 1) -> Pointer:
    """pointer + by elements."""
    size = size_bytes(pointer.element, f"*{pointer.base}" if pointer.element is None else "")
    for dim in pointer.dims:
        size = times(size, dim)
    amount = times(Int(by.const, LONG, by.pieces), size) if by.pieces else times(Int(by.const, LONG), size)
    base = pointer.base + amount.linear().scaled(sign)
    return Pointer(base, pointer.element, pointer.dims, pointer.shared, pointer.array)


def number(value: Any) -> Int | None:
    """A value as an integer; None for what has none (an object of many bits, a string)."""
    if isinstance(value, Int):
        return value
    if isinstance(value, Pointer):
        return of_linear(value.base, ULONG, SHARED_BITS if value.shared else 64)
    if isinstance(value, Part) and isinstance(value.of.store.value, Int):
        return value.of.store.value
    if isinstance(value, Object):
        return value.store.value if isinstance(value.store.value, Int) else None
    if isinstance(value, Term):
        kind = value.kind.whole if value.kind and value.kind.whole else UNKNOWN
        return free(value.text, kind)
    if isinstance(value, Array):
        inner = value.cells[0].value if len(value.cells) == 1 else None
        if value.typed is not None and inner is not None and not isinstance(inner, Array):
            return number(inner)
        return of_linear(symbol(value.name or "{…}"), ULONG)
    if isinstance(value, Address):
        return free("&object", ULONG)
    return None
