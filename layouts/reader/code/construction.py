"""Objects: their members before, during and after their constructors."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import IntegerType
from lanescope.reader.code import tree
from lanescope.reader.code.lifetimes import MADE, is_named_object, list_own_members, may_copy
from lanescope.reader.code.overloads import CallArgument, OverloadCandidate
from lanescope.reader.code.paths import ThrownError
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt
from lanescope.reader.code.values import (
    ArrayValue,
    Cell,
    FunctionSet,
    NameScope,
    ObjectPart,
    ObjectValue,
    OpaqueValue,
    OverlayPlace,
    RecordType,
    ResolvedType,
    get_integer,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_ITEMS = 256


def make_instance(ev: Evaluator, record: RecordType, name: str) -> ObjectValue:
    """Return a new object before its constructor: integers 0, other members symbols of their names."""
    bits = IntegerType(record.name, record.bits or 64, False, 9)
    made = ObjectValue(record, Cell(SymbolicInt(0, bits), None, name or record.name, frame=len(ev.frames)))
    if record.ends and not ev.python:
        ev.temporaries.append((made, MADE))
    if record.fields is None and not record.python:
        for member, declared in record.members.items():
            kind = ev.resolve_type(declared.type, record.homes.get(member, record.scope)) if declared.type else None
            own = f"{name}.{member}" if name else member
            if kind is not None and kind.record is not None and not kind.pointers and not kind.dims:
                value: Any = ev.make_instance(kind.record, own)  # its constructor runs where the class's says
                value.held = True
            else:
                value = ev.make_default(kind, own)
            made.members[member] = Cell(value, kind, own, declared.span)
    return made


def make_initialized(ev: Evaluator, record: RecordType, name: str) -> ObjectValue:
    """Return a new object as its default constructor leaves it."""
    return ev.construct_object(ev.make_instance(record, name), [])


def construct_object(
    ev: Evaluator, made: ObjectValue, given: list[Any], record: RecordType | None = None
) -> ObjectValue:
    """Run the constructor of an object's class, or of a base, that takes some values; without constructors, members
    in their order.
    """
    record = record or made.record
    if record.python:
        return _construct_python(ev, made, given)
    fresh = _find_nameless_object(given)
    if fresh is not None and fresh.record is record is made.record:
        made.store, made.members, fresh.held = fresh.store, fresh.members, True  # the very object
        return made
    ctors = record.methods.get(record.name)
    only = getattr(given[0], "value", given[0]) if len(given) == 1 else None
    if ctors is not None and any(not f.defaulted for f in ctors.functions):
        ev.run_constructor(made, record, ctors, given)
    elif _is_same_record(only, record):
        ev.copy_members(made, record, ev.make_constructor_argument(given[0]))
    elif ctors is not None and given:
        ev.forget_place(Cell(made))
    elif record.fields is not None and len(given) == 1 and not isinstance(given[0], ObjectValue):
        _construct_bits(ev, made, record, given)
    else:
        fill_aggregate(ev, made, record, given)
    return made


def _find_nameless_object(given: list[Any]) -> ObjectValue | None:
    """Return the object without a name that alone is given; None where something else is."""
    only = given[0] if len(given) == 1 else None
    if isinstance(only, CallArgument):
        only = only.value if only.where is None and not only.place else None
    return only if isinstance(only, ObjectValue) and not only.held else None


def _construct_bits(ev: Evaluator, made: ObjectValue, record: RecordType, given: list[Any]) -> None:
    """Store the one value that is given in a struct of integers: in all of it, or in its first member."""
    default_members(ev, made, record, NameScope(record.scope))
    value = get_integer(getattr(given[0], "value", given[0]))
    if value is not None and not _has_more_members(record):
        ev.store_value(Cell(made), value, (0, 0))
    else:
        fill_aggregate(ev, made, record, given)


def fill_aggregate(ev: Evaluator, made: ObjectValue, record: RecordType, given: list[Any]) -> None:
    """Store values in members, in their order; those behind them begin as they are declared."""
    names = list(record.fields or made.members)
    scope = ev.make_this_scope(record.scope, made, record)
    if record.bases:
        default_members(ev, made, record, scope)
    if len(given) > len(names):
        ev.forget_place(Cell(made))
        return
    for name, value in zip(names, given, strict=False):
        ev.begin_member(ev.member(made, name, (0, 0)), getattr(value, "value", value), (0, 0))
    if not record.bases:
        default_members(ev, made, record, scope, frozenset(names[: len(given)]))


def default_members(
    ev: Evaluator, made: ObjectValue, record: RecordType, scope: NameScope, but: frozenset[str] = frozenset()
) -> None:
    """Give members what their declarations initialize them with, and bases' what theirs do."""
    before = made.dynamic
    try:
        for base in record.bases:
            if base.name not in but:
                ev.construct_object(made, [], base)
        made.dynamic = record if not record.python else before
        for name, declared in record.members.items():
            home = record.homes.get(name)
            if (home is None or home.owner is record) and name not in but:
                _initialize_default_member(ev, made, name, declared, scope)
    finally:
        made.dynamic = before


def zero_member(ev: Evaluator, made: ObjectValue, name: str, declared: tree.Declaration, scope: NameScope) -> None:
    """Initialize a member that a list in braces leaves out: its own initializer, or zeros."""
    kind = ev.resolve_type(declared.type, scope) if declared.type else None
    plain = declared.value is None and kind is not None and kind.record is None and not kind.reference
    if plain and kind is not None and name in made.members and (kind.dims or kind.whole is not None):
        made.members[name].value = link_inner_arrays(v) if isinstance(v := zero_value(ev, kind), ArrayValue) else v
    else:
        _initialize_default_member(ev, made, name, declared, scope)


def _initialize_default_member(
    ev: Evaluator, made: ObjectValue, name: str, declared: tree.Declaration, scope: NameScope
) -> None:
    """Initialize a member that a constructor does not name."""
    if declared.value is not None:
        _initialize_member(ev, made, name, declared, scope)
    elif (
        name in made.members and isinstance(made.members[name].value, ObjectValue) and name not in made.record.overlaid
    ):
        ev.construct_object(made.members[name].value, [])


def _initialize_member(
    ev: Evaluator, made: ObjectValue, name: str, declared: tree.Declaration, scope: NameScope
) -> None:
    """Initialize a member as its declaration says."""
    assert declared.value is not None
    place = ev.member(made, name, declared.span)
    kind = ev.resolve_type(declared.type, scope) if declared.type else None
    first = declared.value
    value = ev.evaluate_full_expression(lambda: ev.evaluate_initializer(first, kind, scope, name), first.span)
    ev.begin_member(place, initialized_by(ev, value, first, scope), first.span)


def begin_member(ev: Evaluator, place: Any, value: Any, span: Span) -> None:
    """Put a value into a member that nothing was put into: no operator= is called."""
    if isinstance(place, OverlayPlace):
        for name in place.of.record.overlaid - {place.name}:
            if name in place.of.members:
                ev.forget_place(place.of.members[name])
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


def initialized_by(ev: Evaluator, value: Any, one: tree.Expression, scope: NameScope) -> Any:
    """Return what a variable or member gets of an object that an expression gives: a copy of one that has a name."""
    named = isinstance(value, ObjectValue) and (value.held or is_named_object(one))
    if named and value.record.copies and not ev.python:
        value = ev.copy_construct(value, ev.make_copy_argument(one, scope, value))
    return value


def run_constructor(ev: Evaluator, made: ObjectValue, record: RecordType, ctors: FunctionSet, given: list[Any]) -> None:
    """Run the constructor that some values choose; nothing is known of one that is not chosen or has no body."""
    closure = replace(ctors, this=made, constant=False)
    arguments = [ev.make_constructor_argument(one) for one in given]
    source = _find_copied_argument(arguments, record)
    if source is not None and not any(may_copy(f, record.name, source) for f in ctors.functions):
        ev.copy_members(made, record, source)
        return
    chosen = _choose_constructor(ev, closure, arguments, source)
    if chosen is not None and chosen.function.defaulted:
        if source is not None:
            ev.copy_members(made, record, source)
        else:
            default_members(ev, made, record, ev.make_this_scope(record.scope, made, record))
        return
    if chosen is None or (chosen.function.body is None and not chosen.function.starts):
        ev.forget_place(Cell(made.whole or made))
        ev.forget_call(arguments, closure)
        return
    function = chosen.function
    owner = closure.get_home(function).owner
    if isinstance(owner, RecordType) and owner is not record:  # using Base::Base
        default_members(ev, made, record, ev.make_this_scope(record.scope, made, record), frozenset((owner.name,)))
        ev.run_constructor(made, owner, closure, given)
        return
    scope = ev.bind_parameters(closure, chosen, arguments, {})
    ev.called.add(id(function))
    ev.enter_function(function.name, function.span)
    _run_constructor_body(ev, made, record, function, scope)


def _find_copied_argument(arguments: list[CallArgument], record: RecordType) -> CallArgument | None:
    """Return the object of a class, or of a derived one, that is all that a constructor of it is given; else None."""
    value = arguments[0].value if len(arguments) == 1 else None
    return arguments[0] if isinstance(value, ObjectValue) and value.record.is_derived_from(record) else None


def _choose_constructor(
    ev: Evaluator, closure: FunctionSet, arguments: list[CallArgument], source: CallArgument | None
) -> OverloadCandidate | None:
    """Return the constructor that some arguments choose. source: the object to copy, if it is one."""
    chosen: OverloadCandidate | None = ev.choose_function(closure, arguments)
    if source is None or chosen is None or not chosen.function.templates:
        return chosen
    return None if source.loose or source.const is None else chosen  # the implicit one may be the better


def run_constructor_entry(
    ev: Evaluator, function: tree.Function, home: NameScope, made: ObjectValue, record: RecordType
) -> None:
    """Run a constructor that nothing in the text calls, its parameters as symbols."""
    closure = FunctionSet((function,), home, made)
    scope = ev.bind_parameters(closure, OverloadCandidate(function, (), {}), [], {}, symbolic=True)
    ev.called.add(id(function))
    ev.enter_function(function.name, function.span, entry=True)
    _run_constructor_body(ev, made, record, function, scope)


def _run_constructor_body(
    ev: Evaluator, made: ObjectValue, record: RecordType, function: tree.Function, scope: NameScope
) -> None:
    """Initialize bases and members as a constructor that was entered says, then run its body."""
    starts = dict(function.starts)
    before, made.dynamic = made.dynamic, record
    try:
        if record.name in starts:  # it delegates to another
            ev.construct_object(
                made,
                ev.evaluate_typed_arguments(tree.Call(tree.OpaqueExpression(""), starts[record.name]), scope),
                record,
            )
        else:
            for base in record.bases:
                values = starts.get(base.name)
                call = tree.Call(tree.OpaqueExpression(""), values or ())
                ev.construct_object(made, ev.evaluate_typed_arguments(call, scope), base)
            for name, declared in record.members.items():
                home = record.homes.get(name)
                if home is not None and home.owner is not record:
                    continue
                if name in starts:
                    values = starts[name]
                    ev.evaluate_full_expression(
                        partial(initialize_member, ev, made, name, declared, values, scope), declared.span
                    )
                else:
                    _initialize_default_member(ev, made, name, declared, scope)
        if function.body is not None:
            made.dynamic = record
            ev.finish_function(ev.run_body(function, scope), scope)
    except ThrownError:
        ev.run_perhaps(lambda: _end_parts(ev, made, record))
        raise
    finally:
        made.dynamic = before
        ev.leave_function()


def _end_parts(ev: Evaluator, made: ObjectValue, record: RecordType) -> None:
    """End the members and bases of an object whose constructor throws: they have begun."""
    for name in reversed(list_own_members(record)):
        if name in made.members:
            ev.destroy_object(made.members[name].value, (0, 0))
    for base in reversed(record.bases):
        ev.destroy_object(ObjectValue(base, made.store, made.members, True, None, made), (0, 0))


def _start_values(
    ev: Evaluator, values: tuple[tree.Expression, ...], kind: ResolvedType | None, scope: NameScope
) -> list[Any]:
    """Return the values of a constructor's list for one member."""
    return [ev.evaluate_initializer(one, kind, scope, "") for one in values]


def initialize_member(
    ev: Evaluator,
    made: ObjectValue,
    name: str,
    declared: tree.Declaration,
    values: tuple[tree.Expression, ...],
    scope: NameScope,
) -> None:
    """Initialize a member with values that a constructor's list, or a list in braces, gives it."""
    place = ev.member(made, name, declared.span)
    kind = ev.resolve_type(declared.type, scope) if declared.type else None
    if kind is not None and kind.reference:
        _bind_reference_member(ev, place, name, kind, values, scope)
    elif kind is not None and kind.record is not None and not kind.dims and not kind.pointers:
        _start_object(ev, place, kind, declared, values, scope)
    elif kind is not None and (kind.dims or (kind.record is None and len(values) > 1)):
        items = tree.ItemList(tuple(("", one) for one in values))
        ev.store_value(place, ev.evaluate_initializer(items, kind, scope, name), declared.span)
    elif values:
        ev.store_value(place, ev.evaluate_initializer(values[0], kind, scope, name), values[0].span)
    else:
        ev.store_value(place, SymbolicInt(0), declared.span)


def _start_object(
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
        value = ev.construct_value(kind, _start_values(ev, values, None, scope), declared, scope)
        ev.begin_member(place, value, declared.span)
        return
    given = ev.evaluate_typed_arguments(tree.Call(tree.OpaqueExpression(""), values), scope)
    only = given[0].value if len(given) == 1 else None
    if isinstance(only, ObjectValue) and only.record is inner.record and not only.held and given[0].where is None:
        ev.write_cell(place, ev.copy_assigned(only))  # the very object
    else:
        ev.construct_object(inner, given)


def _bind_reference_member(
    ev: Evaluator, cell: Any, name: str, kind: ResolvedType, values: tuple[tree.Expression, ...], scope: NameScope
) -> None:
    """Let a member that is a reference name a place."""
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


def _construct_python(ev: Evaluator, made: ObjectValue, given: list[Any]) -> ObjectValue:
    """Run __init__ on an instance of a Python class that has one."""
    record = made.record
    if "__init__" in record.methods:
        ev.call_function(replace(record.methods["__init__"], this=made), given, {}, (0, 0))
    return made


def copy_object_members(ev: Evaluator, made: ObjectValue, other: ObjectValue) -> None:
    """Make an object's members what another's are, as its class assigns them."""
    kind = ResolvedType(other.record.name, record=other.record, arguments=other.record.arguments)
    ev.assign_into(made, made.record, CallArgument(other, kind, True, None, where=Cell(other, kind), loose=True))


def zero_value(ev: Evaluator, element: ResolvedType) -> Any:
    """Return an item that an initializer leaves out."""
    if element.dims:
        size = element.dims[0].known or 0
        inner = replace(element, dims=element.dims[1:])
        return link_inner_arrays(
            ArrayValue([Cell(zero_value(ev, inner), inner) for _ in range(min(size, MOST_ITEMS))], inner)
        )
    if element.record is not None and not element.pointers:
        return make_initialized(ev, element.record, "")
    if element.whole is not None and not element.pointers:
        return SymbolicInt(0, element.whole)
    return ev.make_symbolic_value(element, "0")


def run_given_constructor(ev: Evaluator, made: ObjectValue, closure: FunctionSet, given: list[Any]) -> ObjectValue:
    """Run one of some constructors on an object, and return it."""
    ev.run_constructor(made, made.record, closure, given)
    return made


def forget_members(ev: Evaluator, made: ObjectValue) -> ObjectValue:
    """Forget what an object holds, and return it."""
    ev.forget_place(Cell(made))
    return made


def _is_same_record(value: Any, record: RecordType) -> bool:
    """Return whether a value is an object of that very class."""
    return isinstance(value, ObjectValue) and value.record is record


def link_inner_arrays(array: ArrayValue) -> ArrayValue:
    """Return an array whose items, where they are arrays, know it."""
    for cell in array.cells:
        if isinstance(cell.value, ArrayValue):
            cell.value.inside = array
        elif isinstance(cell.value, ObjectValue):
            cell.value.held = True
    return array


def _has_more_members(record: RecordType) -> bool:
    """Return whether the first member of a struct of integers is not the whole of it."""
    fields = record.fields or {}
    first = next(iter(fields.values()), None)
    named = record.decl is not None and not record.decl.union and not record.python
    return named and first is not None and len(fields) > 1 and first.width < record.bits
