"""Calls of device code: functions, lambdas, members, functions of CUDA and CuTe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, TypeGuard

from lanescope.reader.code.cute.cute_values import names_cute
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.barriers import library_barriers
from lanescope.reader.threads.barriers.order_events import follow_call
from lanescope.reader.threads.cute import calls as cute_calls
from lanescope.reader.threads.cute.calls import NOT_HERE as NOT_CUTE
from lanescope.reader.threads.cute.cute_types import is_cute_value
from lanescope.reader.threads.cute.indexing import index_value
from lanescope.reader.threads.instructions import library
from lanescope.reader.threads.language import objects
from lanescope.reader.threads.language.arguments import bind_parameters, find_size
from lanescope.reader.threads.language.declaring import MOST_DEEP, make_member_scope, make_object
from lanescope.reader.threads.language.names import find_own_class, find_type, resolve_path
from lanescope.reader.threads.language.numbers import LONG, ThreadNumber, add_numbers, make_number, make_uniform
from lanescope.reader.threads.language.overload_choice import choose_overload, choose_specialization
from lanescope.reader.threads.language.places import find_place, get_item_size, get_items
from lanescope.reader.threads.language.program import FunctionSet, Scope, find_namespace
from lanescope.reader.threads.language.structs import bind_templates
from lanescope.reader.threads.language.types import SizedType, find_builtin
from lanescope.reader.threads.language.values import cast_value, convert_value, load_place, store_place
from lanescope.reader.threads.memory.storage import Pointer

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_OF_ARRAYS = frozenset(("begin", "data", "end", "size", "fill", "clear"))


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A lambda and its enclosing scope."""

    function: tree.Function
    scope: Scope


def _find_called(run: KernelRunner, function: tree.Expression, scope: Scope) -> Any:
    """Return the functions, the lambda, the type or the value of CuTe that a call names."""
    if isinstance(function, tree.Type):
        return run.evaluate_template(function, scope)
    if isinstance(function, tree.Call):
        return run.evaluate(function, scope)
    found = resolve_path(run, function.path, scope) if isinstance(function, tree.Name) else None
    if isinstance(function, tree.Name) and function.path[0][0] == "cute" and not _is_library(run, found):
        return None  # not what the text calls alike
    return run.evaluate(function, scope) if isinstance(found, Pointer) else found


def _is_slice(name: tree.Name, node: tree.Call, scope: Scope) -> bool:
    """Return whether a call is a part of a tensor that is not known: tile(_, k) of a variable."""
    whole = any(isinstance(one, tree.Name) and one.last == "_" for one in node.arguments)
    return whole and scope.find_owner(name.last) is not None


def _is_library(run: KernelRunner, found: Any) -> bool:
    """Return whether functions are those of a library that follows the text."""
    return isinstance(found, FunctionSet) and found.functions[0].span[0] >= run.length


def _call_overload(run: KernelRunner, name: tree.Name, found: FunctionSet, node: tree.Call, scope: Scope) -> Any:
    """Call the overload with these arguments, or make an object of the class whose constructors they are; one without a
    body may write its arguments.
    """
    if (own := find_own_class(found, name.last, scope)) is not None:
        return _construct(run, own, node, scope)
    templates = name.path[-1][1] or ()
    at = node.span[0] if len(name.path) == 1 else find_namespace(run.text, found.homes, name.path[-2][0])
    chosen = choose_overload(run, found, node.arguments, scope, len(templates), at)
    chosen = choose_specialization(run, found, chosen, node, templates, scope)
    if _can_run(chosen, run):
        home = _find_home(run, name.path, found, scope)
        return call_function(run, chosen, node, templates, scope, home.find_home(chosen.span[0]))
    result = cute_calls.call_function(run, name.last, node, templates, scope) if names_cute(run.text) else NOT_CUTE
    if result is not NOT_CUTE:
        return result
    follow_call(run, name.last, node, scope)
    return library.forget_arguments(run, node, scope)


def evaluate_call(run: KernelRunner, node: tree.Call, scope: Scope) -> Any:
    """Call a function, a lambda, a constructor of a known type, or a function of CUDA."""
    function = node.function
    if isinstance(function, tree.Member):
        return _call_member(run, node, function, scope)
    called = objects.call_operator(run, "()", (function, *node.arguments), node, scope)
    if called is not objects.NOT_HERE:
        return called
    found = _find_called(run, function, scope)
    if is_cute_value(found):
        value = index_value(run, found, node, scope)
        return load_place(run, value, node.span) if isinstance(value, Pointer) else value
    if isinstance(found, Closure):
        return call_function(run, found.function, node, (), scope, found.scope)
    if isinstance(found, FunctionSet) and isinstance(function, tree.Name):
        return _call_overload(run, function, found, node, scope)
    if found is None and isinstance(function, tree.Name) and scope.find(f"{function.last}()"):
        return library.forget_arguments(run, node, scope)  # an object of CUTLASS that computes, such as a converter
    if found is None and isinstance(function, tree.Name):
        result = _call_undeclared(run, function, node, scope)
        if result is not library.NOT_HERE:
            return result
        found = find_builtin(function.last)
    if isinstance(found, SizedType):
        return _construct(run, found, node, scope)
    return library.forget_arguments(run, node, scope)


def _construct(run: KernelRunner, kind: SizedType, node: tree.Call, scope: Scope) -> Any:
    """Return the value that a call of a type makes: a converted number, or an object."""
    if kind.scope is None:
        none = [] if kind.vector else [make_number(0)]  # of T()
        values = [run.evaluate(argument, scope) for argument in node.arguments] or none
        return cast_value(run, values[0], kind) if len(values) == 1 else None
    constructed = make_object(run, kind, node, scope)
    return library.forget_arguments(run, node, scope) if constructed is None and run.barriers is None else constructed


def _call_undeclared(run: KernelRunner, name: tree.Name, node: tree.Call, scope: Scope) -> Any:
    """Call a function of CuTe or CUDA; library.NOT_HERE for another one."""
    if run.barriers is not None and _is_slice(name, node, scope):
        return None
    if names_cute(run.text):
        result = cute_calls.call_function(run, name.last, node, name.path[-1][1] or (), scope)
        if result is not NOT_CUTE:
            return result
    return library.call_library(run, name.last, node, scope) if name.last else library.NOT_HERE


def _find_home(run: KernelRunner, path: tree.Path, found: FunctionSet, scope: Scope) -> Scope:
    """Return the scope that a function runs in; a member called by another member shares its object."""
    name, owner = path[-1][0], resolve_path(run, path[:-1], scope) if len(path) > 1 else None
    if isinstance(owner, SizedType) and owner.scope is not None and _is_same(owner.scope.names.get(name), found):
        return owner.scope  # type: ignore[no-any-return]
    inner: Scope = scope
    enclosing = scope.parent
    while enclosing is not None:
        if enclosing.names.get(name) is found and enclosing is not run.globals:
            return inner
        inner, enclosing = enclosing, enclosing.parent
    return run.globals


def _is_same(member: Any, found: FunctionSet) -> bool:
    """Return whether a member function is the one that was found, for which its class may have been laid out again."""
    return isinstance(member, FunctionSet) and member.functions[0] is found.functions[0]


def _call_member(run: KernelRunner, node: tree.Call, function: tree.Member, scope: Scope) -> Any:
    base = run.evaluate(function.value, scope) if function.arrow else find_place(run, function.value, scope)
    owner = run.evaluate(function.value, scope) if base is None and names_cute(run.text) else base
    if is_cute_value(owner):
        return cute_calls.call_member(run, owner, function.name, node, scope)
    if isinstance(items := get_items(base) or base, Pointer) and items.dims and function.name in _OF_ARRAYS:
        return _call_array(run, items, function.name, node, scope)
    if library_barriers.is_barrier(base):
        return library_barriers.call_method(run, base, function.name, node, scope)
    chosen = _choose_method(run, objects.find_method(base, function.name), node, scope)
    if chosen is not None:
        return call_function(run, chosen, node, function.templates or (), scope, make_member_scope(run, base))
    if not node.arguments and (size := find_size(run, base, function.name)) is not None:
        return size
    follow_call(run, function.name, node, scope)
    return library.forget_arguments(run, node, scope)


def _call_array(run: KernelRunner, items: Pointer, name: str, node: tree.Call, scope: Scope) -> Any:
    """Call a function of std::array, or of an ArrayEngine. items: all of its items."""
    if name == "size":
        return make_uniform(items.dims[0])
    if name in ("fill", "clear"):
        value = run.evaluate(node.arguments[0], scope) if node.arguments else make_uniform(0)
        for n in range(prod(items.dims)):
            store_place(run, items.find_part(n * items.type.size, items.type), value, node.span)
        return None
    step = make_uniform(get_item_size(items) if name == "end" else 0, LONG)
    return replace(items, offset=add_numbers(items.offset, step), dims=items.dims[1:])


def call_method(run: KernelRunner, place: Pointer, name: str, node: tree.Call, scope: Scope) -> Any:
    """Call a function of an object's class; if which one is not certain, its effect on the order is unknown."""
    chosen = _choose_method(run, objects.find_method(place, name), node, scope)
    if chosen is not None:
        return call_function(run, chosen, node, (), scope, make_member_scope(run, place))
    run.forget_order()
    return library.forget_arguments(run, node, scope)


def _choose_method(run: KernelRunner, found: FunctionSet | None, node: tree.Call, scope: Scope) -> tree.Function | None:
    """Return the method that a call runs; None if that is not certain, or it has no body, or calls nest too deep."""
    templates = (node.function.templates if isinstance(node.function, tree.Member) else None) or ()
    chosen = choose_overload(run, found, node.arguments, scope, len(templates)) if found is not None else None
    if found is not None and chosen is not None:
        chosen = choose_specialization(run, found, chosen, node, templates, scope)
    return chosen if _can_run(chosen, run) else None


def _can_run(function: tree.Function | None, run: KernelRunner) -> TypeGuard[tree.Function]:
    """Return whether a function is known, has a body, and calls do not nest too deep."""
    return function is not None and function.body is not None and len(run.frames) < MOST_DEEP


def call_function(
    run: KernelRunner,
    function: tree.Function,
    node: tree.Call,
    templates: Sequence[tree.Expression],
    scope: Scope,
    home: Scope,
) -> Any:
    """Run a function for the threads that call it."""
    inner = Scope(home)
    bind_templates(run, function.templates, templates, scope, inner)
    bind_parameters(run, function, node, scope, inner)
    result = run.run_function(function.body, inner, node.span, function.returns)
    kind = find_type(run, function.returns, inner) if isinstance(result, ThreadNumber) else None
    if kind is not None and kind.integer:
        return convert_value(run, result, kind)
    return result
