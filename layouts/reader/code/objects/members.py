"""Evaluate items of arrays and members of objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import INT, LONG, UINT
from lanescope.reader.code import symbolic_integers
from lanescope.reader.code.expression.integer_values import get_integer, make_size, make_unsized_type, move_pointer
from lanescope.reader.code.naming.header_names import BUILT_IN, CONSTANTS
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.objects.pointers import find_item
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt, make_free, make_symbol
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import (
    PLACES,
    Address,
    ArrayValue,
    BlurredPlace,
    EnumerationType,
    ObjectPart,
    ObjectValue,
    OpaqueValue,
    OverlayPlace,
    PointedPlace,
    Pointer,
    RecordField,
    ReferredPlace,
    ResolvedType,
    TemplateEntity,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def list_part_items(ev: Evaluator, part: ObjectPart) -> list[ObjectPart]:
    """Return the items of an array member that is kept as bits."""
    width = part.field.width // part.field.count
    fields = [
        RecordField(part.field.low + n * width, width, part.field.integer, part.field.inner)
        for n in range(part.field.count)
    ]
    return [ObjectPart(part.of, field) for field in fields]


# items -----------------------------------------------------------------------------------------------------------


def evaluate_item(ev: Evaluator, owner: Any, index: Any, at: tree.Index, const: bool | None = None) -> Any:
    """Evaluate owner[index]. const: whether the owner is const, None if unknown."""
    if isinstance(owner, OverlayPlace):
        inner = evaluate_item(ev, owner.place, index, at, const)
        return OverlayPlace(owner.of, owner.name, inner) if isinstance(inner, PLACES) else inner
    value: Any = (
        ev.load_place(owner, at.value) if isinstance(owner, PLACES) and not isinstance(owner, PointedPlace) else owner
    )
    if isinstance(value, SymbolicInt) and isinstance(index, ArrayValue | Pointer) and not ev.python:
        value, index = index, value  # 1[array]
    result = _call_subscript(ev, value, index, at, const)
    if result is not None:
        return result
    if isinstance(index, ObjectValue):
        index = ev.convert_to_kind(index, ResolvedType("long", LONG, 64), at.span)
    if isinstance(value, dict):
        return value.get(ev.make_key(index), OpaqueValue(ev.format_expression(at), span=at.span))
    rule = _ITEMS.get(type(value))
    result = rule(ev, value, index, at) if rule is not None else None
    return result if result is not None else OpaqueValue(ev.format_expression(at), span=at.span)


def _call_subscript(ev: Evaluator, value: Any, index: Any, at: tree.Index, const: bool | None) -> Any:
    """Call operator[] of an object; None if there is none."""
    if not isinstance(value, ObjectValue) or ev.python:
        return None
    result = ev.evaluate_operator("[]", value, index, at, constant=const)
    return result.place if isinstance(result, ReferredPlace) else result


def _get_array_item(ev: Evaluator, value: ArrayValue, index: Any, at: tree.Index) -> Any:
    """Return an item of an array; an unknown item if the index is unknown."""
    where = get_integer(index)
    if where is None:
        return None
    count = len(value.cells)
    if where.known is not None and (-count if ev.python else 0) <= where.known < count:
        return value.cells[where.known]
    if not ev.python and where.known is None and value.cells:
        return BlurredPlace(Cell(value), value.element)
    return _get_pointer_item(ev, ev.decay_array(value), index, at)


def _get_part_item(ev: Evaluator, value: ObjectPart, index: Any, at: tree.Index) -> Any:
    """Return an item of an array member that is kept as bits."""
    where, field = get_integer(index), value.field
    if not field.count or where is None:
        return None
    if where.known is None or not 0 <= where.known < field.count:
        return BlurredPlace(Cell(value.of), ResolvedType("", field.integer))
    return ev.list_part_items(value)[where.known]


def _get_pointer_item(ev: Evaluator, value: Pointer, index: Any, at: tree.Index) -> Any:
    """Return the target of pointer + index."""
    where = get_integer(index)
    if where is None:
        return None
    target = move_pointer(value, where)
    if target.array is not None:
        return find_item(ev, target)
    if target.dims:
        return Pointer(target.base, target.element, target.dims[1:], target.shared)
    return PointedPlace(target)


def _get_address_item(ev: Evaluator, value: Address, index: Any, at: tree.Index) -> Any:
    """Return the place of (&variable)[index]."""
    where = get_integer(index)
    if where is None:
        return None
    step = symbolic_integers.add_ints(value.at, SymbolicInt(where.const, LONG, where.pieces))
    return ev.find_target_place(replace(value, at=step))


def _get_memory_item(ev: Evaluator, value: PointedPlace, index: Any, at: tree.Index) -> Any:
    """Return an item of a pointer's target."""
    element = value.pointer.element
    if element is not None and element.open:  # buf[stage][k] of an undeclared buf: each buf[stage] is a pointer
        return _get_named_item(ev, OpaqueValue(ev.format_expression(at.value)), index, at)
    place = ev.load_place(value, at.value)
    if isinstance(place, Pointer):
        return evaluate_item(ev, place, index, at)
    return _get_named_item(ev, place, index, at) if isinstance(place, OpaqueValue) else None


def _get_named_item(ev: Evaluator, value: OpaqueValue, index: Any, at: tree.Index) -> Any:
    """Return an item of a value known only by name, as of a pointer."""
    where = get_integer(index)
    if where is None or ev.python:
        return None
    known = value.kind if value.kind and value.kind.bits else make_unsized_type(value.text)
    base = make_symbol(value.text) + symbolic_integers.multiply_ints(where, make_size(known)).make_linear()
    return PointedPlace(Pointer(base, known))


_ITEMS: dict[type[Any], Callable[[Evaluator, Any, Any, tree.Index], Any]] = {
    ArrayValue: _get_array_item,
    ObjectPart: _get_part_item,
    Pointer: _get_pointer_item,
    Address: _get_address_item,
    PointedPlace: _get_memory_item,
    OpaqueValue: _get_named_item,
}


# members ---------------------------------------------------------------------------------------------------------


def get_pointed_object(ev: Evaluator, owner: Any, at: tree.Member) -> Any:
    """Return the object that the left side of -> points to."""
    value = ev.load_place(owner, at.value) if isinstance(owner, PLACES) else owner
    if isinstance(value, Address):
        return ev.find_target_place(value)
    if isinstance(value, Pointer) and value.array is not None:
        return find_item(ev, value)
    if isinstance(value, ObjectValue) and "operator->" in value.record.methods:
        pointer = ev.call_function(replace(value.record.methods["operator->"], this=value), [], {}, at.span)
        return get_pointed_object(ev, ev.load_place(pointer, at), at)
    return owner


def find_qualified_member(ev: Evaluator, owner: Any, at: tree.Member, scope: NameScope) -> Any:
    """Evaluate object.Base::name: a function of the base, or a member that no derived class hides."""
    value = ev.load_place(owner, at.value) if isinstance(owner, PLACES) else owner
    base = ev.resolve_name(at.owner, scope, at.span[0])
    record = base.record if isinstance(base, ResolvedType) else None
    if not isinstance(value, ObjectValue) or record is None:
        return OpaqueValue(ev.format_expression(at), span=at.span)
    if at.name in record.methods:
        return replace(record.methods[at.name], this=value)
    if record is value.record or at.name not in value.record.hidden:
        return ev.find_member(owner, at.name, at.span)
    return OpaqueValue(ev.format_expression(at), span=at.span)


def find_member(ev: Evaluator, owner: Any, name: str, span: Span, templates: Any = None) -> Any:
    """Find owner.name: a member, method, static member or enumerator; an unknown value if it is none of these."""
    if isinstance(owner, OverlayPlace):
        inner = ev.find_member(owner.place, name, span, templates)
        return OverlayPlace(owner.of, owner.name, inner) if isinstance(inner, PLACES) else inner
    value = _load_owner(ev, owner, span)
    if isinstance(value, ObjectValue):
        return _find_object_member(ev, value, name, span, templates)
    if isinstance(value, ResolvedType) and value.record is not None:
        method = value.record.methods.get(name)
        return method if method is not None else ev.evaluate_later_member(value.record.scope, name)
    if isinstance(value, EnumerationType):
        return value.scope.names.get(name) or OpaqueValue(f"{value.name}.{name}", span=span)
    if isinstance(value, TemplateEntity):
        made_kind = ev.resolve_type(tree.Type(((value.decl.name, None),)), value.scope)
        return ev.find_member(made_kind, name, span) if made_kind.record else OpaqueValue(f"{value.decl.name}.{name}")
    member = _find_value_member(ev, value, name, templates)
    if member is not None:
        return member
    if name in CONSTANTS:
        return SymbolicInt(CONSTANTS[name], INT, origin=(span,))
    return _make_unknown_member(ev, value, name, span, templates)


def _load_owner(ev: Evaluator, owner: Any, span: Span) -> Any:
    """Load the owner of a member; parts and memory stay places."""
    value = owner.value if isinstance(owner, Cell) else owner
    if isinstance(value, PLACES) and not isinstance(value, ObjectPart | PointedPlace):
        value = ev.load_place(value, tree.OpaqueExpression("", span=span))
    if isinstance(value, Address):
        value = ev.find_target_place(value)
        value = value.value if isinstance(value, Cell) else value
    return value


_OF_NUMBERS = ("value", "to", "ir_value", "item")  # members of the CuTe DSL's numbers that return the number


def _find_value_member(ev: Evaluator, value: Any, name: str, templates: Any) -> Any:
    """Return a member of a nested struct kept as bits, of a pair, or of a number; None for other values."""
    if isinstance(value, ObjectPart) and value.field.inner is not None:
        inner = value.field.inner
        field = (inner.fields or {}).get(name)
        if field is not None:
            low = value.field.low + field.low
            return ObjectPart(value.of, RecordField(low, field.width, field.integer, field.inner, field.count))
        if name in inner.methods:
            return replace(inner.methods[name], this=value, templates=templates)
    if (
        isinstance(value, ArrayValue)
        and value.typed is not None
        and name in ("first", "second")
        and len(value.cells) == 2
    ):
        return value.cells[name == "second"]
    if isinstance(value, SymbolicInt):  # in C++, a std::integral_constant
        return value if (name in _OF_NUMBERS if ev.python else name == "value" and value.known is not None) else None
    return None


def _find_object_member(ev: Evaluator, value: ObjectValue, name: str, span: Span, templates: Any) -> Any:
    """Find a member of an object, or a function of its class."""
    record = value.record
    if name in value.members:
        cell = value.members[name]
        if name in record.overlaid:
            return OverlayPlace(value, name, cell)
        return cell.value if isinstance(cell.value, PLACES) else cell
    if record.fields and name in record.fields:
        return ObjectPart(value, record.fields[name])
    if name in record.methods:
        return replace(record.methods[name], this=value, templates=templates)
    if record.scope.names.get(name) is not None:
        return ev.evaluate_later_member(record.scope, name)
    for base in record.bases:
        if base.scope.names.get(name) is not None:
            return ev.evaluate_later_member(base.scope, name)
    if ev.python:
        member = value.members[name] = Cell(OpaqueValue(f"{value.store.name or record.name}.{name}"), name=name)
        return member
    owner = (value,) if record.opaque else ()
    return OpaqueValue(
        f"{value.store.name or record.name}.{name}", head=name if owner else "", span=span, arguments=owner
    )


def _make_unknown_member(ev: Evaluator, value: Any, name: str, span: Span, templates: Any) -> Any:
    """Make a member of a value known only by name."""
    kind: ResolvedType | None = None
    text = ""
    if (supplied := ev.supplied_values.get(f"{value}.{name}")) is not None:
        return SymbolicInt(supplied)
    if isinstance(value, PointedPlace):
        kind, text = value.pointer.element, str(value.pointer.base)
    elif isinstance(value, Pointer):
        kind, text = value.element, str(value.base)
    elif isinstance(value, OpaqueValue):
        kind, text = value.kind, value.text
    if kind is not None and kind.record is not None:
        record = kind.record
        if name in record.methods:
            return replace(record.methods[name], this=OpaqueValue(text, kind), templates=templates)
        if name in record.members:
            declared = record.members[name].type
            return ev.make_symbolic_value(
                ev.resolve_type(declared, record.scope) if declared else None, f"{text}.{name}"
            )
        if name in record.scope.names:
            return ev.evaluate_later_member(record.scope, name)
    if (text, name) in BUILT_IN and not ev.python:
        return make_free(f"{text}.{name}", UINT, BUILT_IN[text, name])
    return OpaqueValue(f"{text or value}.{name}", head=name, span=span, arguments=(value,))
