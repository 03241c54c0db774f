"""Pointers: what they point to, and memory that no variable of the text is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import LONG
from lanescope.reader.code import tree
from lanescope.reader.code.templates import same_type
from lanescope.reader.code.values import (
    VOID,
    Address,
    Array,
    Blurred,
    Cell,
    Closure,
    Deref,
    Kind,
    Object,
    Pointer,
    Referred,
    Term,
)
from lanescope.reader.code.views import bare_kind, viewed
from lanescope.reader.code.word import Int, Linear, Span, free, symbol

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def pointee_of(ev: Evaluator, value: Any, at: tree.Expression) -> Any:
    """What *value names."""
    if isinstance(value, Address):
        return ev.target(value)
    if isinstance(value, Array) and not ev.python:
        value = ev.decayed(value)
    if isinstance(value, Closure):
        return value
    if isinstance(value, Pointer):
        if value.dims and value.array is None:
            return Pointer(value.base, value.element, value.dims[1:], value.shared)
        return item_at(ev, value)
    if isinstance(value, Object):
        made = ev.operator("*", value, None, at)
        return made.place if isinstance(made, Referred) else made if made is not None else Term(ev.words(at))
    if isinstance(value, Int) and value.known is None:
        value = ev.pointed(value, VOID) or value
        if isinstance(value, Pointer):
            return Deref(value)
    return Term(f"*{value}")


def item_at(ev: Evaluator, pointer: Pointer) -> Any:
    """The place that a pointer points to."""
    array = pointer.array
    if array is None:
        return Deref(pointer)
    own, held = pointer.element, array.element
    if own is None or held is None or same_type(bare_kind(own), bare_kind(held)):
        at = pointer.at.known if pointer.at is not None else None
        if at is not None and 0 <= at < len(array.cells):
            return array.cells[at]
        return _beyond(array, at, pointer.element)
    return viewed(ev, Cell(array), pointer.element, pointer.at)


def _beyond(array: Array, at: int | None, element: Kind | None) -> Any:
    """The item of an array of arrays that lies behind its row's end; somewhere in all of it where not known."""
    root = array
    while root.inside is not None:
        root = root.inside
    cells = list(_flat(root))
    first = next((n for n, cell in enumerate(cells) if array.cells and cell is array.cells[0]), None)
    if at is not None and first is not None and root is not array and 0 <= first + at < len(cells):
        return cells[first + at]
    return Blurred(Cell(root), element)


def _flat(array: Array) -> Iterator[Cell]:
    """Yield the items of arrays in an array."""
    for cell in array.cells:
        if isinstance(cell.value, Array):
            yield from _flat(cell.value)
        else:
            yield cell


def target(ev: Evaluator, address: Address) -> Any:
    """The place that an address means, as the type that a cast gave it."""
    if address.element is None and address.at.known == 0:
        return address.place
    return viewed(ev, address.place, address.element or ev.kind_of(ev.load(address.place, tree.Other(""))), address.at)


def decayed(ev: Evaluator, array: Array) -> Pointer:
    """The pointer to an array's first item."""
    return Pointer(symbol(array.name or "{…}"), array.element, array=array, at=Int(0, LONG))


def pointee(kind: Kind) -> Kind | None:
    """The type that a pointer's points to."""
    if kind.pointers == 1 and kind.name in ("void", "auto", ""):
        return VOID
    return Kind(
        kind.name, kind.whole, kind.bits, kind.record, pointers=kind.pointers - 1, dims=(), arguments=kind.arguments
    )


# memory that no variable of the text is ---------------------------------------------------------------------------


def _memory_key(ev: Evaluator, pointer: Pointer) -> tuple[str, int]:
    """Return what tells places in memory apart: where, and how many bits."""
    kind = pointer.element
    return str(pointer.base), kind.bits or 0 if kind is not None and not kind.pointers else 64


def load_memory(ev: Evaluator, place: Deref, at: tree.Expression) -> Any:
    """Return what stands behind a pointer to no variable, a symbol that stays the same until it may be written."""
    known = ev.memory.get(_memory_key(ev, place.pointer))
    if known is not None:
        return known[1].value
    element = place.pointer.element
    text = ev.words(at)
    if ev.written_memory:
        text = ev.fresh(text)
    if element is not None and element.whole is not None and not element.pointers:
        made: Any = free(text, element.whole)
    elif element is not None and element.pointers:
        made = Pointer(symbol(text), pointee(element))
    else:
        return Term(text, element, span=at.span)
    ev.memory[_memory_key(ev, place.pointer)] = place.pointer, Cell(made, element, text)
    return made


def store_memory(ev: Evaluator, place: Deref, value: Any, span: Span) -> None:
    """Write through a pointer to no variable; what other pointers of the same name may mean is forgotten."""
    ev.written_memory = True
    pointer = place.pointer
    _forget_aliases(ev, pointer)
    key = _memory_key(ev, pointer)
    for other, (apart, cell) in list(ev.memory.items()):
        if other != key and _may_alias(pointer, apart):
            ev.put(cell, ev.symbolic(cell.kind, ev.fresh(cell.name)))
    name = next((term for term, factor in pointer.base.terms if factor == 1), str(pointer.base))
    known = ev.memory.get(key)
    if known is None:
        cell = Cell(ev.symbolic(pointer.element, ev.fresh(f"*{name}")), pointer.element, name, span)
        known = ev.memory[key] = pointer, cell
    element = pointer.element
    if element is not None and (element.whole is not None or element.pointers):
        value = ev.converted(value, element, span)
    ev.put(known[1], value)
    ev.note(known[1], span)


def _forget_aliases(ev: Evaluator, pointer: Pointer) -> None:
    """Forget the variables that a pointer to no variable may point to."""
    if not ev.python and any("::" in name for name, _ in pointer.base.terms) and ev.frames[-1].scope is not None:
        ev.forget_all(ev.frames[-1].scope)  # of a hidden member, which may point to any of them
    if any("(" in name for name, _ in pointer.base.terms):  # from a function: it may point to any variable
        ev.forget_globals()
    for escaped in list(ev.escaped.values()):
        ev.forget(escaped, integers=True)


def _may_alias(one: Pointer, two: Pointer) -> bool:
    """Whether two pointers may overlap: those made of the same names, unless they are a known distance apart."""
    gap: Linear = one.base + two.base.scaled(-1)
    if not gap.terms:
        sizes = [(p.element.bits or 64) // 8 if p.element is not None else 8 for p in (one, two)]
        return -sizes[0] < gap.const < sizes[1]
    return bool({name for name, _ in one.base.terms} & {name for name, _ in two.base.terms})
