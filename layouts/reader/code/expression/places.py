"""Find the places that expressions name (cells, parts of objects, targets of pointers), and load them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import LONG, ULONG, IntegerType
from lanescope.reader.code import symbolic_integers
from lanescope.reader.code.expression.assignments import assign_place
from lanescope.reader.code.expression.integer_values import get_integer, move_pointer
from lanescope.reader.code.expression.lane_choices import note_lane_choice
from lanescope.reader.code.maps.map_objects import choose_item
from lanescope.reader.code.naming.header_names import OF_DESCRIPTOR
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.objects.foreign_unions import make_descriptor_object
from lanescope.reader.code.objects.members import evaluate_item, find_qualified_member, get_pointed_object
from lanescope.reader.code.objects.pointers import load_memory
from lanescope.reader.code.objects.views import cast_reference
from lanescope.reader.code.running.branches import evaluate_both_arms, evaluate_chosen_arm, format_condition
from lanescope.reader.code.symbolic_integers import SymbolicInt, make_free, make_symbol
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.constness import find_constness
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

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def find_place(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> Any:
    """Find the place that an expression names, else evaluate it."""
    rule: _Rule = (_RULES if ev.python else _CXX_RULES).get(type(expression), _evaluate_value)
    return rule(ev, expression, scope)


def _evaluate_value(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> Any:
    """Evaluate an expression that names no place."""
    return ev.evaluate_expression(expression, scope)


def _find_name_place(ev: Evaluator, node: tree.Name | tree.Type, scope: NameScope) -> Any:
    """Find the variable of a name."""
    binding = ev.resolve_name(node.path, scope, node.span[0])
    return binding if isinstance(binding, (*PLACES, EnumerationType)) else ev.evaluate_name(node, scope)


def _find_member_place(ev: Evaluator, node: tree.Member, scope: NameScope) -> Any:
    """Find a member of an object, or of the target of a pointer."""
    owner = ev.find_place(node.value, scope)
    if node.arrow:
        owner = get_pointed_object(ev, owner, node)
    if (node.name in OF_DESCRIPTOR or node.name in ev.unions) and not ev.python:
        owner = make_descriptor_object(ev, node.value, node.name, owner, scope)
    if node.owner:
        return find_qualified_member(ev, owner, node, scope)
    return ev.find_member(owner, node.name, node.span, node.templates)


def _find_item_place(ev: Evaluator, node: tree.Index, scope: NameScope) -> Any:
    """Find an item of an array, or evaluate an operator[]."""
    owner = ev.find_place(node.value, scope)
    const = find_constness(ev, node.value, scope) if "[" in ev.overloaded and not ev.python else None
    for index in node.indices:
        owner = evaluate_item(ev, owner, ev.evaluate_expression(index, scope), node, const)
    return owner


def _find_target_place(ev: Evaluator, node: tree.Unary, scope: NameScope) -> Any:
    """Find the target of *p."""
    if node.op != "*":
        return ev.evaluate_expression(node, scope)
    return ev.evaluate_dereference(ev.evaluate_expression(node.value, scope), node)


def _find_cast_place(ev: Evaluator, node: tree.Cast, scope: NameScope) -> Any:
    """Find the place of a cast to a reference."""
    if not node.type.reference:
        return ev.evaluate_expression(node, scope)
    return cast_reference(ev, ev.resolve_type(node.type, scope), ev.find_place(node.value, scope))


def _find_assigned_place(ev: Evaluator, assignment: tree.Assignment, scope: NameScope) -> Any:
    """Run an assignment; return its left side."""
    return assign_place(ev, assignment, scope)


def _find_comma_place(ev: Evaluator, node: tree.Binary, scope: NameScope) -> Any:
    """Find the place of the right side of a comma."""
    if node.op != ",":
        return ev.evaluate_expression(node, scope)
    ev.evaluate_expression(node.left, scope)
    return ev.find_place(node.right, scope)


def _find_choice_place(ev: Evaluator, node: tree.ConditionalExpression, scope: NameScope) -> Any:
    """Find the place of the chosen arm of ?:, or either of both."""
    condition = ev.evaluate_truth(tested := ev.evaluate_expression(node.condition, scope))
    if condition is not None:
        chosen = ev.find_place(node.yes if condition else node.no, scope)
        return chosen if isinstance(chosen, PLACES) else evaluate_chosen_arm(ev, node, condition, chosen, scope)
    if any(ev.summaries.get_summary(arm).calls or ev.summaries.get_summary(arm).names for arm in (node.yes, node.no)):
        return evaluate_both_arms(ev, node, format_condition(ev, tested, node.condition), scope)
    yes, no = ev.find_place(node.yes, scope), ev.find_place(node.no, scope)
    if isinstance(yes, PLACES) and isinstance(no, PLACES):
        return SplitPlace(ev.format_expression(node.condition), yes, no)
    text = ev.format_expression(node.condition)
    chosen = ev.merge(text, ev.load_place(yes, node.yes), ev.load_place(no, node.no))
    note_lane_choice(ev, node, chosen, scope)
    return chosen


def _find_call_place(ev: Evaluator, call: tree.Call, scope: NameScope) -> Any:
    """Find the place that a call returns a reference to."""
    result = ev.evaluate_call(call, scope)
    return result.place if isinstance(result, ReferredPlace) else result


_Rule = Callable[["Evaluator", Any, NameScope], Any]
_RULES: dict[type[tree.Expression], _Rule] = {
    tree.Name: _find_name_place,
    tree.Type: _find_name_place,
    tree.Member: _find_member_place,
    tree.Index: _find_item_place,
    tree.Unary: _find_target_place,
    tree.Cast: _find_cast_place,
}
_CXX_RULES: dict[type[tree.Expression], _Rule] = {
    **_RULES,
    tree.Assignment: _find_assigned_place,
    tree.Binary: _find_comma_place,
    tree.ConditionalExpression: _find_choice_place,
    tree.Call: _find_call_place,
}


def take_address(ev: Evaluator, expression: tree.Expression, scope: NameScope) -> Any:
    """Evaluate &x."""
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
    """Return the address of an array: a pointer to an array type."""
    element = array.element
    if element is None:
        return ev.decay_array(array)
    kind = replace(element, dims=(SymbolicInt(len(array.cells)), *element.dims))
    outer = array.inside or ArrayValue([cell], kind)
    at = next(n for n, item in enumerate(outer.cells) if item is cell)
    return Pointer(make_symbol(array.name), kind, array=outer, at=SymbolicInt(at, LONG))


def _take_item_address(ev: Evaluator, node: tree.Index, scope: NameScope) -> Any:
    """Evaluate &array[i] as array + i, if the array has a name or its items a type."""
    owner = ev.find_place(node.value, scope)
    const = find_constness(ev, node.value, scope) if "[" in ev.overloaded else None
    index = ev.evaluate_expression(node.indices[0], scope)
    value = ev.load_place(owner, node.value) if isinstance(owner, Cell | ArrayValue | Pointer) else None
    offset = get_integer(index)
    moved = _find_item_address(ev, value, offset) if offset is not None else None
    return _make_address(ev, evaluate_item(ev, owner, index, node, const)) if moved is None else moved


def _find_item_address(ev: Evaluator, value: Any, offset: SymbolicInt) -> Any:
    """Return array + i for an array with a name or typed items; None for another value."""
    if isinstance(value, ArrayValue):
        item = value.cells[offset.known] if offset.known is not None and 0 <= offset.known < len(value.cells) else None
        if item is not None and isinstance(item.value, ArrayValue) and item.value.name:
            return _make_array_address(ev, item, item.value)
        if value.name or value.element is not None:
            return move_pointer(ev.decay_array(value), offset)
    if isinstance(value, Pointer) and (value.array is not None or value.dims):
        return move_pointer(value, offset)
    return None


# loading ------------------------------------------------------------------------------------------


def load_place(ev: Evaluator, place: Any, at: tree.Expression) -> Any:
    """Load the value of a place."""
    if isinstance(place, Cell):
        return place.value if not isinstance(place.value, PLACES) else ev.load_place(place.value, at)
    if isinstance(place, ObjectPart):
        return _load_part(place)
    if isinstance(place, PointedPlace):
        return load_memory(ev, place, at)
    if isinstance(place, JointPlace):
        return _load_joint(ev, place, at)
    if isinstance(place, SplitPlace):
        return ev.merge(place.condition, ev.load_place(place.yes, at), ev.load_place(place.no, at))
    if isinstance(place, OverlayPlace):
        return ev.load_place(place.place, at)
    if isinstance(place, BlurredPlace):
        one_map = choose_item(place.place.value) if isinstance(place.place, Cell) else None
        return one_map or ev.make_symbolic_value(place.kind, ev.make_fresh_name(ev.format_expression(at) or "?"))
    if isinstance(place, ReferredPlace):
        return ev.load_place(place.place, at)
    return place


def _load_part(place: ObjectPart) -> Any:
    """Load a member from its bits; structs and arrays stay places."""
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
    """Load several places as one integer."""
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
