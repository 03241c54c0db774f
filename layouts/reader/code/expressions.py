"""The value of an expression: C's conversions, pointers, structs and calls over values that may be symbols."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from layouts.reader.code import tree, word
from layouts.reader.code.assigning import Assigning
from layouts.reader.code.calls import Calls
from layouts.reader.code.ctype import INT, PYTHON, CType
from layouts.reader.code.finding import Made
from layouts.reader.code.known import CONSTANTS, MEMBERS
from layouts.reader.code.naming import Naming
from layouts.reader.code.operators import Operators
from layouts.reader.code.places import Places, pointee
from layouts.reader.code.values import (
    VOID,
    Array,
    Cell,
    Closure,
    Enumeration,
    Kind,
    Part,
    Pointer,
    Scope,
    Template,
    Term,
    short,
)
from layouts.reader.code.word import Int, Linear, Span

MOST_MADE = 2000  # calls without a body that are kept
MOST_ALIKE = 256  # of one name that says something of maps and descriptors, and of all other names together
_TELLING = re.compile(r"desc|mma|gemm|map|tma|tensor|encode", re.I)
MOST_KEPT = 64  # items of an array that is kept with a call


_ADDRESS = re.compile(r"addr|desc|enc|int|u32|u64|off|base|lo(?:w)?$|start", re.I)  # a number by its name


class BudgetError(Exception):
    """The budget of an evaluation is spent."""


@dataclass(slots=True)
class Frame:
    """A function being run: what its parameters were given, what it may return on conditions the text leaves open."""

    name: str
    span: Span
    entry: bool = False
    passed: dict[str, tree.Expression] = field(default_factory=dict)
    pending: list[tuple[str, Any]] = field(default_factory=list)


class Expressions(Calls, Naming, Operators, Places, Assigning):
    """Evaluation of expressions; Machine adds the statements."""

    def enter(
        self, name: str, span: Span, entry: bool = False, passed: dict[str, tree.Expression] | None = None
    ) -> None:
        self.frames.append(Frame(name, span, entry, passed or {}))

    def written(self, one: tree.Expression) -> tuple[Span, tuple[Span, ...]]:
        """(where an expression is written that only passes a parameter on: in the function that gave it, and so on
        outwards; the calls around that place, innermost first).
        """
        deep = len(self.frames) - 1
        while deep > 0:
            inner = one
            while isinstance(inner, tree.Cast | tree.Member):
                inner = inner.value
            given = self.frames[deep].passed.get(inner.last) if isinstance(inner, tree.Name) else None
            if given is None:
                break
            one = given
            deep -= 1
        return one.span, tuple(frame.span for frame in self.frames[deep:0:-1] if not frame.entry)

    def leave(self) -> None:
        self.frames.pop()

    def cast_int(self, value: Int, bits: int) -> Int:
        return word.convert(value, CType(f"uint{bits}_t", bits, False))

    def kept(self, term: Term) -> None:
        """A call the text has no body of. Those that may make a tensor map or take a descriptor are counted apart: they
        may come behind hundreds of others.
        """
        whose = term.head if _TELLING.search(term.head) or len(term.arguments) > 8 else ""
        own = self.often[whose] = self.often.get(whose, 0) + 1
        if own <= MOST_ALIKE and len(self.made) < MOST_MADE:
            term = replace(term, arguments=tuple(_snapshot(value) for value in term.arguments))
            self.ran += 1
            loops = tuple(one for one in self.loops if one[0])
            self.made.append(Made(term, loops, calls=self.within(), order=self.ran))

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0 or self.nested > 150:
            raise BudgetError

    def drop(self, one: tree.Expression, scope: Scope) -> None:
        """An expression for its effect."""
        if isinstance(one, tree.Unary) and one.op == "post":
            one = one.value
        self.value(one, scope)

    def value(self, one: tree.Expression, scope: Scope) -> Any:
        self.spend()
        self.nested += 1
        try:
            return self._value(one, scope)
        finally:
            self.nested -= 1

    def _value(self, one: tree.Expression, scope: Scope) -> Any:
        match one:
            case tree.Num(value=value, type=kind):
                return Int(value, PYTHON if self.python else kind, low=_lowest(value), origin=(one.span,))
            case tree.Text(value=value):
                return value
            case tree.Name() | tree.Type():
                return self.named(one, scope)
            case tree.Binary():
                return self._binary(one, scope)
            case tree.Assign():
                return self._assign(one, scope)
            case tree.Call():
                return self._call(one, scope)
            case tree.Member() | tree.Index():
                return self.load(self.place(one, scope), one)
            case tree.Cast(type=kind, value=inner):
                made = self.kind(kind, scope)
                if isinstance(inner, tree.Items):
                    return self.initial(inner, made, scope, "")
                given = self.value(inner, scope)
                if isinstance(given, Int):
                    given = self._cast(one, made, inner, given)
                return self.converted(given, made, one.span)
            case tree.Unary():
                return self._unary(one, scope)
            case tree.Choice():
                return self._choice(one, scope)
            case tree.Items():
                return self.initial(one, self.kind(one.type, scope) if one.type else None, scope, "")
            case tree.SizeOf(value=inner):
                return self._sizeof(inner, scope)
            case tree.Lambda(function=function):
                return Closure((function,), scope)
            case tree.Table(items=items):
                return {self.key(self.value(k, scope)): self.value(v, scope) for k, v in items}
            case tree.Other(text=text):
                return Term(text, span=one.span)
            case _:
                return Term(self.words(one), span=one.span)

    def _cast(self, one: tree.Cast, kind: Kind, inner: tree.Expression, given: Int) -> Any:
        """What a cast is given, where names that the text does not declare may be pointers: (uint64_t)(p + k) is an
        address in bytes or a pointer that counts elements.
        """
        if kind.pointers or (one.pointer and kind.whole):
            return self.pointed(given, pointee(kind) or VOID, cast=True) or given
        summed = isinstance(inner, tree.Binary) and inner.op in "+-"
        wide = kind.whole is not None and kind.whole.bits == 64
        if self.python or not summed or not wide or "cast<" in self.text[slice(*one.span)][:20]:
            return given  # static_cast takes no pointer
        found = self.pointed(given, VOID)
        if found is None or not (name := pointer_like(found.base)):
            return given
        self.widened.add(name)
        return found

    def key(self, value: Any) -> Any:
        return value.known if isinstance(value, Int) and value.known is not None else str(value)

    # names -----------------------------------------------------------------------------------------------------------

    def named(self, one: tree.Name | tree.Type, scope: Scope) -> Any:
        if isinstance(one, tree.Type) and (one.pointers or one.dims or one.reference):
            return self.kind(one, scope)
        found = self.resolve(one.path, scope)
        if isinstance(found, Cell):
            return found.value
        if isinstance(found, Part):
            return self.load(found, one)
        if isinstance(found, Template):
            return self.kind(tree.Type(one.path, span=one.span), scope)
        if isinstance(found, Enumeration):
            return Kind(found.name, INT, 32)
        if found is not None:
            return found
        last = one.path[-1][0] if one.path else ""
        if last in CONSTANTS:
            return Int(CONSTANTS[last], INT, origin=(one.span,))
        for scope_name, _ in one.path[:-1]:
            if (scope_name, last) in MEMBERS:
                return Int(MEMBERS[scope_name, last], INT, origin=(one.span,))
        made = self.builtin_kind(one.path, scope)
        if made is not None:
            return made
        return Term("::".join(name for name, _ in one.path), span=one.span)

    merge: Any  # given by Machine


def pointer_like(base: Linear) -> str:
    """The name of an address that counts sizeof(*name), of such as pointers have; "" for addresses and descriptors."""
    names = [name for name, factor in base.terms if factor == 1 and re.fullmatch(r"[A-Za-z_]\w*", name)]
    return next((name for name in names if not _ADDRESS.search(name)), "")


def _snapshot(value: Any, deep: int = 0) -> Any:
    """An array as it is now, whatever is put into it later; arrays in it no deeper than a tensor map has them."""
    if isinstance(value, Pointer) and value.array is not None:
        return replace(value, array=_snapshot(value.array, deep))
    if not isinstance(value, Array):
        return value
    if deep > 1:
        return Term(short(value))
    cells = [Cell(_snapshot(c.value, deep + 1), c.kind, c.name) for c in value.cells[:MOST_KEPT]]
    return Array(cells, value.element, value.name, value.typed)


def _lowest(value: int) -> int:
    """A literal's lowest bit where it is clearly a mask put in place (0x4000…), else 0."""
    return (value & -value).bit_length() - 1 if value >= 1 << 32 else 0
