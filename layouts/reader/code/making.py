"""Objects: their members before, during and after their constructors."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import IntegerType
from lanescope.reader.code import tree
from lanescope.reader.code.lifetimes import MADE, has_name, may_copy, own_members
from lanescope.reader.code.overloads import Argument, Candidate
from lanescope.reader.code.paths import ThrownError
from lanescope.reader.code.values import (
    Array,
    Cell,
    Closure,
    Kind,
    Object,
    Overlay,
    Part,
    Record,
    Scope,
    Term,
    number,
)
from lanescope.reader.code.word import Int, Span

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

MOST_ITEMS = 256


def instance(ev: Evaluator, record: Record, name: str) -> Object:
    """Return a new object before its constructor: integers 0, other members symbols of their names."""
    bits = IntegerType(record.name, record.bits or 64, False, 9)
    made = Object(record, Cell(Int(0, bits), None, name or record.name, frame=len(ev.frames)))
    if record.ends and not ev.python:
        ev.temporaries.append((made, MADE))
    if record.fields is None and not record.python:
        for member, declared in record.members.items():
            kind = ev.kind(declared.type, record.homes.get(member, record.scope)) if declared.type else None
            own = f"{name}.{member}" if name else member
            if kind is not None and kind.record is not None and not kind.pointers and not kind.dims:
                value: Any = ev.instance(kind.record, own)  # its constructor runs where the class's says
                value.held = True
            else:
                value = ev.default(kind, own)
            made.members[member] = Cell(value, kind, own, declared.span)
    return made


def initialized(ev: Evaluator, record: Record, name: str) -> Object:
    """Return a new object as its default constructor leaves it."""
    return ev.constructed(ev.instance(record, name), [])


def constructed(ev: Evaluator, made: Object, given: list[Any], record: Record | None = None) -> Object:
    """Run the constructor of an object's class, or of a base, that takes some values; without constructors, members
    in their order.
    """
    record = record or made.record
    if record.python:
        return _python_constructed(ev, made, given)
    fresh = _find_nameless_object(given)
    if fresh is not None and fresh.record is record is made.record:
        made.store, made.members, fresh.held = fresh.store, fresh.members, True  # the very object
        return made
    ctors = record.methods.get(record.name)
    only = getattr(given[0], "value", given[0]) if len(given) == 1 else None
    if ctors is not None and any(not f.defaulted for f in ctors.functions):
        ev.run_constructor(made, record, ctors, given)
    elif _alike(only, record):
        ev.copy_members(made, record, ev.argument_like(given[0]))
    elif ctors is not None and given:
        ev.forget(Cell(made))
    elif record.fields is not None and len(given) == 1 and not isinstance(given[0], Object):
        _construct_bits(ev, made, record, given)
    else:
        fill_aggregate(ev, made, record, given)
    return made


def _find_nameless_object(given: list[Any]) -> Object | None:
    """Return the object without a name that alone is given; None where something else is."""
    only = given[0] if len(given) == 1 else None
    if isinstance(only, Argument):
        only = only.value if only.where is None and not only.place else None
    return only if isinstance(only, Object) and not only.held else None


def _construct_bits(ev: Evaluator, made: Object, record: Record, given: list[Any]) -> None:
    """Store the one value that is given in a struct of integers: in all of it, or in its first member."""
    default_members(ev, made, record, Scope(record.scope))
    value = number(getattr(given[0], "value", given[0]))
    if value is not None and not _has_more(record):
        ev.store(Cell(made), value, (0, 0))
    else:
        fill_aggregate(ev, made, record, given)


def fill_aggregate(ev: Evaluator, made: Object, record: Record, given: list[Any]) -> None:
    """Store values in members, in their order; those behind them begin as they are declared."""
    names = list(record.fields or made.members)
    scope = ev.this_scope(record.scope, made, record)
    if record.bases:
        default_members(ev, made, record, scope)
    if len(given) > len(names):
        ev.forget(Cell(made))
        return
    for name, value in zip(names, given, strict=False):
        ev.begin(ev.member(made, name, (0, 0)), getattr(value, "value", value), (0, 0))
    if not record.bases:
        default_members(ev, made, record, scope, frozenset(names[: len(given)]))


def default_members(
    ev: Evaluator, made: Object, record: Record, scope: Scope, but: frozenset[str] = frozenset()
) -> None:
    """Give members what their declarations initialize them with, and bases' what theirs do."""
    before = made.dynamic
    try:
        for base in record.bases:
            if base.name not in but:
                ev.constructed(made, [], base)
        made.dynamic = record if not record.python else before
        for name, declared in record.members.items():
            home = record.homes.get(name)
            if (home is None or home.owner is record) and name not in but:
                _default_member(ev, made, name, declared, scope)
    finally:
        made.dynamic = before


def zero_member(ev: Evaluator, made: Object, name: str, declared: tree.Declare, scope: Scope) -> None:
    """Initialize a member that a list in braces leaves out: its own initializer, or zeros."""
    kind = ev.kind(declared.type, scope) if declared.type else None
    plain = declared.value is None and kind is not None and kind.record is None and not kind.reference
    if plain and kind is not None and name in made.members and (kind.dims or kind.whole is not None):
        made.members[name].value = own_items(v) if isinstance(v := zero_value(ev, kind), Array) else v
    else:
        _default_member(ev, made, name, declared, scope)


def _default_member(ev: Evaluator, made: Object, name: str, declared: tree.Declare, scope: Scope) -> None:
    """Initialize a member that a constructor does not name."""
    if declared.value is not None:
        _initialize(ev, made, name, declared, scope)
    elif name in made.members and isinstance(made.members[name].value, Object) and name not in made.record.overlaid:
        ev.constructed(made.members[name].value, [])


def _initialize(ev: Evaluator, made: Object, name: str, declared: tree.Declare, scope: Scope) -> None:
    """Initialize a member as its declaration says."""
    assert declared.value is not None
    place = ev.member(made, name, declared.span)
    kind = ev.kind(declared.type, scope) if declared.type else None
    first = declared.value
    value = ev.whole_expression(lambda: ev.initial(first, kind, scope, name), first.span)
    ev.begin(place, initialized_by(ev, value, first, scope), first.span)


def begin(ev: Evaluator, place: Any, value: Any, span: Span) -> None:
    """Put a value into a member that nothing was put into: no operator= is called."""
    if isinstance(place, Overlay):
        for name in place.of.record.overlaid - {place.name}:
            if name in place.of.members:
                ev.forget(place.of.members[name])
        place = place.place
    old = place.value if isinstance(place, Cell) else None
    if isinstance(old, Object) and old.record.begins and not isinstance(value, Object):
        value = ev.converted(value, Kind(old.record.name, record=old.record), span)
        if not isinstance(value, Object):
            ev.forget(place)
            return
    if isinstance(old, Object) and isinstance(value, Object) and old.record is value.record and old.members:
        ev.put(place, ev.copied(value))
    else:
        ev.store(place, value, span)


def initialized_by(ev: Evaluator, value: Any, one: tree.Expression, scope: Scope) -> Any:
    """Return what a variable or member gets of an object that an expression gives: a copy of one that has a name."""
    named = isinstance(value, Object) and (value.held or has_name(one))
    if named and value.record.copies and not ev.python:
        value = ev.copy_constructed(value, ev.argument_in(one, scope, value))
    return value


def run_constructor(ev: Evaluator, made: Object, record: Record, ctors: Closure, given: list[Any]) -> None:
    """Run the constructor that some values choose; nothing is known of one that is not chosen or has no body."""
    closure = replace(ctors, this=made, constant=False)
    arguments = [ev.argument_like(one) for one in given]
    source = _find_copied_argument(arguments, record)
    if source is not None and not any(may_copy(f, record.name, source) for f in ctors.functions):
        ev.copy_members(made, record, source)
        return
    chosen = _choose_constructor(ev, closure, arguments, source)
    if chosen is not None and chosen.function.defaulted:
        if source is not None:
            ev.copy_members(made, record, source)
        else:
            default_members(ev, made, record, ev.this_scope(record.scope, made, record))
        return
    if chosen is None or (chosen.function.body is None and not chosen.function.starts):
        ev.forget(Cell(made.whole or made))
        ev.forget_call(arguments, closure)
        return
    function = chosen.function
    owner = closure.home(function).owner
    if isinstance(owner, Record) and owner is not record:  # using Base::Base
        default_members(ev, made, record, ev.this_scope(record.scope, made, record), frozenset((owner.name,)))
        ev.run_constructor(made, owner, closure, given)
        return
    scope = ev.bound(closure, chosen, arguments, {})
    ev.called.add(id(function))
    ev.enter(function.name, function.span)
    _run_started(ev, made, record, function, scope)


def _find_copied_argument(arguments: list[Argument], record: Record) -> Argument | None:
    """Return the object of a class, or of a derived one, that is all that a constructor of it is given; else None."""
    value = arguments[0].value if len(arguments) == 1 else None
    return arguments[0] if isinstance(value, Object) and value.record.descends(record) else None


def _choose_constructor(
    ev: Evaluator, closure: Closure, arguments: list[Argument], source: Argument | None
) -> Candidate | None:
    """Return the constructor that some arguments choose. source: the object to copy, if it is one."""
    chosen: Candidate | None = ev.chosen(closure, arguments)
    if source is None or chosen is None or not chosen.function.templates:
        return chosen
    return None if source.loose or source.const is None else chosen  # the implicit one may be the better


def construct_entry(ev: Evaluator, function: tree.Function, home: Scope, made: Object, record: Record) -> None:
    """Run a constructor that nothing in the text calls, its parameters as symbols."""
    closure = Closure((function,), home, made)
    scope = ev.bound(closure, Candidate(function, (), {}), [], {}, symbolic=True)
    ev.called.add(id(function))
    ev.enter(function.name, function.span, entry=True)
    _run_started(ev, made, record, function, scope)


def _run_started(ev: Evaluator, made: Object, record: Record, function: tree.Function, scope: Scope) -> None:
    """Initialize bases and members as a constructor that was entered says, then run its body."""
    starts = dict(function.starts)
    before, made.dynamic = made.dynamic, record
    try:
        if record.name in starts:  # it delegates to another
            ev.constructed(made, ev.arguments(tree.Call(tree.Other(""), starts[record.name]), scope), record)
        else:
            for base in record.bases:
                values = starts.get(base.name)
                call = tree.Call(tree.Other(""), values or ())
                ev.constructed(made, ev.arguments(call, scope), base)
            for name, declared in record.members.items():
                home = record.homes.get(name)
                if home is not None and home.owner is not record:
                    continue
                if name in starts:
                    values = starts[name]
                    ev.whole_expression(partial(start_member, ev, made, name, declared, values, scope), declared.span)
                else:
                    _default_member(ev, made, name, declared, scope)
        if function.body is not None:
            made.dynamic = record
            ev.finish(ev.run_body(function, scope), scope)
    except ThrownError:
        ev.perhaps(lambda: _end_parts(ev, made, record))
        raise
    finally:
        made.dynamic = before
        ev.leave()


def _end_parts(ev: Evaluator, made: Object, record: Record) -> None:
    """End the members and bases of an object whose constructor throws: they have begun."""
    for name in reversed(own_members(record)):
        if name in made.members:
            ev.destroy(made.members[name].value, (0, 0))
    for base in reversed(record.bases):
        ev.destroy(Object(base, made.store, made.members, True, None, made), (0, 0))


def _started(ev: Evaluator, values: tuple[tree.Expression, ...], kind: Kind | None, scope: Scope) -> list[Any]:
    """Return the values of a constructor's list for one member."""
    return [ev.initial(one, kind, scope, "") for one in values]


def start_member(
    ev: Evaluator, made: Object, name: str, declared: tree.Declare, values: tuple[tree.Expression, ...], scope: Scope
) -> None:
    """Initialize a member with values that a constructor's list, or a list in braces, gives it."""
    place = ev.member(made, name, declared.span)
    kind = ev.kind(declared.type, scope) if declared.type else None
    if kind is not None and kind.reference:
        _refer_member(ev, place, name, kind, values, scope)
    elif kind is not None and kind.record is not None and not kind.dims and not kind.pointers:
        _start_object(ev, place, kind, declared, values, scope)
    elif kind is not None and (kind.dims or (kind.record is None and len(values) > 1)):
        items = tree.Items(tuple(("", one) for one in values))
        ev.store(place, ev.initial(items, kind, scope, name), declared.span)
    elif values:
        ev.store(place, ev.initial(values[0], kind, scope, name), values[0].span)
    else:
        ev.store(place, Int(0), declared.span)


def _start_object(
    ev: Evaluator, place: Any, kind: Kind, declared: tree.Declare, values: tuple[tree.Expression, ...], scope: Scope
) -> None:
    """Construct a member that is an object."""
    inner = place.value if isinstance(place, Cell) else None
    if not isinstance(inner, Object) or any(isinstance(v, tree.Items) for v in values):
        value = ev.construct(kind, _started(ev, values, None, scope), declared, scope)
        ev.begin(place, value, declared.span)
        return
    given = ev.arguments(tree.Call(tree.Other(""), values), scope)
    only = given[0].value if len(given) == 1 else None
    if isinstance(only, Object) and only.record is inner.record and not only.held and given[0].where is None:
        ev.put(place, ev.copied(only))  # the very object
    else:
        ev.constructed(inner, given)


def _refer_member(
    ev: Evaluator, cell: Any, name: str, kind: Kind, values: tuple[tree.Expression, ...], scope: Scope
) -> None:
    """Let a member that is a reference name a place."""
    if not isinstance(cell, Cell) or not values:
        return
    place = ev.place(values[0], scope)
    inner = place.value if isinstance(place, Cell) else None
    if isinstance(inner, Object) and kind.record is not None and inner.record is not kind.record:
        cell.value = Cell(ev.upcast(inner, kind.record), replace(kind, reference=""))
    elif isinstance(place, Cell | Part):
        cell.value = place
    else:
        cell.value = Term(name)


def _python_constructed(ev: Evaluator, made: Object, given: list[Any]) -> Object:
    """Run __init__ on an instance of a Python class that has one."""
    record = made.record
    if "__init__" in record.methods:
        ev.call(replace(record.methods["__init__"], this=made), given, {}, (0, 0))
    return made


def copy_object(ev: Evaluator, made: Object, other: Object) -> None:
    """Make an object's members what another's are, as its class assigns them."""
    kind = Kind(other.record.name, record=other.record, arguments=other.record.arguments)
    ev.assign_into(made, made.record, Argument(other, kind, True, None, where=Cell(other, kind), loose=True))


def zero_value(ev: Evaluator, element: Kind) -> Any:
    """Return an item that an initializer leaves out."""
    if element.dims:
        size = element.dims[0].known or 0
        inner = replace(element, dims=element.dims[1:])
        return own_items(Array([Cell(zero_value(ev, inner), inner) for _ in range(min(size, MOST_ITEMS))], inner))
    if element.record is not None and not element.pointers:
        return initialized(ev, element.record, "")
    if element.whole is not None and not element.pointers:
        return Int(0, element.whole)
    return ev.symbolic(element, "0")


def constructed_by(ev: Evaluator, made: Object, closure: Closure, given: list[Any]) -> Object:
    """Run one of some constructors on an object, and return it."""
    ev.run_constructor(made, made.record, closure, given)
    return made


def forgotten(ev: Evaluator, made: Object) -> Object:
    """Forget what an object holds, and return it."""
    ev.forget(Cell(made))
    return made


def _alike(value: Any, record: Record) -> bool:
    """Return whether a value is an object of that very class."""
    return isinstance(value, Object) and value.record is record


def own_items(array: Array) -> Array:
    """Return an array whose items, where they are arrays, know it."""
    for cell in array.cells:
        if isinstance(cell.value, Array):
            cell.value.inside = array
        elif isinstance(cell.value, Object):
            cell.value.held = True
    return array


def _has_more(record: Record) -> bool:
    """Return whether the first member of a struct of integers is not the whole of it."""
    fields = record.fields or {}
    first = next(iter(fields.values()), None)
    named = record.decl is not None and not record.decl.union and not record.python
    return named and first is not None and len(fields) > 1 and first.width < record.bits
