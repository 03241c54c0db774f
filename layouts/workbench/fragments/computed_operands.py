"""Trace operands that threads compute from D of an earlier product, such as P of attention.

An element of D is the product of a row of A and a column of B. Its origin is these two: the offset of its row in the
array of A and that of its column in the array of B, as terms of their own. D in a fragment then has rows and columns
like a matrix in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lanescope.ptx.instruction import Instruction
from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.memory.records import MmaUse
from lanescope.reader.threads.memory.storage import OPEN, DataBytes, Ints, LoadRecord
from lanescope.reader.threads.runner import KernelRunner

MARK = "·"  # between the arrays of A and B in the name of the array of their products
Lines = Mapping[str, tuple[int, int]]
LocateSides = Callable[[KernelRunner, MmaUse], tuple[Instruction, Sequence["Side"]] | None]


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """Rows of A, or columns of B, of a sum of products: the array, and the offsets of their first elements."""

    array: str
    names: tuple[str, ...]
    places: tuple[Ints, ...]  # by name: [warps, rows]

    def join_earlier(self, before: Side) -> Side | None:
        """Return the one of two that begins first along K; None if they are not the same rows."""
        pairs = list(zip(self.places, before.places, strict=False))
        if (self.array, self.names) != (before.array, before.names) or any(a.shape != b.shape for a, b in pairs):
            return None
        away = [a - b for a, b in pairs]
        if any(np.ptp(one) for one in away):
            return None
        return min(self, before, key=lambda side: tuple(int(at[0, 0]) for at in side.places))


@dataclass(frozen=True, slots=True, eq=False)
class ProductSides:
    """What an element of D is made of. warp: the place of each warp in the sides, -1 for one that does not multiply."""

    instruction: Instruction
    warp: Ints
    sides: tuple[Side, Side]


def replace_results(run: KernelRunner, data: DataBytes, locate: LocateSides) -> DataBytes:
    """Return data in which elements of D have records of their rows and columns; those that are not known stay.

    data: the first byte of each element; locate: returns the sides of one product.
    """
    if not (data.record < 0).any():
        return data
    record, thread, byte = data.record.copy(), data.thread, data.byte.copy()
    for number in np.unique(record[record < 0]).tolist():
        mine = data.record == number
        sides = _find_sides(run, run.results[-number - 1].use, locate)
        if sides is None:
            continue
        bits = sides.instruction.operand("d").container_bits
        for first in np.unique(data.byte[mine]).tolist():
            new_record = _make_record(run, number, first * 8 // bits, sides) if not first * 8 % bits else OPEN
            record[mine & (data.byte == first)] = new_record
        byte[mine] = 0
    return DataBytes(record, thread, byte)


def is_computed(array: str) -> bool:
    """Return whether elements of an array are those of products, which threads have computed with."""
    return MARK in array


def count_lines_apart(computed: tuple[str, Lines], loaded: tuple[str, Lines]) -> int | None:
    """Return how many lines of its array a loaded operand begins after the lines whose products the other operand is;
    None if the lines of both cannot be compared. Each operand: its array, and (offset, step along K) by name.
    """
    marks = {name[-1] for name, (_, step) in computed[1].items() if step}
    mark = marks.pop() if len(marks) == 1 else ""
    arrays = computed[0].split(MARK)
    lines = {name.removesuffix(MARK + mark): line for name, line in computed[1].items() if name.endswith(MARK + mark)}
    steps = [{name: step for name, (_, step) in one.items() if step} for one in (lines, loaded[1])]
    if not mark or len(arrays) > 2 or arrays["AB".find(mark)] == loaded[0] or steps[0] != steps[1]:
        return None
    return _count_steps(lines, loaded[1], steps[0])


def _count_steps(lines: Lines, others: Lines, steps: Mapping[str, int]) -> int | None:
    """Return the distance from the first element of lines to that of others, in steps along K; None if it is not a
    whole number of steps.
    """
    names = {*lines, *others}
    away = {name: others.get(name, (0, 0))[0] - lines.get(name, (0, 0))[0] for name in names}
    counts = {away[name] / step for name, step in steps.items()}
    count = counts.pop()
    outside = any(away[name] for name in names - steps.keys())
    return int(count) if not outside and not counts and count == int(count) else None


def has_lines_of_product(run: KernelRunner, names: Sequence[str], rows: Sequence[Sequence[int]]) -> bool:
    """Return whether the rows of a computed operand are in the order of those that an earlier product multiplied.

    rows: by name the offsets from the first row to every other.
    """
    moving = {name: tuple(away) for name, away in zip(names, rows, strict=True) if any(away)}
    for sides in filter(None, run.sides.values()):
        for side, mark in zip(sides.sides, "AB", strict=True):
            own = {f"{name}{MARK}{mark}": at - at[:, :1] for name, at in zip(side.names, side.places, strict=True)}
            count = len(next(iter(moving.values()), ()))
            lines = {name: tuple(at[0, :count].tolist()) for name, at in own.items() if at[0].any()}
            if lines == moving:
                return True
    return False


def _find_sides(run: KernelRunner, use: MmaUse | None, locate: LocateSides) -> ProductSides | None:
    """Return what the D of a product is made of, None if that is not known."""
    waiting: list[MmaUse] = []
    while use is not None and id(use) not in run.sides:
        waiting.append(use)
        use = use.adds
    found: ProductSides | None = run.sides[id(use)] if use is not None else None
    for one in reversed(waiting):
        found = run.sides[id(one)] = _join_sides(one, found, locate(run, one)) if found or not one.adds else None
    return found


def _join_sides(
    use: MmaUse, before: ProductSides | None, found: tuple[Instruction, Sequence[Side]] | None
) -> ProductSides | None:
    """Return what D is made of after one product. before: what the D that it adds to is made of, None without one."""
    if found is None:
        return None
    active = use.active.reshape(-1, 32).all(axis=1)
    warp = np.where(active, np.cumsum(active) - 1, -1)
    instruction, (a, b) = found
    if before is None:
        return ProductSides(instruction, warp, (a, b))
    rows, columns = (new.join_earlier(old) for new, old in zip((a, b), before.sides, strict=True))
    same = before.instruction is instruction and (before.warp == warp).all()
    return ProductSides(instruction, warp, (rows, columns)) if same and rows and columns else None


def _make_record(run: KernelRunner, number: int, element: int, found: ProductSides) -> int:
    """Return the record of an element that every thread has of a D."""
    if (number, element) in run.element_records:
        return run.element_records[number, element]
    operand = found.instruction.operand("d")
    coordinates = [np.asarray(operand.coords[axis], np.int64) for axis in ("row", "col")]
    if element >= coordinates[0].shape[1] or (found.warp < 0).any():
        return OPEN
    lanes = np.arange(run.threads)
    terms: dict[tuple[str, ...], Ints] = {}
    for side, mark, coordinate in zip(found.sides, "AB", coordinates, strict=True):
        for name, places in zip(side.names, side.places, strict=True):
            terms[(f"{name}{MARK}{mark}",)] = places[found.warp[lanes // 32], coordinate[lanes % 32, element]]
    array = MARK.join(side.array for side in found.sides)
    run.records.append(LoadRecord(array, ThreadNumber(terms)))  # type: ignore[arg-type]
    run.element_records[number, element] = len(run.records) - 1
    return len(run.records) - 1
