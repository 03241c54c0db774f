"""Items of arrays and members of objects, by what the whole is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import INT, LONG, UINT
from lanescope.reader.code import tree, word
from lanescope.reader.code.known import BUILT_IN, CONSTANTS
from lanescope.reader.code.pointers import item_at
from lanescope.reader.code.values import (
    PLACES,
    Address,
    Array,
    Blurred,
    Cell,
    Deref,
    Enumeration,
    Field,
    Kind,
    Object,
    Overlay,
    Part,
    Pointer,
    Referred,
    Scope,
    Template,
    Term,
    moved,
    number,
    size_bytes,
    unsized,
)
from lanescope.reader.code.word import Int, Span, free, symbol

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def part_items(ev: Evaluator, part: Part) -> list[Part]:
    """The items of an array in a struct that is kept as bits."""
    one = part.field.width // part.field.count
    fields = [Field(part.field.low + n * one, one, part.field.whole, part.field.inner) for n in range(part.field.count)]
    return [Part(part.of, field) for field in fields]


# items -----------------------------------------------------------------------------------------------------------


def item_of(ev: Evaluator, whole: Any, index: Any, at: tree.Index, const: bool | None = None) -> Any:
    """whole[index]. const: whether the whole is, None where not known."""
    if isinstance(whole, Overlay):
        inner = item_of(ev, whole.place, index, at, const)
        return Overlay(whole.of, whole.name, inner) if isinstance(inner, PLACES) else inner
    value: Any = ev.load(whole, at.value) if isinstance(whole, PLACES) and not isinstance(whole, Deref) else whole
    if isinstance(value, Int) and isinstance(index, Array | Pointer) and not ev.python:
        value, index = index, value  # 1[array]
    if isinstance(value, Object) and not ev.python:
        made = ev.operator("[]", value, index, at, constant=const)
        if made is not None:
            return made.place if isinstance(made, Referred) else made
    if isinstance(value, dict):
        return value.get(ev.key(index), Term(ev.words(at), span=at.span))
    rule = _ITEMS.get(type(value))
    made = rule(ev, value, index, at) if rule is not None else None
    return made if made is not None else Term(ev.words(at), span=at.span)


def _item_of_array(ev: Evaluator, value: Array, index: Any, at: tree.Index) -> Any:
    """Return an item of an array; somewhere in it where the index is not known."""
    where = number(index)
    if where is None:
        return None
    count = len(value.cells)
    if where.known is not None and (-count if ev.python else 0) <= where.known < count:
        return value.cells[where.known]
    if not ev.python and where.known is None and value.cells:
        return Blurred(Cell(value), value.element)
    return _item_of_pointer(ev, ev.decayed(value), index, at)


def _item_of_part(ev: Evaluator, value: Part, index: Any, at: tree.Index) -> Any:
    """Return an item of an array in a struct that is kept as bits."""
    where, field = number(index), value.field
    if not field.count or where is None:
        return None
    if where.known is None or not 0 <= where.known < field.count:
        return Blurred(Cell(value.of), Kind("", field.whole))
    return ev.part_items(value)[where.known]


def _item_of_pointer(ev: Evaluator, value: Pointer, index: Any, at: tree.Index) -> Any:
    """Return what pointer + index points to."""
    where = number(index)
    if where is None:
        return None
    there = moved(value, where)
    if there.array is not None:
        return item_at(ev, there)
    if there.dims:
        return Pointer(there.base, there.element, there.dims[1:], there.shared)
    return Deref(there)


def _item_of_address(ev: Evaluator, value: Address, index: Any, at: tree.Index) -> Any:
    """Return what (&variable)[index] names."""
    where = number(index)
    if where is None:
        return None
    step = word.add(value.at, Int(where.const, LONG, where.pieces))
    return ev.target(replace(value, at=step))


def _item_of_memory(ev: Evaluator, value: Deref, index: Any, at: tree.Index) -> Any:
    """Return an item of what a pointer points to."""
    element = value.pointer.element
    if element is not None and element.open:  # buf[stage][k] of an undeclared buf: each buf[stage] is a pointer
        return _item_of_name(ev, Term(ev.words(at.value)), index, at)
    held = ev.load(value, at.value)
    if isinstance(held, Pointer):
        return item_of(ev, held, index, at)
    return _item_of_name(ev, held, index, at) if isinstance(held, Term) else None


def _item_of_name(ev: Evaluator, value: Term, index: Any, at: tree.Index) -> Any:
    """Return an item of what is known by its name alone, as of a pointer."""
    where = number(index)
    if where is None or ev.python:
        return None
    known = value.kind if value.kind and value.kind.bits else unsized(value.text)
    base = symbol(value.text) + word.times(where, size_bytes(known)).linear()
    return Deref(Pointer(base, known))


_ITEMS: dict[type[Any], Callable[[Evaluator, Any, Any, tree.Index], Any]] = {
    Array: _item_of_array,
    Part: _item_of_part,
    Pointer: _item_of_pointer,
    Address: _item_of_address,
    Deref: _item_of_memory,
    Term: _item_of_name,
}


# members ---------------------------------------------------------------------------------------------------------


def pointed_object(ev: Evaluator, whole: Any, at: tree.Member) -> Any:
    """What the left side of -> points to."""
    value = ev.load(whole, at.value) if isinstance(whole, PLACES) else whole
    if isinstance(value, Address):
        return ev.target(value)
    if isinstance(value, Pointer) and value.array is not None:
        return item_at(ev, value)
    if isinstance(value, Object) and "operator->" in value.record.methods:
        made = ev.call(replace(value.record.methods["operator->"], this=value), [], {}, at.span)
        return pointed_object(ev, ev.load(made, at), at)
    return whole


def qualified_member(ev: Evaluator, whole: Any, at: tree.Member, scope: Scope) -> Any:
    """object.Base::name: a function of the base; a member that no derived class hides."""
    value = ev.load(whole, at.value) if isinstance(whole, PLACES) else whole
    base = ev.resolve(at.owner, scope, at.span[0])
    record = base.record if isinstance(base, Kind) else None
    if not isinstance(value, Object) or record is None:
        return Term(ev.words(at), span=at.span)
    if at.name in record.methods:
        return replace(record.methods[at.name], this=value)
    if record is value.record or at.name not in value.record.hidden:
        return ev.member(whole, at.name, at.span)
    return Term(ev.words(at), span=at.span)


def member(ev: Evaluator, whole: Any, name: str, span: Span, templates: Any = None) -> Any:
    """whole.name or whole->name."""
    if isinstance(whole, Overlay):
        inner = ev.member(whole.place, name, span, templates)
        return Overlay(whole.of, whole.name, inner) if isinstance(inner, PLACES) else inner
    value = _whole_of(ev, whole, span)
    if isinstance(value, Object):
        return _object_member(ev, value, name, span, templates)
    if isinstance(value, Kind) and value.record is not None:
        own = value.record.methods.get(name)
        return own if own is not None else ev.forced(value.record.scope, name)
    if isinstance(value, Enumeration):
        return value.scope.names.get(name) or Term(f"{value.name}.{name}", span=span)
    if isinstance(value, Template):
        made_kind = ev.kind(tree.Type(((value.decl.name, None),)), value.scope)
        return ev.member(made_kind, name, span) if made_kind.record else Term(f"{value.decl.name}.{name}")
    found = _member_of_value(ev, value, name, templates)
    if found is not None:
        return found
    if name in CONSTANTS:
        return Int(CONSTANTS[name], INT, origin=(span,))
    return _unknown_member(ev, value, name, span, templates)


def _whole_of(ev: Evaluator, whole: Any, span: Span) -> Any:
    """Return what a place holds whose member is asked for; parts and memory stay places."""
    value = whole.value if isinstance(whole, Cell) else whole
    if isinstance(value, PLACES) and not isinstance(value, Part | Deref):
        value = ev.load(value, tree.Other("", span=span))
    if isinstance(value, Address):
        value = ev.target(value)
        value = value.value if isinstance(value, Cell) else value
    return value


_OF_NUMBERS = ("value", "to", "ir_value", "item")  # of CuTe DSL's numbers, which give the number


def _member_of_value(ev: Evaluator, value: Any, name: str, templates: Any) -> Any:
    """Return a member of a struct in a struct of bits, of a pair, or of a number of Python; None of other values."""
    if isinstance(value, Part) and value.field.inner is not None:
        inner = value.field.inner
        found = (inner.fields or {}).get(name)
        if found is not None:
            low = value.field.low + found.low
            return Part(value.of, Field(low, found.width, found.whole, found.inner, found.count))
        if name in inner.methods:
            return replace(inner.methods[name], this=value, templates=templates)
    if isinstance(value, Array) and value.typed is not None and name in ("first", "second") and len(value.cells) == 2:
        return value.cells[name == "second"]
    return value if ev.python and isinstance(value, Int) and name in _OF_NUMBERS else None


def _object_member(ev: Evaluator, value: Object, name: str, span: Span, templates: Any) -> Any:
    """Return a member of an object, or the function of its class."""
    record = value.record
    if name in value.members:
        cell = value.members[name]
        if name in record.overlaid:
            return Overlay(value, name, cell)
        return cell.value if isinstance(cell.value, PLACES) else cell
    if record.fields and name in record.fields:
        return Part(value, record.fields[name])
    if name in record.methods:
        return replace(record.methods[name], this=value, templates=templates)
    if record.scope.names.get(name) is not None:
        return ev.forced(record.scope, name)
    for base in record.bases:
        if base.scope.names.get(name) is not None:
            return ev.forced(base.scope, name)
    if ev.python:
        made = value.members[name] = Cell(Term(f"{value.store.name or record.name}.{name}"), name=name)
        return made
    whole = (value,) if record.opaque else ()
    return Term(f"{value.store.name or record.name}.{name}", head=name if whole else "", span=span, arguments=whole)


def _unknown_member(ev: Evaluator, value: Any, name: str, span: Span, templates: Any) -> Any:
    """A member of what is known by its name alone."""
    kind: Kind | None = None
    text = ""
    if isinstance(value, Deref):
        kind, text = value.pointer.element, str(value.pointer.base)
    elif isinstance(value, Pointer):
        kind, text = value.element, str(value.base)
    elif isinstance(value, Term):
        kind, text = value.kind, value.text
    if kind is not None and kind.record is not None:
        record = kind.record
        if name in record.methods:
            return replace(record.methods[name], this=Term(text, kind), templates=templates)
        if name in record.members:
            declared = record.members[name].type
            return ev.symbolic(ev.kind(declared, record.scope) if declared else None, f"{text}.{name}")
        if name in record.scope.names:
            return ev.forced(record.scope, name)
    if (text, name) in BUILT_IN and not ev.python:
        return free(f"{text}.{name}", UINT, BUILT_IN[text, name])
    return Term(f"{text or value}.{name}", head=name, span=span, arguments=(value,))
