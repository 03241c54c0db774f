"""Search the cheapest program backwards, from a goal to the contents of memory or registers.

This is a uniform-cost search over place bits. If every place bit is one coordinate bit, the coordinate bits that no
load fixes are interchangeable: exchanging two of them changes neither reachability nor cost. States that differ only in
this way are identified.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from lanescope.deadline import check_deadline
from lanescope.delivery.conversions import Conversion
from lanescope.delivery.loads import LoadKind, list_loads, match_load
from lanescope.delivery.memory import Memory
from lanescope.delivery.moves import Move, join_turn, list_moves, list_turns
from lanescope.delivery.places import LANE_BITS, Fragment, Space, Vectors, count_inner_bits
from lanescope.errors import LayoutError

MOST_STATES = 50_000
State = tuple[int, Vectors]  # bits of an element, place bits


@dataclass(frozen=True, slots=True)
class Problem:
    """The search problem. conversions: the alternatives of one conversion, or none; memory or registers: the source."""

    space: Space
    width: int  # of the goal
    stored: int  # of the source
    conversions: tuple[Conversion, ...]
    moves: tuple[str, ...]
    loads: tuple[str, ...]
    memory: Memory | None
    registers: Vectors
    limit: int


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a successful search.

    path: the states from the source to the goal, each with the operation that produces it; load: the load of the first
    state, with the order of its register bits.
    """

    path: tuple[tuple[State, Move | Conversion | None], ...]
    load: tuple[LoadKind, tuple[int, ...]] | None
    cost: int


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The outcome of a search.

    found: the cheapest program, None if none was found; exhausted: whether all reachable states were visited, so that
    no program exists if none was found; states: number of visited states.
    """

    found: Found | None
    exhausted: bool
    states: int


@dataclass(slots=True)
class _Node:
    """A node of the search. labels: its place bits, with the names that identify states."""

    cost: int
    state: State
    labels: Vectors
    parent: _Node | None = None
    by: Move | Conversion | None = None
    load: tuple[LoadKind, tuple[int, ...]] | None = None
    turns: bool = False  # a lane permutation that must be joined with a turn


class _Queue:
    """A priority queue of nodes, cheapest first, with the least cost of each state."""

    def __init__(self, bound: Callable[[State], int], deep: bool) -> None:
        """Create an empty queue. deep: of equal estimates, prefer the node nearest to the goal, else the oldest
        node.
        """
        self.bound, self.number, self.deep = bound, count(), deep
        self.heap: list[tuple[int, int, int, _Node]] = []
        self.best: dict[object, int] = {}
        self.turned: dict[object, int] = {}  # of lane permutations that must be joined with a turn

    def improves(self, key: object, cost: int) -> bool:
        """Return whether this cost is lower than all previous costs of a state, and record it."""
        if cost >= self.best.get(key, 1 << 30):
            return False
        self.best[key] = cost
        return True

    def push(self, node: _Node, estimate: int) -> None:
        heappush(self.heap, (estimate, -node.cost if self.deep else 0, next(self.number), node))


def search_program(problem: Problem, goals: Sequence[Vectors]) -> SearchResult:
    """Return the cheapest program that ends in one of the goals."""
    label, queue = _make_labels(problem, goals), _Queue(_make_bound(problem), deep=len(goals) == 1)
    low = problem.memory.list_low_bits() if problem.memory else []
    for goal in goals:
        node = _Node(0, (problem.width, goal), label(goal))
        if queue.improves(_make_key(problem.width, node.labels), 0):
            queue.push(node, queue.bound(node.state))
    best = queue.best
    while queue.heap:
        estimate, _, _, node = heappop(queue.heap)
        if estimate > problem.limit:
            return SearchResult(None, False, len(best))
        if node.load or (problem.memory is None and _is_start(node.state, problem)):
            return SearchResult(_unwind(node), False, len(best))
        if node.turns:
            _push_turns(node, problem, queue)
            continue
        if node.cost > best[_make_key(node.state[0], node.labels)]:
            continue
        if len(best) > MOST_STATES:
            raise LayoutError(
                "too_large",
                f"The search visited more than {MOST_STATES:,} states.",
                f"Lower the limit of {problem.limit} instructions, or allow fewer moves.",
                "limit",
            )
        check_deadline()
        _push_loads(node, problem, low, queue)
        _push_moves(node, problem, queue)
        _push_conversions(node, problem, queue, label)
    return SearchResult(None, True, len(best))


def _push_loads(node: _Node, problem: Problem, low: Sequence[int], queue: _Queue) -> None:
    width, vectors = node.state
    if problem.memory is None or width != problem.stored:
        return
    fragment = Fragment(problem.space, width, vectors)
    for kind in list_loads(width, fragment.registers, problem.loads):
        order = match_load(kind, fragment, problem.memory, low)
        if order is not None:
            cost = node.cost + fragment.registers // kind.registers
            queue.push(_Node(cost, node.state, node.labels, node.parent, node.by, (kind, order)), cost)


def _push_moves(node: _Node, problem: Problem, queue: _Queue) -> None:
    width, vectors = node.state
    moves = {move.rearrange(node.labels): move for move in reversed(list_moves(width, len(vectors), problem.moves))}
    first, best = count_inner_bits(width) + LANE_BITS, queue.best
    turns = list_turns(width, len(vectors), problem.moves)
    for labels, move in reversed(moves.items()):
        cost, key = node.cost + move.cost, (width, labels[:first], tuple(sorted(labels[first:])))
        if cost < best.get(key, cost + 1):
            best[key] = cost
            state = (width, move.rearrange(vectors))
            queue.push(_Node(cost, state, labels, node, move), cost + queue.bound(state))
        if move.kind == "lanes" and turns and cost < queue.turned.get(key, cost + 1):
            queue.turned[key] = cost
            waiting = _Node(cost, (width, move.rearrange(vectors)), labels, node, move, turns=True)
            queue.push(waiting, cost + max(2 * move.cost, queue.bound(waiting.state)))


def _push_turns(node: _Node, problem: Problem, queue: _Queue) -> None:
    """Push the nodes of all turns joined with the lane permutation that led to this node."""
    width, vectors = node.state
    assert node.parent and isinstance(node.by, Move)
    for turn in list_turns(width, len(vectors), problem.moves):
        move = join_turn(turn, node.by)
        cost, labels = node.parent.cost + move.cost, move.rearrange(node.parent.labels)
        if queue.improves(_make_key(width, labels), cost):
            state = (width, move.rearrange(node.parent.state[1]))
            queue.push(_Node(cost, state, labels, node.parent, move), cost + queue.bound(state))


def _push_conversions(node: _Node, problem: Problem, queue: _Queue, label: Callable[[Vectors], Vectors]) -> None:
    width, vectors = node.state
    for row in problem.conversions if width == problem.width else ():
        for before in row.list_sources(vectors):
            cost = node.cost + cost_conversion(row, before if row.widens else vectors)
            state, labels = (problem.stored, before), label(before)
            if queue.improves(_make_key(problem.stored, labels), cost):
                queue.push(_Node(cost, state, labels, node, row), cost + queue.bound(state))


def _make_key(width: int, labels: Vectors) -> object:
    """Return a key that is equal for equal states, independent of the order of registers."""
    first = count_inner_bits(width) + LANE_BITS
    return width, labels[:first], tuple(sorted(labels[first:]))


def cost_conversion(row: Conversion, narrow: Vectors) -> int:
    """Return the number of instructions of a conversion; narrow: place bits of the narrower type's registers."""
    width = min(len(row.kept_bits) + len(row.spread), 3)
    return row.cost << len(narrow) - width - LANE_BITS


def _make_labels(problem: Problem, goals: Sequence[Vectors]) -> Callable[[Vectors], Vectors]:
    """Return the names of place bits that identify states; coordinate bits that no load fixes share a name."""
    memory = problem.memory
    if memory is None:
        return lambda vectors: vectors
    low = {1 << n: bits for n, bits in enumerate(memory.list_low_bits())}
    runs = {vector: n + 1 for n, vector in enumerate(memory.runs)}
    alike = all(vector in low for vector in runs) and all(not bits or unit in runs for unit, bits in low.items())
    if not alike or any(vector and vector not in low for goal in goals for vector in goal):
        return lambda vectors: vectors
    names = {0: 0} | {unit: runs.get(unit, 0) for unit in low}
    return lambda vectors: tuple(names[vector] for vector in vectors)


def _make_bound(problem: Problem) -> Callable[[State], int]:
    """Return a lower bound of the cost from a state to the source: the conversion, and lane bits that differ.

    A move changes at most one lane bit of the set, and costs at least one instruction per register.
    """

    def bound(state: State) -> int:
        width, vectors = state
        cost = 0
        before = [vectors]
        if problem.conversions and width == problem.width:
            row = problem.conversions[0]
            before.append(next(iter(row.list_sources(vectors)), vectors))
            cost += cost_conversion(row, before[1] if row.widens else vectors)
        if problem.memory:
            return cost
        inner, start = count_inner_bits(width), count_inner_bits(problem.stored)
        lanes = vectors[inner : inner + LANE_BITS]
        target = problem.registers[start : start + LANE_BITS]
        each = min(
            1 << len(v) - LANE_BITS - count_inner_bits(problem.width if n == 0 and len(before) > 1 else problem.stored)
            for n, v in enumerate(before)
        )
        missing = len(set(target) - set(lanes))
        if not missing:
            return cost + each * (lanes != target)
        # A lane bit comes in by an exchange, 2 instructions a register, or by movmatrix, which takes 1 but undoes
        # itself unless another move is between two of them, and orders the lanes as it does.
        half = inner - 1
        direct = (lanes[3], lanes[4], vectors[half], lanes[0], lanes[1]) if half >= 0 else ()
        saves = missing > 1 or direct == target or (len(before) > 1 and start > 0)
        return cost + each * (2 * missing - saves)

    return bound


def _is_start(state: State, problem: Problem) -> bool:
    width, vectors = state
    first = count_inner_bits(problem.stored) + LANE_BITS
    return (
        width == problem.stored
        and vectors[:first] == problem.registers[:first]
        and sorted(vectors[first:]) == sorted(problem.registers[first:])
    )


def _unwind(node: _Node) -> Found:
    path: list[tuple[State, Move | Conversion | None]] = []
    at: _Node | None = node
    by: Move | Conversion | None = None
    while at:
        path.append((at.state, by))
        by, at = at.by, at.parent
    return Found(tuple(path), node.load, node.cost)
