"""Variables, and scopes: the names that a block, function, struct or namespace declares."""

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
_births_outside = count(1)  # of places made outside `number_places`


@contextmanager
def number_places() -> Iterator[None]:
    """Number places from 1 inside this context, so that a result does not depend on texts evaluated before."""
    token = _births.set(count(1))
    try:
        yield
    finally:
        _births.reset(token)


def take_birth_number() -> int:
    """Return the number for the next place."""
    return next(_births.get(_births_outside))


@dataclass(slots=True)
class Cell:
    """A variable. Write it with Evaluator.write_cell, which can undo writes.

    born: numbers the variables in order of creation; negative if the variable outlives its block.
    """

    value: Any
    kind: ResolvedType | None = None
    name: str = ""
    span: Span = (0, 0)
    frame: int = 0
    const: bool = False
    born: int = field(default_factory=take_birth_number, compare=False, repr=False)

    def outlive_block(self) -> None:
        """Mark the variable as outliving its block."""
        self.born = -abs(self.born)


def get_content(bound: Any) -> Any:
    """Return the value of a variable, or the entity that a name is bound to without one."""
    return bound.value if isinstance(bound, Cell) else bound


class NameScope:
    """The names of one block, function, struct, namespace or text; lookup.py looks names up.

    owner: "function", "namespace", or the record of a struct (of_record). using: the namespaces of its using
    directives. since: where each type, namespace, enumerator or using declaration is first declared, except in classes.
    """

    __slots__ = ("consts", "names", "of_record", "owner", "parent", "since", "using")

    def __init__(self, parent: NameScope | None = None, owner: Any = None) -> None:
        self.parent = parent
        self.names: dict[str, Any] = {}
        self.owner = owner
        self.of_record = owner is not None and not isinstance(owner, str)
        self.using: list[NameScope] = []
        self.since: dict[str, int] = {}
        # names of references to const; "?name" if that is unknown; "(name)" for a parameter passed by value
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
