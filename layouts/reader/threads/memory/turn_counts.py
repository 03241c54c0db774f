"""Arguments of a kernel that count turns of a loop, as in `kt < num_k_tiles`, or parts, as in `K / splits`.

A run with known sizes gives every argument the size of a matrix, which is far too many turns, or leaves none. An
argument is taken for a count of turns if a loop whose turns use mbarriers compares it with a variable that moves by at
most MOST_STEP, and for one of parts if a size is divided by it. The run then begins again, with a number of tiles or of
parts for this argument.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.syntax import tree, tree_statements as statements
from lanescope.reader.threads.language.numbers import ThreadNumber, make_number
from lanescope.reader.threads.memory.storage import Mask

if TYPE_CHECKING:
    from lanescope.reader.threads.language.program import Scope
    from lanescope.reader.threads.runner import KernelRunner

TILE = 64  # elements along K that one turn stands for
_COMPARED = frozenset("< <= > >= != + - &&".split())
_SCALED = frozenset("* / % >> <<".split())
PARTS = 2  # of a size that an argument divides
_SIZE = re.compile(r"(?:^|[^a-z])(?:[mnk]|ld\w*)$|row|col|width|height|depth|stride|pitch|len|dim|size", re.I)
MOST_STEP = 8  # of the variable: the blocks of a grid take turns


class CountFoundError(Exception):
    """An argument counts turns."""


class TurnCounts:
    """The arguments of one kernel. names: those that count turns; divisors: those that count parts; sizes: id of a
    number → the argument that it is the value of, and the number; ends: what the loops of each warp with mbarriers end
    by; are_multiples: whether M, N and K are multiples of the numbers that they are divided by.
    """

    def __init__(self, names: Collection[str] = (), divisors: Collection[str] = ()) -> None:
        self.names, self.divisors = frozenset(names), frozenset(divisors)
        self.sizes: dict[int, tuple[str, ThreadNumber]] = {}
        self.ends: dict[int, set[str]] = {}
        self.are_multiples = True

    @property
    def are_alike(self) -> bool:
        """Return whether the loops of all warps end by the same arguments, or by some of them.

        Of others only the host knows that they count the same turns, as of the tiles of a matrix and their product.
        """
        ordered = sorted(self.ends.values(), key=len)
        return not self.names or all(less <= more for less, more in pairwise(ordered))

    def make_argument(self, name: str, size: int, kind: tuple[int, bool]) -> ThreadNumber:
        """Return the value of an argument, as an object of its own: its id tells where it is used unchanged."""
        value = make_number(PARTS if name in self.divisors else size // TILE if name in self.names else size, kind)
        self.sizes[id(value)] = name, value
        return value

    def note_division(self, left: ThreadNumber, right: ThreadNumber) -> None:
        """Note a division by a number. CountFoundError if that is an argument: it counts the parts of a size."""
        name, _ = self.sizes.get(id(right), ("", None))
        if name and left.known and name not in self.divisors and not _SIZE.search(name):
            self.divisors |= {name}
            raise CountFoundError

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
        self.others: list[tree.Expression] = []
        if self.trace is not None and run.turn_counts.sizes:
            self.events = len(self.trace.events)
            self.nodes = list(_list_names(loop.condition, _COMPARED))
            self.others = list(_list_names(loop.condition, _COMPARED | _SCALED))
            self.before, self.first = self._evaluate(self.nodes), self._evaluate(self.others)

    def _evaluate(self, nodes: list[tree.Expression]) -> list[Any]:
        return [self.run.evaluate(node, self.scope) for node in nodes]

    def end_turn(self, mask: Mask) -> None:
        """End the first turn. CountFoundError if an argument counts the turns of the loop. mask: the threads in it."""
        if self.trace is None or not self.nodes:
            return
        counts, lane = self.run.turn_counts, int(mask.argmax())
        names = {counts.sizes[id(value)][0] for value in self.before if id(value) in counts.sizes} - counts.names
        after = self._evaluate(self.nodes)
        moved = any(0 < abs(_find_step(*pair, lane)) <= MOST_STEP for pair in zip(self.before, after, strict=True))
        if len(self.trace.events) > self.events:
            ends = self._list_ends(lane)
            for warp in set((mask.nonzero()[0] // 32).tolist()):
                counts.ends.setdefault(warp, set()).update(ends)
            if names and moved:
                counts.names |= names
                raise CountFoundError
        self.nodes = []

    def _list_ends(self, lane: int) -> set[str]:
        """Return the names in the condition that the turn has not changed, of arguments and other variables."""
        sizes, after = self.run.turn_counts.sizes, self._evaluate(self.others)
        ends = set()
        for node, value, now in zip(self.others, self.first, after, strict=True):
            name = node.last if isinstance(node, tree.Name) else node.name if isinstance(node, tree.Member) else ""
            if not name.isupper() and not _find_step(value, now, lane):
                ends.add(sizes[id(value)][0] if id(value) in sizes else name)
        return ends


def _list_names(node: tree.Expression | None, operators: Collection[str]) -> Iterator[tree.Expression]:
    """Yield the variables of a condition that no operator but those given takes."""
    if isinstance(node, tree.Name | tree.Member):
        yield node
    elif isinstance(node, tree.Binary) and node.op in operators:
        yield from _list_names(node.left, operators)
        yield from _list_names(node.right, operators)


def _find_step(before: Any, after: Any, lane: int) -> int:
    """Return how far a variable of a thread has moved, 0 if that is not known."""
    if not isinstance(before, ThreadNumber) or not isinstance(after, ThreadNumber):
        return 0
    if before.const is None or after.const is None:
        return 0
    first, second = (int(one) if isinstance(one, int) else int(one[lane]) for one in (before.const, after.const))
    return second - first
