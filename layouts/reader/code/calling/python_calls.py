"""Evaluate Python calls, and unpack the items of loops and assignments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import LONG, PYTHON
from lanescope.reader.code import symbolic_integers
from lanescope.reader.code.calling.builtin_calls import MISSING, evaluate_known_function
from lanescope.reader.code.calling.call_arguments import Invocation
from lanescope.reader.code.calling.library_calls import find_constructed_kind, name_unknown_call
from lanescope.reader.code.calling.overloads import accepts_count
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import ArrayValue, FunctionSet, ObjectValue, OpaqueValue, Pointer, ResolvedType

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def call_python(ev: Evaluator, call: Invocation) -> Any:
    """Evaluate a Python call."""
    node, target = call.node, call.target
    if isinstance(target, FunctionSet):
        arguments: list[Any] = []
        for argument in node.arguments[:64]:
            unpacked = _unpack_argument(ev, argument, call.scope)
            arguments += unpacked if unpacked is not None else [ev.evaluate_expression(argument, call.scope)]
        return ev.call_function(target, arguments, call.named, node.span, node)
    call = replace(call, values=evaluate_arguments(ev, node, call.scope))
    kind = find_constructed_kind(ev, call)
    if kind is not None:
        return _construct_python(ev, call, kind)
    if target is None or isinstance(target, OpaqueValue):
        result = evaluate_known_function(ev, call.name, call.templates, call.values, node.span)
        if result is not MISSING:
            return result
    if isinstance(call.owner, SymbolicInt | Pointer):
        result = evaluate_known_function(ev, call.name, call.templates, [call.owner, *call.values], node.span)
        if result is not MISSING and call.name in ("bit_length", "to", "cast"):
            return result
    return name_unknown_call(ev, call)


def choose_python_overload(closure: FunctionSet, count: int) -> tree.Function:
    """Return the first function that takes `count` arguments, else the first function."""
    return next((f for f in closure.functions if accepts_count(f, count)), closure.functions[0])


def _construct_python(ev: Evaluator, call: Invocation, kind: ResolvedType) -> Any:
    """Construct a value of a type, or an instance of a class: with __init__, or by the fields of a dataclass."""
    record, arguments = kind.record, call.values
    if record is None:
        return ev.construct_value(kind, arguments, call.node)
    instance = ev.make_instance(record, call.name)
    if "__init__" in record.methods:
        ev.call_function(replace(record.methods["__init__"], this=instance), arguments, call.named, call.node.span)
        return instance
    for index, member in enumerate(record.members):
        if index < len(arguments):
            instance.members[member] = Cell(arguments[index], None, member)
        elif member in call.named:
            instance.members[member] = Cell(call.named[member], None, member)
    return instance


def evaluate_arguments(ev: Evaluator, call: tree.Call, scope: Any) -> list[Any]:
    """Evaluate the arguments of a Python call, and record those that are descriptors."""
    arguments: list[Any] = []
    for argument in call.arguments[:64]:
        if (unpacked := _unpack_argument(ev, argument, scope)) is not None:
            arguments.extend(unpacked)
            continue
        value = ev.evaluate_expression(argument, scope)
        if isinstance(value, SymbolicInt | ObjectValue) and not isinstance(argument, tree.Name):
            ev.note_value(value, ev.format_expression(argument), argument.span)
        arguments.append(value)
    return arguments


def _unpack_argument(ev: Evaluator, argument: tree.Expression, scope: Any) -> list[Any] | None:
    """Return the items of a `*name` argument; None for another argument or unknown items."""
    if not (ev.python and isinstance(argument, tree.Unary) and argument.op == "*"):
        return None
    value = ev.evaluate_expression(argument.value, scope)
    return [cell.value for cell in value.cells] if isinstance(value, ArrayValue) else None


def get_item(ev: Evaluator, value: Any, index: int, span: Span) -> Any:
    """Return an item of a value that is unpacked."""
    if isinstance(value, ArrayValue) and index < len(value.cells):
        return value.cells[index].value
    if isinstance(value, ObjectValue) and not ev.python:
        names = list(value.record.members)
        if index < len(names) and not value.record.hidden and not value.record.bases:
            return ev.load_place(ev.find_member(value, names[index], span), tree.OpaqueExpression("", span=span))
    if isinstance(value, OpaqueValue) and value.arguments and value.head in ("make_tuple", "zip"):
        return value.arguments[index] if index < len(value.arguments) else OpaqueValue("")
    return OpaqueValue(f"{value}[{index}]", span=span)


def list_items(ev: Evaluator, value: Any, most: int, name: str) -> tuple[list[Any], bool]:
    """Return (at most `most` items that a loop iterates over, whether these are all)."""
    if isinstance(value, ArrayValue):
        return [cell.value for cell in value.cells[:most]], len(value.cells) <= most
    if isinstance(value, dict):
        keys = [key if isinstance(key, str) else SymbolicInt(key, PYTHON) for key in list(value)[:most]]
        return keys, len(value) <= most
    if isinstance(value, OpaqueValue) and value.head == "range":
        return _list_range(ev, value, most, name)
    if isinstance(value, OpaqueValue) and value.head == "enumerate" and value.arguments:
        inner, complete = list_items(ev, value.arguments[0], most, name)
        return [ev.make_array((SymbolicInt(n, PYTHON), v)) for n, v in enumerate(inner)], complete
    return [OpaqueValue(name or str(value))], False


def _list_range(ev: Evaluator, value: OpaqueValue, most: int, name: str) -> tuple[list[Any], bool]:
    """Return (at most `most` numbers of range(…), whether these are all); the first three if the end is unknown."""
    integers = [get_integer(v) for v in value.arguments]
    bounds = [b for b in integers if b is not None]
    if len(bounds) < len(integers) or not bounds:
        ev.unbounded_variables.add(name)
        return [SymbolicInt(n, PYTHON) for n in range(min(3, most))], False
    kind = PYTHON if ev.python else LONG
    start, end = (SymbolicInt(0, kind), bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
    step = bounds[2] if len(bounds) > 2 else SymbolicInt(1, kind)
    if step.known is None or not step.known:
        return [start], False
    if start.known is not None and end.known is not None:
        numbers = range(start.known, end.known, step.known)
        return [SymbolicInt(n, kind) for n in numbers[:most]], len(numbers[most:]) == 0
    ev.unbounded_variables.add(name)
    return [symbolic_integers.add_ints(start, SymbolicInt(n * step.known, kind)) for n in range(3)], False
