"""Loops over values of which some are symbols: none without a bound, and what one leaves open is not known after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from layouts.reader.code import tree
from layouts.reader.code.values import Array, Cell, Scope
from layouts.reader.code.word import Int, free

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
        most, turn = self._turns(), 0
        arrays: list[tuple[str, Array, list[Any]]] = []
        self.loops.append(("", Int(0)))
        try:
            while turn < most:
                if one.condition is not None and not (one.late and not turn):
                    goes_on = self.truth(self.value(one.condition, scope))
                    if goes_on is None:
                        arrays = arrays or _arrays(scope)
                        most = min(most, FREE_TURNS)
                        self.endless.add(variable.name if variable is not None else "")
                    elif not goes_on:
                        break
                elif one.condition is None:
                    most = min(most, FREE_TURNS)
                if variable is not None:
                    self.loops[-1] = (variable.name, self.whole(variable.value))
                left = self.execute(one.body, scope)
                if left is not None and left.word == "return":
                    return left
                if left is not None and left.word == "break":
                    break
                if one.step is not None:
                    self.drop(one.step, scope)
                turn += 1
        finally:
            self.loops.pop()
        for name, array, before in arrays:
            self._filled(name, array, before)
        return None

    def _filled(self, name: str, array: Array, before: list[Any]) -> None:
        """After a loop whose end is open: of an array that it fills, the items that its first turns did not reach may
        be filled, too.
        """
        same = [cell.value is old for cell, old in zip(array.cells, before, strict=False)]
        if all(same):
            return
        for n, cell in enumerate(array.cells[: len(same)]):
            if same[n] and isinstance(cell.value, Int):
                self.put(cell, free(f"{name}[{n}]", cell.value.type))

    def _variable(self, one: tree.Loop, scope: Scope) -> Cell | None:
        """The variable that a loop counts."""
        step = one.step
        while isinstance(step, tree.Unary | tree.Binary):
            step = step.value if isinstance(step, tree.Unary) else step.left
        target = step.target if isinstance(step, tree.Assign) else None
        found = scope.find(target.last) if isinstance(target, tree.Name) else None
        return found if isinstance(found, Cell) else None

    def _each(self, one: tree.Each, scope: Scope) -> Left | None:
        values = self.items_of(self.value(one.values, scope), self._turns(), one.names[0] if one.names else "")
        self.loops.append(("", Int(0)))
        inner = scope if self.python else Scope(scope)
        try:
            for value in values:
                if len(one.names) == 1:
                    if isinstance(value, Int):
                        self.loops[-1] = (one.names[0], value)
                    self.assign_name(one.names[0], value, inner, one.span)
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
                    break
        finally:
            self.loops.pop()
        return None

    # given by the machine
    python: bool
    loops: list[tuple[str, Int]]
    endless: set[str]
    execute: Callable[..., Left | None]
    value: Any
    truth: Any
    whole: Any
    drop: Any
    items_of: Any
    assign_name: Any
    item: Any
    put: Any


def _arrays(scope: Scope) -> list[tuple[str, Array, list[Any]]]:
    """The arrays that can be named here, with what they hold."""
    held = [cell for one in scope.chain() for cell in one.names.values() if isinstance(cell, Cell)]
    return [(c.name, c.value, [item.value for item in c.value.cells]) for c in held if isinstance(c.value, Array)]
