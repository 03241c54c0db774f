"""What an expression names: a cell, a part of an object, what a pointer points to; and what stands there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import LONG, ULONG, IntegerType
from lanescope.reader.code import symbolic_integers, tree
from lanescope.reader.code.constness import find_constness
from lanescope.reader.code.header_names import OF_DESCRIPTOR
from lanescope.reader.code.integer_values import get_integer, move_pointer
from lanescope.reader.code.lane_choices import note_lane_choice
from lanescope.reader.code.members import evaluate_item, get_pointed_object, qualified_member
from lanescope.reader.code.pointers import load_memory
from lanescope.reader.code.scopes import Cell, NameScope
from lanescope.reader.code.symbolic_integers import SymbolicInt, make_free, make_symbol
from lanescope.reader.code.values import (
    PLACES,
    Address,
    ArrayValue,
    BlurredPlace,
    EnumerationType,
    JointPlace,
    ObjectPart,
    OpaqueValue,
    OverlayPlace,
    PointedPlace,
    Pointer,
    ReferredPlace,
    ResolvedType,
    SplitPlace,
)
from lanescope.reader.code.views import cast_reference

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def find_place(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> Any:
    """Find what an expression names: a cell, a part of an object, what a pointer points to; else its value."""
    rule: _Rule = (_RULES if ev.python else _CXX_RULES).get(type(expression), _value_of)
    return rule(ev, expression, scope)


def _value_of(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> Any:
    """Return the value of what names no place."""
    return ev.evaluate_expression(expression, scope)


def _place_name(ev: Evaluator, node: tree.Name | tree.Type, scope: NameScope) -> Any:
    """Return the variable of a name."""
    binding = ev.resolve_name(node.path, scope, node.span[0])
    return binding if isinstance(binding, (*PLACES, EnumerationType)) else ev.evaluate_name(node, scope)


def _place_member(ev: Evaluator, node: tree.Member, scope: NameScope) -> Any:
    """Return the member of an object, also of the one that a pointer points to."""
    whole = ev.find_place(node.value, scope)
    if node.arrow:
        whole = get_pointed_object(ev, whole, node)
    if (node.name in OF_DESCRIPTOR or node.name in ev.unions) and not ev.python:
        whole = ev.make_descriptor_object(node.value, node.name, whole, scope)
    if node.owner:
        return qualified_member(ev, whole, node, scope)
    return ev.member(whole, node.name, node.span, node.templates)


def _place_item(ev: Evaluator, node: tree.Index, scope: NameScope) -> Any:
    """Return the item of an array, or what an operator[] gives."""
    whole = ev.find_place(node.value, scope)
    const = find_constness(ev, node.value, scope) if "[" in ev.overloaded and not ev.python else None
    for index in node.indices:
        whole = evaluate_item(ev, whole, ev.evaluate_expression(index, scope), node, const)
    return whole


def _place_unary(ev: Evaluator, node: tree.Unary, scope: NameScope) -> Any:
    """Return what *p names."""
    if node.op != "*":
        return ev.evaluate_expression(node, scope)
    return ev.evaluate_dereference(ev.evaluate_expression(node.value, scope), node)


def _place_cast(ev: Evaluator, node: tree.Cast, scope: NameScope) -> Any:
    """Return what a cast to a reference names."""
    if not node.type.reference:
        return ev.evaluate_expression(node, scope)
    return cast_reference(ev, ev.resolve_type(node.type, scope), ev.find_place(node.value, scope))


def _place_assigned(ev: Evaluator, assignment: tree.Assignment, scope: NameScope) -> Any:
    """Return the left side of an assignment."""
    return ev.assign_place(assignment, scope)


def _place_binary(ev: Evaluator, node: tree.Binary, scope: NameScope) -> Any:
    """Return what the right side of a comma names."""
    if node.op != ",":
        return ev.evaluate_expression(node, scope)
    ev.evaluate_expression(node.left, scope)
    return ev.find_place(node.right, scope)


def _place_choice(ev: Evaluator, node: tree.ConditionalExpression, scope: NameScope) -> Any:
    """Return what the chosen arm of ?: names, or one of both."""
    condition = ev.evaluate_truth(tested := ev.evaluate_expression(node.condition, scope))
    if condition is not None:
        chosen = ev.find_place(node.yes if condition else node.no, scope)
        return chosen if isinstance(chosen, PLACES) else ev.evaluate_chosen_arm(node, condition, chosen, scope)
    if any(ev.summaries.get_summary(arm).calls or ev.summaries.get_summary(arm).names for arm in (node.yes, node.no)):
        return ev.evaluate_both_arms(node, ev.format_condition(tested, node.condition), scope)
    yes, no = ev.find_place(node.yes, scope), ev.find_place(node.no, scope)
    if isinstance(yes, PLACES) and isinstance(no, PLACES):
        return SplitPlace(ev.format_expression(node.condition), yes, no)
    text = ev.format_expression(node.condition)
    chosen = ev.merge(text, ev.load_place(yes, node.yes), ev.load_place(no, node.no))
    note_lane_choice(ev, node, chosen, scope)
    return chosen


def _place_call(ev: Evaluator, call: tree.Call, scope: NameScope) -> Any:
    """Return what the reference that a function gives names."""
    result = ev.evaluate_call(call, scope)
    return result.place if isinstance(result, ReferredPlace) else result


_Rule = Callable[["Evaluator", Any, NameScope], Any]
_RULES: dict[type[tree.Expression], _Rule] = {
    tree.Name: _place_name,
    tree.Type: _place_name,
    tree.Member: _place_member,
    tree.Index: _place_item,
    tree.Unary: _place_unary,
    tree.Cast: _place_cast,
}
_CXX_RULES: dict[type[tree.Expression], _Rule] = {
    **_RULES,
    tree.Assignment: _place_assigned,
    tree.Binary: _place_binary,
    tree.ConditionalExpression: _place_choice,
    tree.Call: _place_call,
}


def take_address(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> Any:
    """Return the value of &x."""
    if isinstance(expression, tree.Index) and len(expression.indices) == 1 and not ev.python:
        return _take_item_address(ev, expression, scope)
    if isinstance(expression, tree.Unary) and expression.op == "*":
        value = ev.evaluate_expression(expression.value, scope)
        return value if isinstance(value, Pointer) else _make_address(ev, ev.evaluate_dereference(value, expression))
    return _make_address(ev, ev.find_place(expression, scope))


def _make_address(ev: Evaluator, place: Any) -> Any:
    """Return the address of a place."""
    if isinstance(place, PointedPlace):
        return place.pointer
    if isinstance(place, Cell) and isinstance(place.value, ArrayValue) and place.value.name:
        return _make_array_address(ev, place, place.value)
    if isinstance(place, Pointer):  # an item of an array of arrays
        return place
    if isinstance(place, PLACES):
        return Address(place)
    return Pointer(make_symbol(f"&{place}")) if isinstance(place, OpaqueValue) else place


def _make_array_address(ev: Evaluator, cell: Cell, array: ArrayValue) -> Pointer:
    """Return the address of an array, a pointer whose items are whole arrays."""
    element = array.element
    if element is None:
        return ev.decay_array(array)
    kind = replace(element, dims=(SymbolicInt(len(array.cells)), *element.dims))
    outer = array.inside or ArrayValue([cell], kind)
    at = next(n for n, item in enumerate(outer.cells) if item is cell)
    return Pointer(make_symbol(array.name), kind, array=outer, at=SymbolicInt(at, LONG))


def _take_item_address(ev: Evaluator, one: tree.Index, scope: NameScope) -> Any:
    """Return &array[i] as array + i, where the array has a name or its items a type."""
    whole = ev.find_place(one.value, scope)
    const = find_constness(ev, one.value, scope) if "[" in ev.overloaded else None
    index = ev.evaluate_expression(one.indices[0], scope)
    value = ev.load_place(whole, one.value) if isinstance(whole, Cell | ArrayValue | Pointer) else None
    offset = get_integer(index)
    moved = _find_item_address(ev, value, offset) if offset is not None else None
    return _make_address(ev, evaluate_item(ev, whole, index, one, const)) if moved is None else moved


def _find_item_address(ev: Evaluator, value: Any, offset: SymbolicInt) -> Any:
    """Return array + i of an array that has a name or whose items have a type; None for another value."""
    if isinstance(value, ArrayValue):
        item = value.cells[offset.known] if offset.known is not None and 0 <= offset.known < len(value.cells) else None
        if item is not None and isinstance(item.value, ArrayValue) and item.value.name:
            return _make_array_address(ev, item, item.value)
        if value.name or value.element is not None:
            return move_pointer(ev.decay_array(value), offset)
    if isinstance(value, Pointer) and (value.array is not None or value.dims):
        return move_pointer(value, offset)
    return None


# what stands in a place ------------------------------------------------------------------------------------------


def load_place(ev: Evaluator, place: Any, at: tree.Expression) -> Any:
    """Load what is in a place."""
    if isinstance(place, Cell):
        return place.value if not isinstance(place.value, PLACES) else ev.load_place(place.value, at)
    if isinstance(place, ObjectPart):
        return _load_part(ev, place)
    if isinstance(place, PointedPlace):
        return load_memory(ev, place, at)
    if isinstance(place, JointPlace):
        return _load_joint(ev, place, at)
    if isinstance(place, SplitPlace):
        return ev.merge(place.condition, ev.load_place(place.yes, at), ev.load_place(place.no, at))
    if isinstance(place, OverlayPlace):
        return ev.load_place(place.place, at)
    if isinstance(place, BlurredPlace):
        return ev.make_symbolic_value(place.kind, ev.make_fresh_name(ev.format_expression(at) or "?"))
    if isinstance(place, ReferredPlace):
        return ev.load_place(place.place, at)
    return place


def _load_part(ev: Evaluator, place: ObjectPart) -> Any:
    """Return what the bits of a member hold; structs and arrays stay places."""
    if place.field.inner is not None or place.field.count:
        return place
    store = place.of.store.value
    kind = place.field.integer or ULONG
    if not isinstance(store, SymbolicInt):
        return OpaqueValue(f"{place.of.store.name or '?'}", ResolvedType(kind.name, kind, kind.bits))
    if place.field.width == store.type.bits and not place.field.low:
        return symbolic_integers.convert_int(store, kind)
    return symbolic_integers.extract_bits(store, place.field.low, place.field.width, kind)


def _load_joint(ev: Evaluator, place: JointPlace, at: tree.Expression) -> SymbolicInt:
    """Return the integer that several places are together."""
    total = SymbolicInt(0, IntegerType("bits", sum(place.widths), False))
    low = 0
    for inner, width in zip(place.places, place.widths, strict=True):
        value = get_integer(ev.load_place(inner, at))
        if value is None:
            return make_free(ev.make_fresh_name("?"), place.integer)
        cut = symbolic_integers.convert_int(
            symbolic_integers.convert_int(value, IntegerType("bits", width, False)), total.type
        )
        total = symbolic_integers.or_ints(total, symbolic_integers.shift_int(cut, low))
        low += width
    return symbolic_integers.convert_int(replace(total, type=IntegerType("bits", low, False)), place.integer)
