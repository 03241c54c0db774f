"""Choose the function that a call of device code names: by numbers of arguments, namespaces and types of objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.language.names import evaluate_template, find_type
from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.language.places import find_place
from lanescope.reader.threads.language.program import BASES, EVERYWHERE, FunctionSet, Scope
from lanescope.reader.threads.language.types import SizedType, find_builtin, make_pointer_type
from lanescope.reader.threads.memory.storage import Pointer

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

Templates = Sequence[tree.Expression]
_PLACES = (tree.Name, tree.Index, tree.Member)  # expressions without effects


def choose_overload(
    run: KernelRunner,
    found: FunctionSet,
    arguments: Sequence[tree.Expression],
    scope: Scope,
    templates: int = 0,
    at: int = -1,
) -> tree.Function | None:
    """Return the only function that accepts the arguments; None if it is not certain.

    templates: number of given template arguments; at: the place of an unqualified call, or of the namespace that
    qualifies it.
    """
    fits = _list_fitting(found, len(arguments), templates, at)
    if len(fits) > 1:
        given = [_find_given_type(run, node, scope) for node in arguments]
        fits = [f for f in fits if not any(map(_is_refused, _list_types(run, f, scope), given))]
        fits = _prefer_references(fits, arguments) if len(fits) > 1 else fits
    return fits[0] if len(fits) == 1 else None


def _prefer_references(fits: Sequence[tree.Function], arguments: Sequence[tree.Expression]) -> list[tree.Function]:
    """Return the functions whose parameters T&& are for results of calls, and of these those with most of them.

    ISO C++20: [over.ics.rank], 3.2.3.
    """
    counts = {}
    for n, function in enumerate(fits):
        pairs = zip(function.parameters, arguments, strict=False)
        moved = [node for p, node in pairs if p.type is not None and p.type.reference == "&&"]
        if function.templates or not any(isinstance(node, _PLACES) for node in moved):
            counts[n] = sum(isinstance(node, tree.Call) for node in moved)
    return [fits[n] for n, count in counts.items() if count == max(counts.values())]


@lru_cache(maxsize=1 << 10)
def _list_fitting(found: FunctionSet, arguments: int, templates: int, at: int) -> list[tree.Function]:
    """List the visible functions that take a number of arguments and of given template arguments."""
    fits = [
        f
        for f in _list_visible(found, at)
        if sum(p.default is None for p in f.parameters) <= arguments <= len(f.parameters)
        and f.specialized is None
        and templates <= len(f.templates)
        and not any(p.pack for p in f.parameters)
    ]
    fits = [f for f in fits if f.templates] if len(fits) > 1 and templates else fits
    changing = [_describe_parameters(f) for f in fits if not f.const]
    return [f for f in fits if not f.const or _describe_parameters(f) not in changing]  # both refer to the same


def _describe_parameters(function: tree.Function) -> list[object]:
    return [(p.type.path, p.type.pointers) if p.type is not None else None for p in function.parameters]


def choose_specialization(
    run: KernelRunner,
    found: FunctionSet,
    function: tree.Function | None,
    node: tree.Call,
    templates: Templates,
    scope: Scope,
) -> tree.Function | None:
    """Return the explicit specialization that a call of a template runs, else the template; None if it is not certain.

    function: the template, None if its code is not known or it is only declared; templates: the given template
    arguments.
    """
    if function is None and not all(map(_is_specialization, found.functions)):
        return None
    specials = _find_specializations(run, found)
    if not specials or (function is not None and not function.templates):
        return function
    given = [_find_given_type(run, argument, scope) for argument in node.arguments]
    bound = _evaluate_all(run, templates, scope)
    bound += _deduce_rest(function, len(bound), given)
    for special in specials:
        own = _evaluate_all(run, special.specialized or (), run.globals)
        alike = [_is_same(a, b) for a, b in zip_longest(bound, own)]
        if all(alike) and not special.owner:
            return special
        if False not in alike and not any(map(_is_refused, _list_types(run, special, scope), given)):
            function = None  # it may be this one, unless a later one is certain
    return function


def _evaluate_all(run: KernelRunner, arguments: Templates, scope: Scope) -> list[Any]:
    return [evaluate_template(run, argument, scope) for argument in arguments]


def _deduce_rest(
    function: tree.Function | None, count: int, given: Sequence[SizedType | None]
) -> list[SizedType | None]:
    """Return the template arguments of a function after those that are given. count: of these."""
    rest = function.templates[count:] if function is not None else ()
    return [_deduce(parameter.name, function, given) for parameter in rest if function is not None]


def _is_specialization(function: tree.Function) -> bool:
    return function.specialized is not None


def _find_specializations(run: KernelRunner, found: FunctionSet) -> list[tree.Function]:
    outside = run.globals.names.get(found.functions[0].name)
    return _list_specializations(found, outside if isinstance(outside, FunctionSet) else found)


@lru_cache(maxsize=1 << 10)
def _list_specializations(found: FunctionSet, outside: FunctionSet) -> list[tree.Function]:
    """List the explicit specializations among functions, and those of a member, template <> void S::f<true>().

    outside: the functions of the same name outside classes.
    """
    others = outside.functions if outside is not found else ()
    return [function for function in (*found.functions, *others) if _is_specialization(function)]


def _deduce(name: str, function: tree.Function, given: Sequence[SizedType | None]) -> SizedType | None:
    """Return the type that a template parameter has by the type of an argument; None if unknown."""
    for parameter, kind in zip(function.parameters, given, strict=False):
        own = parameter.type
        if own is None or own.name != name or own.dims or kind is None or kind.pointer != bool(own.pointers):
            continue
        return kind if not own.pointers else kind.target if own.pointers == 1 else None
    return None


def _is_same(one: Any, other: Any) -> bool | None:
    """Return whether two template arguments are the same; None if unknown."""
    if isinstance(one, ThreadNumber) and isinstance(other, ThreadNumber):
        numbers = one.const, other.const
        return numbers[0] == numbers[1] if all(isinstance(n, int) for n in numbers) else None
    if not isinstance(one, SizedType) or not isinstance(other, SizedType):
        return None
    if one is other or (one.name == other.name and one.scope is None and other.scope is None):
        return True
    distinct = one.name != other.name and (one.scope is not None or other.scope is not None)
    return False if distinct or (one.size, one.integer) != (other.size, other.integer) else None  # half, __half


def _list_visible(found: FunctionSet, at: int) -> Sequence[tree.Function]:
    """List the functions of the innermost namespace around a place that has any, which hide others; else all."""
    innermost = max((home for home in found.homes if home[0] <= at < home[1]), default=EVERYWHERE)
    if innermost == EVERYWHERE:
        return found.functions
    return [f for f, home in zip(found.functions, found.homes, strict=True) if home == innermost]


def _list_types(run: KernelRunner, function: tree.Function, scope: Scope) -> list[SizedType | None]:
    """List the types of a function's parameters, arrays as pointers; None for one that depends on its template
    parameters.
    """
    own = {parameter.name for parameter in function.templates}
    types = [p.type for p in function.parameters]
    plain = (t if t is not None and len(t.path) == 1 and t.path[0][1] is None else None for t in types)
    found = (find_type(run, t, scope) if t is not None and t.name not in own else None for t in plain)
    return [make_pointer_type(replace(t, dims=()), t.dims[1:]) if t is not None and t.dims else t for t in found]


def _find_given_type(run: KernelRunner, node: tree.Expression, scope: Scope) -> SizedType | None:
    """Return the type of an argument that is a place or its address; None for any other."""
    pointed = isinstance(node, tree.Unary) and node.op == "&"
    inner = node.value if isinstance(node, tree.Unary) and pointed else node
    place = find_place(run, inner, scope) if isinstance(inner, _PLACES) else None
    if not isinstance(place, Pointer) or (pointed and place.dims):
        return None
    return make_pointer_type(place.type, place.dims[1:]) if pointed or place.dims else place.type


def _is_refused(kind: SizedType | None, given: SizedType | None) -> bool:
    """Return whether a parameter of a type accepts no argument of another: another class, or a pointer to one or to
    elements of another size, or integers for floating-point numbers.
    """
    if kind is None or given is None:
        return False
    if kind.pointer and given.pointer and not kind.dims and not given.dims:
        kind, given = kind.target, given.target
        if find_builtin(kind.name) and find_builtin(given.name):
            other = (kind.size, kind.integer) != (given.size, given.integer)
            return other and "void" not in (kind.name, given.name)
    if kind.pointer or given.pointer or kind.scope is None or given.scope is None:
        return False
    return kind.name != given.name and BASES not in given.scope.names
