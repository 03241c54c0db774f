"""Construct objects; member_initialization.py initializes their members."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import IntegerType
from lanescope.reader.code.calling.overloads import CallArgument, OverloadCandidate
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.objects.lifetimes import MADE, copy_members, list_own_members, may_copy
from lanescope.reader.code.objects.member_initialization import (
    default_members,
    initialize_default_member,
    initialize_member,
)
from lanescope.reader.code.running.paths import ThrownError
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import FunctionSet, ObjectValue, RecordType, ResolvedType

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def make_instance(ev: Evaluator, record: RecordType, name: str) -> ObjectValue:
    """Make an object before its constructor runs: integers are 0, other members are symbols of their names."""
    bits = IntegerType(record.name, record.bits or 64, False, 9)
    instance = ObjectValue(record, Cell(SymbolicInt(0, bits), None, name or record.name, frame=len(ev.frames)))
    if record.ends and not ev.python:
        ev.temporaries.append((instance, MADE))
    if record.fields is None and not record.python:
        for member, declared in record.members.items():
            kind = ev.resolve_type(declared.type, record.homes.get(member, record.scope)) if declared.type else None
            member_name = f"{name}.{member}" if name else member
            if kind is not None and kind.record is not None and not kind.pointers and not kind.dims:
                value: Any = ev.make_instance(kind.record, member_name)  # the enclosing constructor initializes it
                value.stored = True
            else:
                value = ev.make_default(kind, member_name)
            instance.members[member] = Cell(value, kind, member_name, declared.span)
    return instance


def takes_variable(record: RecordType) -> bool:
    """Return whether a constructor takes a reference to a variable that is not const."""
    ctors = record.methods.get(record.name)
    firsts = [f.parameters[0].type for f in ctors.functions if f.parameters] if ctors is not None else []
    return any(kind is not None and kind.reference == "&" and not kind.const for kind in firsts)


def construct_object(
    ev: Evaluator, instance: ObjectValue, arguments: list[Any], record: RecordType | None = None
) -> ObjectValue:
    """Run the constructor of an object's class, or of a base `record`, for some arguments; aggregates take them in
    order.
    """
    record = record or instance.record
    if record.python:
        return _construct_python(ev, instance, arguments)
    fresh = _find_nameless_object(arguments)
    if fresh is not None and fresh.record is record is instance.record:
        instance.store, instance.members, fresh.stored = fresh.store, fresh.members, True  # the same object
        return instance
    ctors = record.methods.get(record.name)
    only = getattr(arguments[0], "value", arguments[0]) if len(arguments) == 1 else None
    if ctors is not None and any(not f.defaulted for f in ctors.functions):
        ev.run_constructor(instance, record, ctors, arguments)
    elif _is_same_record(only, record):
        copy_members(ev, instance, record, ev.make_constructor_argument(arguments[0]))
    elif ctors is not None and arguments:
        ev.forget_place(Cell(instance))
    elif record.fields is not None and len(arguments) == 1 and not isinstance(arguments[0], ObjectValue):
        _construct_bits(ev, instance, record, arguments)
    else:
        fill_aggregate(ev, instance, record, arguments)
    return instance


def _find_nameless_object(arguments: list[Any]) -> ObjectValue | None:
    """Return the only argument if it is an unnamed object, else None."""
    only = arguments[0] if len(arguments) == 1 else None
    if isinstance(only, CallArgument):
        only = only.value if only.where is None and not only.place else None
    return only if isinstance(only, ObjectValue) and not only.stored else None


def _construct_bits(ev: Evaluator, instance: ObjectValue, record: RecordType, arguments: list[Any]) -> None:
    """Store a single value in a struct of integers: in all of it, or in its first member."""
    default_members(ev, instance, record, NameScope(record.scope))
    value = get_integer(getattr(arguments[0], "value", arguments[0]))
    if value is not None and not _has_more_members(record):
        ev.store_value(Cell(instance), value, (0, 0))
    else:
        fill_aggregate(ev, instance, record, arguments)


def fill_aggregate(ev: Evaluator, instance: ObjectValue, record: RecordType, arguments: list[Any]) -> None:
    """Initialize members with values in order; the remaining members take their defaults."""
    names = list(record.fields or instance.members)
    scope = ev.make_this_scope(record.scope, instance, record)
    if record.bases:
        default_members(ev, instance, record, scope)
    if len(arguments) > len(names):
        ev.forget_place(Cell(instance))
        return
    for name, value in zip(names, arguments, strict=False):
        ev.begin_member(ev.find_member(instance, name, (0, 0)), getattr(value, "value", value), (0, 0))
    if not record.bases:
        default_members(ev, instance, record, scope, frozenset(names[: len(arguments)]))


def run_constructor(
    ev: Evaluator, instance: ObjectValue, record: RecordType, ctors: FunctionSet, values: list[Any]
) -> None:
    """Run the constructor chosen by some values; the object becomes unknown if none is chosen or it has no body."""
    closure = replace(ctors, this=instance, constant=False)
    arguments = [ev.make_constructor_argument(value) for value in values]
    source = _find_copied_argument(arguments, record)
    if source is not None and not any(may_copy(f, record.name, source) for f in ctors.functions):
        copy_members(ev, instance, record, source)
        return
    chosen = _choose_constructor(ev, closure, arguments, source)
    if chosen is not None and chosen.function.defaulted:
        if source is not None:
            copy_members(ev, instance, record, source)
        else:
            default_members(ev, instance, record, ev.make_this_scope(record.scope, instance, record))
        return
    if chosen is None or (chosen.function.body is None and not chosen.function.starts):
        ev.forget_place(Cell(instance.derived or instance))
        ev.forget_call(arguments, closure)
        return
    function = chosen.function
    owner = closure.get_home(function).owner
    if isinstance(owner, RecordType) and owner is not record:  # using Base::Base
        default_members(
            ev, instance, record, ev.make_this_scope(record.scope, instance, record), frozenset((owner.name,))
        )
        ev.run_constructor(instance, owner, closure, values)
        return
    scope = ev.bind_parameters(closure, chosen, arguments, {})
    ev.called.add(function.key)
    ev.enter_function(function.name, function.span)
    _run_constructor_body(ev, instance, record, function, scope)


def _find_copied_argument(arguments: list[CallArgument], record: RecordType) -> CallArgument | None:
    """Return the only argument if it is an object of the class or of a derived one, else None."""
    value = arguments[0].value if len(arguments) == 1 else None
    return arguments[0] if isinstance(value, ObjectValue) and value.record.is_derived_from(record) else None


def _choose_constructor(
    ev: Evaluator, closure: FunctionSet, arguments: list[CallArgument], source: CallArgument | None
) -> OverloadCandidate | None:
    """Choose the constructor for some arguments; None if unknown. source: the object to copy, if there is one."""
    chosen: OverloadCandidate | None = ev.choose_function(closure, arguments)
    if source is None or chosen is None or not chosen.function.templates:
        return chosen
    return None if source.loose or source.const is None else chosen  # the implicit copy constructor may be better


def run_constructor_entry(
    ev: Evaluator, function: tree.Function, home: NameScope, instance: ObjectValue, record: RecordType
) -> None:
    """Run a constructor that the text never calls, with symbols as parameters."""
    closure = FunctionSet((function,), home, instance)
    scope = ev.bind_parameters(closure, OverloadCandidate(function, (), {}), [], {}, symbolic=True)
    ev.called.add(function.key)
    ev.enter_function(function.name, function.span, entry=True)
    _run_constructor_body(ev, instance, record, function, scope)


def _run_constructor_body(
    ev: Evaluator, instance: ObjectValue, record: RecordType, function: tree.Function, scope: NameScope
) -> None:
    """Initialize bases and members for an entered constructor, then run its body."""
    starts = dict(function.starts)
    before, instance.dynamic = instance.dynamic, record
    try:
        if record.name in starts:  # a delegating constructor
            ev.construct_object(
                instance,
                ev.evaluate_typed_arguments(tree.Call(tree.OpaqueExpression(""), starts[record.name]), scope),
                record,
            )
        else:
            for base in record.bases:
                values = starts.get(base.name)
                call = tree.Call(tree.OpaqueExpression(""), values or ())
                ev.construct_object(instance, ev.evaluate_typed_arguments(call, scope), base)
            for name, declared in record.members.items():
                home = record.homes.get(name)
                if home is not None and home.owner is not record:
                    continue
                if name in starts:
                    values = starts[name]
                    ev.evaluate_full_expression(
                        partial(initialize_member, ev, instance, name, declared, values, scope), declared.span
                    )
                else:
                    initialize_default_member(ev, instance, name, declared, scope)
        if function.body is not None:
            instance.dynamic = record
            ev.finish_function(ev.run_body(function, scope), scope)
    except ThrownError:
        ev.run_perhaps(lambda: _destroy_parts(ev, instance, record))
        raise
    finally:
        instance.dynamic = before
        ev.leave_function()


def _destroy_parts(ev: Evaluator, instance: ObjectValue, record: RecordType) -> None:
    """Destroy the members and bases of an object whose constructor throws."""
    for name in reversed(list_own_members(record)):
        if name in instance.members:
            ev.destroy_object(instance.members[name].value, (0, 0))
    for base in reversed(record.bases):
        ev.destroy_object(ObjectValue(base, instance.store, instance.members, True, None, instance), (0, 0))


def _construct_python(ev: Evaluator, instance: ObjectValue, arguments: list[Any]) -> ObjectValue:
    """Run __init__ on an instance of a Python class that has one."""
    record = instance.record
    if "__init__" in record.methods:
        ev.call_function(replace(record.methods["__init__"], this=instance), arguments, {}, (0, 0))
    return instance


def copy_object_members(ev: Evaluator, instance: ObjectValue, other: ObjectValue) -> None:
    """Assign one object to another as the class does."""
    kind = ResolvedType(other.record.name, record=other.record, arguments=other.record.arguments)
    ev.assign_into(
        instance, instance.record, CallArgument(other, kind, True, None, where=Cell(other, kind), loose=True)
    )


def construct_with(ev: Evaluator, instance: ObjectValue, closure: FunctionSet, arguments: list[Any]) -> ObjectValue:
    """Run one of some constructors on an object; return the object."""
    ev.run_constructor(instance, instance.record, closure, arguments)
    return instance


def forget_members(ev: Evaluator, instance: ObjectValue) -> ObjectValue:
    """Make the contents of an object unknown; return the object."""
    ev.forget_place(Cell(instance))
    return instance


def _is_same_record(value: Any, record: RecordType) -> bool:
    """Return whether a value is an object of exactly this class."""
    return isinstance(value, ObjectValue) and value.record is record


def _has_more_members(record: RecordType) -> bool:
    """Return whether a struct of integers has more than its first member."""
    fields = record.fields or {}
    first = next(iter(fields.values()), None)
    named = record.decl is not None and not record.decl.union and not record.python
    return named and first is not None and len(fields) > 1 and first.width < record.bits
