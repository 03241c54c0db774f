"""Variables, and the scopes that hold names: what a block, function, struct or namespace declares."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.symbolic_integers import Span

if TYPE_CHECKING:
    from lanescope.reader.code.values import ResolvedType

_births: ContextVar[Iterator[int]] = ContextVar("births")
_births_outside = count(1)  # of places that are made outside `number_places`


@contextmanager
def number_places() -> Iterator[None]:
    """Number the places that are made inside from 1, so that a text's answer does not depend on earlier texts."""
    token = _births.set(count(1))
    try:
        yield
    finally:
        _births.reset(token)


def take_birth_number() -> int:
    """Return the number of the next place that is made."""
    return next(_births.get(_births_outside))


@dataclass(slots=True)
class Cell:
    """A variable. Writes go through Evaluator.write_cell, which can undo them.

    born: later variables of the text have greater numbers; negative where it outlives the block it was made in.
    """

    value: Any
    kind: ResolvedType | None = None
    name: str = ""
    span: Span = (0, 0)
    frame: int = 0
    const: bool = False
    born: int = field(default_factory=take_birth_number, compare=False, repr=False)

    def outlive_block(self) -> None:
        """Note that the variable does not end with the block that it is made in."""
        self.born = -abs(self.born)


class NameScope:
    """Names of one block, function, struct, namespace or text; lookup.py finds names in it.

    owner: "function" and "namespace" of those, the record of a struct's. using: the namespaces of its using directives.
    since: where a type, namespace, enumerator or using declaration is first declared, outside classes.
    """

    __slots__ = ("consts", "names", "owner", "parent", "since", "using")

    def __init__(self, parent: NameScope | None = None, owner: Any = None) -> None:
        self.parent = parent
        self.names: dict[str, Any] = {}
        self.owner = owner
        self.using: list[NameScope] = []
        self.since: dict[str, int] = {}
        # references to const; ?name where that is not known; (name) of a parameter by value
        self.consts: set[str] = set()

    def find_name(self, name: str) -> Any:
        scope: NameScope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def iterate_outward(self) -> Iterator[NameScope]:
        scope: NameScope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent
