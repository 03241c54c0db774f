"""Loops over values of which some are symbols: none without a bound, and what one leaves open is not known after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from layouts.reader.code import tree
from layouts.reader.code.values import Array, Cell, Scope
from layouts.reader.code.word import Int, free

Journal = dict[int, tuple[Cell, Any]]  # cells that were written, by their id, with what they held before
MOST_TURNS = (16, 16, 8, 4)  # of a loop, by how many it stands in
FREE_TURNS = 3  # of a loop whose end is not known: enough to see what a turn changes


@dataclass(frozen=True, slots=True)
class Left:
    """Why a block ended early: return, break or continue, and with which value."""

    word: str
    value: Any = None


class Loops:
    """The loops of one evaluation."""

    def _turns(self) -> int:
        return MOST_TURNS[min(len(self.loops), len(MOST_TURNS) - 1)]

    def _loop(self, one: tree.Loop, scope: Scope) -> Left | None:
        if one.start is not None:
            self.execute(one.start, scope)
        variable = self._variable(one, scope)
        most, turn, whole, told = self._turns(), 0, False, True
        before, self.journal = self.journal, {}
        self.loops.append(("", Int(0)))
        try:
            while True:
                if one.condition is not None and not (one.late and not turn):
                    goes_on = self.truth(self.value(one.condition, scope))
                    if goes_on is None:
                        most, told = min(most, FREE_TURNS), False
                        self.endless.add(variable.name if variable is not None else "")
                    elif not goes_on:
                        whole = told
                        break
                elif one.condition is None:
                    most = min(most, FREE_TURNS)
                if turn >= most:
                    break
                if variable is not None:
                    self.loops[-1] = (variable.name, self.whole(variable.value))
                left = self.execute(one.body, scope)
                if left is not None and left.word == "return":
                    return left
                if left is not None and left.word == "break":
                    whole = told
                    break
                if one.step is not None:
                    self.drop(one.step, scope)
                turn += 1
        finally:
            self.loops.pop()
            written = self._written(before)
        if not whole:
            self._left_open(written, scope)
        return None

    def _written(self, before: Journal | None) -> Journal:
        """What was written since the journal `before` was put aside; it goes on."""
        written = self.journal or {}
        self.journal = before
        if before is not None:
            for key, old in written.items():
                before.setdefault(key, old)
        return written

    def _left_open(self, written: Journal, scope: Scope) -> None:
        """After a loop that has more turns than were gone through, or may have: what it writes is not known; of an
        array that it fills, the items that the first turns did not reach may be filled, too.
        """
        items: set[int] = set()
        for name, array in _arrays(scope):
            items |= {id(cell) for cell in array.cells}
            if any(id(cell) in written for cell in array.cells):
                for n, cell in enumerate(array.cells):
                    if id(cell) not in written and isinstance(cell.value, Int):
                        self.put(cell, free(f"{name}[{n}]", cell.value.type))
        for key, (cell, old) in written.items():
            if key not in items and isinstance(cell.value, Int) and cell.name and cell.value != old:
                self.put(cell, free(cell.name, cell.value.type))

    def _variable(self, one: tree.Loop, scope: Scope) -> Cell | None:
        """The variable that a loop counts."""
        step = one.step
        while isinstance(step, tree.Unary | tree.Binary):
            step = step.value if isinstance(step, tree.Unary) else step.left
        target = step.target if isinstance(step, tree.Assign) else None
        found = scope.find(target.last) if isinstance(target, tree.Name) else None
        return found if isinstance(found, Cell) else None

    def _each(self, one: tree.Each, scope: Scope) -> Left | None:
        first = one.names[0] if one.names else ""
        values, whole = self.items_of(self.value(one.values, scope), self._turns(), first)
        before, self.journal = self.journal, {}
        self.loops.append(("", Int(0)))
        inner = scope if self.python else Scope(scope)
        try:
            for value in values:
                if len(one.names) == 1:
                    if isinstance(value, Int):
                        self.loops[-1] = (first, value)
                    self.assign_name(first, value, inner, one.span)
                else:
                    for place, name in enumerate(one.names):
                        item = self.item(value, place, one.span)
                        if place == 0 and isinstance(item, Int):
                            self.loops[-1] = (name, item)
                        self.assign_name(name, item, inner, one.span)
                left = self.execute(one.body, inner)
                if left is not None and left.word == "return":
                    return left
                if left is not None and left.word == "break":
                    whole = True
                    break
        finally:
            self.loops.pop()
            written = self._written(before)
        if not whole:
            self._left_open(written, scope)
        return None

    # given by the machine
    python: bool
    loops: list[tuple[str, Int]]
    endless: set[str]
    journal: Journal | None
    execute: Callable[..., Left | None]
    value: Any
    truth: Any
    whole: Any
    drop: Any
    items_of: Any
    assign_name: Any
    item: Any
    put: Any


def _arrays(scope: Scope) -> list[tuple[str, Array]]:
    """The arrays that can be named here."""
    held = [cell for one in scope.chain() for cell in one.names.values() if isinstance(cell, Cell)]
    return [(c.name, c.value) for c in held if isinstance(c.value, Array)]
