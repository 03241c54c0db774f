"""Make unknown what functions that are not evaluated may change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.calling.candidates import enter_template
from lanescope.reader.code.calling.overloads import CallArgument
from lanescope.reader.code.naming.lookup import find_name
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.running.paths import EarlyExit
from lanescope.reader.code.running.write_summaries import is_read_only_call
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import (
    PLACES,
    Address,
    ArrayValue,
    FunctionSet,
    ObjectPart,
    ObjectValue,
    OpaqueValue,
    Pointer,
    ResolvedType,
    SplitPlace,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

_SILENT = re.compile(r"use$|f?printf$|puts$|mem\w+$|cuda|cu[A-Z]|__")  # C functions that do not throw
_BY_VALUE = re.compile(r"cuda[A-Z]|cu[A-Z]")  # C functions, which change variables only by their addresses
_PURE = frozenset(  # std functions that write no argument
    "min max move forward abs size bit_cast popcount countl_zero countr_zero bit_width as_const printf fprintf puts"
    " to_string distance make_pair make_tuple get".split()
)
_REFERRING = frozenset("ref tie forward_as_tuple".split())  # whose results refer to their arguments
_NUMBERS = (SymbolicInt, OpaqueValue)


def note_possible_throw(ev: Evaluator, name: str) -> None:
    """Keep the path on which an unevaluated function throws."""
    if ev.try_blocks and not _SILENT.match(name):
        ev.keep_escape("?", EarlyExit("throw", None), {})


def forget_unknown(ev: Evaluator, name: str, arguments: list[CallArgument], call: tree.Call) -> None:
    """Make unknown what a bodiless function may write: targets of pointers and, unless its name says that it only
    reads, its arguments.
    """
    std = isinstance(call.function, tree.Name) and call.function.path[0][0] == "std" and name not in _PURE
    std |= name in _REFERRING
    uses = len(arguments) >= 12 or (is_read_only_call(call.function, name) and not std)  # 12: cuTensorMapEncodeTiled
    for argument in arguments:
        value, place = argument.value, argument.where
        if isinstance(value, FunctionSet):
            _forget_used(ev, value)
        elif isinstance(value, Address):
            _forget_pointee(ev, value)
        elif uses:
            continue
        elif isinstance(value, Pointer) and value.array is not None:
            ev.forget_place(Cell(value.array), integers=True, quiet=True)
        elif argument.place and argument.const is not True and isinstance(place, Cell | ObjectPart):
            if _BY_VALUE.match(name):
                continue
            _forget_variable(ev, place, refers=std, statement=id(call) in ev.statements)


def _forget_pointee(ev: Evaluator, value: Address) -> None:
    """Make a pointer's target unknown; an object made by `new` may be destroyed at any time afterwards."""
    ev.forget_place(value.place, integers=True, quiet=True)
    object_value = value.place.value if isinstance(value.place, Cell) and value.place.name == "new" else None
    if isinstance(object_value, ObjectValue) and object_value.record.ends and ev.pending_objects is not None:
        ev.pending_objects.append(object_value)


def _forget_variable(ev: Evaluator, place: Cell | ObjectPart, refers: bool, statement: bool) -> None:
    """Make an integer, object or array unknown.

    refers: the call's result may refer to it (std::tie, std::ref). statement: the result is unused.
    """
    if isinstance(place, Cell) and not isinstance(place.value, SymbolicInt | ObjectValue | ArrayValue):
        return
    if refers:
        forget_escaped(ev, place)
    elif statement:
        ev.forget_place(place, integers=True, quiet=True)


def _forget_used(ev: Evaluator, closure: FunctionSet, seen: frozenset[int] = frozenset()) -> None:
    """Make unknown what a function passed to unknown code, and the functions it calls, may write."""
    function = closure.functions[0]
    if function.body is None or id(function) in seen:
        return
    home = closure.captured or closure.scope
    for name in sorted(ev.summaries.get_summary(function.body).names):
        entity = find_name(home, name)[0]
        if isinstance(entity, PLACES):
            ev.forget_place(entity, integers=True, quiet=True)
    for name in ev.summaries.list_used_names(function):
        entity = find_name(home, name)[0]
        inner = entity.value if isinstance(entity, Cell) else entity
        if isinstance(inner, FunctionSet):
            _forget_used(ev, inner, seen | {id(function)})


def forget_call(ev: Evaluator, arguments: list[CallArgument], closure: FunctionSet) -> None:
    """Make unknown what an unevaluated function of the text may write.

    It may write the non-const targets of its parameters and what is reachable from them, and keep their addresses for
    later calls.
    """
    for n, argument in enumerate(arguments):
        value, writes = argument.value, _may_write(ev, closure, n)
        if isinstance(value, FunctionSet):
            _forget_used(ev, value)
            continue
        if argument.place and argument.const is not True and writes:
            forget_escaped(ev, argument.where)
        direct = not writes and isinstance(value, Address | Pointer)  # the target of a pointer to const
        for place in list(list_reachable_places(value))[direct:]:
            forget_escaped(ev, place)
    if isinstance(closure.this, ObjectValue):
        complete = closure.this.derived or closure.this
        forget_escaped(ev, Cell(complete))
        for place in list_reachable_places(complete):
            forget_escaped(ev, place)
    if closure.captured is not None:
        for cell in closure.captured.names.values():
            ev.forget_place(cell)
    ev.forget_globals()


def forget_escaped(ev: Evaluator, place: Any) -> None:
    """Make a place unknown whose address an unknown function may keep, now and after later unknown calls."""
    ev.forget_place(place)
    inner = place.value if isinstance(place, Cell) else None
    key = id(
        inner if isinstance(inner, ObjectValue | ArrayValue) else place.of if isinstance(place, ObjectPart) else place
    )
    ev.escaped_places.setdefault(key, place if key != id(getattr(place, "of", None)) else Cell(place.of))


def may_refer(kind: ResolvedType) -> bool:
    """Return whether a type that the text does not define may hold a reference to a variable: tuple<int&>, or an
    unknown decltype.
    """
    if kind.name.rpartition("::")[2] == "reference_wrapper" or (kind.arguments and kind.reference):
        return True
    if kind.name == "decltype":
        return any(isinstance(inner, OpaqueValue) for inner in kind.arguments)
    return any(isinstance(inner, ResolvedType) and (inner.reference or may_refer(inner)) for inner in kind.arguments)


def forget_initializer(ev: Evaluator, declaration: tree.Declaration, scope: NameScope) -> None:
    """Make unknown what an initializer names: the variable may refer to it."""
    values = [*(declaration.arguments or ()), *([declaration.value] if declaration.value is not None else [])]
    for value in values:
        for name in re.findall(r"[A-Za-z_]\w*", ev.text[slice(*value.span)]):
            place = find_name(scope, name)[0]
            if isinstance(place, PLACES):
                forget_escaped(ev, place)


def _may_write(ev: Evaluator, closure: FunctionSet, n: int) -> bool:
    """Return whether one of some functions may write argument n or its target, by declaration."""
    for function in closure.functions:
        parameter = function.parameters[n] if n < len(function.parameters) else None
        if parameter is None or parameter.type is None or parameter.pack:
            return True
        scope = NameScope(closure.get_home(function))
        enter_template(ev, function, {}, scope)
        kind = ev.resolve_type(parameter.type, scope)
        steps = kind.pointers + len(kind.dims) + bool(kind.reference)
        if steps and not (kind.const and steps == 1):
            return True
        if not steps and kind.open and parameter.type.path[-1][0] not in {p.name for p in function.templates}:
            return True
    return False


def list_reachable_places(value: Any, depth: int = 0) -> Iterator[Any]:
    """Return the places reachable through pointers and references in a value."""
    if depth > 4:
        return
    if isinstance(value, Address):
        yield value.place
        yield from list_reachable_places(value.place, depth + 1)
    elif isinstance(value, Pointer) and value.array is not None:
        yield Cell(value.array)
        yield from list_reachable_places(value.array, depth + 1)
    elif isinstance(value, ArrayValue):
        for cell in value.cells[:64]:
            if type(cell.value) not in _NUMBERS:  # most items lead nowhere
                yield from list_reachable_places(cell.value, depth + 1)
    elif isinstance(value, ObjectValue):
        for cell in value.members.values():
            if isinstance(cell.value, PLACES):
                yield cell.value
            yield from list_reachable_places(cell.value, depth + 1)
    elif isinstance(value, Cell):
        yield from list_reachable_places(value.value, depth + 1)
    elif isinstance(value, SplitPlace):
        yield from list_reachable_places(value.yes, depth + 1)
        yield from list_reachable_places(value.no, depth + 1)
