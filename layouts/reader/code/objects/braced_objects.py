"""Initialize objects with braced lists: ISO C++20, [dcl.init.list], [dcl.init.aggr]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.objects.construction import construct_with, fill_aggregate
from lanescope.reader.code.objects.member_initialization import (
    default_members,
    initialize_member,
    make_initial_object,
    zero_member,
)
from lanescope.reader.code.symbolic_integers import Span
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import ArrayValue, FunctionSet, ObjectPart, ObjectValue, RecordType, ResolvedType

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def make_braced_object(ev: Evaluator, node: tree.ItemList, record: RecordType, scope: NameScope, name: str) -> Any:
    """Evaluate T{…}: with a constructor if there is one, else members by name or in order."""
    instance = ev.make_instance(record, name)
    ctors = record.methods.get(record.name)
    if ctors is not None and any(not f.defaulted for f in ctors.functions):
        return _construct_braced(ev, instance, node, ctors, scope)
    only = _find_only_item(ev, node, record)
    if only is not None:
        return _initialize_with_only_item(ev, instance, only, scope)
    if (record.bases or record.opaque) and node.items:
        ev.forget_all(scope)
        return ev.forget_members(instance)
    items = _match_items_with_members(node, record)
    if items is None:
        return ev.forget_members(instance)
    this_scope = ev.make_this_scope(record.scope, instance, record)
    for member, declared in record.members.items():
        if member not in items:
            if not (_is_union(record) and items):
                zero_member(ev, instance, member, declared, this_scope)
        elif not _initialize_listed_member(ev, instance, member, declared, items[member], scope):
            return ev.forget_members(instance)
    return instance


def _construct_braced(
    ev: Evaluator, instance: ObjectValue, node: tree.ItemList, ctors: FunctionSet, scope: NameScope
) -> ObjectValue:
    """Evaluate T{a, b} of a class with constructors."""
    list_constructors = [f for f in ctors.functions if _takes_initializer_list(f)]
    if list_constructors and node.items:
        return _construct_from_list(ev, instance, node, list_constructors[0], ctors, scope)
    call = tree.Call(tree.OpaqueExpression(""), tuple(value for _, value in node.items), span=node.span)
    constructed: ObjectValue = ev.construct_object(instance, ev.evaluate_typed_arguments(call, scope))
    return constructed


def _find_only_item(ev: Evaluator, node: tree.ItemList, record: RecordType) -> tree.Expression | None:
    """Return the only item of a braced list, which may be an object of the class; else None."""
    first = next(iter(record.members.values()), None)
    home = record.homes.get(first.name, record.scope) if first is not None else record.scope
    refers = first is not None and first.type is not None and bool(ev.resolve_type(first.type, home).reference)
    if len(node.items) != 1 or refers:
        return None
    key, value = node.items[0]
    return value if not key and not isinstance(value, tree.ItemList) else None


def _initialize_with_only_item(
    ev: Evaluator, instance: ObjectValue, item: tree.Expression, scope: NameScope
) -> ObjectValue:
    """Evaluate T{a} of a class without constructors: copy an object of the class, else initialize the first member."""
    record = instance.record
    value = ev.evaluate_expression(item, scope)
    if isinstance(value, ObjectValue) and value.record is record:
        value = make_initial_object(ev, value, item, scope)
        copied: ObjectValue = ev.copy_assigned(value) if value.stored else value
        return copied
    if isinstance(value, ArrayValue) and value.typed is None and value.element is not None:
        value = ev.decay_array(value)
    inner = isinstance(value, ObjectValue) and not value.record.converts
    if inner or isinstance(value, ArrayValue) or any(base.members for base in record.bases):
        unknown_object: ObjectValue = ev.forget_members(instance)
        return unknown_object
    fill_aggregate(ev, instance, record, [value])
    initialized = frozenset(list(record.members)[:1])
    default_members(ev, instance, record, ev.make_this_scope(record.scope, instance, record), initialized)
    return instance


def _is_union(record: RecordType) -> bool:
    """Return whether a class is a union."""
    return record.decl is not None and record.decl.union


def _match_items_with_members(node: tree.ItemList, record: RecordType) -> dict[str, tree.Expression] | None:
    """Map members to the items of a braced list; None if unknown."""
    names = list(record.members)[: 1 if _is_union(record) else None]
    if len(node.items) > len(names) or "" in names:
        return None
    items = {key or names[n]: value for n, (key, value) in enumerate(node.items)}
    return items if items.keys() <= record.members.keys() else None


def _initialize_listed_member(
    ev: Evaluator,
    instance: ObjectValue,
    member: str,
    declared: tree.Declaration,
    value: tree.Expression,
    scope: NameScope,
) -> bool:
    """Initialize a member with an item of a braced list; return False if braces are elided."""
    kind = ev.resolve_type(declared.type, instance.record.scope) if declared.type else None
    place = ev.find_member(instance, member, value.span)
    if kind is not None and kind.reference:
        initialize_member(ev, instance, member, declared, (value,), scope)
        return True
    record = kind.record if kind is not None else None
    is_compound = record is not None or (kind is not None and bool(kind.dims))
    if is_compound and not isinstance(value, tree.ItemList):
        item = ev.evaluate_expression(value, scope)
        if not isinstance(item, ObjectValue) or item.record is not record:
            return False
        ev.begin_member(place, make_initial_object(ev, item, value, scope), value.span)
        return True
    item = ev.evaluate_initializer(value, kind, scope, member)
    if is_compound and record is None:
        _store_array(ev, place, item, value.span)
    else:
        ev.begin_member(place, item, value.span)
    return True


def _construct_from_list(
    ev: Evaluator,
    instance: ObjectValue,
    node: tree.ItemList,
    function: tree.Function,
    ctors: FunctionSet,
    scope: NameScope,
) -> ObjectValue:
    """Evaluate T{a, b} with a constructor that takes std::initializer_list."""
    home = ctors.get_home(function)
    kind = ev.resolve_type(function.parameters[0].type, home) if function.parameters[0].type else None
    element = kind.arguments[0] if kind is not None and kind.arguments else None
    if not isinstance(element, ResolvedType):
        return ev.forget_members(instance)
    cells = [
        Cell(ev.convert_to_kind(ev.evaluate_expression(v, scope), element, v.span), element) for _, v in node.items
    ]
    closure = replace(ctors, functions=(function,), homes=(home,))
    return construct_with(ev, instance, closure, [ArrayValue(cells, element, "", kind)])


def _store_array(ev: Evaluator, place: Any, array: Any, span: Span) -> None:
    """Store an array in a member; item by item if the member is kept as bits."""
    if not isinstance(place, ObjectPart) or not isinstance(array, ArrayValue):
        ev.store_value(place, array, span)
        return
    width = place.field.width // place.field.count
    for n, cell in enumerate(array.cells):
        low = place.field.low + n * width
        ev.store_value(ObjectPart(place.of, type(place.field)(low, width, place.field.integer)), cell.value, span)


def _takes_initializer_list(function: tree.Function) -> bool:
    """Return whether a constructor takes a std::initializer_list."""
    types = [p.type for p in function.parameters]
    return len(types) == 1 and types[0] is not None and types[0].name == "initializer_list"
