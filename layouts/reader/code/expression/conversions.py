"""Convert values between types."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL, LONG, ULONG
from lanescope.reader.code import symbolic_integers
from lanescope.reader.code.calling import builtin_calls
from lanescope.reader.code.calling.overloads import accepts_count
from lanescope.reader.code.expression.integer_values import get_integer, make_size, make_unsized_type
from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.objects.construction import construct_with
from lanescope.reader.code.objects.lifetimes import copy_into
from lanescope.reader.code.running.side_effects import forget_escaped
from lanescope.reader.code.symbolic_integers import (
    LinearExpression,
    Span,
    SymbolicInt,
    make_free,
    make_symbol,
    multiply_ints,
)
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.templates import is_same_type
from lanescope.reader.code.values import (
    VOID,
    Address,
    ArrayValue,
    FunctionSet,
    ObjectPart,
    ObjectValue,
    OpaqueValue,
    Pointer,
    RecordType,
    ReferredPlace,
    ResolvedType,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

_NAMED = re.compile(r"smem|shared|ptr|buf|tile|^s?[AB]\b|^[ab]s?\b|(?<![a-z])s[A-Z]", re.I)  # names of pointers
_CONSTANT = re.compile(r"::|^[A-Z][A-Z0-9_]{2,}$|^k[A-Z]\w+$|\(")  # names of constants, and calls


def slice_to_base(ev: Evaluator, value: ObjectValue, kind: ResolvedType | None) -> ObjectValue:
    """Return the base part of an object that a variable of a base type copies."""
    record = kind.record if kind is not None and not kind.pointers else None
    if record is None or record is value.record or not record.copies or not value.record.is_derived_from(record):
        return value
    base = ev.upcast_object(value, record)
    return base if isinstance(base, ObjectValue) else value


def convert_to_kind(ev: Evaluator, value: Any, kind: ResolvedType, span: Span, name: str = "") -> Any:
    """Convert a value to a type."""
    if kind.dims:
        return value
    if isinstance(value, ObjectValue) and value.record.converts and _is_converted(value, kind):
        return _convert_object(ev, value, kind, span)
    if kind.pointers:
        return _convert_to_pointer(ev, value, kind)
    if kind.integer is not None:
        return _convert_to_integer(ev, value, kind, span, name)
    if kind.record is not None and not isinstance(value, ObjectValue):
        return _convert_to_record(ev, value, kind.record, name)
    if kind.record is not None and value.record is not kind.record and not kind.reference:
        return _convert_to_base(ev, value, kind.record, name)
    return _convert_to_other(ev, value, kind) if isinstance(value, SymbolicInt) else value


def _is_converted(value: ObjectValue, kind: ResolvedType) -> bool:
    """Return whether an object becomes a pointer, a floating-point number or an object of an unrelated class."""
    if kind.pointers or kind.record is None:
        return bool(kind.pointers) or (kind.integer is None and not kind.open)
    return not value.record.is_derived_from(kind.record) and kind.record.name not in kind.record.methods


def _convert_object(ev: Evaluator, value: ObjectValue, kind: ResolvedType, span: Span) -> Any:
    """Convert an object with the conversion function to this class, else the only one of its class.

    If that leaves several, what each may write becomes unknown.
    """
    result = _call_conversion(ev, value, kind, span)
    if result is None:
        return OpaqueValue(f"({kind}){value}"[:100], kind)
    result = ev.load_place(result.place, tree.OpaqueExpression("")) if isinstance(result, ReferredPlace) else result
    return result if isinstance(result, ObjectValue) else ev.convert_to_kind(result, kind, span)


def _call_conversion(ev: Evaluator, value: ObjectValue, kind: ResolvedType, span: Span) -> Any:
    """Return what the chosen conversion function returns; None if several may be meant."""
    every = list(_find_conversions(ev, value.record, kind))
    exact = [closure for closure, target in every if target.record is kind.record is not None]
    conversions = exact if len(exact) == 1 else [closure for closure, _ in every]
    if len(conversions) == 1 and len(conversions[0].functions) == 1 and not conversions[0].functions[0].templates:
        return ev.call_function(replace(conversions[0], this=value), [], {}, span)
    for closure in conversions:
        ev.forget_call([], replace(closure, this=value))
    return None


def find_converted_place(ev: Evaluator, value: ObjectValue, kind: ResolvedType, span: Span) -> Any:
    """Return the place that a reference to an unrelated class binds to, by a conversion function of an object; an
    object if that returns one, else an unknown value: then the object becomes unknown as well.
    """
    result = _call_conversion(ev, value, kind, span)
    if isinstance(result, ReferredPlace):
        return result.place
    if isinstance(result, ObjectValue):
        return Cell(result, replace(kind, reference=""))
    forget_escaped(ev, Cell(value))
    return Cell(OpaqueValue(ev.make_fresh_name(str(kind)), kind))


def converts_to(value: ObjectValue, kind: ResolvedType | None) -> bool:
    """Return whether an object is converted to an unrelated class by a function of its own."""
    other = kind.record if kind is not None and not kind.pointers else None
    return other is not None and value.record.converts and not value.record.is_derived_from(other)


def _convert_to_integer(ev: Evaluator, value: Any, kind: ResolvedType, span: Span, name: str) -> Any:
    """Convert a value to an integer; objects by their conversion function."""
    assert kind.integer is not None
    if isinstance(value, ObjectValue) and (value.record.fields is None or value.record.converts):
        value = ev.convert_object_to_integer(value, kind)
    if isinstance(value, ObjectPart) and value.field.inner is not None and value.field.inner.converts:
        value = ev.convert_object_to_integer(ev.make_part_object(value), kind)
    integer = get_integer(value)
    if integer is None or (isinstance(value, ArrayValue) and value.typed is None):
        return value
    if isinstance(value, OpaqueValue) and value.kind is not None and value.kind.name in ("float", "double"):
        return make_free(f"({kind.integer.name}){value.text}", kind.integer)
    return ev.narrow_value(integer, kind.integer, span, name)


def _convert_to_other(ev: Evaluator, value: SymbolicInt, kind: ResolvedType) -> Any:
    """Convert an integer to a floating-point or unknown type; a small number is kept."""
    if kind.bits and kind.name in ("float", "double", "half", "__half"):
        return OpaqueValue(f"({kind.name}){value}", kind)
    small = value.known is not None and 0 <= value.known < 128
    if not small and (kind.unbound or (value.known is not None and _is_foreign(ev, kind))):
        return OpaqueValue(f"({kind}){value}"[:100], kind)
    return value


def _is_foreign(ev: Evaluator, kind: ResolvedType) -> bool:
    """Return whether the text does not define a type and its name does not suggest a descriptor."""
    unknown = kind.open and not kind.arguments and not ev.python and kind.name not in ("auto", "", "decltype")
    return unknown and not re.search(r"desc|64|word", kind.name, re.I)


def _convert_to_record(ev: Evaluator, value: Any, record: RecordType, name: str) -> Any:
    """Convert a value to an object of a class, with a constructor that takes it."""
    integer = get_integer(value)
    ctors = record.methods.get(record.name)
    if ctors is not None and any(f.explicit for f in ctors.functions) and not isinstance(value, OpaqueValue):
        converting = tuple(f for f in ctors.functions if not f.explicit)
        if not converting:
            return OpaqueValue(f"{record.name}({value})"[:80], ResolvedType(record.name, record=record))
        ctors = replace(ctors, functions=converting, homes=tuple(ctors.get_home(f) for f in converting))
        return construct_with(ev, ev.make_instance(record, name), ctors, [value])
    if ctors is not None and any(f.body is not None for f in ctors.functions) and not isinstance(value, OpaqueValue):
        return ev.construct_object(ev.make_instance(record, name), [value])
    if integer is not None and record.fields is not None and not isinstance(value, OpaqueValue):
        instance = ev.make_instance(record, name)
        instance.store.value = symbolic_integers.convert_int(integer, instance.store.value.type)
        return instance
    return value


def _convert_to_base(ev: Evaluator, value: ObjectValue, record: RecordType, name: str) -> Any:
    """Convert an object to another class: its base part, or the result of a constructor."""
    instance = ev.make_instance(record, name)
    derived = value.record.is_derived_from(record)
    if derived and record.copies and not value.record.hidden:
        copy_into(ev, instance, record, replace(ev.make_place_argument(value), const=None, loose=True))
        return instance
    if record.fields is None and ((derived and not value.record.hidden) or _is_deduced_instance(value.record, record)):
        for member in instance.members.keys() & value.members.keys():
            ev.write_cell(instance.members[member], ev.copy_assigned(value.members[member].value))
        return instance
    ctors = record.methods.get(record.name)
    if ctors is None or derived or not any(accepts_count(f, 1) for f in ctors.functions):
        return ev.forget_members(instance)
    return ev.construct_object(instance, [value])


def _is_deduced_instance(deduced: RecordType, record: RecordType) -> bool:
    """Return whether a class is the template of another, of which `Template object(…)` leaves the arguments open."""
    same = record.template is not None and deduced.template is record.template and deduced.members == record.members
    return same and all(isinstance(a, ResolvedType) and a.unbound for a in deduced.arguments)


def _convert_to_pointer(ev: Evaluator, value: Any, kind: ResolvedType) -> Any:
    """Convert a value to a pointer type."""
    convert = _POINTERS.get(type(value))
    if convert is None:
        return value
    is_void = kind.pointers == 1 and kind.name == "void"
    element = VOID if is_void else replace(kind, pointers=kind.pointers - 1, reference="", dims=())
    return convert(ev, value, element)


def _convert_integer_to_pointer(ev: Evaluator, value: SymbolicInt, element: ResolvedType) -> Any:
    return ev.make_name_pointer(value, element) or Pointer(value.make_linear(), element)


def _decay_array(ev: Evaluator, value: ArrayValue, element: ResolvedType) -> Any:
    """Return a pointer to the first item of an array, as a pointer to `element` unless that is auto."""
    if not value.name and value.typed is not None:
        return value
    pointer = ev.decay_array(value)
    return pointer if element.name in ("auto", "") else replace(pointer, element=element)


def _decay_part(ev: Evaluator, value: ObjectPart, element: ResolvedType) -> Any:
    """Return a pointer to the first item of an array member that is kept as bits; unknown for another item type."""
    if ev.python or not value.field.count:
        return value
    same = value.field.integer is not None and element.integer == value.field.integer and not element.pointers
    if same or element.open:
        return Address(ev.list_part_items(value)[0])
    forget_escaped(ev, value)
    return Pointer(make_symbol(ev.make_fresh_name("?")), element)


def _make_pointer(ev: Evaluator, value: OpaqueValue, element: ResolvedType) -> Pointer:
    """Make a pointer of which only the name is known; its element type may be unknown."""
    unsure = element.open and (not value.kind or value.kind.open) and not ev.python
    return Pointer(make_symbol(value.text), make_unsized_type(value.text) if unsure else element)


def _recast_pointer(ev: Evaluator, value: Pointer, element: ResolvedType) -> Pointer:
    """Convert a pointer to another element type; auto keeps its own, known or not."""
    if element.name in ("auto", ""):
        return value
    at = value.at if element == value.element else _recount_elements(value.at, value.element, element)
    return Pointer(value.base, element, (), value.shared, value.array, at)


def _recast_address(ev: Evaluator, value: Address, element: ResolvedType) -> Any:
    """Convert &variable to a pointer to another type."""
    if ev.python or (element.name in ("void", "auto", "") and not element.pointers):
        return value
    inner = ev.load_place(value.place, tree.OpaqueExpression(""))
    if isinstance(inner, ObjectValue) and element.record is not None:
        recast = _recast_object(ev, value, inner, element, element.record)
        if recast is not None:
            return recast
    declared_type = value.element or ev.find_declared_type(value.place, inner)
    element_type = replace(element, const=False)
    if (
        declared_type is None
        or is_same_type(replace(declared_type, const=False, reference=""), element_type) is not False
    ):
        return value
    at = _recount_elements(value.at, declared_type, element_type)
    return Address(value.place, element_type, at if at is not None else make_free("?", LONG))


def _recast_object(
    ev: Evaluator, value: Address, inner: ObjectValue, element: ResolvedType, record: RecordType
) -> Address | None:
    """Convert a pointer to an object to one to its base, or to the derived object that contains it; else None."""
    if inner.record is record:
        return replace(value, element=None) if value.at.known == 0 else value
    if inner.record.is_derived_from(record):
        return Address(Cell(ev.upcast_object(inner, record), element))
    complete = inner.derived if ev.casting else None
    if complete is None or not complete.record.is_derived_from(record):
        return None
    return Address(Cell(complete if complete.record is record else ev.upcast_object(complete, record), element))


_POINTERS: dict[type, Callable[[Evaluator, Any, ResolvedType], Any]] = {
    ObjectPart: _decay_part,
    Address: _recast_address,
    Pointer: _recast_pointer,
    SymbolicInt: _convert_integer_to_pointer,
    OpaqueValue: _make_pointer,
    ArrayValue: _decay_array,
}


def convert_object_to_integer(ev: Evaluator, value: ObjectValue, kind: ResolvedType) -> Any:
    """Convert an object to an integer, with the conversion function of exactly that type or the only integral one."""
    conversions = list(_find_conversions(ev, value.record, kind))
    exact = [closure for closure, target in conversions if target.integer == kind.integer]
    integral = [closure for closure, target in conversions if target.integer is not None and not target.pointers]
    chosen = exact if len(exact) == 1 else integral if len(integral) == 1 else []
    if not chosen or any(f.templates for f in chosen[0].functions):
        return _convert_object(ev, value, kind, (0, 0)) if conversions else value
    result = ev.call_function(replace(chosen[0], this=value), [], {}, (0, 0))
    return ev.load_place(result.place, tree.OpaqueExpression("")) if isinstance(result, ReferredPlace) else result


def _find_conversions(
    ev: Evaluator, record: RecordType, kind: ResolvedType
) -> Iterator[tuple[FunctionSet, ResolvedType]]:
    """Yield (conversion function, result type) of the conversions of a class that may yield a type."""
    for name, closure in record.methods.items():
        function = closure.functions[0]
        if not name.startswith("operator ") or function.returns is None:
            continue
        if ev.casting or kind.integer is BOOL or not any(f.explicit for f in closure.functions):
            yield closure, ev.resolve_type(function.returns, closure.get_home(function))


def make_part_object(ev: Evaluator, part: ObjectPart) -> ObjectValue:
    """Copy a struct member that is kept as bits into a new object."""
    inner = part.field.inner
    assert inner is not None
    instance = ev.make_instance(inner, inner.name)
    instance.store.value = symbolic_integers.extract_bits(
        part.of.store.value, part.field.low, part.field.width, instance.store.value.type
    )
    return instance


def evaluate_shared_address(ev: Evaluator, value: Any) -> Any:
    """Evaluate __cvta_generic_to_shared; its argument must be a pointer."""
    if isinstance(value, Address) and isinstance(value.place, Cell):
        ev.shared_addresses[f"&{value.place.name}"] = value.place
    return builtin_calls.make_shared_address(
        ev.make_name_pointer(value, VOID) or value if isinstance(value, SymbolicInt) else value
    )


def make_name_pointer(ev: Evaluator, value: SymbolicInt, element: ResolvedType, cast: bool = False) -> Pointer | None:
    """Read name + n as a pointer if the text does not declare the name; None for another value.

    C++ converts no other pointer and no integer to T*, so for a T* the name is a T* and n counts elements of type T.
    For void*, a template's T* or a cast, the element type is unknown: n counts sizeof(*name).
    """
    line = value.plain
    if line is None or not value.pieces or value.pieces[0].width <= 32:
        return None
    name = _find_pointer_name(ev, line)
    if not name:
        return None
    sized = bool(element.bits) and element.name != "void"
    size = make_size(element if sized and not element.pointers and not cast else make_unsized_type(name))
    if sized and cast:
        ev.recast_names.add(name)
    base = make_symbol(name)
    for other, factor in line.terms:
        if other != name:
            base += multiply_ints(make_free(other, ULONG), size).make_linear().scale(factor)
    base += size.make_linear().scale(line.const)
    return Pointer(base, make_unsized_type(name) if element.open else element)


def _find_pointer_name(ev: Evaluator, line: LinearExpression) -> str:
    """Return the name in a sum that is most likely a pointer; "" for none."""
    undeclared = [name for name, factor in line.terms if factor == 1 and name in ev.undeclared_names]
    names = [candidate for candidate in undeclared if not _CONSTANT.search(candidate)] or undeclared
    return next((candidate for candidate in names if _NAMED.search(candidate)), names[0] if names else "")


def _recount_elements(at: SymbolicInt | None, old: ResolvedType | None, new: ResolvedType | None) -> SymbolicInt | None:
    """Convert a count of elements of one type to elements of another; None if it is not an integer."""
    if at is None or at.known is None:
        return None
    if at.known == 0:
        return at
    sizes = [make_size(kind).known if kind is not None else None for kind in (old, new)]
    if not sizes[0] or not sizes[1] or at.known * sizes[0] % sizes[1]:
        return None
    return SymbolicInt(at.known * sizes[0] // sizes[1], LONG)
