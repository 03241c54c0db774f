"""The value of an expression: C's conversions, pointers, structs and calls over values that may be symbols."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from layouts.reader.code import tree, word
from layouts.reader.code.calls import Calls
from layouts.reader.code.ctype import INT, PYTHON, ULONG, CType
from layouts.reader.code.finding import Made
from layouts.reader.code.known import CONSTANTS, MEMBERS, OF_DESCRIPTOR
from layouts.reader.code.naming import Naming
from layouts.reader.code.operators import Deref, Operators
from layouts.reader.code.values import (
    UNKNOWN,
    VOID,
    Address,
    Array,
    Cell,
    Closure,
    Enumeration,
    Kind,
    Object,
    Part,
    Pointer,
    Scope,
    Template,
    Term,
    moved,
    number,
    short,
    size_bytes,
    unsized,
)
from layouts.reader.code.word import Int, Span, free, symbol

MOST_KEPT = 64  # items of an array that is kept with a call
MOST_DEEP = 3  # objects in objects that are copied


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


class Expressions(Calls, Naming, Operators):
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
        """A call the text has no body of."""
        if len(self.made) < 400:
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
                if isinstance(given, Int) and (made.pointers or (one.pointer and made.whole)):
                    given = self.pointed(given, _pointee(made) or VOID, cast=True) or given
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

    def key(self, value: Any) -> Any:
        return value.known if isinstance(value, Int) and value.known is not None else str(value)

    # names -----------------------------------------------------------------------------------------------------------

    def named(self, one: tree.Name | tree.Type, scope: Scope) -> Any:
        if isinstance(one, tree.Type) and (one.pointers or one.dims or one.reference):
            return self.kind(one, scope)
        found = self.resolve(one.path, scope)
        if isinstance(found, Cell):
            return self.read(found)
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

    def read(self, cell: Cell) -> Any:
        if isinstance(cell.value, Array) or not isinstance(cell.value, list):
            return cell.value
        return cell.value

    # places ----------------------------------------------------------------------------------------------------------

    def place(self, one: tree.Expression, scope: Scope) -> Any:
        """What an expression names: a cell, a part of an object, what a pointer points to; else its value."""
        match one:
            case tree.Name() | tree.Type():
                found = self.resolve(one.path, scope)
                return found if isinstance(found, Cell | Part | Enumeration) else self.named(one, scope)
            case tree.Member(value=inner, name=name):
                whole = self.place(inner, scope)
                if name in OF_DESCRIPTOR and not self.python:
                    whole = self.described(inner, name, whole, scope)
                return self.member(whole, name, one.span, one.templates)
            case tree.Index(value=inner, indices=indices):
                whole = self.place(inner, scope)
                for index in indices:
                    whole = self._indexed(whole, self.value(index, scope), one)
                return whole
            case tree.Unary(op="*", value=inner):
                value = self.value(inner, scope)
                if isinstance(value, Address):
                    return value.place
                return Deref(value) if isinstance(value, Pointer) else value
            case _:
                return self.value(one, scope)

    def load(self, place: Any, at: tree.Expression) -> Any:
        """What stands in a place."""
        if isinstance(place, Cell):
            return self.read(place)
        if isinstance(place, Part):
            if place.field.inner is not None or place.field.count:
                return place
            store = place.of.store.value
            kind = place.field.whole or ULONG
            if place.field.width == store.type.bits and not place.field.low:
                return word.convert(store, kind)
            return word.extracted(store, place.field.low, place.field.width, kind)
        if isinstance(place, Deref):
            element = place.pointer.element
            text = self.words(at)
            if element is not None and element.whole is not None and not element.pointers:
                return free(text, element.whole)
            if element is not None and element.pointers:
                return Pointer(symbol(text), _pointee(element))
            return Term(text, element, span=at.span)
        return place

    def _indexed(self, whole: Any, index: Any, at: tree.Index) -> Any:
        at_number = number(index)
        value = whole.value if isinstance(whole, Cell) else whole
        if isinstance(value, Array) and at_number is not None:
            if at_number.known is not None and 0 <= at_number.known < len(value.cells):
                return value.cells[at_number.known]
            if at_number.known is not None and self.python and -len(value.cells) <= at_number.known < 0:
                return value.cells[at_number.known]
            value = self.decayed(value)
        if isinstance(value, dict):
            return value.get(self.key(index), Term(self.words(at), span=at.span))
        if isinstance(value, Part) and value.field.count and at_number is not None and at_number.known is not None:
            one = value.field.width // value.field.count
            low = value.field.low + one * (at_number.known % value.field.count)
            return Part(value.of, type(value.field)(low, one, value.field.whole, value.field.inner))
        if isinstance(value, Pointer) and at_number is not None:
            there = moved(value, at_number)
            if there.dims:
                return Pointer(there.base, there.element, there.dims[1:], there.shared)
            return Deref(there)
        if isinstance(value, Address) and at_number is not None and at_number.known == 0:
            return value.place
        if isinstance(value, Deref) and value.pointer.element is not None and value.pointer.element.open:
            value = Term(self.words(at.value))  # buf[stage][k] of an undeclared buf: each buf[stage] is a pointer
        if at_number is not None and not self.python and isinstance(value, Term):
            known = value.kind if value.kind and value.kind.bits else unsized(value.text)
            base = symbol(value.text) + word.times(at_number, size_bytes(known)).linear()
            return Deref(Pointer(base, known))
        return Term(self.words(at), span=at.span)

    def decayed(self, array: Array) -> Pointer:
        return Pointer(symbol(array.name or "{…}"), array.element)

    def _address(self, one: tree.Expression, scope: Scope) -> Any:
        place = self.place(one, scope)
        if isinstance(place, Deref):
            return place.pointer
        if isinstance(place, Cell) and isinstance(place.value, Array) and place.value.name:
            return self.decayed(place.value)
        if isinstance(one, tree.Index) and isinstance(place, Cell):
            whole = self.place(one.value, scope)
            value = whole.value if isinstance(whole, Cell) else whole
            offset = number(self.value(one.indices[0], scope)) if len(one.indices) == 1 else None
            if isinstance(value, Array) and value.name and offset is not None and not isinstance(place.value, Object):
                return moved(self.decayed(value), offset)
        if isinstance(place, Pointer):  # &array[i] of an array of arrays
            return place
        if isinstance(place, Cell | Part):
            return Address(place)
        return Pointer(symbol(f"&{place}")) if isinstance(place, Term) else place

    def member(self, whole: Any, name: str, span: Span, templates: Any = None) -> Any:
        """whole.name or whole->name."""
        value = whole.value if isinstance(whole, Cell) else whole
        if isinstance(value, Address):
            value = value.place.value if isinstance(value.place, Cell) else value.place
        if isinstance(value, Part) and value.field.inner is not None:
            inner = value.field.inner
            found = (inner.fields or {}).get(name)
            if found is not None:
                low = value.field.low + found.low
                return Part(value.of, type(found)(low, found.width, found.whole, found.inner, found.count))
        if isinstance(value, Object):
            record = value.record
            if name in value.members:
                return value.members[name]
            if record.fields and name in record.fields:
                return Part(value, record.fields[name])
            if name in record.methods:
                return Closure(tuple(record.methods[name]), record.scope, value, templates)
            found_static = record.scope.names.get(name)
            if found_static is not None:
                return self.forced(record.scope, name)
            if self.python:
                made = value.members[name] = Cell(Term(f"{value.store.name or record.name}.{name}"), name=name)
                return made
            return Term(f"{value.store.name or record.name}.{name}", span=span)
        if isinstance(value, Kind) and value.record is not None:
            return self.forced(value.record.scope, name)
        if isinstance(value, Enumeration):
            return value.scope.names.get(name) or Term(f"{value.name}.{name}", span=span)
        if isinstance(value, Template):
            made_kind = self.kind(tree.Type(((value.decl.name, None),)), value.scope)
            return self.member(made_kind, name, span) if made_kind.record else Term(f"{value.decl.name}.{name}")
        if name in CONSTANTS:
            return Int(CONSTANTS[name], INT, origin=(span,))
        if self.python and isinstance(value, Int) and name in ("value", "to", "ir_value", "item"):
            return value
        kind: Kind | None = None
        text = ""
        if isinstance(value, Deref):
            kind, text = value.pointer.element, str(value.pointer.base)
        elif isinstance(value, Pointer):
            kind, text = value.element, str(value.base)
        elif isinstance(value, Term):
            kind, text = value.kind, value.text
        record_of = kind.record if kind else None
        if record_of is not None:
            if name in record_of.methods:
                return Closure(tuple(record_of.methods[name]), record_of.scope, Term(text, kind), templates)
            if name in record_of.members:
                declared = record_of.members[name]
                member_kind = self.kind(declared.type, record_of.scope) if declared.type else None
                return self.symbolic(member_kind, f"{text}.{name}")
            if name in record_of.scope.names:
                return self.forced(record_of.scope, name)
        return Term(f"{text or value}.{name}", head=name, span=span, arguments=(value,))

    # stores ----------------------------------------------------------------------------------------------------------

    def _assign(self, one: tree.Assign, scope: Scope) -> Any:
        if isinstance(one.target, tree.Items):
            value = self.value(one.value, scope)
            for n, (_, target) in enumerate(one.target.items):
                self.store(self._target(target, scope), self.item(value, n, one.span), one.span)
            return value
        place = self._target(one.target, scope)
        if one.op:
            old = self.load(place, one.target)
            if old is None:
                old = Int(0, PYTHON)
            if isinstance(place, Cell) and isinstance(old, Term) and old.head == "uninitialised":
                old = self.uninitialised(place, one.span)
            right = self.value(one.value, scope)
            declared = tree.Other("", span=place.span) if isinstance(place, Cell) and one.op in "|+^" else None
            value = self.operate(one.op, old, right, one, declared, one.value)
        else:
            kind = place.kind if isinstance(place, Cell) else None
            value = (
                self.initial(one.value, kind, scope, place.name if isinstance(place, Cell) else "")
                if isinstance(one.value, tree.Items)
                else self.value(one.value, scope)
            )
        self.store(place, value, one.span if one.op or not isinstance(place, Part) else one.value.span, one.span)
        return value

    def _target(self, target: tree.Expression, scope: Scope) -> Any:
        """The place an assignment writes to; a new variable in Python, and in a C snippet without its declaration."""
        if isinstance(target, tree.Name) and len(target.path) == 1:
            found = self.resolve(target.path, scope)
            outer = self.python and isinstance(found, Cell) and target.last not in self.local(scope).names
            if not isinstance(found, Cell | Part) or outer:
                home = self.local(scope)
                start = Term("", head="uninitialised") if not self.python else None
                cell = home.names[target.last] = Cell(start, None, target.last, target.span, len(self.frames))
                if outer and isinstance(found, Cell):
                    cell.value = found.value
                return cell
            return found
        return self.place(target, scope)

    def local(self, scope: Scope) -> Scope:
        """The scope new names of Python go to: the function's."""
        for one in scope.chain():
            if one.owner == "function" or one.parent is None:
                return one
        return scope

    def store(self, place: Any, value: Any, span: Span, whole: Span | None = None) -> None:
        if isinstance(place, Cell):
            old = place.value
            if isinstance(old, Object) and old.record.fields is not None and not isinstance(value, Object):
                given = number(value)
                if given is not None:
                    self.put(old.store, word.convert(given, old.store.value.type))
                    self.note(old.store, whole or span, place)
                    return
            if place.kind is not None:
                value = self.converted(value, place.kind, span, place.name)
            self.put(place, self.copied(value))
            self.note(place, whole or span)
        elif isinstance(place, Part):
            given = number(value)
            if given is None:
                given = free(str(value), UNKNOWN)
            self.overflow(place.field, given, span)
            if place.field.whole is not None and place.field.width == place.of.store.value.type.bits:
                made = word.convert(self.mark(given, span), place.of.store.value.type)
            else:
                given = self.mark(given, span) if place.field.width > 16 else given  # several fields at once
                made = word.inserted(place.of.store.value, given, place.field.low, place.field.width, span)
            self.put(place.of.store, made)
            self.note(place.of.store, whole or span, record=place.of.record.name)

    def put(self, cell: Cell, value: Any) -> None:
        """Write a cell, so that a branch not taken can be undone."""
        if self.journal is not None:
            self.journal.setdefault(id(cell), (cell, cell.value))
        cell.value = value

    def copied(self, value: Any, deep: int = 0) -> Any:
        """What an assignment keeps of a value: objects are copied in C."""
        if isinstance(value, Object) and not self.python:
            if deep > MOST_DEEP:
                return Term(short(value))
            return Object(
                value.record,
                Cell(value.store.value, value.store.kind, value.store.name),
                {name: Cell(self.copied(c.value, deep + 1), c.kind, c.name) for name, c in value.members.items()},
            )
        return value

    def symbolic(self, kind: Kind | None, name: str) -> Any:
        """A value of a type of which only its name is known."""
        if kind is None:
            return Term(name)
        if kind.dims:
            return Pointer(
                symbol(name), Kind(kind.name, kind.whole, kind.bits, kind.record, kind.pointers), kind.dims[1:]
            )
        if kind.pointers:
            return Pointer(symbol(name), _pointee(kind))
        if kind.whole is not None:
            return free(name, kind.whole)
        return Term(name, kind)

    merge: Any  # given by Machine


def _pointee(kind: Kind) -> Kind | None:
    if kind.pointers == 1 and kind.name in ("void", "auto", ""):
        return VOID
    return Kind(kind.name, kind.whole, kind.bits, kind.record, kind.pointers - 1, (), kind.arguments)


def _snapshot(value: Any, deep: int = 0) -> Any:
    """An array as it is now, whatever is put into it later; arrays in it no deeper than a tensor map has them."""
    if not isinstance(value, Array):
        return value
    if deep > 1:
        return Term(short(value))
    cells = [Cell(_snapshot(c.value, deep + 1), c.kind, c.name) for c in value.cells[:MOST_KEPT]]
    return Array(cells, value.element, value.name, value.typed)


def _lowest(value: int) -> int:
    """A literal's lowest bit where it is clearly a mask put in place (0x4000…), else 0."""
    return (value & -value).bit_length() - 1 if value >= 1 << 32 else 0
