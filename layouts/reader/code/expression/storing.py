"""Write places and copy values: variables, bit fields, objects, memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import ULONG, IntegerType
from lanescope.reader.code import symbolic_integers
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.findings import check_field_overflow, mark_bits
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.objects.pointers import get_pointee_type
from lanescope.reader.code.symbolic_integers import UNKNOWN, Span, SymbolicInt, make_free, make_symbol
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import (
    PLACES,
    ArrayValue,
    BlurredPlace,
    FunctionSet,
    JointPlace,
    ObjectPart,
    ObjectValue,
    OpaqueValue,
    OverlayPlace,
    PointedPlace,
    Pointer,
    RecordField,
    ReferredPlace,
    ResolvedType,
    SplitPlace,
    shorten_name,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_DEPTH = 3  # nesting of objects that are copied


# stores ----------------------------------------------------------------------------------------------------------


def store_value(ev: Evaluator, place: Any, value: Any, span: Span, statement_span: Span | None = None) -> None:
    """Write a value into a place. span: of the value; statement_span: of the statement, recorded for findings."""
    rule = _STORES.get(type(place))
    if rule is not None:
        rule(ev, place, value, span, statement_span)
    else:  # a value known only by name
        ev.note_value(value, str(place), statement_span or span)


def _store_variable(ev: Evaluator, place: Cell, value: Any, span: Span, statement_span: Span | None) -> None:
    """Write a variable, or the target of its reference."""
    if isinstance(place.value, PLACES) and not ev.python:
        ev.store_value(place.value, value, span, statement_span)
        return
    unknown = isinstance(place.value, OpaqueValue) and place.value.head != "uninitialised" and place.name != ""
    refers = place.kind.reference if place.kind is not None else unknown and "::" in place.value.text
    if unknown and refers and ev.frames[-1].scope is not None:
        ev.forget_all(ev.frames[-1].scope)  # it may refer to any visible variable
    _store_cell(ev, place, value, span, statement_span)


def _store_cell(ev: Evaluator, place: Cell, value: Any, span: Span, statement_span: Span | None) -> None:
    """Write a variable: an object or array member by member, another value converted to its type."""
    old = place.value
    if (
        isinstance(old, ObjectValue)
        and not isinstance(value, ObjectValue)
        and _store_word(ev, place, old, value, statement_span or span)
    ):
        return
    if isinstance(old, ObjectValue) and isinstance(value, ObjectValue) and not ev.python:
        _assign_object(ev, place, old, value)
        ev.note_variable(place, statement_span or span)
        return
    if isinstance(old, ArrayValue) and not ev.python and _store_items(ev, place, old, value):
        return
    if place.kind is not None:
        kind = replace(place.kind, reference="") if place.kind.reference else place.kind
        value = ev.convert_to_kind(value, kind, span, place.name)
    ev.write_cell(place, ev.copy_assigned(value))
    ev.note_variable(place, statement_span or span)


def _store_word(ev: Evaluator, place: Cell, old: ObjectValue, value: Any, span: Span) -> bool:
    """Write an integer into a struct of bit fields without constructors; return whether it is one."""
    if old.record.fields is None or old.record.methods.get(old.record.name) is not None:
        return False
    integer = get_integer(value)
    if integer is None:
        return False
    ev.write_cell(old.store, symbolic_integers.convert_int(integer, old.store.value.type))
    ev.note_variable(old.store, span, place)
    return True


def _store_items(ev: Evaluator, place: Cell, old: ArrayValue, value: Any) -> bool:
    """Copy an array's items from another array, or make them unknown; return whether either was done."""
    if not isinstance(value, ArrayValue):
        ev.forget_place(place)
        return True
    if old.typed is None or len(old.cells) != len(value.cells):
        return False
    for target, source in zip(old.cells, value.cells, strict=True):
        ev.write_cell(target, ev.copy_assigned(source.value))
    return True


def _assign_object(ev: Evaluator, place: Cell, old: ObjectValue, value: ObjectValue) -> None:
    """Copy an object, or its part of the variable's class."""
    if value.record is old.record:
        ev.copy_object_members(old, value)
    elif value.record.is_derived_from(old.record) and not value.record.hidden:
        ev.copy_object_members(old, ev.upcast_object(value, old.record))
    else:
        _assign_other_class(ev, place, old, value)


def _assign_other_class(ev: Evaluator, place: Cell, old: ObjectValue, value: ObjectValue) -> None:
    """Assign an object to one of another class with a constructor; else the result is unknown."""
    converted = ev.convert_to_kind(value, ResolvedType(old.record.name, record=old.record), (0, 0))
    if isinstance(converted, ObjectValue) and converted.record is old.record:
        ev.copy_object_members(old, converted)
    else:
        ev.forget_place(place)


def _store_part(ev: Evaluator, place: ObjectPart, value: Any, span: Span, statement_span: Span | None) -> None:
    """Write a member that is kept as bits."""
    store, field = place.of.store, place.field
    if isinstance(value, ArrayValue) and field.count:
        for part, cell in zip(ev.list_part_items(place), value.cells, strict=False):
            _store_part(ev, part, cell.value, span, statement_span)
        return
    value = _convert_to_part(ev, field, value, span)
    integer = get_integer(value)
    if field.width > 64 and (integer is None or integer.type.bits < field.width):
        ev.forget_place(place)
        return
    if integer is None:
        integer = make_free(str(value), UNKNOWN)
    if not isinstance(store.value, SymbolicInt):
        ev.forget_place(store)
        return
    word = _insert_part(ev, place, store.value, integer, span)
    ev.write_cell(store, word)
    if word.type.bits in (32, 64) or ev.python:
        ev.note_variable(store, statement_span or span, record=place.of.record.name)
    else:
        _note_member(ev, place, statement_span or span)


def _convert_to_part(ev: Evaluator, field: RecordField, value: Any, span: Span) -> Any:
    """Convert a value for a member that is kept as bits."""
    if isinstance(value, ObjectPart) and value.field.inner is not None:
        width = value.field.width
        return symbolic_integers.extract_bits(
            value.of.store.value, value.field.low, width, IntegerType("bits", width, False)
        )
    if isinstance(value, ObjectValue) and value.record.fields is None and field.integer is not None:
        return ev.convert_to_kind(value, ResolvedType(field.integer.name, field.integer, field.integer.bits), span)
    return value


def _insert_part(ev: Evaluator, place: ObjectPart, old: SymbolicInt, integer: SymbolicInt, span: Span) -> SymbolicInt:
    """Return a word with an integer inserted into a member's bits."""
    field = place.field
    if field.integer is not None and field.integer.name == "bool":
        integer = ev.narrow_value(integer, field.integer, span)
    if not ev.wraps and (place.of.record.bits == 64 or ev.python):
        check_field_overflow(ev, field, integer, span)
    if field.integer is not None and field.width == old.type.bits:
        return symbolic_integers.convert_int(mark_bits(integer, span), old.type)
    integer = mark_bits(integer, span) if field.width > 16 else integer  # it has several fields
    return symbolic_integers.insert_bits(old, integer, field.low, field.width, span)


def _note_member(ev: Evaluator, place: ObjectPart, span: Span) -> None:
    """Record a 64-bit member of a larger struct as a variable."""
    store, first, past = place.of.store, place.field.low, place.field.low + place.field.width
    for name, field in (place.of.record.fields or {}).items():
        if field.width == 64 and field.low <= first and past <= field.low + 64 and isinstance(store.value, SymbolicInt):
            key = id(store), field.low
            member_name = f"{store.name}.{name}" if store.name else name
            kind = field.integer or ULONG
            cell = ev.inner_words.setdefault(key, Cell(None, None, member_name, span))
            cell.value = symbolic_integers.extract_bits(store.value, field.low, 64, kind)
            ev.note_variable(cell, span)
            return


def _store_pointed(ev: Evaluator, place: PointedPlace, value: Any, span: Span, statement_span: Span | None) -> None:
    """Write through a pointer; in Python, any item of its array may be the target."""
    array = place.pointer.array
    if not ev.python:
        ev.store_memory(place, value, span)
    elif array is not None and place.pointer.base.terms[1:]:
        for n, cell in enumerate(array.cells):
            if isinstance(cell.value, SymbolicInt):
                ev.write_cell(cell, make_free(f"{array.name}[{n}]", cell.value.type))


def _store_joint(ev: Evaluator, place: JointPlace, value: Any, span: Span, statement_span: Span | None) -> None:
    """Write the bits of an integer into several places, lowest first."""
    integer = get_integer(value)
    if integer is None:
        integer = make_free(ev.make_fresh_name(str(value)), UNKNOWN)
    integer = symbolic_integers.convert_int(integer, IntegerType("bits", sum(place.widths), False))
    low = 0
    for part, width in zip(place.places, place.widths, strict=True):
        ev.store_value(
            part, symbolic_integers.extract_bits(integer, low, width, IntegerType("bits", width, False)), span
        )
        low += width


def _store_split(ev: Evaluator, place: SplitPlace, value: Any, span: Span, statement_span: Span | None) -> None:
    """Write one of two places, depending on an undecided condition."""
    for target, first in ((place.yes, True), (place.no, False)):
        old = ev.load_place(target, tree.OpaqueExpression(""))
        pair = (value, old) if first else (old, value)
        ev.store_value(target, ev.merge(place.condition, *pair), span, statement_span)


def forget_overlaid(ev: Evaluator, place: OverlayPlace) -> None:
    """Make the other members of a union unknown."""
    for name in place.of.record.overlaid - {place.name}:
        if name in place.of.members:
            ev.forget_place(place.of.members[name])


def _store_overlay(ev: Evaluator, place: OverlayPlace, value: Any, span: Span, statement_span: Span | None) -> None:
    """Write a member of a union; the other members become unknown."""
    forget_overlaid(ev, place)
    ev.store_value(place.place, value, span, statement_span)


def _store_blurred(ev: Evaluator, place: BlurredPlace, value: Any, span: Span, statement_span: Span | None) -> None:
    """Write an unknown part of an object: all of it becomes unknown."""
    ev.forget_place(place.place)
    content = place.place.value if isinstance(place.place, Cell) else None
    ev.note_value(value, content.name if isinstance(content, ArrayValue) else "", statement_span or span)


def _store_referred(ev: Evaluator, place: ReferredPlace, value: Any, span: Span, statement_span: Span | None) -> None:
    """Write the place that a returned reference names."""
    ev.store_value(place.place, value, span, statement_span)


_STORES: dict[type[Any], Callable[[Evaluator, Any, Any, Span, Span | None], None]] = {
    Cell: _store_variable,
    ObjectPart: _store_part,
    PointedPlace: _store_pointed,
    JointPlace: _store_joint,
    SplitPlace: _store_split,
    OverlayPlace: _store_overlay,
    BlurredPlace: _store_blurred,
    ReferredPlace: _store_referred,
}


# copies ----------------------------------------------------------------------------------------------------------


def copy_assigned(ev: Evaluator, value: Any, depth: int = 0) -> Any:
    """Copy a value as an assignment does; Python values are shared."""
    if ev.python:
        return value
    if isinstance(value, ReferredPlace):
        value = ev.load_place(value.place, tree.OpaqueExpression(""))
    rule = _COPIES.get(type(value))
    return rule(ev, value, depth) if rule is not None else value


def _copy_number(ev: Evaluator, value: SymbolicInt, depth: int) -> SymbolicInt:
    """Return an integer; a bit field gets its declared type."""
    return symbolic_integers.convert_int(value, replace(value.type, field_bits=0)) if value.type.field_bits else value


def _copy_part(ev: Evaluator, value: ObjectPart, depth: int) -> Any:
    """Copy a struct member that is kept as bits into a new object."""
    return ev.make_part_object(value) if value.field.inner is not None else value


def _copy_object(ev: Evaluator, value: ObjectValue, depth: int) -> Any:
    """Copy an object with its copy constructor; an object that no variable holds is returned itself."""
    if depth > MOST_DEPTH:
        return OpaqueValue(shorten_name(value))
    if value.record.copies and (value.stored or depth):
        copied = ev.copy_construct(value, ev.make_constructor_argument(value))
        copied.stored = True
        return copied
    if not value.stored and not depth:
        value.stored = True
        return value
    return ObjectValue(
        value.record,
        Cell(value.store.value, value.store.kind, value.store.name),
        {
            name: c if isinstance(c.value, PLACES) else Cell(ev.copy_assigned(c.value, depth + 1), c.kind, c.name)
            for name, c in value.members.items()
        },
        True,
    )


def _copy_array(ev: Evaluator, value: ArrayValue, depth: int) -> ArrayValue:
    """Copy an array that has value semantics, or that is part of a value."""
    if value.typed is None and not depth:
        return value
    cells = [Cell(ev.copy_assigned(c.value, depth + 1), c.kind, c.name) for c in value.cells]
    return ArrayValue(cells, value.element, value.name, value.typed)


def _copy_lambda(ev: Evaluator, value: FunctionSet, depth: int) -> FunctionSet:
    """Copy a lambda with its captures; a new lambda is returned itself."""
    if value.captured is None or value.captured.owner != "lambda":
        return value
    if "(new)" in value.captured.consts:
        value.captured.consts.discard("(new)")
        return value
    inner = NameScope(value.captured.parent, "lambda")
    for name, cell in value.captured.names.items():
        captured = isinstance(cell, Cell) and cell.frame < 0
        inner.names[name] = replace(cell, value=ev.copy_assigned(cell.value)) if captured else cell
    return replace(value, captured=inner)


_COPIES: dict[type[Any], Callable[[Evaluator, Any, int], Any]] = {
    SymbolicInt: _copy_number,
    ObjectPart: _copy_part,
    ObjectValue: _copy_object,
    ArrayValue: _copy_array,
    FunctionSet: _copy_lambda,
}


def make_symbolic_value(ev: Evaluator, kind: ResolvedType | None, name: str) -> Any:
    """Make an unknown value of a type, with a name."""
    if kind is None:
        return OpaqueValue(name)
    if kind.dims:
        return Pointer(make_symbol(name), replace(kind, dims=(), reference=""), kind.dims[1:])
    if kind.pointers:
        return Pointer(make_symbol(name), get_pointee_type(kind))
    if kind.integer is not None:
        return make_free(name, kind.integer)
    return OpaqueValue(name, kind)
