"""Places that expressions of device code denote: variables, array items, pointer targets, members."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.cute.cute_values import names_cute
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.cute.indexing import index_value
from lanescope.reader.threads.cute.tensors import CuteTensor
from lanescope.reader.threads.language.names import find_type, resolve_path
from lanescope.reader.threads.language.numbers import (
    LONG,
    add_numbers,
    apply_operator,
    get_number,
    make_uniform,
    step_offset,
)
from lanescope.reader.threads.language.program import Scope
from lanescope.reader.threads.language.types import SizedType, StructMember, find_component, make_pointer_type
from lanescope.reader.threads.language.values import load_place, look_up_code
from lanescope.reader.threads.memory.storage import LocalMemory, Pointer

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

DIMS = {"x": 0, "y": 1, "z": 2, "w": 3}


def get_item_size(pointer: Pointer) -> int:
    """Return the bytes from one item to the next."""
    return int(pointer.type.size) * prod(pointer.dims)


def move_pointer(op: str, left: Any, right: Any) -> Any:
    """Apply an operator to pointers: a step from one, or the items or a comparison between two; None for others."""
    if op not in "+-":
        if isinstance(left, Pointer) and isinstance(right, Pointer) and left.array is right.array:
            return apply_operator(op, left.offset, right.offset)
        return None
    if isinstance(left, Pointer) and isinstance(right, Pointer):
        same = left.space == right.space and (left.array is right.array or left.array == right.array)
        away = add_numbers(left.offset, right.offset, -1) if same else None
        return apply_operator("/", away, make_uniform(get_item_size(left), LONG))
    pointer, step = (left, right) if isinstance(left, Pointer) else (right, left)
    sign = 1 if op == "+" else -1
    return pointer.move(step_offset(pointer.offset, get_number(step), get_item_size(pointer), sign))


def evaluate_operand(run: KernelRunner, node: tree.Expression | None, scope: Scope, op: str = "") -> Any:
    """Return the value of an expression, of an object what the only conversion function of its class returns.

    op: the operator that takes it; an object is not converted if that may be a function. ISO C++20: [class.conv.fct].
    """
    value = run.evaluate(node, scope)
    if not run.has_operators or not isinstance(value, Pointer) or not isinstance(node, tree.Name | tree.Member):
        return value
    place = find_place(run, node, scope)
    if not isinstance(place, Pointer) or place.type.scope is None or place.type.pointer or place.dims:
        return value
    function = f"operator{op}" if op else ""
    if function in place.type.scope.names or run.globals.find_owner(function) is not None:
        return value
    names = [name for name in place.type.scope.names if name.startswith("operator ")]
    call = tree.Call(tree.Name(((names[0], None),)), (), span=node.span) if len(names) == 1 else None
    return value if call is None else run.call_method(place, names[0], call, scope)


def find_place(run: KernelRunner, node: tree.Expression, scope: Scope) -> Any:
    """Return the place that an expression denotes, None if it denotes none."""
    match node:
        case tree.Name():
            return resolve_path(run, node.path, scope)
        case tree.Index():
            return _find_item(run, node, scope)
        case tree.Unary(op="*"):
            pointer = evaluate_operand(run, node.value, scope, "*")
            return pointer if isinstance(pointer, Pointer) else None
        case tree.Member():
            return _find_member(run, node, scope)
        case tree.Assignment():
            run.evaluate(node, scope)
            return find_place(run, node.target, scope)
        case tree.Cast() if node.type.reference:
            place = find_place(run, node.value, scope)
            kind = find_type(run, node.type, scope)
            if not isinstance(place, Pointer) or kind is None:
                return None
            return replace(place, type=replace(kind, dims=()), dims=kind.dims)
        case tree.Call() if (place := _find_tensor_element(run, node, scope)) is not None:
            return place
        case tree.Call():
            return _find_returned(run, node, scope)
    return None


def _find_returned(run: KernelRunner, node: tree.Call, scope: Scope) -> Any:
    """Return the place that a call refers to, without loading its value, or the pointer that it returns."""
    value, referred = _call_for_place(run, node.span, lambda: run.evaluate(node, scope))
    return referred if referred is not None else value if isinstance(value, Pointer) else None


def _call_for_place(run: KernelRunner, span: tuple[int, int], call: Callable[[], Any]) -> tuple[Any, Pointer | None]:
    """Return the value of a call, and the place that it refers to, None for a value. span: of the call."""
    before, run.wanted = run.wanted, span
    run.referred = None, (0, 0)
    try:
        value = call()
    finally:
        run.wanted = before
    place, at = run.referred
    return value, place if at == span else None


def _find_tensor_element(run: KernelRunner, node: tree.Call, scope: Scope) -> Pointer | None:
    """Return the place of one element of a CuTe tensor."""
    if not isinstance(node.function, tree.Name | tree.Call) or not names_cute(run.text):
        return None
    found = run.resolve(node.function.path, scope) if isinstance(node.function, tree.Name) else None
    value = index_value(run, found, node, scope) if isinstance(found, CuteTensor) else None
    return value if isinstance(value, Pointer) else None


def _find_item(run: KernelRunner, node: tree.Index, scope: Scope) -> Any:
    if run.update is not None and (element := run.update.find_place(run, node, scope)) is not None:
        return element
    outer = node.value
    place = _find_item(run, outer, scope) if isinstance(outer, tree.Index) else None
    if run.has_operators and isinstance(outer, tree.Name | tree.Member):
        place = find_place(run, outer, scope)
    if isinstance(place, Pointer) and place.type.is_object and not place.dims:
        return _find_object_item(run, place, node, scope)
    if isinstance(outer, tree.Index):
        pointer = load_item(run, outer, place, scope)
    else:
        pointer = evaluate_operand(run, outer, scope, "[]")
    if isinstance(pointer, CuteTensor) and len(node.indices) == 1:
        return index_value(run, pointer, node, scope)
    return _step_pointer(run, pointer, node, scope)


def _step_pointer(run: KernelRunner, pointer: Any, node: tree.Index, scope: Scope) -> Any:
    """Return the place of the item that indices denote."""
    for index in node.indices:
        if not isinstance(pointer, Pointer):
            return None
        number = get_number(evaluate_operand(run, index, scope))
        pointer = pointer.move(step_offset(pointer.offset, number, get_item_size(pointer)))
    return pointer


def _find_object_item(run: KernelRunner, place: Pointer, node: tree.Index, scope: Scope) -> Any:
    """Return the place or the object that operator[] of an object returns, or of an item of std::array."""
    if "operator[]" not in place.type.scope.names:
        items = get_items(place)
        return _step_pointer(run, items and replace(items, dims=items.dims[1:]), node, scope)
    call = tree.Call(tree.Name((("operator[]", None),)), tuple(node.indices), span=node.span)
    value, referred = _call_for_place(run, node.span, lambda: run.call_method(place, "operator[]", call, scope))
    if referred is not None or not isinstance(value, Pointer) or value.type.is_object:
        return referred if referred is not None else value
    return hold_pointer(value)


def hold_pointer(pointer: Pointer) -> Pointer:
    """Return a place of its own that holds a pointer."""
    kind, memory = make_pointer_type(pointer.type, pointer.dims), LocalMemory()
    memory.write_value(0, kind.size, pointer, None)
    return Pointer("local", memory, make_uniform(0, LONG), kind)


def get_items(place: Any) -> Pointer | None:
    """Return the items of an object of std::array; None for another value."""
    members = place.type.members if isinstance(place, Pointer) and place.type.is_object and not place.dims else ()
    return place.find_part(0, members[0].type, members[0].dims) if members and not members[0].name else None


def load_item(run: KernelRunner, node: tree.Index, place: Any, scope: Scope) -> Any:
    """Return the value of an item of an array, or of a table, at the place that an index denotes."""
    if isinstance(place, Pointer) and place.dims and place.offset is not None:
        return Pointer(place.space, place.array, place.offset, place.type, place.dims[1:])
    if (found := look_up_code(run, node, place, scope)) is not None:
        return found
    return load_place(run, place, node.span) if isinstance(place, Pointer) else None


def find_member_place(run: KernelRunner, base: Pointer, member: StructMember) -> Pointer | None:
    """Return the place of a member of an object; of a reference, the one that it refers to, None if unknown."""
    place = base.find_part(member.offset, member.type, member.dims)
    target = load_place(run, place, (0, 0)) if member.type.reference else place
    return target if isinstance(target, Pointer) else None


def _find_member(run: KernelRunner, node: tree.Member, scope: Scope) -> Any:
    base = run.evaluate(node.value, scope) if node.arrow else find_place(run, node.value, scope)
    if not isinstance(base, Pointer) or base.dims:
        return None
    kind: SizedType = base.type
    for member in kind.members:
        if member.name == node.name:
            return find_member_place(run, base, member)
    if kind.vector and node.name in DIMS and DIMS[node.name] * kind.vector < kind.size:
        return base.find_part(DIMS[node.name] * kind.vector, find_component(kind, node.name))
    if kind.scope is not None and node.name in kind.scope.names:
        return resolve_path(run, ((node.name, None),), kind.scope)
    return None
