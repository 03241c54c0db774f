"""Find the shortest program that delivers an operand, with its certificate, or the reason why there is none."""

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
DEFAULT_ALLOWED = tuple(name for name in ALLOWED if name != "ldmatrix.b8")  # sm_100a and sm_120a only


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a program.

    says: a description; count: number of instructions; after: the contents of the registers; instructions: as a tuple.
    """

    says: str
    count: int
    after: Fragment
    instructions: tuple[Instruction, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Delivery:
    """The result.

    goal: the final contents of the registers, with the chosen renumbering; memory: None if the program starts in the
    registers `start`; registers: those with the goal; states: number of visited states; exhausted: whether no program
    exists.
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
        """The number of instructions per warp."""
        return sum(step.count for step in self.steps)

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        return tuple(instruction for step in self.steps for instruction in step.instructions)

    def simulate_steps(self) -> list[dict[int, Longs]]:
        """Return the simulated contents of all registers after each step: element numbers [lane, place]."""
        contents = self.list_start_registers()
        snapshots = []
        for step in self.steps:
            contents = simulate(step.instructions, contents, self.memory)
            snapshots.append(contents)
        return snapshots

    def list_start_registers(self) -> dict[int, Longs]:
        """Return the contents of the registers before the program; {} if it begins in memory."""
        if self.start is None:
            return {}
        elements = self.start.list_elements()
        return {number: elements[:, number] for number in range(self.start.registers)}

    @property
    def certified(self) -> bool:
        """Whether the simulated program puts every element of the goal in its place."""
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
    """Return the loads and moves named in a text, all if it is empty. LayoutError for unknown words."""
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
    """Return the shortest program that delivers `wanted` to a warp's registers, with its certificate.

    type: of the operand's elements; stored: of the source's elements, if different. source: memory or registers;
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
    memory, source_vectors = (source, ()) if isinstance(source, Memory) else (None, source.vectors)
    problem = Problem(wanted.space, wanted.width, width, rows, moves, kinds, memory, source_vectors, limit)
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
                f"A lane has {format_count(wanted.registers, 'register')} of the operand; {row.name} fills"
                f" {1 << len(row.spread)}.",
                "Use more operands side by side.",
                "first",
            )


def choose_memory(wanted: Fragment, rows: tuple[Conversion, ...], stored: int) -> Memory:
    """Return the order in memory in which the widest loads deliver a fragment without moves.

    A lane's elements are adjacent, in the conversion's order, and followed by those of the next lane.
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
            "The fragment has copies of elements, or XORs of coordinates.",
            "Choose an operand without copies, or with copies in complete lanes only.",
            "source",
        )
    for n in range(sum(wanted.space.bits)):
        address = np.concatenate([address, address ^ places[1 << n]])
    return Memory(wanted.space, stored, address)


def list_fitting_orders(wanted: Fragment, rows: tuple[Conversion, ...], stored: int) -> dict[str, list[str]]:
    """Map each load to the coordinate bits that must be the lowest address bits so that it needs no moves."""
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
        source_vectors = (*vectors[:first], *(vectors[p] for p in order))
        loaded = Fragment(problem.space, width, source_vectors)
        instructions = loads.make_loads(kind, loaded, problem.memory)
        steps.append(Step(kind.text, len(instructions), fragment, tuple(instructions)))
    else:
        source_vectors = problem.registers
    builder = Builder(list(range(fragment.registers)), width, [], fragment.registers)
    builder.registers = _rename(builder.registers, source_vectors[first:], vectors[first:])
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
    """Return register numbers in the order of the new place bits."""
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
        reasons = [f"The allowed loads and moves cannot deliver the operand. The search was exhaustive: {visited}."]
    elif least > problem.limit:
        reasons = [f"The conversion alone needs {least} instructions; the limit is {problem.limit}."]
    else:
        reasons = [
            f"No program of at most {problem.limit} instructions delivers the operand; the search"
            f" visited {visited}. A longer program may exist."
        ]
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
    """Return a sentence for each load with a requirement that no allowed move can change."""
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
            reasons.append(f"{kind.name} needs runs of {1 << kind.run} elements; the aligned runs have {has}.")
            continue
        for place, bit in kind.fixed:
            if place not in moved and vectors[place] != memory.runs[bit]:
                name = wanted.space.name_vector
                reasons.append(
                    f"{kind.name} puts {name(memory.runs[bit])} at {names[place]}, but the operand has"
                    f" {name(vectors[place])} there, and no allowed instruction moves it."
                )
                break
    return reasons


def _find_splits(width: int, allowed: Iterable[str], fit: Iterable[str]) -> list[str]:
    """Return a sentence on the allowed ldmatrix that would split elements.

    fit: names of the other loads.
    """
    reasons = []
    for name in sorted({name for name in allowed if name.startswith("ldmatrix")} - set(fit)):
        unit = 8 if name == "ldmatrix.b8" else 16
        if width > unit:
            reasons.append(f"{name} moves units of {unit} bits; it would split an element of {width}.")
    return reasons
