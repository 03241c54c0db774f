"""Where the names of a text are visible: its namespaces, classes, functions and blocks, what each defines, and which
parameters it takes. C++ is scanned in `cxx_scopes.py`, Python in `python_scopes.py`.

A parameter hides what is outside under the same name: its default value is not its value. Nothing is executed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a template or a function. place: its number; default: where its default value begins, None
    without one; pack: whether it represents several.
    """

    name: str
    template: bool
    place: int
    default: int | None = None
    pack: bool = False


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition of a name. place: of the name; begin: where its value begins, None for a value that is not read;
    typed: whether that is the type of a variable or of a typedef; fixed: whether it cannot change; alone: whether no
    branch or loop is around it; past: where its statement ends, 0 where that is not known.
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
    """Part of a text that names are looked up in. kind: "text", "namespace", "class", "function", "block" or "alias";
    start: where its head begins; body: where what it defines begins; specialised: whether it is a specialisation;
    bases: where the types that a class inherits from begin; member_of: the class of a function that is defined outside.
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
        """Yield the scope and those around it, from the inside out."""
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
    """The scopes of a text, the outermost first; code: the text without its comments, strings and directives, which
    are blanks; macros: what it defines by #define; named: the scopes by kind and name.
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
        """Find the innermost scope around a place."""
        scope = self.outermost
        while True:
            inside = next((one for one in scope.inner if one.start <= place < one.end), None)
            if inside is None:
                return scope
            scope = inside

    def list_named(self, kind: str, name: str) -> list[Scope]:
        """Return the scopes of a kind with a name."""
        return self.named.get((kind, name), [])

    def list_namespaces(self) -> list[Scope]:
        """Return all namespaces."""
        return [scope for (kind, _), scopes in self.named.items() if kind == "namespace" for scope in scopes]


def visible_definitions(scope: Scope, name: str, place: int) -> list[Definition]:
    """Return what a scope says of a name for a use at a place: a function's names begin at their definition, those of
    a class are known in all of it. Several that may all apply are all returned.
    """
    found = [one for one in scope.definitions.get(name, ()) if not one.place <= place < one.past]
    if scope.kind in ("function", "block"):
        found = [one for one in found if one.place < place]
    before = [one for one in found if one.place < place]
    if len(found) > 1 and scope.kind != "class" and all(one.alone for one in found):
        return before[-1:] or found[:1]
    return found
