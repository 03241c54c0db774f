"""Look up names in the scopes of a text: namespaces, classes, functions and blocks, with definitions and parameters.

C++ is scanned in `cxx_scopes.py`, Python in `python_scopes.py`. A parameter hides an outer name, and its default value
is not its value. Nothing is executed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a template or a function. place: its index; default: start of its default value, None without one;
    pack: whether it is a parameter pack.
    """

    name: str
    template: bool
    place: int
    default: int | None = None
    pack: bool = False


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition of a name. place: of the name; begin: start of its value, None if the value is unknown; typed:
    whether begin is that of a variable's or typedef's type; fixed: whether it cannot change; alone: whether it is
    outside branches and loops; past: end of its statement, 0 if unknown.
    """

    name: str
    place: int
    begin: int | None
    typed: bool = False
    fixed: bool = True
    alone: bool = True
    past: int = 0


@dataclass(eq=False, slots=True)
class Scope:
    """A part of a text in which names are looked up. kind: "text", "namespace", "class", "function", "block" or
    "alias"; start: of its head; body: start of its contents; specialised: whether it is a specialisation; bases: start
    of the list of base classes; member_of: the class of a member function that is defined outside.
    """

    kind: str
    name: str
    start: int
    body: int
    end: int
    parent: Scope | None = None
    parameters: dict[str, Parameter] = field(default_factory=dict)
    definitions: dict[str, list[Definition]] = field(default_factory=dict)
    specialised: bool = False
    bases: tuple[int, ...] = ()
    member_of: str = ""
    inner: list[Scope] = field(default_factory=list)

    def list_outward(self) -> Iterator[Scope]:
        """Yield the scope and the enclosing scopes, from the inside out."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    @property
    def templated(self) -> bool:
        """Whether it is a template."""
        return any(parameter.template for parameter in self.parameters.values())


@dataclass(frozen=True, slots=True)
class ScopeIndex:
    """The scopes of a text, the outermost first. code: the text with comments, strings and directives blanked; macros:
    its #define names; named: the scopes by kind and name.
    """

    scopes: list[Scope]
    code: str
    macros: dict[str, list[Definition]]
    named: dict[tuple[str, str], list[Scope]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for scope in self.scopes:
            self.named.setdefault((scope.kind, scope.name), []).append(scope)

    @property
    def outermost(self) -> Scope:
        """The scope of the whole text."""
        return self.scopes[0]

    def find_scope(self, place: int) -> Scope:
        """Return the innermost scope around a place."""
        scope = self.outermost
        while True:
            inside = next((inner for inner in scope.inner if inner.start <= place < inner.end), None)
            if inside is None:
                return scope
            scope = inside

    def list_first_definitions(self) -> list[Definition]:
        """Return the first definition of each name of any scope, in the order of the text."""
        scoped = (found for scope in self.scopes for found in scope.definitions.values())
        first: dict[str, Definition] = {}
        for one in sorted(chain(*scoped, *self.macros.values()), key=lambda one: one.place):
            first.setdefault(one.name, one)
        return list(first.values())

    def list_named(self, kind: str, name: str) -> list[Scope]:
        """Return the scopes of a kind with a name."""
        return self.named.get((kind, name), [])

    def list_namespaces(self) -> list[Scope]:
        """Return all namespaces."""
        return [scope for (kind, _), scopes in self.named.items() if kind == "namespace" for scope in scopes]


def visible_definitions(scope: Scope, name: str, place: int) -> list[Definition]:
    """Return the definitions of a name that may apply at a place.

    Names in a function are visible from their definition on, names in a class everywhere.
    """
    found = [
        definition for definition in scope.definitions.get(name, ()) if not definition.place <= place < definition.past
    ]
    if scope.kind in ("function", "block"):
        found = [definition for definition in found if definition.place < place]
    before = [definition for definition in found if definition.place < place]
    if len(found) > 1 and scope.kind != "class" and all(definition.alone for definition in found):
        return before[-1:] or found[:1]
    return found
