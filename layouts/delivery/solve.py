"""Find the shortest program that delivers an operand, with its certificate, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from lanescope.delivery import loads
from lanescope.delivery.conversions import WIDTHS, Conversion, find_conversions
from lanescope.delivery.memory import Memory
from lanescope.delivery.moves import NAMES, Builder, Move, emit_move, list_moves
from lanescope.delivery.places import (
    LANE_BITS,
    Fragment,
    Longs,
    Vectors,
    count_inner_bits,
    list_renumberings,
    name_places,
)
from lanescope.delivery.program import Instruction, Load, simulate
from lanescope.delivery.search import Found, Problem, SearchResult, cost_conversion, search_program
from lanescope.errors import LayoutError
from lanescope.inputs import format_count, parse_choice
from lanescope.shared.banks import ACCESSES, Cost, compute_cost

DEFAULT_LIMIT = 128
ALLOWED = (*loads.NAMES, *NAMES)
DEFAULT_ALLOWED = tuple(name for name in ALLOWED if name != "ldmatrix.b8")  # only on sm_100a and sm_120a


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a program.

    says: a description; count: instructions; after: what the registers hold afterwards; made: the instructions.
    """

    says: str
    count: int
    after: Fragment
    made: tuple[Instruction, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Delivery:
    """The result.

    goal: what the registers hold at the end, after the chosen renumbering; memory: None if the program starts in
    registers, `start`; registers: those that hold the goal; states: how many the search visited; exhausted: whether no
    program exists.
    """

    goal: Fragment
    wanted: Fragment
    memory: Memory | None
    start: Fragment | None
    stored: str
    type: str
    steps: tuple[Step, ...]
    registers: tuple[int, ...]
    states: int
    exhausted: bool
    limit: int
    found: bool
    why: str

    @property
    def count(self) -> int:
        """The instructions of one warp."""
        return sum(step.count for step in self.steps)

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        return tuple(instruction for step in self.steps for instruction in step.made)

    def simulate_steps(self) -> list[dict[int, Longs]]:
        """Return what all registers hold after each step, by simulation: element numbers [lane, place]."""
        contents = self.list_start_registers()
        snapshots = []
        for step in self.steps:
            contents = simulate(step.made, contents, self.memory)
            snapshots.append(contents)
        return snapshots

    def list_start_registers(self) -> dict[int, Longs]:
        """Return what the registers hold before the program; empty if it begins in memory."""
        if self.start is None:
            return {}
        elements = self.start.list_elements()
        return {number: elements[:, number] for number in range(self.start.registers)}

    @property
    def certified(self) -> bool:
        """Whether the simulated program leaves every element of the goal in its place."""
        contents = self.simulate_steps()[-1] if self.steps else self.list_start_registers()
        elements = self.goal.list_elements()
        return all(
            np.array_equal(contents[register], elements[:, number]) for number, register in enumerate(self.registers)
        )

    def list_bank_costs(self) -> list[tuple[Load, Cost]]:
        """Return the bank cost of each load."""
        costs = []
        for instruction in self.instructions:
            if isinstance(instruction, Load):
                costs.append((instruction, compute_cost(ACCESSES[name_access(instruction)], list(instruction.address))))
        return costs


def name_access(load: Load) -> str:
    """Return the name of a load in lanescope.shared.banks."""
    if load.matrix is None:
        return f"ld.shared.b{32 * len(load.targets)}"
    return f"ldmatrix.x{len(load.address) // 8}"


def parse_allowed(text: str) -> tuple[str, ...]:
    """Return the loads and moves that a text names, all if it is empty; LayoutError for another word."""
    words = text.replace(",", " ").split()
    return tuple(parse_choice(word, "moves", ALLOWED) for word in words) or DEFAULT_ALLOWED


def solve_delivery(
    wanted: Fragment,
    type: str,
    source: Memory | Fragment | None,
    stored: str = "",
    *,
    renumber: Iterable[str] = (),
    allowed: Iterable[str] = DEFAULT_ALLOWED,
    limit: int = DEFAULT_LIMIT,
) -> Delivery:
    """Return the shortest program that leaves `wanted` in a warp's registers, and its certificate.

    type: of the operand's elements; stored: of those in memory or registers, if it differs. source: where they are;
    None for the order in memory that one wide load delivers. renumber: the axes (k, n) whose bits the program may
    permute. LayoutError if the conversion is unknown or the search too large.
    """
    stored, allowed = stored or type, tuple(allowed)
    rows = find_conversions(stored, type)
    _require_registers(wanted, rows)
    width = WIDTHS[stored] if rows else wanted.width
    if source is None:
        source = choose_memory(wanted, rows, width)
    moves, kinds = (tuple(name for name in names if name in allowed) for names in (NAMES, loads.NAMES))
    memory, held = (source, ()) if isinstance(source, Memory) else (None, source.vectors)
    problem = Problem(wanted.space, wanted.width, width, rows, moves, kinds, memory, held, limit)
    goals = list_renumberings(wanted, tuple(renumber))
    result = search_program(problem, [goal.vectors for goal in goals])
    if result.found is None:
        return _refuse(wanted, type, stored, source, problem, result)
    steps, registers = _write_program(result.found, problem)
    goal = replace(wanted, vectors=result.found.path[-1][0][1])
    start = source if isinstance(source, Fragment) else None
    delivery = Delivery(
        goal, wanted, problem.memory, start, stored, type, steps, registers, result.states, False, limit, True, ""
    )
    assert delivery.certified and delivery.count == result.found.cost
    return delivery


def _require_registers(wanted: Fragment, rows: tuple[Conversion, ...]) -> None:
    """Raise LayoutError for a conversion that fills more registers than a lane has."""
    for row in rows:
        if row.widens and 1 << len(row.spread) > wanted.registers:
            raise LayoutError(
                "bad_operand",
                f"A lane holds {format_count(wanted.registers, 'register')}; {row.name} fills {1 << len(row.spread)}.",
                "Give more operands side by side.",
                "first",
            )


def choose_memory(wanted: Fragment, rows: tuple[Conversion, ...], stored: int) -> Memory:
    """Return the order in memory in which the widest loads deliver a fragment without moves.

    A lane's elements are adjacent, in the order in which the conversion unpacks them; then come those of the next lane.
    """
    vectors = next(rows[0].list_sources(wanted.vectors, natural=True)) if rows else wanted.vectors
    inner = count_inner_bits(stored)
    registers = vectors[inner + LANE_BITS :]
    run = (*vectors[:inner], *registers[:2])
    lanes = [vector for vector in vectors[inner : inner + LANE_BITS] if vector]
    order = (*run, *lanes, *registers[2:])
    address = np.zeros(1, np.int64)
    places = {vector: 1 << n for n, vector in enumerate(order)}
    if len(places) != sum(wanted.space.bits) or any(v & v - 1 for v in places):
        raise LayoutError(
            "bad_storage",
            "The fragment holds elements several times, or XORs of coordinates.",
            "Choose an operand each of whose elements is held once, or copied over whole lanes.",
            "source",
        )
    for n in range(sum(wanted.space.bits)):
        address = np.concatenate([address, address ^ places[1 << n]])
    return Memory(wanted.space, stored, address)


def list_fitting_orders(wanted: Fragment, rows: tuple[Conversion, ...], stored: int) -> dict[str, list[str]]:
    """Return, for each load, the coordinate bits that must be the lowest of the address for it to deliver alone."""
    vectors = next(rows[0].list_sources(wanted.vectors, natural=True)) if rows else wanted.vectors
    fragment = Fragment(wanted.space, stored, vectors)
    orders = {}
    for kind in loads.list_loads(stored, fragment.registers, loads.NAMES):
        by_bit = {bit: fragment.vectors[place] for place, bit in kind.fixed}
        first = fragment.inner + LANE_BITS
        for n, bit in enumerate(range(fragment.inner, kind.run) if kind.words > 1 else ()):
            by_bit[bit] = fragment.vectors[first + n]
        if all(by_bit.values()):
            orders[kind.name] = [wanted.space.name_vector(by_bit[bit]) for bit in sorted(by_bit)]
    return orders


def _write_program(found: Found, problem: Problem) -> tuple[tuple[Step, ...], tuple[int, ...]]:
    """Return the steps with their instructions, and the registers of the goal in order."""
    width, vectors = found.path[0][0]
    fragment = Fragment(problem.space, width, vectors)
    first = fragment.inner + LANE_BITS
    steps: list[Step] = []
    if found.load and problem.memory:
        kind, order = found.load
        given = (*vectors[:first], *(vectors[p] for p in order))
        loaded = Fragment(problem.space, width, given)
        instructions = loads.make_loads(kind, loaded, problem.memory)
        steps.append(Step(kind.text, len(instructions), fragment, tuple(instructions)))
    else:
        given = problem.registers
    builder = Builder(list(range(fragment.registers)), width, [], fragment.registers)
    builder.registers = _rename(builder.registers, given[first:], vectors[first:])
    for (width, after), operation in found.path[1:]:
        begin = len(builder.instructions)
        if isinstance(operation, Conversion):
            operation.emit(vectors, after, builder)
        elif operation:
            inverse = tuple(operation.order.index(p) for p in range(len(operation.order)))
            emit_move(replace(operation, order=inverse), builder)
        added = tuple(builder.instructions[begin:])
        description = (
            operation.says
            if isinstance(operation, Move)
            else f"{operation.name}: {operation.says}"
            if operation
            else ""
        )
        steps.append(
            Step(
                description,
                sum(instruction.count for instruction in added),
                Fragment(problem.space, width, after),
                added,
            )
        )
        vectors = after
    return tuple(steps), tuple(builder.registers)


def _rename(registers: list[int], old: Vectors, new: Vectors) -> list[int]:
    """Return registers numbered by old place bits, in the order of the new ones."""
    places = [old.index(vector) for vector in new]
    return [
        registers[sum((number >> n & 1) << place for n, place in enumerate(places))] for number in range(len(registers))
    ]


def _refuse(
    wanted: Fragment, type: str, stored: str, source: Memory | Fragment, problem: Problem, result: SearchResult
) -> Delivery:
    memory = source if isinstance(source, Memory) else None
    least = min((_count_conversion(row, wanted) for row in problem.conversions), default=0)
    visited = format_count(result.states, "arrangement")
    if result.exhausted:
        reasons = [f"No program of the allowed loads and moves does it. The search saw all that they reach: {visited}."]
    elif least > problem.limit:
        reasons = [f"The conversion alone takes {least} instructions; the limit is {problem.limit}."]
    else:
        reasons = [f"No program of at most {problem.limit} instructions does it; the search saw {visited}. More may."]
    if memory and least <= problem.limit:
        reasons += _find_invariants(wanted, problem)
    why = " ".join(reasons)
    start = source if isinstance(source, Fragment) else None
    return Delivery(
        wanted, wanted, memory, start, stored, type, (), (), result.states, result.exhausted, problem.limit, False, why
    )


def _count_conversion(row: Conversion, wanted: Fragment) -> int:
    """Return the number of instructions of a conversion to an operand."""
    before = next(iter(row.list_sources(wanted.vectors)))
    return cost_conversion(row, before if row.widens else wanted.vectors)


def _find_invariants(wanted: Fragment, problem: Problem) -> list[str]:
    """Return a sentence for each load about what it needs and no allowed move changes, if there is such a thing."""
    memory = problem.memory
    assert memory is not None
    rows = problem.conversions
    vectors = next(rows[0].list_sources(wanted.vectors, natural=True)) if rows else wanted.vectors
    width = problem.stored
    moved = {
        p for move in list_moves(width, len(vectors), problem.moves) for p in range(len(vectors)) if move.order[p] != p
    }
    moved |= set(range(count_inner_bits(width) + LANE_BITS, len(vectors)))
    if rows and rows[0].widens:
        moved |= set(rows[0].spread)
    names = name_places(width, len(vectors))
    reasons = []
    registers = 1 << len(vectors) - count_inner_bits(width) - LANE_BITS
    kinds = loads.list_loads(width, registers, problem.loads)
    reasons += _find_splits(width, problem.loads, {kind.name for kind in kinds})
    for kind in kinds:
        if len(memory.runs) < kind.run:
            has = 1 << len(memory.runs)
            reasons.append(f"{kind.name} needs runs of {1 << kind.run} elements; aligned runs here have {has}.")
            continue
        for place, bit in kind.fixed:
            if place not in moved and vectors[place] != memory.runs[bit]:
                name = wanted.space.name_vector
                reasons.append(
                    f"{kind.name} puts {name(memory.runs[bit])} at {names[place]}, where the operand has"
                    f" {name(vectors[place])}, and no allowed instruction moves it."
                )
                break
    return reasons


def _find_splits(width: int, allowed: Iterable[str], fit: Iterable[str]) -> list[str]:
    """Return a sentence about the allowed ldmatrix that would split elements.

    fit: the names of the loads that do not.
    """
    reasons = []
    for name in sorted({name for name in allowed if name.startswith("ldmatrix")} - set(fit)):
        unit = 8 if name == "ldmatrix.b8" else 16
        if width > unit:
            reasons.append(f"{name} moves units of {unit} bits; it would split an element of {width}.")
    return reasons
