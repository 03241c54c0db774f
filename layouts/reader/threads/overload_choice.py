"""Choose the function that a call of device code names: by numbers of arguments, namespaces and types of objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lanescope.reader.code import tree
from lanescope.reader.threads.names import find_type
from lanescope.reader.threads.places import find_place
from lanescope.reader.threads.program import BASES, EVERYWHERE, FunctionSet, Scope
from lanescope.reader.threads.storage import Pointer
from lanescope.reader.threads.types import SizedType, find_builtin, make_pointer_type

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

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

    templates: number of given template arguments; at: the place of an unqualified call.
    """
    fits = [
        f
        for f in _list_visible(found, at)
        if sum(p.default is None for p in f.parameters) <= len(arguments) <= len(f.parameters)
        and f.specialized is None
        and templates <= len(f.templates)
        and not any(p.pack for p in f.parameters)
    ]
    if len(fits) > 1 and templates:
        fits = [f for f in fits if f.templates]
    if len(fits) > 1:
        given = [_find_given_type(run, node, scope) for node in arguments]
        fits = [f for f in fits if not any(map(_is_refused, _list_types(run, f, scope), given))]
    return fits[0] if len(fits) == 1 else None


def _list_visible(found: FunctionSet, at: int) -> Sequence[tree.Function]:
    """List the functions of the innermost namespace around a place that has any, which hide others; else all."""
    innermost = max((home for home in found.homes if home[0] <= at < home[1]), default=EVERYWHERE)
    if innermost == EVERYWHERE:
        return found.functions
    return [f for f, home in zip(found.functions, found.homes, strict=True) if home == innermost]


def _list_types(run: KernelRunner, function: tree.Function, scope: Scope) -> list[SizedType | None]:
    """List the types of a function's parameters; None for one that depends on its template parameters."""
    own = {parameter.name for parameter in function.templates}
    types = [p.type for p in function.parameters]
    plain = (t if t is not None and len(t.path) == 1 and t.path[0][1] is None else None for t in types)
    return [find_type(run, t, scope) if t is not None and t.name not in own else None for t in plain]


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
    elements of another size.
    """
    if kind is None or given is None:
        return False
    if kind.pointer and given.pointer and not kind.dims and not given.dims:
        kind, given = kind.target, given.target
        if find_builtin(kind.name) and find_builtin(given.name):
            return kind.size != given.size and "void" not in (kind.name, given.name)
    if kind.pointer or given.pointer or kind.scope is None or given.scope is None:
        return False
    return kind.name != given.name and BASES not in given.scope.names
