"""What a variable of a type holds, and what a value becomes when it is put into one."""

from __future__ import annotations

import re
from typing import Any

from layouts.reader.code import calls, tree, word
from layouts.reader.code.ctype import INT, ULONG, CType, spelled
from layouts.reader.code.values import (
    UNKNOWN,
    VOID,
    Array,
    Cell,
    Closure,
    Kind,
    Object,
    Pointer,
    Record,
    Scope,
    Term,
    number,
    size_bytes,
    unsized,
)
from layouts.reader.code.word import Int, Span, free, symbol, times

MOST_ITEMS = 256
_NAMED = re.compile(r"smem|shared|ptr|buf|tile|^s?[AB]\b|^[ab]s?\b|(?<![a-z])s[A-Z]", re.I)  # what a pointer is called
_CONSTANT = re.compile(r"::|^[A-Z][A-Z0-9_]{2,}$|^k[A-Z]\w+$|\(")  # and what a constant or a call
_INTEGRAL = re.compile(r"_(\d+)$")


class Making:
    """Objects and conversions of one evaluation."""

    python: bool

    def whole_number(self, value: Any) -> Int:
        found = number(value)
        return found if found is not None else free(str(value), UNKNOWN)

    def instance(self, record: Record, name: str) -> Object:
        """A new object: integers 0, other members symbols of their names."""
        bits = CType(record.name, record.bits or 64, False)
        made = Object(record, Cell(Int(0, bits), None, name or record.name, frame=len(self.frames)))
        if record.fields is None and not record.python:
            for member, declared in record.members.items():
                kind = self.kind(declared.type, record.scope) if declared.type else None
                if declared.value is not None:
                    value = self.initial(declared.value, kind, record.scope, member)
                else:
                    value = self.default(kind, f"{name}.{member}" if name else member)
                made.members[member] = Cell(value, kind, f"{name}.{member}" if name else member, declared.span)
        elif record.fields:
            for member, declared in record.members.items():
                given = number(self.value(declared.value, record.scope)) if declared.value is not None else None
                if given is not None and given.known and member in record.fields:
                    f = record.fields[member]
                    made.store.value = word.inserted(made.store.value, given, f.low, f.width, declared.span)
        return made

    def default(self, kind: Kind | None, name: str, symbolic: bool = False) -> Any:
        """What a variable holds that nothing was put into."""
        if kind is None:
            return Term(name)
        if kind.dims:
            element = Kind(kind.name, kind.whole, kind.bits, kind.record, kind.pointers)
            size = kind.dims[0].known
            if (
                len(kind.dims) == 1
                and size is not None
                and 0 < size <= 64
                and (kind.whole or kind.record)
                and not kind.pointers
            ):
                cells = [Cell(self.default(element, f"{name}[{n}]"), element, f"{name}[{n}]") for n in range(size)]
                return Array(cells, element, name)
            return Pointer(symbol(name), element, kind.dims[1:])
        if kind.record is not None and not kind.pointers:
            made = self.instance(kind.record, name)
            return self.constructed(made, []) if not symbolic else made
        if kind.whole is not None and not kind.pointers and not symbolic:
            return Term(name, kind, head="uninitialised")
        return self.symbolic(kind, name)

    def described(self, inner: tree.Expression, name: str, whole: Any, scope: Scope) -> Any:
        """A GmmaDescriptor that the text does not declare, or that a function without a body gives, as an object: its
        members say what it is. Its bits are symbols.
        """
        value = whole.value if isinstance(whole, Cell) else whole
        if not isinstance(value, Term) or not isinstance(inner, tree.Name):
            return whole
        halves = name in ("lo", "hi")
        kind = self.named_kind("SmemDescriptor" if halves else "GmmaDescriptor", scope)
        if kind is None or kind.record is None or (halves and not self._a_half(inner.last)):
            return whole
        if value.kind is not None and value.kind.name != kind.name:
            return whole
        made = self.instance(kind.record, inner.last)
        if value.head and value.head != "uninitialised":
            made.store.value = free(value.text, ULONG)
        if isinstance(whole, Cell):
            self.put(whole, made)
            return whole
        cell = self.local(scope).names[inner.last] = Cell(made, None, inner.last, inner.span, len(self.frames))
        return cell

    def _a_half(self, name: str) -> bool:
        """Whether name.lo is a descriptor's, and in a statement: a printout writes it as well."""
        return "desc" in name.lower() and ";" in self.text

    def construct(self, kind: Kind | None, given: list[Any], at: tree.Node, scope: Scope) -> Any:
        """T(a, b) and T x(a, b)."""
        if kind is None:
            return Term("")
        if kind.record is not None and not kind.pointers:
            if len(given) == 1 and isinstance(given[0], Object) and given[0].record is kind.record:
                return given[0]
            return self.constructed(self.instance(kind.record, ""), given)
        if kind.whole is not None or kind.pointers:
            return self.converted(given[0], kind, at.span) if given else self.default(kind, "")
        constant = self._integral(kind)
        if constant is not None:
            return constant
        return Array([Cell(value) for value in given], None, "", kind)

    def constructed(self, made: Object, given: list[Any]) -> Object:
        """An object after its constructor ran; without one that fits, members in order."""
        record = made.record
        fits = [
            f for f in record.methods.get(record.name if not record.python else "__init__", ())
            if sum(p.default is None for p in f.parameters) - record.python <= len(given) <= len(f.parameters)
            and not (len(given) == 1 and f.parameters[-1].type and f.parameters[-1].type.name == record.name)
        ]  # fmt: skip
        fits = [f for f in fits if not given or any(p.type for p in f.parameters) or record.python] or fits
        if fits:
            closure = Closure((fits[0],), record.scope, made)
            for name, values in fits[0].starts:
                scope = self.bound(closure, fits[0], given, {})
                value = self.value(values[0], scope) if values else Int(0)
                self.store(self.member(made, name, fits[0].span), value, fits[0].span)
            self.call(closure, given, {}, fits[0].span)
        elif given:
            one = number(given[0])
            if record.fields is not None and len(given) == 1 and one is not None and not _has_more(record):
                self.store(Cell(made), one, (0, 0))
            else:
                for name, value in zip(record.fields or made.members, given, strict=False):
                    self.store(self.member(made, name, (0, 0)), value, (0, 0))
        return made

    def _integral(self, kind: Kind) -> Int | None:
        """cute's static integers: _64{}, Int<64>{}, C<64>{}, integral_constant<int, 64>{}."""
        found = _INTEGRAL.fullmatch(kind.name)
        if found:
            return Int(int(found[1]), INT)
        if kind.name in ("Int", "C", "constant", "integral_constant", "Number") and kind.arguments:
            return number(kind.arguments[-1])
        return None

    def initial(self, one: tree.Expression, kind: Kind | None, scope: Scope, name: str) -> Any:
        """The value of an initialiser, {…} among them."""
        if not isinstance(one, tree.Items):
            return self.value(one, scope)
        if one.type is not None:  # auto x = T{…}
            kind = self.kind(one.type, scope)
        items = [(key, self.value(value, scope), value.span) for key, value in one.items[:MOST_ITEMS]]
        if kind is None:
            return Array([Cell(value, None, f"{name}[{n}]") for n, (_, value, _) in enumerate(items)], None, name)
        if kind.dims:
            element = Kind(kind.name, kind.whole, kind.bits, kind.record, kind.pointers)
            size = number(kind.dims[0])
            count = size.known if size is not None and size.known else len(items)
            cells = [
                Cell(self.converted(v, element, span), element, f"{name}[{n}]") for n, (_, v, span) in enumerate(items)
            ]
            whole = element.whole
            while len(cells) < min(count, MOST_ITEMS) and whole is not None:
                cells.append(Cell(Int(0, whole), element, f"{name}[{len(cells)}]"))
            return Array(cells, element, name)
        if kind.record is not None:
            made = self.instance(kind.record, name)
            if any(key for key, _, _ in items):
                for key, value, span in items:
                    self.store(self.member(made, key, span), value, span)
                return made
            return self.constructed(made, [value for _, value, _ in items])
        if kind.whole is not None or kind.pointers:
            return self.converted(items[0][1], kind, items[0][2]) if items else Int(0, kind.whole or ULONG)
        constant = self._integral(kind)
        if constant is not None and not items:
            return constant
        return Array([Cell(value) for _, value, _ in items], kind.arguments[0] if _element(kind) else None, name, kind)

    def converted(self, value: Any, kind: Kind, span: Span, name: str = "") -> Any:
        """A value put into a type."""
        if kind.dims:
            return value
        if kind.pointers:
            element = Kind(kind.name, kind.whole, kind.bits, kind.record, kind.pointers - 1, (), kind.arguments)
            if kind.pointers == 1 and kind.name == "void":
                element = VOID
            if isinstance(value, Pointer):
                keep = kind.name in ("auto", "")
                own = value.element if keep else element
                return Pointer(value.base, own, value.dims if keep else (), value.shared, value.array)
            if isinstance(value, Int):
                return self.pointed(value, element) or Pointer(value.linear(), element)
            if isinstance(value, Term):
                own = (
                    unsized(value.text)
                    if element.open and (not value.kind or value.kind.open) and not self.python
                    else element
                )
                return Pointer(symbol(value.text), own)
            if isinstance(value, Array) and value.name:
                return Pointer(symbol(value.name), element) if not (kind.whole or kind.name == "auto") else value
            return value
        if kind.whole is not None:
            if isinstance(value, Object) and value.record.fields is None:
                value = self.decay(value, kind)
            given = number(value)
            if given is None or (isinstance(value, Array) and value.typed is None):
                return value
            return self.narrowed(given, kind.whole, span, name)
        if kind.record is not None and not isinstance(value, Object):
            given = number(value)
            if given is not None and kind.record.fields is not None and not isinstance(value, Term):
                made = self.instance(kind.record, name)
                made.store.value = word.convert(given, made.store.value.type)
                return made
        return value

    def decay(self, value: Object, kind: Kind) -> Any:
        """An object's conversion to an integer, where it has an operator for it."""
        for name, functions in value.record.methods.items():
            if name.startswith("operator ") and spelled(name.removeprefix("operator ")):
                return self.call(Closure(tuple(functions), value.record.scope, value), [], {}, (0, 0))
        return value

    def shared_address(self, value: Any) -> Any:
        """__cvta_generic_to_shared takes a pointer, so what it is given is one."""
        return calls.shared_address(self.pointed(value, VOID) or value if isinstance(value, Int) else value)

    def pointed(self, value: Int, element: Kind, cast: bool = False) -> Pointer | None:
        """name + n where a pointer is needed, and the text does not declare the name; None for anything else.

        C++ converts no other pointer and no integer to T*, so for a T* the name is a T* and n counts its elements. What
        void*, a template's T* or a cast is given may point to anything: n counts sizeof(*name).
        """
        line = value.plain
        if line is None or not value.pieces or value.pieces[0].width <= 32:
            return None
        names = [name for name, factor in line.terms if factor == 1 and name in self.loose]
        names = [one for one in names if not _CONSTANT.search(one)] or names
        name = next((one for one in names if _NAMED.search(one)), names[0] if names else "")
        if not name:
            return None
        if element.bits and element.name != "void" and not element.pointers and not cast:
            size = size_bytes(element)
        else:
            size = size_bytes(unsized(name))
            if cast and element.bits and element.name != "void":
                self.recast.add(name)
        base = symbol(name)
        for other, factor in line.terms:
            if other != name:
                base += times(free(other, ULONG), size).linear().scaled(factor)
        base += size.linear().scaled(line.const)
        return Pointer(base, unsized(name) if element.open else element)

    # given by the classes below
    kind: Any
    value: Any
    bound: Any
    call: Any
    member: Any
    store: Any
    symbolic: Any
    narrowed: Any
    text: str
    named_kind: Any
    put: Any
    local: Any
    frames: list[Any]
    loose: set[str]
    recast: set[str]


def _has_more(record: Record) -> bool:
    """Whether the first member of a struct of integers is not the whole of it."""
    fields = record.fields or {}
    first = next(iter(fields.values()), None)
    named = record.decl is not None and not record.decl.union and not record.python
    return named and first is not None and len(fields) > 1 and first.width < record.bits


def _element(kind: Kind) -> bool:
    return (
        kind.name in ("array", "vector", "initializer_list", "Array")
        and bool(kind.arguments)
        and isinstance(kind.arguments[0], Kind)
    )
