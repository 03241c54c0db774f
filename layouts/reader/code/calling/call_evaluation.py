"""Evaluate calls: find the function that an expression names, and run it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lanescope.cxx.integers import BOOL
from lanescope.reader.code.calling.call_arguments import Invocation
from lanescope.reader.code.calling.candidates import filter_declared_before
from lanescope.reader.code.calling.launches import is_launched_again, leave_loops, note_launch, note_unread_call
from lanescope.reader.code.calling.library_calls import call_library, get_tuple_item, swap_places
from lanescope.reader.code.calling.operator_calls import add_associated
from lanescope.reader.code.calling.overloads import CallArgument, OverloadCandidate, accepts_count
from lanescope.reader.code.calling.python_calls import call_python, choose_python_overload
from lanescope.reader.code.calling.virtual_calls import resolve_virtual_call
from lanescope.reader.code.cute.cute_values import names_cute
from lanescope.reader.code.findings import is_descriptor
from lanescope.reader.code.naming.lookup import find_name, get_this
from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.objects.lifetimes import MADE
from lanescope.reader.code.running.run_records import record_skipped
from lanescope.reader.code.running.side_effects import note_possible_throw
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt, make_free
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.types.constness import find_constness, find_pointee_constness
from lanescope.reader.code.types.instances import make_argument_key
from lanescope.reader.code.values import (
    PLACES,
    ArrayValue,
    EitherFunction,
    FunctionSet,
    ObjectPart,
    ObjectValue,
    OpaqueValue,
    ParameterPack,
    RecordType,
    ResolvedType,
    shorten_name,
)

if TYPE_CHECKING:
    from lanescope.reader.code.evaluator import Evaluator

_UNEVALUATED = ("noexcept", "typeid", "declval")  # whose operands are not evaluated


def evaluate_call(ev: Evaluator, node: tree.Call, scope: NameScope) -> Any:
    """Evaluate a call; the result is a ReferredPlace if the function returns a reference."""
    function = node.function
    if not ev.python and isinstance(function, tree.Name) and function.last in _UNEVALUATED:
        return make_free(ev.format_expression(node), BOOL)
    call = _resolve_call(ev, node, scope)
    target = ev.load_place(call.target, function) if isinstance(call.target, PLACES) else call.target
    if ev.python:
        return call_python(ev, replace(call, target=target))
    if target is not call.target and _is_overload_set(target):  # the variable's type chose one of the overloads
        ev.forget_call(ev.evaluate_typed_arguments(node, scope), target)
        return OpaqueValue(ev.make_fresh_name(ev.format_expression(node)), span=node.span)
    if call.name == "get" and call.templates and len(node.arguments) == 1 and not isinstance(target, FunctionSet):
        return get_tuple_item(ev, node, call.templates, scope)
    kernels = list(_list_choices(target)) if len(node.launch) > 1 else []
    arguments = ev.evaluate_typed_arguments(node, scope)
    invocation = Invocation(node, target, call.name, call.templates, call.named, scope, arguments)
    return _launch_kernels(ev, invocation, kernels) if kernels else _call_target(ev, invocation)


def _launch_kernels(ev: Evaluator, call: Invocation, kernels: Sequence[FunctionSet]) -> Any:
    """Run the kernel that <<<…>>> launches, or each that it may be, unless it ran with the same arguments."""
    for kernel in kernels:
        note_launch(ev, call.node, kernel, call.scope, call.arguments)
    if len(kernels) == 1 and is_launched_again(ev, kernels[0], call.arguments):
        return None
    with leave_loops(ev):
        return _call_target(ev, call)


def _call_target(ev: Evaluator, call: Invocation) -> Any:
    """Call what a C++ name means: an object, a function of the text, or a bodiless function."""
    node, function, target, arguments = call.node, call.node.function, call.target, call.arguments
    if isinstance(target, ObjectValue):
        result = ev.evaluate_operator(
            "()", target, None, node, arguments=arguments, constant=find_constness(ev, function, call.scope)
        )
        if result is not None:
            return result
    if isinstance(target, EitherFunction):
        return _call_either(ev, call, target)
    if isinstance(target, FunctionSet):
        target = filter_declared_before(target, node.span[0])
    if target is None or isinstance(target, FunctionSet):
        target = add_associated(ev, target, call.name, function, arguments)
    if isinstance(target, FunctionSet) and _is_of_cute(ev, target, function, len(arguments)):
        target = None
    if isinstance(target, FunctionSet):
        if isinstance(function, tree.Name) and len(function.path) > 1:
            target = replace(target, direct=True)  # Base::f() calls no override
        return ev.call_function(_bind_this(ev, target, call.scope), arguments, call.named, node.span, node)
    if call.name == "swap" and len(arguments) == 2:
        return swap_places(ev, arguments, node)
    return call_library(ev, replace(call, target=target))


def _is_of_cute(ev: Evaluator, target: FunctionSet, function: tree.Expression, count: int) -> bool:
    """Return whether a name, such as gemm or copy, is one of CuTe's: no function of the text takes the arguments."""
    plain = isinstance(function, tree.Name) and len(function.path) == 1
    return plain and names_cute(ev.text) and not any(accepts_count(choice, count) for choice in target.functions)


def _list_choices(target: Any) -> Iterator[FunctionSet]:
    """Yield the functions that a name may mean."""
    if isinstance(target, EitherFunction):
        yield from (*_list_choices(target.yes), *_list_choices(target.no))
    elif isinstance(target, FunctionSet):
        yield target


def _call_either(ev: Evaluator, call: Invocation, target: FunctionSet | EitherFunction) -> Any:
    """Call both functions of an undecided choice, each on its own path, and merge the results."""
    node = call.node
    if isinstance(target, FunctionSet):
        return ev.call_function(_bind_this(ev, target, call.scope), call.arguments, call.named, node.span, node)
    results: list[Any] = []

    def run(function: FunctionSet | EitherFunction) -> Any:
        return lambda: results.append(_call_either(ev, call, function))

    ev.follow_alternatives([(target.condition, run(target.yes)), (f"!({target.condition})", run(target.no))])
    return (
        ev.merge(target.condition, *results)
        if len(results) == 2
        else OpaqueValue(ev.format_expression(node), span=node.span)
    )


def _resolve_call(ev: Evaluator, call: tree.Call, scope: NameScope) -> Invocation:
    """Find what a call calls, and evaluate its keyword arguments."""
    function = call.function
    named = {name: ev.evaluate_expression(value, scope) for name, value in call.named}
    templates: tuple[Any, ...] = ()
    if isinstance(function, tree.Name | tree.Type):
        target = ev.resolve_name(function.path, scope, function.span[0])
        name, template_arguments = function.path[-1] if function.path else ("", None)
        if template_arguments and (target is None or isinstance(target, OpaqueValue | ResolvedType)):
            templates = tuple(ev.evaluate_template_arguments(template_arguments, scope))
    elif isinstance(function, tree.Member):
        lambda_ = ev.evaluate_expression(function.value, scope) if function.name == "operator()" else None
        if isinstance(lambda_, FunctionSet):  # f.template operator()<0>()
            arguments = tuple(ev.evaluate_template_arguments(function.templates or (), scope)) or lambda_.templates
            return Invocation(call, replace(lambda_, templates=arguments), "operator()", (), named, scope)
        target, name = _find_method(ev, function, scope), function.name
        if function.templates and not isinstance(target, FunctionSet):
            templates = tuple(ev.evaluate_template_arguments(function.templates, scope))
    else:
        target, name = _unwrap_launch(ev, function, scope), ev.format_expression(function)
    return Invocation(call, target, name, templates, named, scope)


def _bind_this(ev: Evaluator, closure: FunctionSet, scope: NameScope) -> FunctionSet:
    """Bind `this` of the calling function to a member function called by its name alone."""
    owner = closure.get_home(closure.functions[0]).owner
    if closure.this is not None or not isinstance(owner, RecordType):
        return closure
    inner = get_this(scope)
    closure = replace(closure, constant=find_pointee_constness(ev, tree.Name((("this", None),)), scope))
    if isinstance(inner, ObjectValue) and inner.record.is_derived_from(owner):
        return replace(closure, this=inner)
    if isinstance(inner, ObjectValue) and inner.derived is not None and inner.derived.record.is_derived_from(owner):
        return replace(closure, this=inner.derived)
    return replace(closure, this=inner) if isinstance(inner, ObjectPart | OpaqueValue) else closure


def call_function(
    ev: Evaluator,
    closure: FunctionSet,
    values: list[Any],
    named: dict[str, Any],
    span: Span,
    at: tree.Call | None = None,
) -> Any:
    """Call a function of the text; return its value, None if it is void. at: the call expression."""
    arguments = [ev.make_argument(argument) for argument in values] if not ev.python else values
    if ev.python:
        chosen: OverloadCandidate | None = OverloadCandidate(
            choose_python_overload(closure, len(values) + len(named)), (), {}
        )
    else:
        closure, chosen = _choose(ev, closure, arguments)
    if chosen is None or chosen.function.body is None or _is_endless_call(ev, chosen.function):
        return _call_unread(ev, closure, arguments, span)
    function = chosen.function
    if function.key in ev.idle_kernels:
        return _pass_idle_kernel(ev, closure, function, arguments)
    scope = ev.bind_parameters(closure, chosen, arguments, named)
    ev.called.add(function.key)
    known_before = len(ev.descriptors)
    value = _run_function(ev, closure, function, scope, span, at)
    if is_descriptor(ev, value, function.name):
        del ev.descriptors[known_before:]
    if isinstance(value, ObjectValue) and value.record.ends and not value.stored and not ev.python:
        ev.temporaries.append((value, MADE))
    return value


def _choose(
    ev: Evaluator, closure: FunctionSet, arguments: list[CallArgument]
) -> tuple[FunctionSet, OverloadCandidate | None]:
    """Choose the function that a C++ call runs, by overload resolution and virtual dispatch; None if unknown."""
    chosen = ev.choose_function(closure, arguments)
    if chosen is not None:
        closure, chosen = resolve_virtual_call(ev, closure, chosen, len(arguments))
    if closure.this is not None and not isinstance(closure.this, ObjectValue | ObjectPart):
        ev.forget_same_class(closure.this, chosen.function if chosen is not None else None)
    return closure, chosen


def _pass_idle_kernel(
    ev: Evaluator, closure: FunctionSet, function: tree.Function, arguments: list[CallArgument]
) -> None:
    """Skip a kernel without anything checked, and make unknown what it may write."""
    ev.called.add(function.key)
    ev.forget_call(arguments, closure)


def _call_unread(ev: Evaluator, closure: FunctionSet, arguments: list[Any], span: Span) -> OpaqueValue:
    """Return the result of a call that is not evaluated: no function is chosen, it has no body, or it recurses."""
    name = closure.functions[0].name
    note_unread_call(ev, name, arguments)
    record_skipped(ev, span)
    if not ev.python:
        ev.forget_call(arguments, closure)
        note_possible_throw(ev, name)
    inner = ", ".join(shorten_name(a.value if isinstance(a, CallArgument) else a) for a in arguments)
    text = f"{name}({inner})"[:120]
    return OpaqueValue(
        ev.make_fresh_name(text) if not ev.python else text, _find_declared_return_type(ev, closure), name, span=span
    )


def _run_function(
    ev: Evaluator, closure: FunctionSet, function: tree.Function, scope: NameScope, span: Span, at: tree.Call | None
) -> Any:
    """Run the body of a function in a new frame; return its value."""
    refers = function.returns is not None and bool(function.returns.reference) and not ev.python
    ev.enter_function(
        function.name,
        span,
        passed=_map_argument_expressions(function, closure, at),
        refers=refers,
    )
    frame = ev.frames[-1]
    try:
        frame.returns = find_declared_return_type(ev, function, scope)
        frame.instance = _make_instance_key(closure, function, scope)
        frame.single = not ev.python and _count_returns(ev.text, function.span) == 1
        return ev.finish_function(ev.run_body(function, scope), scope)
    finally:
        ev.leave_function()


@lru_cache(maxsize=512)
def _count_returns(text: str, span: Span) -> int:
    return len(re.findall(r"\breturn\b", text[slice(*span)]))


def _make_instance_key(closure: FunctionSet, function: tree.Function, scope: NameScope) -> str:
    """Return a key of the instance of a function template, or of a member of a class template."""
    owner = closure.get_home(function).owner
    bound = [find_name(scope, p.name)[0] for p in function.templates if p.name]
    keys = [
        make_argument_key(value.value if isinstance(value, Cell) else value)
        for value in bound
        if not isinstance(value, ParameterPack)
    ]
    return f"{id(owner) if isinstance(owner, RecordType) else 0} {keys}"


def find_declared_return_type(ev: Evaluator, function: tree.Function, scope: NameScope) -> ResolvedType | None:
    """Return the declared return type of a function, None for auto and void."""
    returns = function.returns
    if returns is None or (returns.name in ("auto", "void", "decltype", "decltype(auto)") and not returns.pointers):
        return None
    kind: ResolvedType = ev.resolve_type(returns, scope)
    return kind


def _find_declared_return_type(ev: Evaluator, closure: FunctionSet) -> ResolvedType | None:
    """Return the return type of a call that is not evaluated, if the declarations decide it."""
    kinds = {f.returns.name for f in closure.functions if f.returns is not None}
    function = closure.functions[0]
    if len(kinds) != 1 or function.templates or function.returns is None:
        return None
    kind: ResolvedType = ev.resolve_type(function.returns, closure.get_home(function))
    return None if kind.open else replace(kind, reference="")


def _is_endless_call(ev: Evaluator, function: tree.Function) -> bool:
    """Return whether a call is nested too deeply to end, so that its result is unknown.

    Such are a function that calls a library function of the same name, and recursion under an undecided condition.
    """
    if len(ev.frames) > ev.most_calls:
        ev.endless_recursions.add(id(function))
        return True
    return id(function) in ev.endless_recursions and any(frame.name == function.name for frame in ev.frames)


def _unwrap_launch(ev: Evaluator, function: tree.Expression, scope: Any) -> Any:
    """Evaluate a called expression; Triton's kernel[grid] is the kernel."""
    if ev.python and isinstance(function, tree.Index) and isinstance(function.value, tree.Name):
        binding = ev.resolve_name(function.value.path, scope)
        if isinstance(binding, FunctionSet):
            return binding
    return ev.evaluate_expression(function, scope)


def _find_method(ev: Evaluator, function: tree.Member, scope: NameScope) -> Any:
    """Find the member function that a call names, bound to its object; an OpaqueValue if it is not in the text."""
    if not ev.python and (function.owner or function.arrow):
        place = ev.find_place(function, scope)
        if isinstance(place, FunctionSet):
            inner = function.value
            const = find_pointee_constness(ev, inner, scope) if function.arrow else find_constness(ev, inner, scope)
            place = replace(place, constant=const, direct=bool(function.owner))
    else:
        owner = ev.find_place(function.value, scope)
        value = (
            ev.load_place(owner, function.value)
            if isinstance(owner, PLACES) and not isinstance(owner, ObjectPart)
            else owner
        )
        if isinstance(value, ArrayValue) and not ev.python and value.typed is not None:
            return OpaqueValue(ev.format_expression(function), head=function.name, arguments=(value,))
        if isinstance(value, SymbolicInt | str | ArrayValue):
            return OpaqueValue(f"{ev.format_expression(function)}", head=function.name, arguments=(value,))
        place = ev.find_member(owner, function.name, function.span, None)
        if isinstance(place, FunctionSet):
            place = replace(place, constant=find_constness(ev, function.value, scope))
    if isinstance(place, FunctionSet) and function.templates:
        return replace(place, templates=tuple(ev.evaluate_template_arguments(function.templates, scope)))
    return place


def _is_overload_set(closure: Any) -> bool:
    """Return whether a variable's value is a set of overloads or a template of which the arguments of a call do not
    tell the instance, not a lambda.
    """
    if not isinstance(closure, FunctionSet) or closure.captured is not None or closure.this is not None:
        return False
    function = closure.functions[0]
    if len(closure.functions) > 1 or not function.templates or closure.templates is not None:
        return len(closure.functions) > 1
    pointed = (one.type for one in function.parameters if one.type is not None and one.type.pointers)
    named = {kind.path[0][0] for kind in pointed if len(kind.path) == 1}  # an argument has exactly this type
    return not named >= {one.name for one in function.templates}


def _map_argument_expressions(
    function: tree.Function, closure: FunctionSet, at: tree.Call | None
) -> dict[str, tree.Expression]:
    """Map each parameter to the argument expression of a call."""
    if at is None:
        return {}
    names = [parameter.name for parameter in function.parameters]
    if function.python and closure.this is not None and names[:1] in (["self"], ["cls"]):
        names = names[1:]
    return {**dict(zip(names, at.arguments, strict=False)), **dict(at.named)}
