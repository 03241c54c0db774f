"""C++'s name lookup: blocks, classes and namespaces from the inside out, using directives and declarations.

ISO C++20: [basic.lookup.unqual], [namespace.udir], [namespace.qual].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from lanescope.reader.code.naming.scopes import Cell, NameScope
from lanescope.reader.code.values import (
    Address,
    EnumerationType,
    FunctionSet,
    NamespaceValue,
    OpaqueValue,
    RecordType,
    ResolvedType,
    TemplateEntity,
)

Accepts = Callable[[Any, NameScope], bool]  # (value, the scope that has it) → whether lookup may return it
AMBIGUOUS = OpaqueValue("an ambiguous name")


def is_qualifier(value: Any, home: NameScope) -> bool:
    """Return whether a name may precede `::`: a namespace or a type."""
    return isinstance(value, NamespaceValue | TemplateEntity | ResolvedType | EnumerationType)


def find_name(scope: NameScope, name: str, accepts: Accepts | None = None) -> tuple[Any, NameScope]:
    """Return (value, scope that has it) of an unqualified name used in a scope; (None, scope) if it is unknown.

    A using directive makes the names of its namespace visible in the innermost namespace that encloses both:
    [namespace.udir].
    """
    inner = skip_scopes(scope, name)
    if inner is None:
        return None, scope
    used_namespaces: list[tuple[NameScope, NameScope]] = []  # (scope where names are visible, their namespace)
    opaque_class: Any = None  # an enclosing class with a base that is not in the text
    while inner is not None:
        chosen: tuple[Any, NameScope] | None = None
        if inner.using or used_namespaces:
            chosen = _find_here(inner, name, accepts, used_namespaces)
        elif name in inner.names and (accepts is None or accepts(inner.names[name], inner)):
            chosen = inner.names[name], inner
        if chosen is not None:
            hidden = opaque_class is not None and _may_be_hidden(chosen[0], opaque_class)
            return (OpaqueValue(f"{opaque_class.name}::{name}"), inner) if hidden else chosen
        owner = inner.owner
        if isinstance(owner, RecordType) and owner.opaque:
            opaque_class = owner
        inner = inner.parent
    return None, scope


def skip_scopes(scope: NameScope, name: str) -> NameScope | None:
    """Return the innermost scope that has a name, or decides which of others has it; None if no scope has it."""
    inner: NameScope | None = scope
    while inner is not None and name not in inner.names and not inner.of_record:
        if inner.using and _uses_name(inner, name):
            break
        inner = inner.parent
    return inner


def _uses_name(scope: NameScope, name: str) -> bool:
    """Return whether a using directive of a scope makes a name visible."""
    return any(True for used in scope.using for _ in _find_in_namespace(used, name, set()))


def _find_here(
    inner: NameScope, name: str, accepts: Accepts | None, used_namespaces: list[tuple[NameScope, NameScope]]
) -> tuple[Any, NameScope] | None:
    """Find a name in one scope and in the namespaces visible there; None if it is not declared.

    used_namespaces is extended by the using directives of the scope.
    """
    meanings = [(inner.names[name], inner)] if name in inner.names else []
    used_namespaces += [(_find_common_namespace(inner, used), used) for used in inner.using]
    for where, used in used_namespaces:
        if where is inner:
            meanings += _find_in_namespace(used, name, {id(inner)})
    return _choose_meaning([meaning for meaning in meanings if accepts is None or accepts(*meaning)])


def _may_be_hidden(value: Any, opaque_class: RecordType) -> bool:
    """Return whether a base that is not in the text may have a member that hides a value found outside the class."""
    return isinstance(value, Cell) or (opaque_class.of_std and isinstance(value, FunctionSet))


def find_qualified(scope: NameScope, name: str) -> tuple[Any, NameScope]:
    """Return (value, scope that has it) of a name qualified by a namespace."""
    return _choose_meaning(list(_find_in_namespace(scope, name, set()))) or (None, scope)


def _find_in_namespace(scope: NameScope, name: str, seen: set[int]) -> Iterator[tuple[Any, NameScope]]:
    """Yield the meaning of a name in a namespace, else those in the namespaces of its using directives."""
    if id(scope) in seen:
        return
    seen.add(id(scope))
    if name in scope.names:
        yield scope.names[name], scope
        return
    for used in scope.using:
        yield from _find_in_namespace(used, name, seen)


def _choose_meaning(meanings: list[tuple[Any, NameScope]]) -> tuple[Any, NameScope] | None:
    """Combine the meanings of one name: functions overload one another, other meanings are ambiguous."""
    if not meanings:
        return None
    value, home = meanings[0]
    for other, _ in meanings[1:]:
        if other is value:
            continue
        if not (isinstance(value, FunctionSet) and isinstance(other, FunctionSet)):
            return AMBIGUOUS, home
        value = value.join_functions(other)
    return value, home


def _find_common_namespace(scope: NameScope, used: NameScope) -> NameScope:
    """Find the innermost namespace that encloses both a scope and another namespace."""
    enclosing_ids = {id(enclosing) for enclosing in used.iterate_outward()}
    last = scope
    for enclosing in scope.iterate_outward():
        last = enclosing
        if enclosing.owner == "namespace" and id(enclosing) in enclosing_ids:
            return enclosing
    return last


def get_namespace(scope: NameScope) -> NameScope:
    """Return the innermost namespace that encloses a scope, which may be the scope itself."""
    for enclosing in scope.iterate_outward():
        if enclosing.owner == "namespace" or enclosing.parent is None:
            return enclosing
    return scope


def open_namespace(scope: NameScope, names: Iterable[str], inline: bool) -> NameScope:
    """Open `namespace a::b` in a scope, or the unnamed namespace without names; return the scope of its names."""
    name_list = tuple(names)
    for name in name_list:
        known = scope.names.get(name)
        if not isinstance(known, NamespaceValue):
            known = scope.names[name] = NamespaceValue(name, NameScope(scope, "namespace"))
        if inline and known.scope not in scope.using:
            scope.using.append(known.scope)
        scope = known.scope
    if not name_list:
        known = scope.names.get("(unnamed)")
        if not isinstance(known, NamespaceValue):
            known = scope.names["(unnamed)"] = NamespaceValue("", NameScope(scope, "namespace"))
            scope.using.append(known.scope)
        scope = known.scope
    return scope


def get_this(scope: NameScope) -> Any:
    """Return the object that `this` points to in a scope; None outside member functions."""
    this = find_name(scope, "this")[0]
    value = this.value if isinstance(this, Cell) else None
    if isinstance(value, Address):
        return value.place.value if isinstance(value.place, Cell) else value.place
    return value
