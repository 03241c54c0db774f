"""Call overloaded operators, and look functions up in the associated namespaces of arguments.

ISO C++20: [over.match.oper], [basic.lookup.argdep].
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.calling.candidates import filter_declared_before, may_fit
from lanescope.reader.code.calling.overloads import CallArgument, accepts_count
from lanescope.reader.code.naming.lookup import get_namespace
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.values import (
    PLACES,
    FunctionSet,
    ObjectPart,
    ObjectValue,
    OpaqueValue,
    RecordType,
    ResolvedType,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator


def add_associated(
    ev: Evaluator, target: FunctionSet | None, name: str, function: tree.Expression, arguments: list[CallArgument]
) -> FunctionSet | None:
    """Return a function's overloads with those of the namespaces of its arguments: [basic.lookup.argdep]."""
    plain = isinstance(function, tree.Name) and len(function.path) == 1
    if not plain or (target is not None and (target.this is not None or target.captured is not None)):
        return target
    if target is not None and isinstance(target.get_home(target.functions[0]).owner, RecordType):
        return target
    for home in dict.fromkeys(home for argument in arguments for home in _find_associated_namespaces(ev, argument)):
        functions = home.names.get(name)
        if isinstance(functions, FunctionSet):
            target = functions if target is None else target.join_functions(functions)
    return target


_MEMBERS_ONLY = ("()", "[]", "->", "=")  # operators that are always member functions
_PYTHON_METHODS = {"+": "__add__", "|": "__or__"}


def evaluate_operator(
    ev: Evaluator,
    op: str,
    left: Any,
    right: Any,
    at: tree.Expression,
    *,
    arguments: list[CallArgument] | None = None,
    constant: bool | None = None,
) -> Any:
    """Call the overloaded operator for some operands; None if the text defines none."""
    name = f"operator{op}"
    if ev.python:
        return _call_python_operator(ev, op, left, right, at)
    right_arguments = (
        arguments if arguments is not None else [] if right is None else [_make_operand_argument(ev, right)]
    )
    left_operand, left_argument = left, left if isinstance(left, CallArgument) else None
    left = left.value if isinstance(left, CallArgument) else left
    method = _find_method(ev, name, left, None if arguments is not None else right_arguments)
    operands, free = right_arguments, None
    if op not in _MEMBERS_ONLY and name in ev.operators:
        operands = [_make_operand_argument(ev, left_operand), *right_arguments]
        free = (
            _find_free_operator(ev, ev.operators[name], operands, at)
            if any(map(_is_class_argument, operands))
            else None
        )
    if method is not None:
        if free is not None:
            return _forget_operators(ev, replace(method, this=left), free, operands, at)
        constant = left_argument.const if left_argument is not None and left_argument.place else constant
        called, operands = replace(method, this=left, constant=constant), right_arguments
    elif free is not None:
        called = free
    else:
        return None
    return _call_operator(ev, called, operands, at)


def _call_operator(ev: Evaluator, called: FunctionSet, operands: list[CallArgument], at: tree.Expression) -> Any:
    """Call an operator that the text defines; what a void one returns is a value of which nothing is known."""
    result = ev.call_function(called, operands, {}, at.span)
    return OpaqueValue(ev.format_expression(at), span=at.span) if result is None else result


def _call_python_operator(ev: Evaluator, op: str, left: Any, right: Any, at: tree.Expression) -> Any:
    """Call __add__ or __or__; None if the class has none."""
    method = left.record.methods.get(_PYTHON_METHODS.get(op, "")) if isinstance(left, ObjectValue) else None
    return ev.call_function(replace(method, this=left), [right], {}, at.span) if method is not None else None


def _find_method(ev: Evaluator, name: str, left: Any, operands: list[CallArgument] | None) -> FunctionSet | None:
    """Return the member function of an operator that takes `operands`; None without one."""
    record = (
        left.record if isinstance(left, ObjectValue) else left.field.inner if isinstance(left, ObjectPart) else None
    )
    method: FunctionSet | None = record.methods.get(name) if record is not None else None
    if method is None or operands is None:
        return method
    candidates = [f for f in method.functions if accepts_count(f, len(operands))]
    return method if any(may_fit(ev, method, f, operands) for f in candidates) else None


def _forget_operators(
    ev: Evaluator, method: FunctionSet, free: FunctionSet, operands: list[CallArgument], at: tree.Expression
) -> OpaqueValue:
    """Return a call of either a member or a non-member operator; which one is better is not decided."""
    ev.forget_call(operands, free)
    if not all(f.const for f in method.functions):
        ev.forget_call(operands[1:], method)
    return OpaqueValue(ev.make_fresh_name(ev.format_expression(at)), span=at.span)


def _find_free_operator(
    ev: Evaluator, closure: FunctionSet, operands: list[CallArgument], at: tree.Expression
) -> FunctionSet | None:
    """Return the non-member operators for some operands; None if there are none.

    They lose their bodies if an operator that argument-dependent lookup does not find may be meant.
    """
    closure = filter_declared_before(closure, at.span[0])
    candidates = [f for f in closure.functions if accepts_count(f, len(operands))]
    fitting = [f for f in candidates if may_fit(ev, closure, f, operands)]
    if not fitting:
        return None
    homes = tuple(closure.get_home(f) for f in fitting)
    near = {id(ev.globals), *(id(home) for a in operands for home in _find_associated_namespaces(ev, a))}
    if not all(id(get_namespace(home)) in near for home in homes):
        fitting = [replace(f, body=None) for f in fitting]
    return replace(closure, functions=tuple(fitting), homes=homes)


def _find_associated_namespaces(ev: Evaluator, argument: CallArgument) -> list[NameScope]:
    """Return the associated namespaces of an argument: [basic.lookup.argdep]."""
    home = ev.enumerations.get(_get_enum_name(argument))
    waiting = [argument.kind.record] if argument.kind is not None else []
    namespaces = [] if home is None else [get_namespace(home)]
    seen: set[int] = set()
    while waiting:
        record = waiting.pop()
        if record is not None and id(record) not in seen:  # struct V : Ops<V>
            seen.add(id(record))
            namespaces.append(get_namespace(record.scope))
            waiting += [*record.bases, *(a.record for a in record.arguments if isinstance(a, ResolvedType))]
    return namespaces


def _make_operand_argument(ev: Evaluator, value: Any) -> CallArgument:
    """Return an operand of an operator: the value of a place, or the place for a reference."""
    if isinstance(value, CallArgument):
        return value
    if isinstance(value, PLACES):
        inner = ev.load_place(value, tree.OpaqueExpression(""))
        return CallArgument(inner, ev.find_declared_type(value, inner), True, False, where=value)
    argument: CallArgument = ev.make_argument(value)
    if isinstance(value, ObjectValue):
        return replace(argument, place=True, const=None, loose=True, where=Cell(value, argument.kind))
    return argument


def _is_class_argument(argument: CallArgument) -> bool:
    """Return whether an operand is an object or an enumerator."""
    kind = argument.kind
    if kind is None or kind.pointers:
        return isinstance(argument.value, ObjectValue)
    return kind.record is not None or bool(_get_enum_name(argument))


def _get_enum_name(argument: CallArgument) -> str:
    """Return the name of an argument's enumeration, "" without one."""
    integer_type = argument.kind.integer if argument.kind is not None and not argument.kind.pointers else None
    return getattr(integer_type, "enumeration", "") or ""
