"""Arguments of a kernel that count the turns of a loop, such as `kt < num_k_tiles`.

A run with known sizes gives every argument the size of a matrix, which is far too many turns. An argument is taken for
a count if a loop whose turns use mbarriers compares it with a variable that moves by at most MOST_STEP. The run then
begins again, with a number of tiles for this argument.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from lanescope.reader.code import tree
from lanescope.reader.code import tree_statements as statements
from lanescope.reader.threads.numbers import ThreadNumber, make_number
from lanescope.reader.threads.storage import Mask

if TYPE_CHECKING:
    from lanescope.reader.threads.program import Scope
    from lanescope.reader.threads.runner import KernelRunner

TILE = 64  # elements along K that one turn stands for
_COMPARED = frozenset("< <= > >= != + - &&".split())
MOST_STEP = 8  # of the variable: the blocks of a grid take turns


class CountFoundError(Exception):
    """An argument counts turns."""


class TurnCounts:
    """The arguments of one kernel. names: those that count turns; sizes: id of a number → the other argument that it is
    the value of, and the number.
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        self.names = frozenset(names)
        self.sizes: dict[int, tuple[str, ThreadNumber]] = {}

    def make_argument(self, name: str, size: int, kind: tuple[int, bool]) -> ThreadNumber:
        """Return the value of an argument, as an object of its own: its id tells where it is used unchanged."""
        value = make_number(size // TILE if name in self.names else size, kind)
        if name not in self.names:
            self.sizes[id(value)] = name, value
        return value

    def keep_argument(self, value: ThreadNumber, converted: ThreadNumber | None) -> ThreadNumber | None:
        """Return a converted number; if it was the value of an argument, it still counts as that."""
        found = self.sizes.get(id(value))
        if found is None or converted is None:
            return converted
        own = ThreadNumber(dict(converted.terms), converted.kind)
        self.sizes[id(own)] = found[0], own
        return own

    def watch_loop(self, run: KernelRunner, loop: statements.Loop, scope: Scope) -> LoopWatch:
        """Begin to watch a loop that is about to be run."""
        return LoopWatch(run, loop, scope)


class LoopWatch:
    """A loop in its first turn."""

    def __init__(self, run: KernelRunner, loop: statements.Loop, scope: Scope) -> None:
        self.run, self.scope = run, scope
        self.trace = run.barriers
        self.nodes: list[tree.Expression] = []
        if self.trace is not None and run.turn_counts.sizes:
            self.events = len(self.trace.events)
            self.nodes = list(_list_compared(loop.condition))
            self.before = self._evaluate()

    def _evaluate(self) -> list[Any]:
        return [self.run.evaluate(node, self.scope) for node in self.nodes]

    def end_turn(self, mask: Mask) -> None:
        """End the first turn. CountFoundError if an argument counts the turns of the loop. mask: the threads in it."""
        if self.trace is None or not self.nodes:
            return
        counts, lane = self.run.turn_counts, int(mask.argmax())
        names = {counts.sizes[id(value)][0] for value in self.before if id(value) in counts.sizes}
        steps = (_find_step(before, after, lane) for before, after in zip(self.before, self._evaluate(), strict=True))
        moved = any(0 < abs(step) <= MOST_STEP for step in steps)
        self.nodes = []
        if names and moved and len(self.trace.events) > self.events:
            counts.names |= names
            raise CountFoundError


def _list_compared(node: tree.Expression | None) -> Iterator[tree.Expression]:
    """Yield the variables that a condition compares, alone or in a sum."""
    if isinstance(node, tree.Name | tree.Member):
        yield node
    elif isinstance(node, tree.Binary) and node.op in _COMPARED:
        yield from _list_compared(node.left)
        yield from _list_compared(node.right)


def _find_step(before: Any, after: Any, lane: int) -> int:
    """Return how far a variable of a thread has moved, 0 if that is not known."""
    if not isinstance(before, ThreadNumber) or not isinstance(after, ThreadNumber):
        return 0
    if before.const is None or after.const is None:
        return 0
    first, second = (int(one) if isinstance(one, int) else int(one[lane]) for one in (before.const, after.const))
    return second - first
