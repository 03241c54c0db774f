"""Launch kernels passed to the CUDA runtime, and note the kernel instances that a text names.

cudaLaunchKernelEx forwards the kernel's arguments, cudaLaunchKernel takes an array of their addresses: the kernel is
called with them. Other bodiless functions, such as cudaFuncSetAttribute, and explicit instantiations only name an
instance: if the text never launches it, it is run with unknown arguments. Source: CUDA Runtime API, Execution Control;
C++20, 13.9.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.calling.call_arguments import BracedArgument
from lanescope.reader.code.calling.overloads import CallArgument
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.maps.map_objects import FILLED, list_filled_names, list_map_names, list_pointed_maps
from lanescope.reader.code.naming.scopes import NameScope
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.tree_statements import Instantiation
from lanescope.reader.code.values import (
    PLACES,
    Address,
    ArrayValue,
    EitherFunction,
    FunctionSet,
    ObjectValue,
    OpaqueValue,
    ParameterPack,
    Pointer,
    ResolvedType,
)

if TYPE_CHECKING:
    from lanescope.reader.code.calling.call_arguments import Invocation
    from lanescope.reader.code.evaluator import Evaluator

_FORWARDING = {
    "cudaLaunchKernelEx": (1, 2),
    "launch_kernel_on_cluster": (1, 2),
}  # index of the kernel and of its first argument
_BY_ADDRESS = {"cudaLaunchKernel": (0, 3), "cudaLaunchCooperativeKernel": (0, 3), "cudaLaunchKernelExC": (1, 2)}
_WITH_SIZES = ("cudaLaunchKernel", "cudaLaunchCooperativeKernel")  # kernel, grid, block, arguments, bytes, stream
_CONFIGURATION = "gridDim", "blockDim", "dynamicSmemBytes"  # members of cudaLaunchConfig_t
OPEN = "lanescope_open"  # a template argument that is not known
MOST_LAUNCHES, MOST_STRUCTS = 200, 16
_CASTS = frozenset("static_cast reinterpret_cast const_cast".split())
_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBERS = count()
MOST_DEPTH = 12  # nesting of values in the key of a launch
MOST_INSTANCES = 16  # instances of one function that the text names without launching


def launch_kernels(ev: Evaluator, call: Invocation) -> None:
    """Call the kernel that a runtime call launches; note the instances that any other call names."""
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
    elif not is_launched_again(ev, kernel, arguments):
        if call.name in _WITH_SIZES:
            sizes = [size.value for size in (*call.arguments[1:3], *call.arguments[4:5])]
            _record_launch(ev, call.node, kernel, arguments, sizes, call.node.arguments[:5][-1].span)
        elif sizes := _load_configuration(ev, call):
            _record_launch(ev, call.node, kernel, arguments, sizes, call.node.arguments[0].span)
        with leave_loops(ev):
            ev.call_function(kernel, arguments, {}, call.node.span, None)


def _load_configuration(ev: Evaluator, call: Invocation) -> list[Any]:
    """Return the grid, the block and the bytes of shared memory of a cudaLaunchConfig_t; nothing for another value."""
    address = call.arguments[0].value
    place = address.place if isinstance(address, Address) and address.at.known == 0 else None
    config = ev.load_place(place, call.node) if isinstance(place, PLACES) else None
    if not isinstance(config, ObjectValue) or not {*_CONFIGURATION} <= {*config.record.members}:
        return []
    members = (ev.find_member(config, name, call.node.span) for name in _CONFIGURATION)
    return [ev.load_place(member, call.node) for member in members]


@contextmanager
def leave_loops(ev: Evaluator) -> Iterator[None]:
    """Evaluate a kernel outside the loops of the host that launches it, such as one that measures its time: what the
    kernel does in its own loops is the same in each of their iterations.
    """
    loops, ev.loops = ev.loops, []
    try:
        yield
    finally:
        ev.loops = loops


def is_launched_again(ev: Evaluator, kernel: FunctionSet, arguments: Sequence[CallArgument]) -> bool:
    """Note a launch; return whether the same functions launched the kernel with these arguments before."""
    running = (name for name, _ in ev.list_running_functions())
    key = (*_make_launch_key(kernel, arguments), *running)
    again = key in ev.launched
    ev.launched.add(key)
    return again


def note_launch(
    ev: Evaluator, node: tree.Call, target: FunctionSet, scope: NameScope, arguments: Sequence[CallArgument]
) -> None:
    """Record a launch by <<<grid, block, bytes>>>."""
    sizes = [ev.evaluate_expression(part, scope) for part in node.launch[:3]]
    _record_launch(ev, node, target, arguments, sizes, node.launch[min(2, len(node.launch) - 1)].span)


def _record_launch(
    ev: Evaluator,
    node: tree.Call,
    target: FunctionSet,
    arguments: Sequence[CallArgument],
    sizes: Sequence[Any],
    at: tuple[int, int],
) -> None:
    """Record a launch. sizes: its grid, its block and, if given, its bytes of shared memory, which are at a place."""
    arguments = _type_braced(ev, target, arguments)
    grid, block, *rest = sizes
    size = get_integer(rest[0]) if rest and rest[0] is not None else None
    record = KernelLaunchRecord(
        target.functions[0].name,
        _list_template_arguments(ev, target, arguments),
        _find_block(_list_items(ev, node, block)),
        size.known if size is not None else None,
        at,
        node.span,
        _keep_integers(_list_items(ev, node, grid)),
        _keep_integers([argument.value for argument in arguments]),
        tuple(_list_member_integers(ev, node, [argument.value for argument in arguments])),
        frozenset(list_filled_names(name for argument in arguments for name in list_map_names(argument.value))),
    )
    if record in ev.launches:
        n = ev.launches.index(record)
        ev.launches[n] = replace(record, maps=record.maps | ev.launches[n].maps)
    elif len(ev.launches) < MOST_LAUNCHES:
        ev.launches.append(record)


def _type_braced(ev: Evaluator, target: FunctionSet, arguments: Sequence[CallArgument]) -> list[CallArgument]:
    """Return the arguments of a launch, braced ones as objects of their parameters' types, if these have the same names
    where the kernel is called.
    """
    typed, kernel = list(arguments), target.functions[0]
    for n, (argument, parameter) in enumerate(zip(arguments, kernel.parameters, strict=False)):
        if isinstance(argument.value, BracedArgument) and parameter.type is not None:
            named, scope = replace(parameter.type, reference=""), argument.value.scope
            if ev.resolve_type(named, scope) == ev.resolve_type(named, target.get_home(kernel)):
                typed[n] = ev.evaluate_argument(replace(argument.value.items, type=named), scope)
    return typed


def _list_template_arguments(ev: Evaluator, target: FunctionSet, arguments: Sequence[CallArgument]) -> tuple[str, ...]:
    """Return the template arguments of a launch as C++: those it gives, and those deduced from its arguments."""
    given = [_format_template(value) for value in target.templates or ()]
    chosen = ev.choose_function(target, list(arguments))
    if chosen is None:
        return tuple(given)
    for parameter in chosen.function.templates[len(given) :]:
        if parameter.pack or (parameter.name not in chosen.deduced and parameter.default is not None):
            break
        value = chosen.deduced.get(parameter.name)
        named = isinstance(value, ResolvedType) and value.name == parameter.name  # a symbol for a type that is open
        given.append(OPEN if named else _format_template(value))
    return tuple(given)


def _list_member_integers(
    ev: Evaluator, node: tree.Call, values: Sequence[Any]
) -> Iterator[tuple[int, str, SymbolicInt]]:
    """Yield (number of an argument, member, value) of the integers in structs, also in structs in these."""
    for n, one in enumerate(values):
        members = [("", one)]
        for path, of in members:
            for name in of.record.members if isinstance(of, ObjectValue) else ():
                value = ev.load_place(ev.find_member(of, name, node.span), node)
                if isinstance(value, SymbolicInt):
                    yield n, path + name, value
                elif isinstance(value, ObjectValue) and len(members) < MOST_STRUCTS:
                    members.append((f"{path}{name}.", value))


def _keep_integers(values: Iterable[Any]) -> tuple[SymbolicInt | None, ...]:
    return tuple(value if isinstance(value, SymbolicInt) else None for value in values)


def _format_template(value: Any) -> str:
    """Format a template argument as C++; OPEN if it is unknown."""
    if isinstance(value, SymbolicInt):
        return OPEN if value.known is None else str(value.known)
    if not isinstance(value, ResolvedType) or value.pointers or value.dims or value.name in ("", "decltype"):
        return OPEN
    inner = ", ".join(map(_format_template, value.arguments))
    return f"{value.name}<{inner}>" if inner and "<" not in value.name else value.name


def _find_block(items: Sequence[Any]) -> tuple[int, ...] | None:
    """Return the dimensions of a block; None if one is unknown."""
    known = [item.known if isinstance(item, SymbolicInt) else None for item in items]
    dims = tuple(size for size in known if size is not None)
    return dims if dims and len(dims) == len(items) <= 3 else None


def _list_items(ev: Evaluator, node: tree.Call, value: Any) -> list[Any]:
    """Return the items of a dim3, or of a uint3 that becomes one, or a number as the only one."""
    if isinstance(value, OpaqueValue) and value.head == "dim3" and value.arguments:
        return list(value.arguments)
    if isinstance(value, ObjectValue) and value.record.name in ("dim3", "uint3"):
        places = (ev.find_member(value, axis, node.span) for axis in "xyz")
        return [ev.load_place(place, node) for place in places]
    return [cell.value for cell in value.cells] if isinstance(value, ArrayValue) else [value]


def _make_launch_key(kernel: FunctionSet, arguments: Iterable[CallArgument]) -> tuple[str, ...]:
    """Return a key that is equal for launches of a kernel with the same arguments."""
    parts = (part for argument in arguments for part in (argument.value, argument.kind))
    values = (*map(id, kernel.functions), *(kernel.templates or ()), *parts)
    return tuple(_format_value(value) for value in values)


def _format_value(value: Any, depth: int = 0) -> str:
    """Format a value with its parts."""
    list_parts = _PARTS.get(type(value))
    parts = list_parts(value) if list_parts is not None else None
    if parts is None and (maps := list_pointed_maps(value)):  # made again in each iteration of a loop
        return f"maps({','.join(str(cell.value).partition(FILLED)[0] for cell in maps)}, {getattr(value, 'at', 0)})"
    if parts is None or depth > MOST_DEPTH:
        return f"#{next(_NUMBERS)}"  # its contents may differ
    words = "function" if isinstance(value, FunctionSet) else value
    return f"{words}({','.join(_format_value(part, depth + 1) for part in parts)})"


def _list_function_parts(value: FunctionSet) -> tuple[Any, ...] | None:
    if value.this is not None or value.captured is not None:
        return None
    return (*map(id, value.functions), *(value.templates or ()))


_PARTS: dict[type, Callable[[Any], tuple[Any, ...] | None]] = {
    **dict.fromkeys((SymbolicInt, str, int, bool, type(None)), lambda value: ()),
    **dict.fromkeys((tuple, ParameterPack), tuple),
    ArrayValue: lambda value: (value.typed, *(cell.value for cell in value.cells)),
    OpaqueValue: lambda value: (*value.arguments, *(item for _, item in value.named), value.kind),
    ResolvedType: lambda value: value.arguments,
    Pointer: lambda value: () if value.array is None else None,
    FunctionSet: _list_function_parts,
}  # of the values whose parts are known; None: its contents may differ


def note_unread_call(ev: Evaluator, name: str, arguments: Iterable[Any]) -> None:
    """Note a call that is not evaluated: it may call its arguments and the functions they call."""
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
        for declaration in function.functions:
            instances = ev.named_instances.setdefault(declaration.key, [])
            if (
                declaration.templates
                and len(instances) < MOST_INSTANCES
                and not any(_is_same(other, function) for other in instances)
            ):
                instances.append(function)


def _is_same(left: FunctionSet, right: FunctionSet) -> bool:
    return [str(value) for value in left.templates or ()] == [str(value) for value in right.templates or ()]


def note_instantiations(ev: Evaluator, body: tuple[tree.Statement, ...], scope: NameScope) -> None:
    """Note the explicit instantiations of function templates: template void gemm<64, 64>(…);"""
    for statement in body:
        if isinstance(statement, Instantiation):
            note_instance(ev, ev.evaluate_expression(statement.function, scope))
        elif isinstance(statement, tree.Namespace) and id(statement) in ev.namespace_scopes:
            note_instantiations(ev, statement.body, ev.namespace_scopes[id(statement)])


def _find_function(ev: Evaluator, call: Invocation, at: int) -> Any:
    """Return the function that an argument names, also through a cast to void*."""
    if at >= len(call.arguments):
        return None
    value = call.arguments[at].value
    if isinstance(value, FunctionSet | EitherFunction) or at >= len(call.node.arguments):
        return value
    inner = _strip_casts(call.node.arguments[at])
    return ev.evaluate_expression(inner, call.scope) if isinstance(inner, tree.Name) else value


def _list_functions(ev: Evaluator, call: Invocation) -> Iterator[Any]:
    for n, expression in enumerate(call.node.arguments[: len(call.arguments)]):
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
    """Load the arguments whose addresses an array holds; None if one is unknown."""
    array = call.arguments[at].value if at < len(call.arguments) else None
    if isinstance(array, Pointer) and array.at is not None and array.at.known == 0:
        array = array.array
    arguments = []
    for cell in array.cells if isinstance(array, ArrayValue) else ():
        address = cell.value
        place = address.place if isinstance(address, Address) and address.at.known == 0 else None
        if not isinstance(place, PLACES):
            return None
        value = ev.load_place(place, call.node)
        arguments.append(CallArgument(value, ev.find_declared_type(place, value), True, None, where=place))
    return arguments or None
