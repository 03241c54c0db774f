"""Braced lists, tuples and pairs, and the names that structured bindings give to their parts.

A tuple or a pair is a tuple of the values of its parts; an object of a class is a place. ISO C++20: [dcl.struct.bind].
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.cute.cute_values import names_cute
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.language.arguments import is_object
from lanescope.reader.threads.language.declaring import make_object
from lanescope.reader.threads.language.names import find_type
from lanescope.reader.threads.language.numbers import INT, ThreadNumber, make_number
from lanescope.reader.threads.language.places import find_place
from lanescope.reader.threads.language.program import Scope
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.language.values import cast_value, load_place
from lanescope.reader.threads.memory.results import is_result
from lanescope.reader.threads.memory.storage import DataBytes, Mask, Pointer, join_data, merge_values

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

TUPLES = frozenset(("tuple", "pair"))
PAIR = {"first": 0, "second": 1}


def evaluate_list(run: KernelRunner, node: tree.ItemList, scope: Scope, returned: tree.Type | None = None) -> Any:
    """Return the value of {…} or T{…}; None if it is not known. returned: the type that a function returns it as."""
    empty = node.type if not node.items else None
    if empty is not None and names_cute(run.text):
        value = run.evaluate_template(empty, scope)
        return None if isinstance(value, SizedType) else value
    if empty is not None and empty.name == "integral_constant":
        return _read_constant(run, empty, scope)
    type_ = node.type or returned
    kind = find_type(run, type_, scope) if type_ is not None else None
    if kind is not None and kind.is_object:
        return _make_object(run, kind, node, scope)
    values = tuple(run.evaluate(value, scope) for _, value in node.items)
    return values if type_ is not None and _is_tuple(type_) else _make_value(run, kind, values)


def _make_value(run: KernelRunner, kind: SizedType | None, values: Sequence[Any]) -> Any:
    """Return the number, the pointer or the vector that a list makes; None if it is not known."""
    if kind is not None and (kind.integer or kind.pointer or not (values or kind.vector)) and len(values) < 2:
        return cast_value(run, values[0] if values else make_number(0, INT), kind)
    return values[0] if len(values) == 1 else _join_vector(values, run.tape is not None)


def _read_constant(run: KernelRunner, type_: tree.Type, scope: Scope) -> Any:
    """Return the number of an object of std::integral_constant<T, number>; None if it is not known."""
    arguments = [run.evaluate_template(one, scope) for one in (type_.path[-1][1] or ())]
    kind, number = arguments if len(arguments) == 2 else (None, None)
    return cast_value(run, number, kind) if isinstance(kind, SizedType) and isinstance(number, ThreadNumber) else None


def _is_tuple(type_: tree.Type) -> bool:
    return type_.path[-1][0] in TUPLES and type_.path[0][0] != "cute"


def _make_object(run: KernelRunner, kind: SizedType, node: tree.ItemList, scope: Scope) -> Pointer | None:
    """Return the object of a class that a list without names makes; None for another list."""
    if any(name for name, _ in node.items):
        return None
    call = tree.Call(tree.Name(((kind.name, None),)), tuple(value for _, value in node.items), span=node.span)
    return make_object(run, kind, call, scope)


def _join_vector(values: Sequence[Any], computed: bool) -> DataBytes | None:
    """Return a vector of elements of D of one size. computed: whether all elements have numbers."""
    parts = [value for value in values if is_result(value) or (computed and isinstance(value, DataBytes))]
    alike = len(parts) == len(values) > 1 and len({part.size for part in parts}) == 1
    return join_data(parts) if alike else None


def merge_returned(mask: Mask, new: Any, old: Any) -> Any:
    """Return the result of a function whose threads return different values; None if it is not known."""
    if isinstance(new, tuple) and isinstance(old, tuple) and len(new) == len(old):
        return tuple(merge_values(mask, *pair) for pair in zip(new, old, strict=True))
    return merge_values(mask, new, old)


def list_parts(run: KernelRunner, unpack: tree.UnpackDeclaration, scope: Scope) -> Sequence[Any]:
    """Return what the names of a structured binding mean: values, or the places that auto& binds them to; None for each
    whose part is not known.
    """
    place = find_place(run, unpack.value, scope) if isinstance(unpack.value, tree.Name | tree.Index) else None
    value = place if isinstance(place, Pointer) and place.dims else run.evaluate(unpack.value, scope)
    count = len(unpack.names)
    if isinstance(value, tuple) and len(value) == count:
        return [make_number(item) if isinstance(item, int) else item for item in value]
    places = _list_places(value) if isinstance(value, Pointer) else []
    if len(places) != count:
        return [None] * count
    return places if unpack.reference else [load_place(run, part, unpack.span) for part in places]


def _list_places(value: Pointer) -> list[Pointer]:
    """Return the places of the members of an object, or of the items of an array."""
    if is_object(value):
        return [value.find_part(member.offset, member.type, member.dims) for member in value.type.members]
    step = value.type.size * prod(value.dims[1:])
    return [value.find_part(n * step, value.type, value.dims[1:]) for n in range(value.dims[0] if value.dims else 0)]


def get_part(value: Any, number: Any) -> Any:
    """Return a part of a tuple or a pair; None if it is not known which."""
    index = number.known if isinstance(number, ThreadNumber) else number
    return value[index] if isinstance(value, tuple) and isinstance(index, int) and 0 <= index < len(value) else None
