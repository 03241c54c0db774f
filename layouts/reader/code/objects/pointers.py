"""Dereference pointers, and load and store memory outside the text's variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import LONG
from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.objects.views import strip_qualifiers, view_as_integer
from lanescope.reader.code.running.run_records import record_store
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt, make_free, make_symbol
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.templates import is_same_type
from lanescope.reader.code.values import (
    LOST,
    VOID,
    Address,
    ArrayValue,
    BlurredPlace,
    FunctionSet,
    ObjectValue,
    OpaqueValue,
    PointedPlace,
    Pointer,
    ReferredPlace,
    ResolvedType,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def evaluate_dereference(ev: Evaluator, value: Any, at: tree.Expression) -> Any:
    """Return the place of *value."""
    if isinstance(value, Address):
        return ev.find_target_place(value)
    if isinstance(value, ArrayValue) and not ev.python:
        value = ev.decay_array(value)
    if isinstance(value, FunctionSet):
        return value
    if isinstance(value, Pointer):
        if value.dims and value.array is None:
            return Pointer(value.base, value.element, value.dims[1:], value.shared)
        return find_item(ev, value)
    if isinstance(value, ObjectValue):
        result = ev.evaluate_operator("*", value, None, at)
        return (
            result.place
            if isinstance(result, ReferredPlace)
            else result
            if result is not None
            else OpaqueValue(ev.format_expression(at))
        )
    if isinstance(value, SymbolicInt) and value.known is None:
        value = ev.make_name_pointer(value, VOID) or value
        if isinstance(value, Pointer):
            return PointedPlace(value)
    return OpaqueValue(f"*{value}")


def find_item(ev: Evaluator, pointer: Pointer) -> Any:
    """Find the place of a pointer's target."""
    array = pointer.array
    if array is None:
        return PointedPlace(pointer)
    pointee, element = pointer.element, array.element
    if pointee is None or element is None or is_same_type(strip_qualifiers(pointee), strip_qualifiers(element)):
        at = pointer.at.known if pointer.at is not None else None
        if at is not None and 0 <= at < len(array.cells):
            return array.cells[at]
        return _find_item_beyond(array, at, pointer.element)
    return view_as_integer(ev, Cell(array), pointer.element, pointer.at)


def _find_item_beyond(array: ArrayValue, at: int | None, element: ResolvedType | None) -> Any:
    """Find an item beyond the end of a row of an array of arrays; an unknown item if it is not in the array."""
    root = array
    while root.inside is not None:
        root = root.inside
    cells = list(_flatten_array(root))
    first = next((n for n, cell in enumerate(cells) if array.cells and cell is array.cells[0]), None)
    if at is not None and first is not None and root is not array and 0 <= first + at < len(cells):
        return cells[first + at]
    return BlurredPlace(Cell(root), element)


def _flatten_array(array: ArrayValue) -> Iterator[Cell]:
    """Yield the innermost items of nested arrays."""
    for cell in array.cells:
        if isinstance(cell.value, ArrayValue):
            yield from _flatten_array(cell.value)
        else:
            yield cell


def find_target_place(ev: Evaluator, address: Address) -> Any:
    """Find the place of an address, viewed as the type that a cast gave it."""
    if address.element is None and address.at.known == 0:
        return address.place
    return view_as_integer(
        ev,
        address.place,
        address.element or ev.get_value_type(ev.load_place(address.place, tree.OpaqueExpression(""))),
        address.at,
    )


def decay_array(ev: Evaluator, array: ArrayValue) -> Pointer:
    """Return a pointer to an array's first item."""
    return Pointer(make_symbol(array.name or "{…}"), array.element, array=array, at=SymbolicInt(0, LONG))


def get_pointee_type(kind: ResolvedType) -> ResolvedType | None:
    """Return the pointed-to type of a pointer type."""
    if kind.pointers == 1 and kind.name in ("void", "auto", ""):
        return VOID
    return ResolvedType(
        kind.name, kind.integer, kind.bits, kind.record, pointers=kind.pointers - 1, dims=(), arguments=kind.arguments
    )


# memory outside the text's variables ---------------------------------------------------------------------------


def _make_memory_key(pointer: Pointer) -> tuple[str, int]:
    """Return the key of a place in memory: (address, bits)."""
    kind = pointer.element
    return str(pointer.base), kind.bits or 0 if kind is not None and not kind.pointers else 64


def load_memory(ev: Evaluator, place: PointedPlace, at: tree.Expression) -> Any:
    """Load memory through a pointer: a symbol that stays the same until the memory may be written."""
    key = _make_memory_key(place.pointer)
    known: Cell | None = ev.memory.cells.get(key)
    if known is not None:
        if known.value is LOST:
            ev.write_cell(known, ev.make_symbolic_value(known.kind, ev.make_fresh_name(known.name)))
        return known.value
    element = place.pointer.element
    text = ev.format_expression(at)
    if ev.written_memory:
        text = ev.make_fresh_name(text)
    if element is not None and element.integer is not None and not element.pointers:
        value: Any = make_free(text, element.integer)
    elif element is not None and element.pointers:
        value = Pointer(make_symbol(text), get_pointee_type(element))
    else:
        return OpaqueValue(text, element, span=at.span)
    ev.memory.add_place(key, place.pointer, Cell(value, element, text))
    return value


def store_memory(ev: Evaluator, place: PointedPlace, value: Any, span: Span) -> None:
    """Store to memory through a pointer; memory that may overlap is lost."""
    ev.written_memory = True
    pointer = place.pointer
    record_store(ev, pointer, span)
    _forget_aliases(ev, pointer)
    key = _make_memory_key(pointer)
    for cell in ev.memory.list_aliases(key, pointer):
        ev.write_cell(cell, LOST)
    name = next((term for term, factor in pointer.base.terms if factor == 1), str(pointer.base))
    known = ev.memory.cells.get(key)
    if known is None:
        known = Cell(LOST, pointer.element, name, span)
        known.outlive_block()  # it is lost again on the paths that do not store
        ev.memory.add_place(key, pointer, known)
    element = pointer.element
    if element is not None and (element.integer is not None or element.pointers):
        value = ev.convert_to_kind(value, element, span)
    ev.write_cell(known, value)
    ev.note_variable(known, span)


def _forget_aliases(ev: Evaluator, pointer: Pointer) -> None:
    """Make variables unknown that the pointer may point to."""
    if not ev.python and any("::" in name for name, _ in pointer.base.terms) and ev.frames[-1].scope is not None:
        ev.forget_all(ev.frames[-1].scope)  # the pointer is a hidden member
    if any("(" in name for name, _ in pointer.base.terms):  # returned by a function: it may point to any variable
        ev.forget_globals()
    escaped, ev.escaped_places = ev.escaped_places, {}  # to forget what one of them points to is a store, too
    try:
        for place in escaped.values():
            ev.forget_place(place, integers=True)
    finally:
        ev.escaped_places = escaped | ev.escaped_places
