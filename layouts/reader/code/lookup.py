"""C++'s name lookup: blocks, classes and namespaces from the inside out, using directives and declarations.

ISO C++20: [basic.lookup.unqual], [namespace.udir], [namespace.qual].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from lanescope.reader.code.values import (
    Address,
    Cell,
    Closure,
    Enumeration,
    Kind,
    Namespace,
    Record,
    Scope,
    Template,
    Term,
)

Wanted = Callable[[Any, Scope], bool]  # a value, and the scope that has it
AMBIGUOUS = Term("an ambiguous name")


def is_qualifier(value: Any, home: Scope) -> bool:
    """Whether a name can stand in front of `::`: a namespace or a type."""
    return isinstance(value, Namespace | Template | Kind | Enumeration)


def find_name(scope: Scope, name: str, wanted: Wanted = lambda value, home: True) -> tuple[Any, Scope]:
    """Return what an unqualified name means in a scope, and the scope that has it; (None, scope) for an unknown one.

    A using directive shows the names of its namespace in the innermost namespace that holds both: [namespace.udir].
    """
    shown: list[tuple[Scope, Scope]] = []  # (where names appear, the namespace they are of)
    inner: Scope | None = scope
    below: Any = None  # a class around the name that has a base that is not in the text
    while inner is not None:
        found = [(inner.names[name], inner)] if name in inner.names else []
        if inner.using:
            shown += [(_around(inner, used), used) for used in inner.using]
        for where, used in shown:
            if where is inner:
                found += _in_namespace(used, name, {id(inner)})
        chosen = _chosen([one for one in found if wanted(*one)]) if found else None
        if chosen is not None and _hidden(chosen[0], below):
            return Term(f"{below.name}::{name}"), inner
        if chosen is not None:
            return chosen
        if isinstance(inner.owner, Record) and inner.owner.opaque:
            below = inner.owner
        inner = inner.parent
    return None, scope


def _hidden(value: Any, below: Record | None) -> bool:
    """Whether a base that is not in the text may have a member of the name."""
    if below is None:
        return False
    return isinstance(value, Cell) or (below.of_std and isinstance(value, Closure))


def find_in(scope: Scope, name: str) -> tuple[Any, Scope]:
    """Return what a name qualified by a namespace means there, and the scope that has it."""
    return _chosen(list(_in_namespace(scope, name, set()))) or (None, scope)


def _in_namespace(scope: Scope, name: str, seen: set[int]) -> Iterator[tuple[Any, Scope]]:
    """What a namespace has of a name: its own, else what its using directives show."""
    if id(scope) in seen:
        return
    seen.add(id(scope))
    if name in scope.names:
        yield scope.names[name], scope
        return
    for used in scope.using:
        yield from _in_namespace(used, name, seen)


def _chosen(found: list[tuple[Any, Scope]]) -> tuple[Any, Scope] | None:
    """One meaning of several of the same name: functions overload one another, all else is ambiguous."""
    if not found:
        return None
    value, home = found[0]
    for other, _ in found[1:]:
        if other is value:
            continue
        if not (isinstance(value, Closure) and isinstance(other, Closure)):
            return AMBIGUOUS, home
        value = value.joined(other)
    return value, home


def _around(scope: Scope, used: Scope) -> Scope:
    """The innermost namespace around a scope that also holds another namespace."""
    around = {id(one) for one in used.chain()}
    last = scope
    for one in scope.chain():
        last = one
        if one.owner == "namespace" and id(one) in around:
            return one
    return last


def namespace_of(scope: Scope) -> Scope:
    """Return the innermost namespace around a scope, the scope itself among them."""
    for one in scope.chain():
        if one.owner == "namespace" or one.parent is None:
            return one
    return scope


def open_namespace(scope: Scope, names: Iterable[str], inline: bool) -> Scope:
    """Return the scope of `namespace a::b` inside a scope, made or opened again; without names an unnamed one."""
    given = tuple(names)
    for name in given:
        known = scope.names.get(name)
        if not isinstance(known, Namespace):
            known = scope.names[name] = Namespace(name, Scope(scope, "namespace"))
        if inline and known.scope not in scope.using:
            scope.using.append(known.scope)
        scope = known.scope
    if not given:
        known = scope.names.get("(unnamed)")
        if not isinstance(known, Namespace):
            known = scope.names["(unnamed)"] = Namespace("", Scope(scope, "namespace"))
            scope.using.append(known.scope)
        scope = known.scope
    return scope


def this_of(scope: Scope) -> Any:
    """The object that `this` points to in a scope; None outside member functions."""
    this = find_name(scope, "this")[0]
    value = this.value if isinstance(this, Cell) else None
    if isinstance(value, Address):
        return value.place.value if isinstance(value.place, Cell) else value.place
    return value
