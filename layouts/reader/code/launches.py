"""Kernels that a text gives to the CUDA runtime instead of launching them by <<<…>>>, and instances that it names.

cudaLaunchKernelEx passes on the kernel's arguments, cudaLaunchKernel takes an array of their addresses: the kernel is
called with them. Any other function that the text does not define, as cudaFuncSetAttribute, only names an instance, and
so does an explicit instantiation: where nothing launches the kernel, it is run as this instance, its arguments open.
Source: CUDA Runtime API, Execution Control; C++20, 13.9.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from lanescope.reader.code import tree
from lanescope.reader.code.overloads import CallArgument
from lanescope.reader.code.scopes import NameScope
from lanescope.reader.code.tree_statements import Instantiation
from lanescope.reader.code.values import PLACES, Address, ArrayValue, EitherFunction, FunctionSet, Pointer

if TYPE_CHECKING:
    from lanescope.reader.code.call_arguments import Invocation
    from lanescope.reader.code.evaluator import Evaluator

_FORWARDING = {"cudaLaunchKernelEx": (1, 2), "launch_kernel_on_cluster": (1, 2)}  # the kernel, its first argument
_BY_ADDRESS = {"cudaLaunchKernel": (0, 3), "cudaLaunchCooperativeKernel": (0, 3), "cudaLaunchKernelExC": (1, 2)}
_CASTS = frozenset("static_cast reinterpret_cast const_cast".split())
_WORD = re.compile(r"[A-Za-z_]\w*")
MOST_INSTANCES = 16  # of one function that the text names and does not launch


def launch_kernels(ev: Evaluator, call: Invocation) -> None:
    """Call the kernel that a call of the CUDA runtime launches, and note the instances that any other names."""
    forwarding, by_address = _FORWARDING.get(call.name), _BY_ADDRESS.get(call.name)
    at, first = forwarding or by_address or (0, 0)
    if not forwarding and not by_address:
        for value in _list_functions(ev, call):
            note_instance(ev, value)
        return
    kernel = _find_function(ev, call, at)
    if not isinstance(kernel, FunctionSet) or len(call.arguments) < first:
        return
    arguments = list(call.arguments[first:]) if forwarding else _load_arguments(ev, call, first)
    if arguments is None:
        note_instance(ev, kernel)
    else:
        ev.call_function(kernel, arguments, {}, call.one.span, None)


def note_unread_call(ev: Evaluator, name: str, arguments: Iterable[Any]) -> None:
    """Note a call that is not evaluated: it may call what it is given, and what that calls."""
    ev.unread_calls.add(name)
    for argument in arguments:
        value = argument.value if isinstance(argument, CallArgument) else argument
        for function in value.functions if isinstance(value, FunctionSet) else ():
            ev.unread_calls.update(_WORD.findall(ev.text, *function.span))


def note_instance(ev: Evaluator, function: Any) -> None:
    """Note an instance of a function template that the text names."""
    if isinstance(function, EitherFunction):
        note_instance(ev, function.yes)
        note_instance(ev, function.no)
    elif isinstance(function, FunctionSet) and function.templates is not None and function.this is None:
        for one in function.functions:
            noted = ev.named_instances.setdefault(id(one), [])
            if one.templates and len(noted) < MOST_INSTANCES and not any(_is_same(other, function) for other in noted):
                noted.append(function)


def _is_same(one: FunctionSet, other: FunctionSet) -> bool:
    return [str(value) for value in one.templates or ()] == [str(value) for value in other.templates or ()]


def note_instantiations(ev: Evaluator, body: tuple[tree.Statement, ...], scope: NameScope) -> None:
    """Note the explicit instantiations of function templates: template void gemm<64, 64>(…);"""
    for statement in body:
        if isinstance(statement, Instantiation):
            note_instance(ev, ev.evaluate_expression(statement.function, scope))
        elif isinstance(statement, tree.Namespace) and id(statement) in ev.spaces:
            note_instantiations(ev, statement.body, ev.spaces[id(statement)])


def _find_function(ev: Evaluator, call: Invocation, at: int) -> Any:
    """Return the function that an argument names, also behind a cast to void*."""
    if at >= len(call.arguments):
        return None
    value = call.arguments[at].value
    if isinstance(value, FunctionSet | EitherFunction) or at >= len(call.one.arguments):
        return value
    inner = _strip_casts(call.one.arguments[at])
    return ev.evaluate_expression(inner, call.scope) if isinstance(inner, tree.Name) else value


def _list_functions(ev: Evaluator, call: Invocation) -> Iterator[Any]:
    for n, expression in enumerate(call.one.arguments[: len(call.arguments)]):
        plain = isinstance(call.arguments[n].value, FunctionSet | EitherFunction)
        if plain or _strip_casts(expression) is not expression:
            yield _find_function(ev, call, n)


def _strip_casts(expression: tree.Expression) -> tree.Expression:
    while True:
        if isinstance(expression, tree.Cast) or (isinstance(expression, tree.Unary) and expression.op == "&"):
            expression = expression.value
        elif (
            isinstance(expression, tree.Call)
            and isinstance(expression.function, tree.Name)
            and expression.function.last in _CASTS
            and len(expression.arguments) == 1
        ):
            expression = expression.arguments[0]
        else:
            return expression


def _load_arguments(ev: Evaluator, call: Invocation, at: int) -> list[CallArgument] | None:
    """Return the arguments whose addresses an array holds; None if one of them is not known."""
    array = call.arguments[at].value if at < len(call.arguments) else None
    if isinstance(array, Pointer) and array.at is not None and array.at.known == 0:
        array = array.array
    arguments = []
    for cell in array.cells if isinstance(array, ArrayValue) else ():
        address = cell.value
        place = address.place if isinstance(address, Address) and address.at.known == 0 else None
        if not isinstance(place, PLACES):
            return None
        value = ev.load_place(place, call.one)
        arguments.append(CallArgument(value, ev.find_declared_type(place, value), True, None, where=place))
    return arguments or None
