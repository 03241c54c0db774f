"""View bytes of an object as another type: `((uint32_t*)&desc)[1]`, `reinterpret_cast<Bits&>(desc)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.templates import is_same_type
from lanescope.reader.code.values import (
    PLACES,
    ArrayValue,
    BlurredPlace,
    JointPlace,
    ObjectPart,
    ObjectValue,
    OpaqueValue,
    RecordField,
    RecordType,
    ResolvedType,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


MOST_LEAVES = 128  # integers in an object that is viewed as another type


def view_as_integer(ev: Evaluator, place: Any, element: ResolvedType | None, at: SymbolicInt | None) -> Any:
    """View bytes of an object as an integer of another type: `((uint32_t*)&desc)[1]`."""
    if element is None or element.pointers or at is None or at.known is None:
        return BlurredPlace(place, element)
    if element.record is not None:
        return _view_as_record(ev, place, element.record, at.known)
    if element.integer is None or element.integer.bits < 8:
        return BlurredPlace(place, element)
    return view_bits(ev, place, element, at.known * element.integer.bits)


def view_bits(ev: Evaluator, place: Any, element: ResolvedType, low: int) -> Any:
    """View the integer of a type that begins at bit `low` of an object."""
    assert element.integer is not None
    if isinstance(place, ObjectPart) and place.of.record.bits and place.of.record.fields:
        low, place = low + place.field.low, Cell(place.of)
    leaves: list[tuple[ObjectPart, int]] = []
    for part in _list_leaf_parts(ev, place):
        if not part[1]:
            return BlurredPlace(place, element)
        leaves.append(part)
    if not leaves:
        return BlurredPlace(place, element)
    width = element.integer.bits
    if low < 0 or low + width > sum(bits for _, bits in leaves):
        return BlurredPlace(Cell(place.of) if isinstance(place, ObjectPart) else place, element)
    overlapping = _list_overlapping(leaves, low, width)
    if len(overlapping) == 1:
        leaf, begin, _ = overlapping[0]
        return ObjectPart(leaf.of, RecordField(leaf.field.low + low - begin, width, element.integer))
    first, past = overlapping[0][1], overlapping[-1][1] + overlapping[-1][2]
    if first != low or past != low + width:
        return BlurredPlace(place, element)
    parts, _, widths = zip(*overlapping, strict=True)
    return JointPlace(parts, widths, element.integer)


def _list_overlapping(
    leaves: Sequence[tuple[ObjectPart, int]], low: int, width: int
) -> list[tuple[ObjectPart, int, int]]:
    """List (part, first bit, bits) of the integers that overlap a range of bits."""
    overlapping, start = [], 0
    for leaf, bits in leaves:
        if start < low + width and low < start + bits:
            overlapping.append((leaf, start, bits))
        start += bits
    return overlapping


def _view_as_record(ev: Evaluator, place: Any, record: RecordType, at: int) -> Any:
    """View an integer as a struct of bit fields: `reinterpret_cast<Bits*>(&desc)->stride`."""
    value = place.value if isinstance(place, Cell) else place
    leaves = list(_list_leaf_parts(ev, place))
    if record.fields is None or at or len(leaves) != 1 or leaves[0][1] < record.bits:
        return BlurredPlace(place, ResolvedType(record.name, record=record))
    if isinstance(value, ObjectValue) and value.record is record:
        return place
    leaf = leaves[0][0]
    return ObjectPart(leaf.of, RecordField(leaf.field.low, record.bits, None, record))


def _list_leaf_parts(ev: Evaluator, place: Any, depth: int = 0) -> Iterator[tuple[ObjectPart, int]]:
    """Yield (part, width in bits) of each integer in an object; width 0 if unknown."""
    value = place.value if isinstance(place, Cell) else place
    if isinstance(value, PLACES) and not isinstance(place, ObjectPart) and not isinstance(value, ObjectPart):
        yield from _list_leaf_parts(ev, value, depth + 1)
    elif isinstance(value, ObjectPart):
        width = value.field.width
        yield ObjectPart(value.of, RecordField(value.field.low, width, value.field.integer)), width
    elif isinstance(value, ObjectValue) and value.record.fields is not None and value.record.bits:
        yield ObjectPart(value, RecordField(0, value.record.bits, None)), value.record.bits
    elif isinstance(value, ArrayValue) and depth < 3 and len(value.cells) <= MOST_LEAVES:
        for cell in value.cells:
            yield from _list_leaf_parts(ev, cell, depth + 1)
    elif isinstance(place, Cell):
        yield _make_variable_leaf(place)
    else:
        yield (
            ObjectPart(ObjectValue(_make_bits_type(0), Cell(SymbolicInt(0))), RecordField(0, 0, None)),
            0,
        )


def _make_variable_leaf(cell: Cell) -> tuple[ObjectPart, int]:
    """Return a variable as (part, width in bits); an uninitialised one becomes 0."""
    value = cell.value
    kind = cell.kind.integer if cell.kind is not None and not cell.kind.pointers else None
    if isinstance(value, OpaqueValue) and value.head == "uninitialised" and kind is not None:
        cell.value = value = SymbolicInt(0, kind)
    bits = value.type.bits if isinstance(value, SymbolicInt) else 0
    if bits < 8:
        bits = 0
    return ObjectPart(ObjectValue(_make_bits_type(bits), cell), RecordField(0, bits, None)), bits


@lru_cache(maxsize=64)
def _make_bits_type(bits: int) -> RecordType:
    """Return a struct of some bits without members."""
    return RecordType("bits", None, NameScope(), {}, bits)


def cast_reference(ev: Evaluator, kind: ResolvedType, place: Any) -> Any:
    """Evaluate reinterpret_cast<T&>(place) and static_cast<T&&>(place): return the place."""
    value = ev.load_place(place, tree.OpaqueExpression(""))
    place_type = place.kind if isinstance(place, Cell) and place.kind is not None else ev.get_value_type(value)
    target_type = replace(kind, reference="", const=False)
    if (
        place_type is None
        or kind.name == "auto"
        or is_same_type(strip_qualifiers(place_type), strip_qualifiers(target_type)) is not False
    ):
        return place
    if (
        isinstance(value, ObjectValue)
        and target_type.record is not None
        and value.record.is_derived_from(target_type.record)
    ):
        return (
            place
            if value.record is target_type.record
            else Cell(ev.upcast_object(value, target_type.record), target_type)
        )
    down = value.derived if isinstance(value, ObjectValue) else None
    if down is not None and target_type.record is not None and down.record.is_derived_from(target_type.record):
        return Cell(
            down if down.record is target_type.record else ev.upcast_object(down, target_type.record), target_type
        )
    return view_as_integer(ev, place, target_type, SymbolicInt(0))


def strip_qualifiers(kind: ResolvedType) -> ResolvedType:
    """Return a type without const and reference."""
    return replace(kind, const=False, reference="")
