"""How places are written and what they keep: variables, bit fields, copies of objects, values that only have a name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import ULONG, IntegerType
from lanescope.reader.code import symbolic_integers, tree
from lanescope.reader.code.integer_values import get_integer
from lanescope.reader.code.pointers import get_pointee_type
from lanescope.reader.code.scopes import Cell, NameScope
from lanescope.reader.code.symbolic_integers import UNKNOWN, Span, SymbolicInt, make_free, make_symbol
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

MOST_DEEP = 3  # objects in objects that are copied


# stores ----------------------------------------------------------------------------------------------------------


def store_value(ev: Evaluator, place: Any, value: Any, span: Span, whole: Span | None = None) -> None:
    """Write a value into a place. span: of the value; whole: of the statement that is noted for it."""
    rule = _STORES.get(type(place))
    if rule is not None:
        rule(ev, place, value, span, whole)
    else:  # into something of which only the name is known
        ev.note_value(value, str(place), whole or span)


def _store_variable(ev: Evaluator, place: Cell, value: Any, span: Span, whole: Span | None) -> None:
    """Write a variable, or what its reference names."""
    if isinstance(place.value, PLACES) and not ev.python:
        ev.store_value(place.value, value, span, whole)
        return
    unknown = isinstance(place.value, OpaqueValue) and place.value.head != "uninitialised" and place.name != ""
    refers = place.kind.reference if place.kind is not None else unknown and "::" in place.value.text
    if unknown and refers and ev.frames[-1].scope is not None:
        ev.forget_all(ev.frames[-1].scope)  # it may refer to any of them
    _store_cell(ev, place, value, span, whole)


def _store_cell(ev: Evaluator, place: Cell, value: Any, span: Span, whole: Span | None) -> None:
    """Write a variable: an object or array member by member, all else converted to its type."""
    old = place.value
    if (
        isinstance(old, ObjectValue)
        and not isinstance(value, ObjectValue)
        and _store_word(ev, place, old, value, whole or span)
    ):
        return
    if isinstance(old, ObjectValue) and isinstance(value, ObjectValue) and not ev.python:
        _assign_object(ev, place, old, value)
        ev.note_variable(place, whole or span)
        return
    if isinstance(old, ArrayValue) and not ev.python and _store_items(ev, place, old, value):
        return
    if place.kind is not None:
        kind = replace(place.kind, reference="") if place.kind.reference else place.kind
        value = ev.convert_to_kind(value, kind, span, place.name)
    ev.write_cell(place, ev.copy_assigned(value))
    ev.note_variable(place, whole or span)


def _store_word(ev: Evaluator, place: Cell, old: ObjectValue, value: Any, span: Span) -> bool:
    """Write a number into a struct of bit fields that has no constructor; return whether this is one."""
    if old.record.fields is None or old.record.methods.get(old.record.name) is not None:
        return False
    integer = get_integer(value)
    if integer is None:
        return False
    ev.write_cell(old.store, symbolic_integers.convert_int(integer, old.store.value.type))
    ev.note_variable(old.store, span, place)
    return True


def _store_items(ev: Evaluator, place: Cell, old: ArrayValue, value: Any) -> bool:
    """Write an array's items from those of another, or forget them; return whether that was done."""
    if not isinstance(value, ArrayValue):
        ev.forget_place(place)
        return True
    if old.typed is None or len(old.cells) != len(value.cells):
        return False
    for mine, other in zip(old.cells, value.cells, strict=True):
        ev.write_cell(mine, ev.copy_assigned(other.value))
    return True


def _assign_object(ev: Evaluator, place: Cell, old: ObjectValue, value: ObjectValue) -> None:
    """Copy an object, or the part of it that is of the variable's class."""
    if value.record is old.record:
        ev.copy_object_members(old, value)
    elif value.record.is_derived_from(old.record) and not value.record.hidden:
        ev.copy_object_members(old, ev.upcast_object(value, old.record))
    else:
        _assign_other_class(ev, place, old, value)


def _assign_other_class(ev: Evaluator, place: Cell, old: ObjectValue, value: ObjectValue) -> None:
    """Assign an object of one class to one of another: by a constructor, else the result is unknown."""
    converted = ev.convert_to_kind(value, ResolvedType(old.record.name, record=old.record), (0, 0))
    if isinstance(converted, ObjectValue) and converted.record is old.record:
        ev.copy_object_members(old, converted)
    else:
        ev.forget_place(place)


def _store_part(ev: Evaluator, place: ObjectPart, value: Any, span: Span, whole: Span | None) -> None:
    """Write a member that is kept as bits."""
    store, field = place.of.store, place.field
    if isinstance(value, ArrayValue) and field.count:
        for part, cell in zip(ev.list_part_items(place), value.cells, strict=False):
            _store_part(ev, part, cell.value, span, whole)
        return
    value = _value_of_part(ev, field, value, span)
    integer = get_integer(value)
    if field.width > 64 and (integer is None or integer.type.bits < field.width):
        ev.forget_place(place)
        return
    if integer is None:
        integer = make_free(str(value), UNKNOWN)
    if not isinstance(store.value, SymbolicInt):
        ev.forget_place(store)
        return
    word = _word_with_part(ev, place, store.value, integer, span)
    ev.write_cell(store, word)
    if word.type.bits in (32, 64) or ev.python:
        ev.note_variable(store, whole or span, record=place.of.record.name)
    else:
        _note_member(ev, place, whole or span)


def _value_of_part(ev: Evaluator, field: RecordField, value: Any, span: Span) -> Any:
    """Return a value as a member that is kept as bits takes it: bits of a struct, an object converted."""
    if isinstance(value, ObjectPart) and value.field.inner is not None:
        width = value.field.width
        return symbolic_integers.extract_bits(
            value.of.store.value, value.field.low, width, IntegerType("bits", width, False)
        )
    if isinstance(value, ObjectValue) and value.record.fields is None and field.whole is not None:
        return ev.convert_to_kind(value, ResolvedType(field.whole.name, field.whole, field.whole.bits), span)
    return value


def _word_with_part(
    ev: Evaluator, place: ObjectPart, old: SymbolicInt, integer: SymbolicInt, span: Span
) -> SymbolicInt:
    """Return a word with a number put in the place of some of its bits."""
    field = place.field
    if field.whole is not None and field.whole.name == "bool":
        integer = ev.narrow_value(integer, field.whole, span)
    if not ev.wraps and (place.of.record.bits == 64 or ev.python):
        ev.check_field_overflow(field, integer, span)
    if field.whole is not None and field.width == old.type.bits:
        return symbolic_integers.convert_int(ev.mark_operand(integer, span), old.type)
    integer = ev.mark_operand(integer, span) if field.width > 16 else integer  # several fields at once
    return symbolic_integers.insert_bits(old, integer, field.low, field.width, span)


def _note_member(ev: Evaluator, place: ObjectPart, span: Span) -> None:
    """Note a 64-bit member of a larger struct as a variable of its own."""
    store, first, past = place.of.store, place.field.low, place.field.low + place.field.width
    for name, field in (place.of.record.fields or {}).items():
        if field.width == 64 and field.low <= first and past <= field.low + 64 and isinstance(store.value, SymbolicInt):
            key = id(store), field.low
            called = f"{store.name}.{name}" if store.name else name
            kind = field.whole or ULONG
            cell = ev.inner_words.setdefault(key, Cell(None, None, called, span))
            cell.value = symbolic_integers.extract_bits(store.value, field.low, 64, kind)
            ev.note_variable(cell, span)
            return


def _store_deref(ev: Evaluator, place: PointedPlace, value: Any, span: Span, whole: Span | None) -> None:
    """Write through a pointer; in Python every item of its array may be the one."""
    array = place.pointer.array
    if not ev.python:
        ev.store_memory(place, value, span)
    elif array is not None and place.pointer.base.terms[1:]:
        for n, cell in enumerate(array.cells):
            if isinstance(cell.value, SymbolicInt):
                ev.write_cell(cell, make_free(f"{array.name}[{n}]", cell.value.type))


def _store_joint(ev: Evaluator, place: JointPlace, value: Any, span: Span, whole: Span | None) -> None:
    """Write the bits of a number into several places, the lowest first."""
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


def _store_split(ev: Evaluator, place: SplitPlace, value: Any, span: Span, whole: Span | None) -> None:
    """Write one of two places, as a condition says that is not known."""
    for target, first in ((place.yes, True), (place.no, False)):
        old = ev.load_place(target, tree.OpaqueExpression(""))
        pair = (value, old) if first else (old, value)
        ev.store_value(target, ev.merge(place.condition, *pair), span, whole)


def _store_overlay(ev: Evaluator, place: OverlayPlace, value: Any, span: Span, whole: Span | None) -> None:
    """Write a member of a union; the others become unknown."""
    for name in place.of.record.overlaid - {place.name}:
        if name in place.of.members:
            ev.forget_place(place.of.members[name])
    ev.store_value(place.place, value, span, whole)


def _store_blurred(ev: Evaluator, place: BlurredPlace, value: Any, span: Span, whole: Span | None) -> None:
    """Write somewhere in an object, all of which becomes unknown."""
    ev.forget_place(place.place)
    held = place.place.value if isinstance(place.place, Cell) else None
    ev.note_value(value, held.name if isinstance(held, ArrayValue) else "", whole or span)


def _store_referred(ev: Evaluator, place: ReferredPlace, value: Any, span: Span, whole: Span | None) -> None:
    """Write the place that a function's reference names."""
    ev.store_value(place.place, value, span, whole)


_STORES: dict[type[Any], Callable[[Evaluator, Any, Any, Span, Span | None], None]] = {
    Cell: _store_variable,
    ObjectPart: _store_part,
    PointedPlace: _store_deref,
    JointPlace: _store_joint,
    SplitPlace: _store_split,
    OverlayPlace: _store_overlay,
    BlurredPlace: _store_blurred,
    ReferredPlace: _store_referred,
}


# copies ----------------------------------------------------------------------------------------------------------


def copy_assigned(ev: Evaluator, value: Any, deep: int = 0) -> Any:
    """Copy what an assignment keeps: in C++ objects and arrays inside, lambdas with what they captured."""
    if ev.python:
        return value
    if isinstance(value, ReferredPlace):
        value = ev.load_place(value.place, tree.OpaqueExpression(""))
    rule = _COPIES.get(type(value))
    return rule(ev, value, deep) if rule is not None else value


def _copy_number(ev: Evaluator, value: SymbolicInt, deep: int) -> SymbolicInt:
    """Return a number; auto takes a bit field's declared type."""
    return symbolic_integers.convert_int(value, replace(value.type, field_bits=0)) if value.type.field_bits else value


def _copy_part(ev: Evaluator, value: ObjectPart, deep: int) -> Any:
    """Return a struct that is a member as an object of its own."""
    return ev.make_part_object(value) if value.field.inner is not None else value


def _copy_object(ev: Evaluator, value: ObjectValue, deep: int) -> Any:
    """Return a copy of an object, by its copy constructor; the object itself where nobody has it yet."""
    if deep > MOST_DEEP:
        return OpaqueValue(shorten_name(value))
    if value.record.copies and (value.held or deep):
        copied = ev.copy_construct(value, ev.make_constructor_argument(value))
        copied.held = True
        return copied
    if not value.held and not deep:
        value.held = True
        return value
    return ObjectValue(
        value.record,
        Cell(value.store.value, value.store.kind, value.store.name),
        {
            name: c if isinstance(c.value, PLACES) else Cell(ev.copy_assigned(c.value, deep + 1), c.kind, c.name)
            for name, c in value.members.items()
        },
        True,
    )


def _copy_array(ev: Evaluator, value: ArrayValue, deep: int) -> ArrayValue:
    """Return a copy of an array that is a value, or a member of one."""
    if value.typed is None and not deep:
        return value
    cells = [Cell(ev.copy_assigned(c.value, deep + 1), c.kind, c.name) for c in value.cells]
    return ArrayValue(cells, value.element, value.name, value.typed)


def _copy_lambda(ev: Evaluator, value: FunctionSet, deep: int) -> FunctionSet:
    """Return a lambda with copies of what it has captured by value; the lambda itself where it is new."""
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
    """Make a value of a type of which only its name is known."""
    if kind is None:
        return OpaqueValue(name)
    if kind.dims:
        return Pointer(make_symbol(name), replace(kind, dims=(), reference=""), kind.dims[1:])
    if kind.pointers:
        return Pointer(make_symbol(name), get_pointee_type(kind))
    if kind.whole is not None:
        return make_free(name, kind.whole)
    return OpaqueValue(name, kind)
