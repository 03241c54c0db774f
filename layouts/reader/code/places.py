"""What an expression names: a cell, a part of an object, what a pointer points to; members, items and addresses."""

from __future__ import annotations

from typing import Any

from layouts.reader.code import tree, word
from layouts.reader.code.ctype import INT, ULONG
from layouts.reader.code.known import CONSTANTS, OF_DESCRIPTOR
from layouts.reader.code.operators import Deref
from layouts.reader.code.values import (
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
    size_bytes,
    unsized,
)
from layouts.reader.code.word import Int, Span, free, symbol


class Places:
    """Places of one evaluation."""

    python: bool

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
            return place.value
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
                return Pointer(symbol(text), pointee(element))
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
        return Pointer(symbol(array.name or "{…}"), array.element, array=array)

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
            if name in value.record.methods:
                return Closure(tuple(value.record.methods[name]), value.record.scope)
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

    # given by the classes below
    resolve: Any
    named: Any
    value: Any
    described: Any
    key: Any
    words: Any
    forced: Any
    kind: Any
    symbolic: Any


def pointee(kind: Kind) -> Kind | None:
    """The type that a pointer's points to."""
    if kind.pointers == 1 and kind.name in ("void", "auto", ""):
        return VOID
    return Kind(kind.name, kind.whole, kind.bits, kind.record, kind.pointers - 1, (), kind.arguments)
