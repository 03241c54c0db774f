"""Make the scope of a call: members of the object, template arguments and parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import PYTHON
from lanescope.reader.code.calling.call_arguments import BracedArgument
from lanescope.reader.code.calling.candidates import enter_template
from lanescope.reader.code.calling.overloads import CallArgument, OverloadCandidate, binds_without_conversion
from lanescope.reader.code.expression.conversions import converts_to, find_converted_place
from lanescope.reader.code.naming.header_names import CODED
from lanescope.reader.code.naming.lookup import find_name
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.objects.construction import takes_variable
from lanescope.reader.code.objects.lifetimes import PASSED
from lanescope.reader.code.symbolic_integers import UNKNOWN, SymbolicInt, make_free
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import (
    PLACES,
    Address,
    ArrayValue,
    FunctionSet,
    ObjectPart,
    ObjectValue,
    OpaqueValue,
    ParameterPack,
    RecordType,
    ResolvedType,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def make_this_scope(ev: Evaluator, home: NameScope, this: Any, record: RecordType | None) -> NameScope:
    """Make a scope with the members of an object, as member functions of a class see them."""
    outer = NameScope(home)
    if isinstance(this, ObjectValue):
        _enter_members(ev, outer, this, record or this.record, home)
    elif isinstance(this, ObjectPart) and this.field.inner is not None:
        for name in this.field.inner.fields or {}:
            outer.names[name] = ev.find_member(this, name, (0, 0))
        outer.names["this"] = Cell(Address(this), name="this")
    elif isinstance(this, OpaqueValue) and this.kind and this.kind.record:
        for name in this.kind.record.members:
            outer.names[name] = Cell(
                ev.find_member(this, name, (0, 0)), name=f"{this.text}.{name}" if this.text else name
            )
        outer.names["this"] = Cell(this, name="this")
    return outer


def _enter_members(ev: Evaluator, outer: NameScope, this: ObjectValue, seen: RecordType, home: NameScope) -> None:
    """Enter an object's members and `this` in a scope, as one of its classes sees them."""
    of_this_class, hidden = seen is this.record, this.record.hidden
    for name in (*(this.record.fields or {}), *this.members):
        if not of_this_class and name not in seen.members and name not in (seen.fields or {}):
            continue
        if name in hidden and not of_this_class:
            outer.names[name] = Cell(OpaqueValue(f"{seen.name}::{name}"), name=name)
        elif name not in seen.dependent or find_name(home, name)[0] is None:
            outer.names[name] = ev.find_member(this, name, (0, 0))
    kind = ResolvedType(seen.name, record=seen, bits=seen.bits or None, arguments=seen.arguments)
    part = this if of_this_class or hidden else ev.upcast_object(this, seen)
    outer.names["this"] = Cell(Address(Cell(part, kind, this.store.name)), name="this")


def bind_parameters(
    ev: Evaluator,
    closure: FunctionSet,
    chosen: OverloadCandidate,
    arguments: list[Any],
    named: dict[str, Any],
    symbolic: bool = False,
) -> NameScope:
    """Make the scope of a call, with template arguments and parameters; symbolic: as symbols where no argument is."""
    function = chosen.function
    home = closure.captured or closure.get_home(function)
    owner = closure.get_home(function).owner
    outer = ev.make_this_scope(home, closure.this, owner if isinstance(owner, RecordType) else None)
    if function.const:
        outer.consts.add("this")
    scope = NameScope(outer, "function")
    self_name = _find_self_name(closure, function) if ev.python else ""
    if self_name:
        scope.names[self_name] = Cell(closure.this, name="self")
    if symbolic and closure.templates is None:
        _enter_symbols(ev, function, outer)
    else:
        enter_template(ev, function, chosen.deduced, outer)
    for n, parameter in enumerate(function.parameters[bool(self_name) :]):
        if parameter.pack:
            scope.names[parameter.name] = _bind_pack(ev, parameter, arguments[n:], outer)
            break
        kind = ev.resolve_type(parameter.type, outer) if parameter.type is not None else None
        if kind is not None and not kind.reference:
            scope.consts.add(f"({parameter.name})")
        if n < len(arguments):
            scope.names[parameter.name] = _bind_argument(ev, arguments[n], kind, parameter)
            _mark_const(ev, scope, parameter, kind, arguments[n])
        else:
            scope.names[parameter.name] = _bind_omitted(ev, kind, parameter, named, None if symbolic else outer)
    return scope


def _find_self_name(closure: FunctionSet, function: tree.Function) -> str:
    """Return the name of a Python method's first parameter if it is its object, else ""."""
    first = function.parameters[0].name if function.parameters else ""
    return first if closure.this is not None and first in ("self", "cls") else ""


def _enter_symbols(ev: Evaluator, function: tree.Function, outer: NameScope) -> None:
    """Bind template parameters to supplied values, defaults or symbols."""
    for parameter in function.templates:
        open_ = parameter.is_type or parameter.default is None or parameter.name in ev.supplied_names
        value = None if open_ else make_free(parameter.name, UNKNOWN)
        if not parameter.is_type and parameter.name in ev.supplied_values:
            value = SymbolicInt(ev.supplied_values[parameter.name])
        outer.names[parameter.name] = (
            ParameterPack() if parameter.pack else ev.make_template_argument_value(parameter, value, outer)
        )


def _bind_omitted(
    ev: Evaluator, kind: ResolvedType | None, parameter: tree.Parameter, named: dict[str, Any], outer: NameScope | None
) -> Any:
    """Bind a parameter to a keyword argument or its default. outer: scope of the default, None to bind a symbol."""
    if parameter.name in named:
        return _bind_argument(ev, named[parameter.name], kind, parameter)
    if parameter.default is None or outer is None:
        return _make_parameter_value(ev, kind, parameter)
    value = ev.evaluate_initializer(parameter.default, kind, outer, parameter.name)
    return _bind_argument(ev, value, kind, parameter)


def _bind_pack(ev: Evaluator, parameter: tree.Parameter, arguments: list[Any], outer: NameScope) -> Any:
    """Bind a variadic parameter to all remaining arguments: a pack in C++, an array in Python."""
    packed = ParameterPack(_iterate_pack_items(ev, parameter, arguments, outer))
    if not ev.python:
        return packed
    return Cell(
        ArrayValue([Cell(argument.value if isinstance(argument, CallArgument) else argument) for argument in arguments])
    )


def _mark_const(
    ev: Evaluator, scope: NameScope, parameter: tree.Parameter, kind: ResolvedType | None, argument: Any
) -> None:
    """Record whether the target of a reference parameter is const."""
    if kind is None or not kind.reference or kind.pointers or ev.python:
        return
    const = getattr(argument, "const", None) if kind.name == "auto" else None
    if kind.const or const is True:
        scope.consts.add(parameter.name)
    elif getattr(argument, "const", False) is None and (kind.name == "auto" or kind.record is not None):
        scope.consts.add(f"?{parameter.name}")


def _iterate_pack_items(
    ev: Evaluator, parameter: tree.Parameter, arguments: list[Any], outer: NameScope
) -> Iterator[Any]:
    """Yield the bound arguments of a pack."""
    for n, inner in enumerate(ev.make_pack_scopes(parameter.type, outer) or [outer] * len(arguments)):
        kind = ev.resolve_type(parameter.type, inner) if parameter.type is not None else None
        if n < len(arguments):
            yield _bind_argument(ev, arguments[n], kind, parameter)


def _bind_argument(ev: Evaluator, passed: Any, kind: ResolvedType | None, parameter: tree.Parameter) -> Any:
    """Bind a parameter to an argument: to its place for a reference, else to a new variable."""
    argument = passed if isinstance(passed, CallArgument) else None
    value = argument.value if argument is not None else passed
    if isinstance(value, BracedArgument):
        value = ev.evaluate_initializer(value.items, kind, value.scope, parameter.name)
    place = _bind_reference(ev, argument, value, kind, parameter) if argument is not None else None
    if place is not None:
        return place
    if isinstance(value, ObjectValue):
        if kind is not None and kind.reference and converts_to(value, kind):
            return find_converted_place(ev, value, kind, parameter.span)
        if argument is not None:
            value = _copy_object(ev, value, argument, kind)
        temporary = _bind_temporary(ev, value, kind, parameter)
        if temporary is not None:
            return temporary
    if argument is not None and not isinstance(value, ObjectValue):
        value = _construct_parameter(ev, argument, value, kind, parameter)
    return _bind_value(ev, value, kind, parameter)


def _copy_object(ev: Evaluator, value: ObjectValue, argument: CallArgument, kind: ResolvedType | None) -> Any:
    """Return the copy that a parameter gets of a variable; a temporary or an object to convert as it is."""
    if argument.where is None or ev.python:
        return value
    if kind is not None and kind.name != "auto" and (kind.record is None or kind.pointers > 0):
        return value
    return ev.copy_construct(ev.slice_to_base(value, kind), argument)


def _construct_parameter(
    ev: Evaluator, argument: CallArgument, value: Any, kind: ResolvedType | None, parameter: tree.Parameter
) -> Any:
    """Construct a parameter with a constructor that takes a variable by reference; return other values as they are."""
    record = kind.record if kind is not None and not kind.pointers and not kind.dims else None
    if record is None or not takes_variable(record):
        return value
    return ev.construct_object(ev.make_instance(record, parameter.name), [argument])


def _bind_reference(
    ev: Evaluator, argument: CallArgument, value: Any, kind: ResolvedType | None, parameter: tree.Parameter
) -> Any:
    """Return the place that a reference parameter binds to; None if it binds to a conversion."""
    if kind is None or not kind.reference or not isinstance(argument.where, PLACES):
        return None
    if not (argument.kind is None or kind.name == "auto" or binds_without_conversion(argument.kind, kind)):
        return None
    if isinstance(value, ObjectValue) and kind.record is not None and value.record is not kind.record:
        return Cell(ev.upcast_object(value, kind.record), kind, parameter.name, parameter.span)
    return argument.where


def _bind_temporary(
    ev: Evaluator, value: ObjectValue, kind: ResolvedType | None, parameter: tree.Parameter
) -> Cell | None:
    """Bind a reference to a temporary object, as its base or an unknown conversion; None if no such reference."""
    if kind is None or not kind.reference:
        return None
    record = kind.record
    if record is not None and value.record is not record and not ev.python and value.record.is_derived_from(record):
        return Cell(ev.upcast_object(value, record), kind, parameter.name, parameter.span)
    if record is None and kind.reference == "&" and not kind.const:
        ev.forget_place(Cell(value))
        return Cell(OpaqueValue(ev.make_fresh_name(parameter.name)), kind, parameter.name, parameter.span)
    return None


def _bind_value(ev: Evaluator, value: Any, kind: ResolvedType | None, parameter: tree.Parameter) -> Cell:
    """Make a variable for a parameter, with a value converted to its type."""
    refers = kind is not None and bool(kind.reference)
    if kind is not None and kind.name not in ("auto", ""):
        value = ev.convert_to_kind(value, kind, parameter.span, parameter.name)
    elif isinstance(value, ArrayValue) and value.typed is None and not ev.python and not refers:
        value = ev.decay_array(value)
    assigned = ev.copy_assigned(value)
    if isinstance(assigned, ObjectValue) and assigned.record.ends and not refers:
        ev.temporaries.append((assigned, PASSED))
    const = bool(kind is not None and kind.const and not kind.pointers)
    return Cell(assigned, kind, parameter.name, parameter.span, len(ev.frames), const)


def upcast_object(ev: Evaluator, value: ObjectValue, record: RecordType) -> Any:
    """Return a derived object as its base: with the same members and the functions of the base."""
    if not value.record.is_derived_from(record):
        return value
    if value.record.hidden:
        ev.forget_place(Cell(value))
        return OpaqueValue(f"{record.name}", ResolvedType(record.name, record=record))
    return ObjectValue(record, value.store, value.members, True, None, value.derived or value)


def _make_parameter_value(ev: Evaluator, kind: ResolvedType | None, parameter: tree.Parameter) -> Any:
    """Make the value of a parameter without an argument."""
    if kind is not None and kind.record is not None and kind.record.fields is not None and kind.record.bits == 64:
        instance = ev.make_instance(kind.record, parameter.name)
        instance.store.value = make_free(parameter.name, instance.store.value.type)
        cell = Cell(instance, None, parameter.name, parameter.span)
        return Cell(Address(cell), None, parameter.name) if kind.pointers else cell
    if ev.python:
        return Cell(make_free(parameter.name, PYTHON), None, parameter.name, parameter.span)
    value_type = replace(kind, reference="") if kind is not None else None
    supplied = _find_supplied_value(ev, value_type, parameter) if value_type is not None else None
    value = ev.make_symbolic_value(value_type, parameter.name) if supplied is None else supplied
    return Cell(value, value_type, parameter.name, parameter.span, len(ev.frames))


def _find_supplied_value(ev: Evaluator, kind: ResolvedType, parameter: tree.Parameter) -> Any:
    """Return the value supplied for a parameter's name; None if there is none or its type is not numeric."""
    if parameter.name not in ev.supplied_values or kind.pointers:
        return None
    value = SymbolicInt(ev.supplied_values[parameter.name])
    if kind.name in CODED:
        return value
    return ev.convert_to_kind(value, kind, parameter.span, parameter.name) if kind.integer is not None else None
