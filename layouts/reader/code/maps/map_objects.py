"""Objects that hold tensor maps: which call filled the object that a copy is given.

cuTensorMapEncodeTiled writes a name into the object that is used nowhere else, and copies of the object keep it: maps
that a helper returns, members, items of arrays and parameters are told apart even if their variables have one name. An
object that is one of several has all their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.values import Address, ArrayValue, OpaqueValue, Pointer, ReferredPlace, ResolvedType

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

_TYPES = ("CUtensorMap", "CUtensorMap_st", "TmaDescriptor")
_ENCODE = re.compile(r"tensor_?map_?encode_?tiled$|encode_?tiled\w*$|tensor_?map_?encode_?im2col$", re.I)
_ALLOCATE = re.compile(r"cudaMalloc(?:Async|Managed|Host)?|cudaHostAlloc|cuMemAlloc")
_COPY = re.compile(r"cudaMemcpy(?:ToSymbol)?(?:Async)?|cuMemcpyHtoD(?:Async)?")
_MAP_BYTES, _MOST_MAPS = 128, 64
FILLED = "'map"  # before the number of the call that filled an object
_FILLED = re.compile(rf"[^\s?]*{FILLED}\d+")
_UNKNOWN = "?'map0"  # the name of an object that may be none of those that known calls filled
_EMPTY = re.compile(r"[\w.:\[\]]*")  # names of objects that nothing has written: reading them is undefined
_SEVERAL = " ? "  # between the names of an object that is one of several


def is_map_type(kind: object) -> bool:
    """Return whether a type is that of a tensor map's object; an unknown one is not."""
    if not isinstance(kind, ResolvedType) or kind.pointers or kind.dims:
        return False
    return kind.name.split("::")[-1] in _TYPES


def make_map_value(values: list[Any], kind: ResolvedType, name: str) -> OpaqueValue:
    """Make a map's object from a braced list: a copy of its only value if that is a map, else an empty object."""
    copied = getattr(values[0], "value", values[0]) if values else None
    return copied if isinstance(copied, OpaqueValue) and is_map_type(copied.kind) else OpaqueValue(name, kind)


def make_map_array(count: int, element: ResolvedType, kind: ResolvedType | None = None) -> ArrayValue:
    """Make an array of empty objects. kind: the type of a std::vector."""
    cells = [Cell(OpaqueValue(f"map[{n}]", element), element, f"map[{n}]") for n in range(count)]
    return ArrayValue(cells, element, "", kind)


def make_allocated_map(name: str, templates: tuple[Any, ...], values: list[Any]) -> Address | None:
    """Return the pointer that std::make_unique or std::make_shared of a map gives; None for another call."""
    kind = templates[0] if name in ("make_unique", "make_shared") and len(templates) == 1 else None
    if not isinstance(kind, ResolvedType) or not is_map_type(kind):
        return None
    cell = Cell(make_map_value(values, kind, "new"), kind, "new")
    cell.outlive_block()
    return Address(cell)


def is_allocated_map(value: Any) -> bool:
    """Return whether a value is a pointer to the object of a map."""
    return isinstance(value, Address) and isinstance(value.place, Cell) and is_map_type(value.place.kind)


def list_filled_names(names: Iterable[str]) -> set[str]:
    """List the names that known calls wrote into the objects with these values; an object may be one of several."""
    return {part for name in names for part in name.split(_SEVERAL) if _FILLED.fullmatch(part) or part == _UNKNOWN}


def choose_map(objects: Sequence[Any]) -> OpaqueValue | None:
    """Return the value of an object that is one of several; None if one of them holds no map."""
    maps = [one for one in objects if isinstance(one, OpaqueValue) and is_map_type(one.kind)]
    if not maps or len(maps) < len(objects):
        return None
    parts = {part for one in maps for part in one.text.split(_SEVERAL)}
    names = {part for part in parts if _FILLED.fullmatch(part)}
    known = names and all(part in names or _EMPTY.fullmatch(part) for part in parts)
    return OpaqueValue(_SEVERAL.join(sorted(names)) if known else _UNKNOWN, maps[0].kind)


def choose_item(value: Any) -> OpaqueValue | None:
    """Return the value of an unknown item of an array of maps; None for another value."""
    return choose_map([cell.value for cell in value.cells]) if isinstance(value, ArrayValue) else None


def move_map(ev: Evaluator, name: str, values: Sequence[Any]) -> bool:
    """Allocate device memory for maps, or copy maps to it, as functions of CUDA do; return whether a call does so."""
    if ev.python or len(values) < 2:
        return False
    if _ALLOCATE.fullmatch(name):
        return _allocate_maps(ev, values[0], getattr(values[1], "known", None))
    if not _COPY.fullmatch(name):
        return False
    size = getattr(values[2], "known", None) if len(values) > 2 else None
    count = size // _MAP_BYTES if size is not None else 1
    targets, origins = (_list_objects(value, count) for value in values[:2])
    if not targets or len(targets) != len(origins):
        return False
    for target, origin in zip(targets, origins, strict=True):
        ev.write_cell(target, OpaqueValue(origin.value.text, target.kind))
    return True


def _allocate_maps(ev: Evaluator, pointer: Any, size: int | None) -> bool:
    """Make a variable, which is a pointer to maps, point to new objects; return whether it is one."""
    cell = _find_cell(pointer)
    kind = cell.kind if cell is not None else None
    if cell is None or not isinstance(kind, ResolvedType) or kind.pointers != 1 or kind.dims:
        return False
    target = replace(kind, pointers=0, const=False)
    if not is_map_type(target) or size is None or not _MAP_BYTES <= size <= _MAP_BYTES * _MOST_MAPS:
        return False
    array = make_map_array(size // _MAP_BYTES, target)
    for item in array.cells:
        item.outlive_block()
    ev.write_cell(cell, Address(array.cells[0]) if len(array.cells) == 1 else ev.decay_array(array))
    return True


def _list_objects(value: Any, count: int) -> list[Cell]:
    """List the objects from the one that a pointer or an array names; none if one is unknown."""
    array = value if isinstance(value, ArrayValue) else getattr(value, "array", None)
    if array is not None and is_map_type(array.element):
        at = value.at.known if isinstance(value, Pointer) and value.at is not None else 0
        return list(array.cells[at : at + count]) if at is not None and at + count <= len(array.cells) else []
    cell = _find_object(value)
    return [cell] if cell is not None and is_map_type(cell.kind) and count == 1 else []


def find_pointed_map(value: Any) -> Cell | None:
    """Return the object in an array of maps that a pointer points to; None for another pointer."""
    in_maps = isinstance(value, Pointer) and value.array is not None and is_map_type(value.array.element)
    return _find_cell(value) if in_maps else None


def list_pointed_maps(value: Any) -> list[Cell]:
    """List the objects of maps that a pointer leads to, and the others of their array."""
    array = getattr(value, "array", None)
    if isinstance(value, Pointer) and array is not None and is_map_type(array.element):
        return list(array.cells)
    return [value.place] if is_allocated_map(value) else []


def list_map_names(value: Any) -> list[str]:
    """List the names of the objects of maps that an argument is, or leads to."""
    objects = [cell.value for cell in list_pointed_maps(value)] or [value]
    return [one.text for one in objects if isinstance(one, OpaqueValue) and is_map_type(one.kind)]


def is_encode_call(term: OpaqueValue, text: str) -> bool:
    """Return whether a call encodes a tensor map as cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col does."""
    if _ENCODE.search(term.head):
        return True
    return len(term.arguments) in (12, 15) and "CU_TENSOR_MAP" in text[slice(*term.span)]


def fill_map(ev: Evaluator, term: OpaqueValue, recorded: bool) -> None:
    """Write a new name into the object that a call encodes a map into. recorded: whether the call is the last one."""
    if ev.python or not term.arguments or not is_encode_call(term, ev.text):
        return
    cell = _find_object(term.arguments[0])
    if cell is None:
        return
    ev.filled_maps += 1
    name = f"{re.sub(r'[^A-Za-z0-9_.:]', '', cell.name)[:40]}{FILLED}{ev.filled_maps}"
    ev.write_cell(cell, OpaqueValue(name, cell.kind))
    if recorded:
        ev.bodiless_calls[-1] = replace(ev.bodiless_calls[-1], filled=name)


def _find_object(value: Any) -> Cell | None:
    """Return the variable, member or item that a pointer to a map names; None if it is unknown."""
    cell = _find_cell(value)
    return cell if cell is not None and isinstance(cell.value, OpaqueValue) else None


def _find_cell(value: Any) -> Cell | None:
    """Return the variable, member or item that a pointer names; None if it is unknown."""
    place: Any = None
    if isinstance(value, Address) and value.at.known == 0:
        place = value.place
    elif isinstance(value, Pointer) and value.array is not None and value.at is not None:
        at, cells = value.at.known, value.array.cells
        place = cells[at] if at is not None and 0 <= at < len(cells) else None
    while isinstance(place, ReferredPlace):
        place = place.place
    while isinstance(place, Cell) and isinstance(place.value, Cell):  # a reference
        place = place.value
    return place if isinstance(place, Cell) else None
