"""What names and types mean, and what a value becomes when it is put into a type: scopes, templates, structs, casts."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from layouts.reader.code import tree
from layouts.reader.code.ctype import INT, PYTHON, ULONG, spelled
from layouts.reader.code.making import Making
from layouts.reader.code.records import layout_of
from layouts.reader.code.values import (
    UNKNOWN,
    Address,
    Array,
    Cell,
    Closure,
    Enumeration,
    Kind,
    Object,
    Pointer,
    Record,
    Scope,
    Template,
    Term,
    element_kind,
)
from layouts.reader.code.word import Int, free

_INTEGRAL = re.compile(r"_(\d+)$")
Path = tuple[tuple[str, tuple[tree.Expression, ...] | None], ...]


@lru_cache(maxsize=4096)
def _plain_kind(name: str, whole: bool) -> Kind | None:
    """The type of a name without arguments; whole: whether it may be an integer type."""
    integer = spelled(name) if whole else None
    if integer is not None:
        return Kind(name, integer, integer.bits)
    return element_kind(name) or (Kind(name) if _INTEGRAL.fullmatch(name) else None)


class Naming(Making):
    """Names, types and conversions of one evaluation."""

    python: bool
    left: int
    nested: int

    # names -----------------------------------------------------------------------------------------------------------

    def resolve(self, path: Path, scope: Scope) -> Any:
        """What a qualified name means; namespaces are passed over. None for what the text does not define."""
        found: Any = None
        for n, (name, given) in enumerate(path):
            if found is None:
                found = self._own(scope.find(name), scope, name)
                if found is None and n < len(path) - 1 and len(path) > 1:
                    continue
            else:
                found = self._below(found, name)
            if found is None:
                return None
            if given is not None and isinstance(found, Template):
                found = self.applied(found, [self.value(one, scope) for one in given])
            elif given is not None and isinstance(found, Closure):
                found = Closure(
                    found.functions, found.scope, found.this, tuple(self.value(one, scope) for one in given)
                )
        return found

    def _own(self, found: Any, scope: Scope, name: str) -> Any:
        if isinstance(found, Later):
            for one in scope.chain():
                if name in one.names:
                    return self.forced(one, name)
        return found

    def _below(self, found: Any, name: str) -> Any:
        if isinstance(found, Cell):
            found = found.value
        if isinstance(found, Template):
            found = self.applied(found, [])
        if isinstance(found, Enumeration):
            return found.scope.names.get(name)
        if isinstance(found, Kind) and found.record is not None:
            record = found.record
            if name in record.methods:
                return Closure(tuple(record.methods[name]), record.scope)
            return self.forced(record.scope, name)
        if isinstance(found, Kind):
            return Term(f"{found}::{name}")
        if isinstance(found, Object | Term):
            return self.member(found, name, (0, 0))
        return None

    def later(self, member: tree.Declare, scope: Scope) -> Later:
        return Later(member, scope)

    def define_later(self, member: tree.Statement, scope: Scope) -> None:
        self.define(member, scope)

    def forced(self, scope: Scope, name: str) -> Any:
        """A static member, evaluated when it is asked for."""
        found = scope.names.get(name)
        if isinstance(found, Later):
            scope.names[name] = Cell(Term(name), name=name)
            member = found.decl
            kind = self.kind(member.type, scope) if member.type else None
            assert member.value is not None
            value = self.initial(member.value, kind, found.scope, name)
            if kind is not None and member.type and member.type.name != "auto":
                value = self.converted(value, kind, member.span, name)
            found = scope.names[name] = Cell(value, kind, name, member.span)
        return found

    # types -----------------------------------------------------------------------------------------------------------

    def kind(self, given: tree.Type, scope: Scope) -> Kind:
        """A type as it is here."""
        dims = tuple(
            Int(0, ULONG) if size is None else self.whole_number(self.value(size, scope)) for size in given.dims
        )
        base = self._base(given, scope)
        if not given.pointers and not dims and not given.reference:
            return base
        return Kind(
            base.name, base.whole, base.bits, base.record, base.pointers + given.pointers, (*dims, *base.dims),
            base.arguments, given.reference,
        )  # fmt: skip

    def _base(self, given: tree.Type, scope: Scope) -> Kind:
        if isinstance(given.body, tree.Struct):
            record = layout_of(self, Record(given.body.name, given.body, scope))  # type: ignore[arg-type]
            return Kind(given.body.name, record=record, bits=record.bits or None)
        if given.name == "decltype" and given.path[-1][1]:
            value = self.value(given.path[-1][1][0], scope)
            known = self.kind_of(value) if not isinstance(value, Term) else None
            return known or Kind("decltype", arguments=(value,))
        found = self.resolve(given.path, scope)
        if isinstance(found, Cell):
            found = found.value
        if isinstance(found, Kind):
            return found
        if isinstance(found, Template):
            made = self.applied(found, [])
            if isinstance(made, Kind):
                return made
        if isinstance(found, Enumeration):
            return Kind(found.name, INT, 32)
        return self.builtin_kind(given.path, scope) or Kind("::".join(name for name, _ in given.path))

    def builtin_kind(self, path: Path, scope: Scope) -> Kind | None:
        """An integer or element type, and cute's C<4>, _4, half_t …"""
        if not path:
            return None
        name, given = path[-1]
        if given is not None:
            return Kind(name, arguments=tuple(self.value(one, scope) for one in given))
        return _plain_kind(name, len(path) < 3)

    def named_kind(self, name: str, scope: Scope) -> Kind | None:
        found = self.resolve(((name, None),), scope)
        made = self.applied(found, []) if isinstance(found, Template) else found
        return made if isinstance(made, Kind) else None

    def kind_of(self, value: Any) -> Kind | None:
        """The type of a value, as far as templates need it."""
        if isinstance(value, Int):
            return Kind(value.type.name, value.type, value.type.bits)
        if isinstance(value, Object):
            return Kind(value.record.name, record=value.record, bits=value.record.bits or None)
        if isinstance(value, Pointer) and value.element is not None:
            e = value.element
            return Kind(e.name, e.whole, e.bits, e.record, e.pointers + 1)
        if isinstance(value, Term):
            return value.kind or Kind(value.text)
        return value if isinstance(value, Kind) else None

    def applied(self, template: Template, given: list[Any]) -> Any:
        """A struct or alias with its template arguments."""
        decl = template.decl
        inner = Scope(template.scope)
        for n, parameter in enumerate(template.parameters):
            inner.names[parameter.name] = self._argument(parameter, given[n] if n < len(given) else None, inner)
        if isinstance(decl, tree.Alias):
            if id(decl) in self.opening:  # using barrier = cuda::barrier<…>: what it names is not in the text
                return Kind(decl.name)
            self.opening.add(id(decl))
            try:
                found = self.resolve(decl.type.path, inner)
                if isinstance(found, Template) and not decl.type.pointers and not decl.type.dims:
                    return self.applied(found, [])
                return self.kind(decl.type, inner)
            finally:
                self.opening.discard(id(decl))
        key = (id(decl), tuple(id(g.record) if isinstance(g, Kind) and g.record else str(g) for g in given))
        made = self.records.get(key)
        if made is None:
            made = self.records[key] = Record(decl.name, decl, inner)
            made.python = self.python
            layout_of(self, made)  # type: ignore[arg-type]
        return Kind(decl.name, record=made, bits=made.bits or None, arguments=tuple(given))

    def _argument(self, parameter: tree.Parameter, given: Any, scope: Scope) -> Any:
        """What a template's parameter is bound to: a type, or a cell with a value."""
        if given is None and parameter.default is not None:
            given = self.value(parameter.default, scope)
        if parameter.is_type or isinstance(given, Kind):
            if isinstance(given, Term):
                return given.kind or Kind(given.text)
            return given if given is not None else Kind(parameter.name)
        kind = self.kind(parameter.type, scope) if parameter.type else None
        if given is None:
            whole = kind.whole if kind and kind.whole else UNKNOWN
            given = free(parameter.name, whole)
        elif kind is not None and kind.whole is not None and not kind.pointers:
            given = self.converted(given, kind, parameter.span)
        return Cell(given, kind, parameter.name, parameter.span)

    def overload(self, closure: Closure, count: int) -> tree.Function:
        """The function of a name that takes so many arguments."""
        for function in closure.functions:
            least = sum(1 for p in function.parameters if p.default is None and not p.pack)
            packs = any(p.pack for p in function.parameters)
            if least <= count and (packs or count <= len(function.parameters)):
                return function
        return closure.functions[0]

    def bound(
        self, closure: Closure, function: tree.Function, given: list[Any], named: dict[str, Any], symbolic: bool = False
    ) -> Scope:
        """The scope of a call: template arguments given, deduced or free; parameters with their values."""
        outer = Scope(closure.scope)
        if isinstance(closure.this, Object):
            for name in (*(closure.this.record.fields or {}), *closure.this.members):
                outer.names[name] = self.member(closure.this, name, (0, 0))
            outer.names["this"] = Cell(closure.this, name="this")
        elif isinstance(closure.this, Term) and closure.this.kind and closure.this.kind.record:
            for name in closure.this.kind.record.members:
                outer.names[name] = Cell(self.member(closure.this, name, (0, 0)), name=name)
        scope = Scope(outer, "function")
        parameters = list(function.parameters)
        if self.python and closure.this is not None and parameters and parameters[0].name in ("self", "cls"):
            scope.names[parameters.pop(0).name] = Cell(closure.this, name="self")
        explicit = list(closure.templates or ())
        for n, template in enumerate(function.templates):
            value = explicit[n] if n < len(explicit) else self._deduced(template, parameters, given)
            if value is None and template.default is not None and symbolic:
                value = None if template.is_type else free(template.name, UNKNOWN)
            outer.names[template.name] = self._argument(template, value, outer)
        for n, parameter in enumerate(parameters):
            kind = self.kind(parameter.type, outer) if parameter.type is not None else None
            if parameter.pack:
                packed = Array([Cell(value) for value in given[n:]], None, "")
                scope.names[parameter.name] = Cell(packed, None, parameter.name)
                break
            if n < len(given):
                value = given[n]
            elif parameter.name in named:
                value = named[parameter.name]
            elif parameter.default is not None and not symbolic:
                value = self.value(parameter.default, outer)
            else:
                value = self._parameter(kind, parameter)
            scope.names[parameter.name] = self._passed(value, kind, parameter)
        return scope

    def _passed(self, value: Any, kind: Kind | None, parameter: tree.Parameter) -> Any:
        if kind is not None and kind.reference and isinstance(value, Address):
            return value.place
        if isinstance(value, Address) and kind is not None and kind.pointers and isinstance(value.place, Cell):
            return Cell(value, kind, parameter.name, parameter.span)
        if kind is not None and kind.name not in ("auto", ""):
            value = self.converted(value, kind, parameter.span, parameter.name)
        return Cell(self.copied(value), kind, parameter.name, parameter.span, len(self.frames))

    def _parameter(self, kind: Kind | None, parameter: tree.Parameter) -> Any:
        """A parameter nothing is given for."""
        if kind is not None and kind.record is not None and kind.record.fields is not None and kind.record.bits == 64:
            if kind.pointers:
                return Address(Cell(self.instance(kind.record, parameter.name), None, parameter.name))
            return self.instance(kind.record, parameter.name)
        if self.python:
            return free(parameter.name, PYTHON)
        if kind is not None and kind.reference and kind.whole is not None and kind.whole.bits == 64:
            return Int(0, kind.whole) if "desc" in parameter.name.lower() else free(parameter.name, kind.whole)
        return self.symbolic(kind, parameter.name)

    def _deduced(self, template: tree.Parameter, parameters: list[tree.Parameter], given: list[Any]) -> Any:
        for parameter, value in zip(parameters, given, strict=False):
            made = parameter.type
            if made is not None and len(made.path) == 1 and made.path[0] == (template.name, None):
                kind = self.kind_of(value)
                if kind is not None and made.pointers and kind.pointers >= made.pointers:
                    return Kind(kind.name, kind.whole, kind.bits, kind.record, kind.pointers - made.pointers)
                return kind if not made.pointers else None
        return None

    # given by the classes below
    define: Any
    copied: Any
    records: dict[Any, Record]
    opening: set[int]  # aliases whose meaning is being looked up


class Later:
    """A static member not yet evaluated."""

    __slots__ = ("decl", "scope")

    def __init__(self, decl: tree.Declare, scope: Scope) -> None:
        self.decl = decl
        self.scope = scope
