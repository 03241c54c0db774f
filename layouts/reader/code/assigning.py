"""What is written where: assignments, bit fields, copies of objects, and values of which only the name is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from layouts.reader.code import tree, word
from layouts.reader.code.ctype import PYTHON
from layouts.reader.code.operators import Deref
from layouts.reader.code.places import pointee
from layouts.reader.code.values import UNKNOWN, Cell, Kind, Object, Part, Pointer, Record, Scope, Term, number, short
from layouts.reader.code.word import Int, Span, free, symbol

MOST_DEEP = 3  # objects in objects that are copied


class Assigning:
    """Stores of one evaluation."""

    python: bool

    def _assign(self, one: tree.Assign, scope: Scope) -> Any:
        if isinstance(one.target, tree.Items):
            value = self.value(one.value, scope)
            for n, (_, target) in enumerate(one.target.items):
                self.store(self._target(target, scope), self.item(value, n, one.span), one.span)
            return value
        place = self._target(one.target, scope)
        if isinstance(place, Part) and place.field.inner is not None and isinstance(one.value, tree.Items):
            return self._braced(place, place.field.inner, one.value, scope)
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

    def _braced(self, place: Part, inner: Record, given: tree.Items, scope: Scope) -> Any:
        """Members of a struct of bit fields by `{…}`: by their names, else in order; the others are 0."""
        whole = Int(0, UNKNOWN)
        self.store(Part(place.of, replace(place.field, inner=None)), whole, given.span)
        for member, (key, value) in zip(inner.members, given.items, strict=False):
            self.store(self.member(place, key or member, value.span), self.value(value, scope), value.span)
        return place

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
        elif isinstance(place, Deref) and place.pointer.array is not None and place.pointer.base.terms[1:]:
            array = place.pointer.array  # box[rank - 1 - i] = …: which item is open, so all of them are
            for n, cell in enumerate(array.cells):
                if isinstance(cell.value, Int):
                    self.put(cell, free(f"{array.name}[{n}]", cell.value.type))

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
            return Pointer(symbol(name), pointee(kind))
        if kind.whole is not None:
            return free(name, kind.whole)
        return Term(name, kind)

    # given by the classes below
    value: Any
    member: Any
    item: Any
    load: Any
    place: Any
    resolve: Any
    uninitialised: Any
    operate: Any
    initial: Any
    converted: Any
    overflow: Any
    mark: Any
    note: Any
    frames: Any
    journal: Any
