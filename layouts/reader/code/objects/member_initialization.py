"""Initialize the members of an object: from a constructor's list, a braced list, default initializers, or zeros."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.expression.storing import forget_overlaid
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.objects.lifetimes import is_named_object
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import (
    ArrayValue,
    ObjectPart,
    ObjectValue,
    OpaqueValue,
    OverlayPlace,
    RecordType,
    ResolvedType,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_ITEMS = 256


def make_initialized(ev: Evaluator, record: RecordType, name: str) -> ObjectValue:
    """Make an object with its default constructor."""
    return ev.construct_object(ev.make_instance(record, name), [])


def default_members(
    ev: Evaluator, instance: ObjectValue, record: RecordType, scope: NameScope, but: frozenset[str] = frozenset()
) -> None:
    """Initialize members and bases with their default member initializers."""
    before = instance.dynamic
    try:
        for base in record.bases:
            if base.name not in but:
                ev.construct_object(instance, [], base)
        instance.dynamic = record if not record.python else before
        for name, declared in record.members.items():
            home = record.homes.get(name)
            if (home is None or home.owner is record) and name not in but:
                initialize_default_member(ev, instance, name, declared, scope)
    finally:
        instance.dynamic = before


def zero_member(ev: Evaluator, instance: ObjectValue, name: str, declared: tree.Declaration, scope: NameScope) -> None:
    """Initialize a member that a braced list omits: with its default initializer, or zeros."""
    kind = ev.resolve_type(declared.type, scope) if declared.type else None
    plain = declared.value is None and kind is not None and kind.record is None and not kind.reference
    if plain and kind is not None and name in instance.members and (kind.dims or kind.integer is not None):
        instance.members[name].value = zero_value(ev, kind)
    else:
        initialize_default_member(ev, instance, name, declared, scope)


def initialize_default_member(
    ev: Evaluator, instance: ObjectValue, name: str, declared: tree.Declaration, scope: NameScope
) -> None:
    """Initialize a member that a constructor does not name."""
    if declared.value is not None:
        _initialize_member(ev, instance, name, declared, scope)
    elif (
        name in instance.members
        and isinstance(instance.members[name].value, ObjectValue)
        and name not in instance.record.overlaid
    ):
        ev.construct_object(instance.members[name].value, [])


def _initialize_member(
    ev: Evaluator, instance: ObjectValue, name: str, declared: tree.Declaration, scope: NameScope
) -> None:
    """Initialize a member by its declaration."""
    assert declared.value is not None
    place = ev.find_member(instance, name, declared.span)
    kind = ev.resolve_type(declared.type, scope) if declared.type else None
    first = declared.value
    value = ev.evaluate_full_expression(lambda: ev.evaluate_initializer(first, kind, scope, name), first.span)
    ev.begin_member(place, make_initial_object(ev, value, first, scope), first.span)


def begin_member(ev: Evaluator, place: Any, value: Any, span: Span) -> None:
    """Store the first value of a member, without operator=."""
    if isinstance(place, OverlayPlace):
        forget_overlaid(ev, place)
        place = place.place
    old = place.value if isinstance(place, Cell) else None
    if isinstance(old, ObjectValue) and old.record.begins and not isinstance(value, ObjectValue):
        value = ev.convert_to_kind(value, ResolvedType(old.record.name, record=old.record), span)
        if not isinstance(value, ObjectValue):
            ev.forget_place(place)
            return
    if isinstance(old, ObjectValue) and isinstance(value, ObjectValue) and old.record is value.record and old.members:
        ev.write_cell(place, ev.copy_assigned(value))
    else:
        ev.store_value(place, value, span)


def make_initial_object(ev: Evaluator, value: Any, expression: tree.Expression, scope: NameScope) -> Any:
    """Return the object that initializes a variable or member: a copy if the expression names an object."""
    named = isinstance(value, ObjectValue) and (value.stored or is_named_object(expression))
    if named and value.record.copies and not ev.python:
        value = ev.copy_construct(value, ev.make_copy_argument(expression, scope, value))
    return value


def initialize_member(
    ev: Evaluator,
    instance: ObjectValue,
    name: str,
    declared: tree.Declaration,
    values: tuple[tree.Expression, ...],
    scope: NameScope,
) -> None:
    """Initialize a member with values of a constructor's list or a braced list."""
    place = ev.find_member(instance, name, declared.span)
    home = instance.record.homes.get(name, instance.record.scope)
    kind = ev.resolve_type(declared.type, home) if declared.type else None
    if kind is not None and kind.reference:
        _bind_reference_member(ev, place, name, kind, values, scope)
    elif kind is not None and kind.record is not None and not kind.dims and not kind.pointers:
        _construct_member(ev, place, kind, declared, values, scope)
    elif kind is not None and (kind.dims or (kind.record is None and len(values) > 1)):
        items = tree.ItemList(tuple(("", value) for value in values))
        ev.store_value(place, ev.evaluate_initializer(items, kind, scope, name), declared.span)
    elif values:
        ev.store_value(place, ev.evaluate_initializer(values[0], kind, scope, name), values[0].span)
    else:
        ev.store_value(place, SymbolicInt(0), declared.span)


def _construct_member(
    ev: Evaluator,
    place: Any,
    kind: ResolvedType,
    declared: tree.Declaration,
    values: tuple[tree.Expression, ...],
    scope: NameScope,
) -> None:
    """Construct a member that is an object."""
    inner = place.value if isinstance(place, Cell) else None
    if not isinstance(inner, ObjectValue) or any(isinstance(v, tree.ItemList) for v in values):
        first = [ev.evaluate_initializer(value, None, scope, "") for value in values]
        value = ev.construct_value(kind, first, declared)
        ev.begin_member(place, value, declared.span)
        return
    typed_arguments = ev.evaluate_typed_arguments(tree.Call(tree.OpaqueExpression(""), values), scope)
    only = typed_arguments[0].value if len(typed_arguments) == 1 else None
    if (
        isinstance(only, ObjectValue)
        and only.record is inner.record
        and not only.stored
        and typed_arguments[0].where is None
    ):
        ev.write_cell(place, ev.copy_assigned(only))  # the same object
    else:
        ev.construct_object(inner, typed_arguments)


def _bind_reference_member(
    ev: Evaluator, cell: Any, name: str, kind: ResolvedType, values: tuple[tree.Expression, ...], scope: NameScope
) -> None:
    """Bind a reference member to a place."""
    if not isinstance(cell, Cell) or not values:
        return
    place = ev.find_place(values[0], scope)
    inner = place.value if isinstance(place, Cell) else None
    if isinstance(inner, ObjectValue) and kind.record is not None and inner.record is not kind.record:
        cell.value = Cell(ev.upcast_object(inner, kind.record), replace(kind, reference=""))
    elif isinstance(place, Cell | ObjectPart):
        cell.value = place
    else:
        cell.value = OpaqueValue(name)


def zero_value(ev: Evaluator, element: ResolvedType) -> Any:
    """Make the value of an item that an initializer omits."""
    if element.dims:
        size = element.dims[0].known or 0
        inner = replace(element, dims=element.dims[1:])
        return link_inner_arrays(
            ArrayValue([Cell(zero_value(ev, inner), inner) for _ in range(min(size, MOST_ITEMS))], inner)
        )
    if element.record is not None and not element.pointers:
        return make_initialized(ev, element.record, "")
    if element.integer is not None and not element.pointers:
        return SymbolicInt(0, element.integer)
    return ev.make_symbolic_value(element, "0")


def link_inner_arrays(array: ArrayValue) -> ArrayValue:
    """Link nested arrays to the array that contains them, and return it."""
    for cell in array.cells:
        if isinstance(cell.value, ArrayValue):
            cell.value.inside = array
        elif isinstance(cell.value, ObjectValue):
            cell.value.stored = True
    return array
