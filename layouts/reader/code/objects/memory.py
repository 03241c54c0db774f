"""Memory outside the text's variables, indexed by the names in addresses.

A store makes every place unknown that it may overlap. Such a place holds LOST until a load names its value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanescope.reader.code.naming.scopes import Cell
from lanescope.reader.code.symbolic_integers import LinearExpression
from lanescope.reader.code.values import LOST

if TYPE_CHECKING:
    from lanescope.reader.code.values import Pointer

PlaceKey = tuple[str, int]
Terms = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class _MemoryPlace:
    """A place: its number, byte offset from its names, size in bytes, key and cell."""

    number: int
    first: int
    size: int
    key: PlaceKey
    cell: Cell


@dataclass(slots=True)
class OutsideMemory:
    """Places in memory by key; places are only added."""

    cells: dict[PlaceKey, Cell] = field(default_factory=dict)
    _alike: dict[Terms, list[_MemoryPlace]] = field(default_factory=dict)  # by the names of their addresses
    _named: dict[str, list[Terms]] = field(default_factory=dict)

    def add_place(self, key: PlaceKey, pointer: Pointer, cell: Cell) -> None:
        """Add the place that a pointer points to."""
        terms = pointer.base.terms
        if terms not in self._alike:
            self._alike[terms] = []
            for name in dict(terms) or ("",):
                self._named.setdefault(name, []).append(terms)
        place = _MemoryPlace(len(self.cells), pointer.base.const, _count_bytes(pointer), key, cell)
        self._alike[terms].append(place)
        self.cells[key] = cell

    def list_aliases(self, key: PlaceKey, pointer: Pointer) -> Iterator[Cell]:
        """Yield the cells of other places that may overlap a pointer's target and are not lost, in the order added.

        They have the same names in their addresses, unless a known distance separates them.
        """
        base: LinearExpression = pointer.base
        size = _count_bytes(pointer)
        aliases: list[_MemoryPlace] = []
        for terms in dict.fromkeys(terms for name in dict(base.terms) or ("",) for terms in self._named.get(name, ())):
            places = [candidate for candidate in self._alike[terms] if candidate.cell.value is not LOST]
            if terms == base.terms:
                places = [candidate for candidate in places if -size < base.const - candidate.first < candidate.size]
            aliases += places
        return (place.cell for place in sorted(aliases, key=lambda place: place.number) if place.key != key)

    def list_same_names(self, pointer: Pointer) -> Iterator[Cell]:
        """Yield the cells of all places whose addresses have a name of a pointer's and that are not lost."""
        for name in dict(pointer.base.terms) or ("",):
            for terms in self._named.get(name, ()):
                yield from (place.cell for place in self._alike[terms] if place.cell.value is not LOST)


def _count_bytes(pointer: Pointer) -> int:
    element = pointer.element
    return (element.bits or 64) // 8 if element is not None else 8
