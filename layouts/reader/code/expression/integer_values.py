"""Convert values to integers: addresses of pointers, bits of structs, sizeof; symbols if they are unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lanescope.cxx.integers import LONG, ULONG, IntegerType
from lanescope.cxx.sizes import find_size
from lanescope.reader.code.maps.map_objects import find_pointed_map
from lanescope.reader.code.naming.scopes import Cell, take_birth_number
from lanescope.reader.code.symbolic_integers import (
    SHARED_BITS,
    UNKNOWN,
    SymbolicInt,
    add_ints,
    int_from_linear,
    make_free,
    make_symbol,
    multiply_ints,
)
from lanescope.reader.code.values import (
    Address,
    ArrayValue,
    BlurredPlace,
    JointPlace,
    ObjectPart,
    ObjectValue,
    OpaqueValue,
    OverlayPlace,
    PointedPlace,
    Pointer,
    ResolvedType,
    SplitPlace,
)

MOST_POINTER = 60  # characters of a pointer's name in sizeof(*…)


def make_size(kind: ResolvedType | None, name: str = "") -> SymbolicInt:
    """Return the size of a type in bytes; a symbol if unknown."""
    if kind is None:
        return make_free(f"sizeof({name or '?'})", ULONG, 16)
    known = find_size(kind.name) if kind.record is None and not kind.arguments else None
    if kind.pointers:
        size = SymbolicInt(8, ULONG)
    elif kind.integer is not None:
        size = SymbolicInt(kind.integer.size, ULONG)
    elif kind.bits or known is not None:
        size = SymbolicInt(max(kind.bits // 8, 1) if kind.bits else known.bytes if known else 1, ULONG)
    else:
        size = make_free(f"sizeof({kind})", ULONG, 16)
    for dim in kind.dims:
        size = multiply_ints(size, dim)
    return size


def make_unsized_type(name: str) -> ResolvedType:
    """Make the element type, of unknown size, of an undeclared name that the text uses as a pointer.

    >>> str(make_size(make_unsized_type("smem_a")))
    'sizeof(*smem_a)'
    """
    return ResolvedType(f"*{name[:MOST_POINTER]}")


def move_pointer(pointer: Pointer, by: SymbolicInt, sign: int = 1) -> Pointer:
    """Move a pointer by a number of elements."""
    size = make_size(pointer.element, f"*{pointer.base}" if pointer.element is None else "")
    for dim in pointer.dims:
        size = multiply_ints(size, dim)
    amount = (
        multiply_ints(SymbolicInt(by.const, LONG, by.pieces), size)
        if by.pieces
        else multiply_ints(SymbolicInt(by.const, LONG), size)
    )
    base = pointer.base + amount.make_linear().scale(sign)
    at = add_ints(pointer.at, SymbolicInt(by.const, LONG, by.pieces), sign) if pointer.at is not None else None
    return Pointer(base, pointer.element, pointer.dims, pointer.shared, pointer.array, at)


def get_integer(value: Any) -> SymbolicInt | None:
    """Return a value as an integer; None if it has no integer value (a large object, a string)."""
    if isinstance(value, SymbolicInt):
        return value
    convert = _NUMBERS.get(type(value))
    return convert(value) if convert is not None else None


def _convert_pointer(value: Pointer) -> SymbolicInt:
    pointed = find_pointed_map(value)
    if pointed is not None:  # as &maps[n]
        return _convert_address(Address(pointed))
    return int_from_linear(value.base, ULONG, SHARED_BITS if value.shared else 64)


def _convert_part(value: ObjectPart) -> SymbolicInt | None:
    stored = value.of.store.value
    return stored if isinstance(stored, SymbolicInt) else None


def _convert_object(value: ObjectValue) -> SymbolicInt | None:
    record = value.record
    if len(record.library) == 1 and record.library[0].arguments:
        last = record.library[0].arguments[-1]
        return get_integer(last.value if isinstance(last, Cell) else last)
    converts = record.opaque or any(name.startswith("operator ") for name in record.methods)
    if record.fields is None and converts:
        return make_free(f"({value})", UNKNOWN)  # the result of its conversion function
    return value.store.value if isinstance(value.store.value, SymbolicInt) else None


def _convert_term(value: OpaqueValue) -> SymbolicInt:
    return make_free(value.text, value.kind.integer if value.kind and value.kind.integer else UNKNOWN)


def _convert_array(value: ArrayValue) -> SymbolicInt | None:
    inner = value.cells[0].value if len(value.cells) == 1 else None
    if value.typed is not None and inner is not None and not isinstance(inner, ArrayValue):
        return get_integer(inner)
    return int_from_linear(make_symbol(value.name or "{…}"), ULONG)


def _convert_address(value: Address) -> SymbolicInt:
    first = make_free(f"&object{identify_place(value.place)}", ULONG)
    if value.at.known == 0:
        return first
    if value.at.known is None or value.element is None:
        return make_free(f"&object{take_birth_number()}", ULONG)  # an unknown offset
    return add_ints(first, multiply_ints(SymbolicInt(value.at.const, LONG), make_size(value.element)))


_NUMBERS: dict[type, Callable[[Any], SymbolicInt | None]] = {
    Pointer: _convert_pointer,
    ObjectPart: _convert_part,
    ObjectValue: _convert_object,
    OpaqueValue: _convert_term,
    ArrayValue: _convert_array,
    Address: _convert_address,
}


def get_integer_or_symbol(value: Any, kind: IntegerType = UNKNOWN) -> SymbolicInt:
    """Return a value as an integer; a symbol of an integer type for another value."""
    integer = get_integer(value)
    return integer if integer is not None else make_free(str(value), kind)


def identify_place(place: Any) -> str:
    """Return the identity of a place for its address symbol; equal identities are the same place."""
    match place:
        case Cell() | SplitPlace() | BlurredPlace():
            return f"{abs(place.born)}"
        case ObjectPart():
            return f"{identify_place(place.of.store)}+{place.field.low}"
        case JointPlace():
            return ",".join(map(identify_place, place.places))
        case OverlayPlace():
            return identify_place(place.place)
        case ObjectValue():
            return identify_place(place.store)
        case PointedPlace():
            return f"({place.pointer})"
    return f"{take_birth_number()}"
