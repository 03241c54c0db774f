"""Definitions of a text for its kernels: functions, structs and constants by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from lanescope.cxx.source_text import split_arguments
from lanescope.reader.code.preprocessing.preprocessor import Preprocessor
from lanescope.reader.code.preprocessing.supplied_values import select_supplied
from lanescope.reader.code.preprocessing.variants import list_leaves, make_variants
from lanescope.reader.code.syntax import cxx, tree
from lanescope.reader.code.syntax.source import make_plain_source
from lanescope.reader.code.syntax.tree_statements import Block

Span = tuple[int, int]
EVERYWHERE: Span = (-1, 1 << 40)  # outside namespaces
BASES = "~bases"  # is among the names of a class with base classes, whose functions are not followed
DEFAULTS = "~defaults"  # the members of a class with initializers
_NAMESPACE = re.compile(r"\s*(?:inline\s+)?namespace\s+(?:\w+\s*::\s*)*(\w+)")


@dataclass(slots=True)
class Scope:
    """Names of a block; parent: the enclosing scope; namespaces: of a text, the names that several of them declare;
    passed: the arguments of parameters whose value is unknown, each with its scope.
    """

    parent: Scope | None = None
    names: dict[str, Any] = field(default_factory=dict)
    passed: dict[str, Any] = field(default_factory=dict)
    namespaces: dict[Span, Scope] = field(default_factory=dict)

    def find_home(self, at: int) -> Scope:
        """Return the scope of the innermost namespace around a place of the text; the text's own if none differs."""
        inside = [home for home in self.namespaces if home[0] <= at < home[1]]
        return self.namespaces[max(inside)] if inside else self

    def find_owner(self, name: str) -> Scope | None:
        """Return the scope that declares a name, even if its value is unknown."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.parent
        return scope

    def find(self, name: str) -> Any:
        """Return the meaning of a name; None if nothing declares it, or its value is unknown."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def find_class(self, name: str) -> StructSet | None:
        """Return the class template that name<…> means where name alone means its constructors, in its members.

        Source: ISO C++20, [temp.local].
        """
        owner = self.find_owner(name)
        found = owner.names[name] if owner is not None else None
        outside = owner.parent.find(name) if owner is not None and owner.parent is not None else None
        made = isinstance(found, FunctionSet) and all(function.returns is None for function in found.functions)
        return outside if made and isinstance(outside, StructSet) else None

    def find_passed(self, name: str) -> Any:
        """Return (argument, its scope) of a parameter whose value is unknown; None for any other name."""
        owner = self.find_owner(name)
        return owner.passed.get(name) if owner is not None else None

    def add_function(self, function: tree.Function, home: Span | None = None) -> None:
        """Add a function to those of its name. home: the namespace around it; None for one of a class."""
        known = self.names.get(function.name)
        before = known if isinstance(known, FunctionSet) else FunctionSet(())
        homes = () if home is None else (*before.homes, home)
        self.names[function.name] = FunctionSet((*before.functions, function), homes)

    def rebind(self, name: str, value: Any) -> None:
        """Give a name another value in the scope that declares it."""
        owner = self.find_owner(name)
        if owner is not None:
            owner.names[name] = value


@dataclass(frozen=True, slots=True, eq=False)
class FunctionSet:
    """The functions of one name. homes: the span of the namespace around each, the whole text for none; () for those
    of a class.
    """

    functions: tuple[tree.Function, ...]
    homes: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class StructSet:
    """A struct, with its specializations and the declarations of its template.

    home: the scope of the class or the function around it.
    """

    name: str
    definitions: tuple[tree.StructDefinition, ...]
    home: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class LaterValue:
    """A constant or alias that is evaluated on first use."""

    statement: tree.Declaration | tree.Alias | tree.Enum
    member: str = ""
    home: Scope | None = None  # where its names are looked up; None for the text's own


def list_enumeration(enum: tree.Enum, home: Scope | None = None) -> dict[str, LaterValue]:
    """Return the names that an enumeration enters into the scope around it: its own, and its members if it is not
    scoped. home: where the names in its values are looked up.
    """
    own = {enum.name: LaterValue(enum, home=home)} if enum.name else {}
    members = {} if enum.scoped else {name: LaterValue(enum, name, home) for name, _, _ in enum.members}
    return own | members


@lru_cache(maxsize=2)
def parse_program(text: str, macros: tuple[tuple[str, str], ...]) -> tuple[tuple[tree.Statement, ...], ...]:
    """Parse a text once for each choice of its open #if conditions; the checks of one text run it several times.

    macros: those that no directive tests are not defined, since they are values of names that the text leaves open.
    """
    supplied = select_supplied(text, macros)
    defined = {name: value for name, value in macros if name not in supplied}
    leaves = list(list_leaves(make_variants(Preprocessor(text, 20, defined))))
    if len(leaves) > 4:
        return ()
    return tuple(cxx.parse_cxx_parts(leaf.source)[0] for leaf in leaves if not leaf.unread)


def enter_definitions(scope: Scope, body: Sequence[tree.Statement]) -> None:
    """Enter the definitions outside functions, including those in namespaces."""
    homes: dict[str, dict[Span, Any]] = {}  # meanings of each name, by the namespace
    for statement, home in flatten_declarations(body):
        match statement:
            case tree.Function(body=inner) if inner is not None:
                scope.add_function(statement, home)
            case tree.StructDefinition(name=name) if statement.complete or statement.templates:
                known = homes.setdefault(name, {}).get(home)
                earlier = known.definitions if isinstance(known, StructSet) else ()
                homes[name][home] = StructSet(name, (*earlier, statement))
            case tree.Declaration(name=name) if statement.value is None or statement.const:
                value = LaterValue(statement) if statement.specialized is None else None
                homes.setdefault(name, {})[home] = value
            case tree.Alias(name=name):
                homes.setdefault(name, {})[home] = LaterValue(statement)
            case tree.Enum():
                for name, value in list_enumeration(statement).items():
                    homes.setdefault(name, {})[home] = value
    _enter_meanings(scope, homes)


def _enter_meanings(scope: Scope, homes: Mapping[str, Mapping[Span, Any]]) -> None:
    """Enter the names of a text; those that several namespaces declare in a scope for each of them."""
    shared = {name: meanings for name, meanings in homes.items() if len(meanings) > 1}
    for name, meanings in homes.items():
        scope.names[name] = meanings.get(EVERYWHERE) if name in shared else next(iter(meanings.values()))
    for home in sorted({home for meanings in shared.values() for home in meanings} - {EVERYWHERE}):  # outer ones first
        scope.namespaces[home] = Scope(
            scope.find_home(home[0]), {name: of[home] for name, of in shared.items() if home in of}
        )


def flatten_declarations(
    body: Sequence[tree.Statement], home: Span = EVERYWHERE
) -> Iterator[tuple[tree.Statement, Span]]:
    """Yield the statements outside functions, each with the span of the namespace around it."""
    for statement in body:
        if isinstance(statement, tree.Namespace):
            named = statement.names and not statement.inline
            yield from flatten_declarations(statement.body, statement.span if named else home)
        elif isinstance(statement, Block) and not statement.scoped:
            yield from flatten_declarations(statement.body, home)
        else:
            yield statement, home


def find_namespace(text: str, homes: Iterable[Span], name: str) -> int:
    """Return where the only one of some namespaces with a name begins; -1 if none or several have it."""
    found = {home[0] for home in homes if home != EVERYWHERE and read_namespace(text, home[0]) == name}
    return found.pop() if len(found) == 1 else -1


def read_namespace(text: str, at: int) -> str:
    """Return the innermost name of a namespace that begins at a place of the text, "" if it has none."""
    found = _NAMESPACE.match(text, max(at, 0))
    return found[1] if found else ""


def split_operands(text: str) -> list[str]:
    """Split arguments or operands at the commas outside braces and brackets."""
    return list(_split_operands(text))


@lru_cache(maxsize=1024)
def _split_operands(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in split_arguments(text) if part.strip())


def parse_expression(text: str) -> tree.Expression | None:
    """Parse one expression."""
    body = cxx.parse_cxx(make_plain_source(f"auto x = {text};")) if text else ()
    first = body[0] if body else None
    return first.value if isinstance(first, tree.Declaration) else None
