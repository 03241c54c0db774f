"""What a value becomes in another type."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL, LONG, ULONG
from lanescope.reader.code import calls, tree, word
from lanescope.reader.code.making import constructed_by
from lanescope.reader.code.templates import same_type
from lanescope.reader.code.values import (
    VOID,
    Address,
    Array,
    Cell,
    Closure,
    Kind,
    Object,
    Part,
    Pointer,
    Record,
    Referred,
    Term,
    number,
    size_bytes,
    unsized,
)
from lanescope.reader.code.word import UNKNOWN, Int, Span, free, symbol, times

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

_NAMED = re.compile(r"smem|shared|ptr|buf|tile|^s?[AB]\b|^[ab]s?\b|(?<![a-z])s[A-Z]", re.I)  # what a pointer is called
_CONSTANT = re.compile(r"::|^[A-Z][A-Z0-9_]{2,}$|^k[A-Z]\w+$|\(")  # and what a constant or a call


def whole_number(ev: Evaluator, value: Any) -> Int:
    found = number(value)
    return found if found is not None else free(str(value), UNKNOWN)


def sliced_to(ev: Evaluator, value: Object, kind: Kind | None) -> Object:
    """An object as the base that a variable of a type gets a copy of."""
    record = kind.record if kind is not None and not kind.pointers else None
    if record is None or record is value.record or not record.copies or not value.record.descends(record):
        return value
    made = ev.upcast(value, record)
    return made if isinstance(made, Object) else value


def converted(ev: Evaluator, value: Any, kind: Kind, span: Span, name: str = "") -> Any:
    """A value put into a type."""
    if kind.dims:
        return value
    if kind.pointers:
        return _to_pointer(ev, value, kind)
    if kind.whole is not None:
        if isinstance(value, Object) and (value.record.fields is None or _converts(value.record)):
            value = ev.decay(value, kind)
        if isinstance(value, Part) and value.field.inner is not None and _converts(value.field.inner):
            value = ev.decay(ev.part_object(value), kind)
        given = number(value)
        if given is None or (isinstance(value, Array) and value.typed is None):
            return value
        if isinstance(value, Term) and value.kind is not None and value.kind.name in ("float", "double"):
            return free(f"({kind.whole.name}){value.text}", kind.whole)
        return ev.narrowed(given, kind.whole, span, name)
    if kind.record is not None and not isinstance(value, Object):
        return _to_record(ev, value, kind.record, name)
    if kind.record is not None and value.record is not kind.record and not kind.reference:
        return _sliced(ev, value, kind.record, name)
    if isinstance(value, Int) and kind.bits and kind.name in ("float", "double", "half", "__half"):
        return Term(f"({kind.name}){value}", kind)
    unknown = kind.open and not kind.arguments and not ev.python and kind.name not in ("auto", "", "decltype")
    unknown = unknown and not re.search(r"desc|64|word", kind.name, re.I)
    if unknown and isinstance(value, Int) and value.known is not None and not 0 <= value.known < 128:
        return Term(f"({kind}){value}"[:100], kind)
    if isinstance(value, Int) and kind.unbound and not (value.known is not None and 0 <= value.known < 128):
        return Term(f"({kind}){value}"[:100], kind)
    return value


def _to_record(ev: Evaluator, value: Any, record: Record, name: str) -> Any:
    given = number(value)
    ctors = record.methods.get(record.name)
    if ctors is not None and any(f.explicit for f in ctors.functions) and not isinstance(value, Term):
        kept = tuple(f for f in ctors.functions if not f.explicit)
        if not kept:
            return Term(f"{record.name}({value})"[:80], Kind(record.name, record=record))
        ctors = replace(ctors, functions=kept, homes=tuple(ctors.home(f) for f in kept))
        return constructed_by(ev, ev.instance(record, name), ctors, [value])
    if ctors is not None and any(f.body is not None for f in ctors.functions) and not isinstance(value, Term):
        return ev.constructed(ev.instance(record, name), [value])
    if given is not None and record.fields is not None and not isinstance(value, Term):
        made = ev.instance(record, name)
        made.store.value = word.convert(given, made.store.value.type)
        return made
    return value


def _sliced(ev: Evaluator, value: Object, record: Record, name: str) -> Any:
    """An object where one of another class is needed: its base's part, or what a constructor makes of it."""
    made = ev.instance(record, name)
    if value.record.descends(record) and record.copies and not value.record.hidden:
        ev.copy_into(made, record, replace(ev.argument_of_place(value), const=None, loose=True))
        return made
    if value.record.descends(record) and record.fields is None and not value.record.hidden:
        for member, cell in made.members.items():
            if member in value.members:
                ev.put(cell, ev.copied(value.members[member].value))
        return made
    ctors = record.methods.get(record.name)
    if ctors is not None and not value.record.descends(record):
        return ev.constructed(made, [value])
    return ev.forgotten(made)


def _to_pointer(ev: Evaluator, value: Any, kind: Kind) -> Any:
    element = replace(kind, pointers=kind.pointers - 1, reference="", dims=())
    if kind.pointers == 1 and kind.name == "void":
        element = VOID
    if isinstance(value, Address) and not ev.python:
        return _recast_address(ev, value, element)
    if isinstance(value, Pointer):
        keep = kind.name in ("auto", "")
        own = value.element if keep else element
        at = value.at if keep or own == value.element else _recast(value.at, value.element, own)
        return Pointer(value.base, own, value.dims if keep else (), value.shared, value.array, at)
    if isinstance(value, Int):
        return ev.pointed(value, element) or Pointer(value.linear(), element)
    if isinstance(value, Term):
        unsure = element.open and (not value.kind or value.kind.open) and not ev.python
        return Pointer(symbol(value.text), unsized(value.text) if unsure else element)
    if isinstance(value, Array) and (value.name or value.typed is None):
        made = ev.decayed(value)
        own = made.element if kind.name in ("auto", "") else element
        return replace(made, element=own)
    return value


def _recast_address(ev: Evaluator, value: Address, element: Kind) -> Any:
    """&variable as a pointer to another type."""
    if element.name in ("void", "auto", "") and not element.pointers:
        return value
    inner = ev.load(value.place, tree.Other(""))
    if isinstance(inner, Object) and element.record is not None and inner.record.descends(element.record):
        if inner.record is element.record:
            return replace(value, element=None) if value.at.known == 0 else value
        return Address(Cell(ev.upcast(inner, element.record), element))
    down = inner.whole if isinstance(inner, Object) and ev.casting else None
    if down is not None and element.record is not None and down.record.descends(element.record):
        same = down.record is element.record
        return Address(Cell(down if same else ev.upcast(down, element.record), element))
    own = value.element or ev.declared_kind(value.place, inner)
    bare = replace(element, const=False)
    if own is None or same_type(replace(own, const=False, reference=""), bare) is not False:
        return value
    at = _recast(value.at, own, bare)
    return Address(value.place, bare, at if at is not None else free("?", LONG))


def decay(ev: Evaluator, value: Object, kind: Kind) -> Any:
    """An object's conversion to an integer, where it has an operator for it: that of the very type, or the only
    one.
    """
    found: list[tuple[Closure, Kind]] = []
    for name, closure in value.record.methods.items():
        if name.startswith("operator ") and closure.functions[0].returns is not None:
            if not ev.casting and kind.whole is not BOOL and any(f.explicit for f in closure.functions):
                continue
            found.append((closure, ev.kind(closure.functions[0].returns, closure.home(closure.functions[0]))))
    exact = [closure for closure, target in found if target.whole == kind.whole]
    whole = [closure for closure, target in found if target.whole is not None and not target.pointers]
    chosen = exact if len(exact) == 1 else whole if len(whole) == 1 else []
    if not chosen:
        return Term(f"({kind}){value}") if found else value
    made = ev.call(replace(chosen[0], this=value), [], {}, (0, 0))
    return ev.load(made.place, tree.Other("")) if isinstance(made, Referred) else made


def part_object(ev: Evaluator, part: Part) -> Object:
    """A member that is a struct, as an object of its own."""
    inner = part.field.inner
    assert inner is not None
    made = ev.instance(inner, inner.name)
    made.store.value = word.extracted(part.of.store.value, part.field.low, part.field.width, made.store.value.type)
    return made


def shared_address(ev: Evaluator, value: Any) -> Any:
    """__cvta_generic_to_shared takes a pointer, so what it is given is one."""
    if isinstance(value, Address) and isinstance(value.place, Cell):
        ev.lent[f"&{value.place.name}"] = value.place
    return calls.shared_address(ev.pointed(value, VOID) or value if isinstance(value, Int) else value)


def pointed(ev: Evaluator, value: Int, element: Kind, cast: bool = False) -> Pointer | None:
    """name + n where a pointer is needed, and the text does not declare the name; None for anything else.

    C++ converts no other pointer and no integer to T*, so for a T* the name is a T* and n counts its elements. What
    void*, a template's T* or a cast is given may point to anything: n counts sizeof(*name).
    """
    line = value.plain
    if line is None or not value.pieces or value.pieces[0].width <= 32:
        return None
    names = [name for name, factor in line.terms if factor == 1 and name in ev.loose]
    names = [one for one in names if not _CONSTANT.search(one)] or names
    name = next((one for one in names if _NAMED.search(one)), names[0] if names else "")
    if not name:
        return None
    if element.bits and element.name != "void" and not element.pointers and not cast:
        size = size_bytes(element)
    else:
        size = size_bytes(unsized(name))
        if cast and element.bits and element.name != "void":
            ev.recast.add(name)
    base = symbol(name)
    for other, factor in line.terms:
        if other != name:
            base += times(free(other, ULONG), size).linear().scaled(factor)
    base += size.linear().scaled(line.const)
    return Pointer(base, unsized(name) if element.open else element)


def _recast(at: Int | None, old: Kind | None, new: Kind | None) -> Int | None:
    """A count of elements of one type, counted in another; None where it is no whole number."""
    if at is None or at.known is None:
        return None
    if at.known == 0:
        return at
    sizes = [size_bytes(kind).known if kind is not None else None for kind in (old, new)]
    if not sizes[0] or not sizes[1] or at.known * sizes[0] % sizes[1]:
        return None
    return Int(at.known * sizes[0] // sizes[1], LONG)


def _converts(record: Record) -> bool:
    return any(name.startswith("operator ") for name in record.methods)
