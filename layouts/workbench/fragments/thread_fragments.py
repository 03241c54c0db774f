"""Trace the fragment that arrives at an mma: the origin of each element as a function of row and column.

Elements of A come from `a(m) + p(k)` of one array, those of B from `b(n) + q(k)`, and p and q count the same K:
otherwise the result is not a matrix product, in any order of rows and columns. Another order along K is right if both
operands have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import gcd

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx import catalog
from lanescope.ptx.instruction import WARP, Instruction, Operand
from lanescope.reader.threads.instructions.matrix_loads import gather_register
from lanescope.reader.threads.language.bit_words import list_choices
from lanescope.reader.threads.memory.records import DescriptorUse, MatrixLoad, MmaUse, RegisterUse
from lanescope.reader.threads.memory.storage import (
    EMPTY,
    OPEN,
    ZEROED,
    DataBytes,
    LoadRecord,
    join_data,
    list_offsets,
)
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.fragments.computed_operands import Side, is_computed, replace_results
from lanescope.workbench.text.known_values import find_common_value

Ints = NDArray[np.int64]
FACTOR_GROUP = 8  # elements along K that have the same scale, at least


@dataclass(frozen=True, eq=False)
class FragmentOrigin:
    """Where an operand's elements of one warp come from. places: for each product of open names the byte offsets,
    [rows of A or columns of B, K]; names: these products; array: the one array, "" if they are several; filled: the
    elements that a thread has written; zeros: in a run with known sizes, those that are 0, None if none is.
    """

    array: str
    names: tuple[str, ...]
    places: tuple[Ints, ...]
    filled: NDArray[np.bool_]
    unit: int = 8  # bits that offsets count
    unpacked: int = 0  # bits of the elements that threads take out of words; 0 if they do not
    zeros: NDArray[np.bool_] | None = None

    @property
    def empty(self) -> int:
        return int((~self.filled).sum())

    @property
    def total(self) -> int:
        return int(self.filled.size)

    @cached_property
    def separable(self) -> bool:
        """Whether every offset is the sum of a row term and a K term."""
        if not self.array or self.empty or self.zeros is not None:
            return False
        return all(map(_is_separable, self.places))

    @cached_property
    def padded(self) -> bool:
        """Whether complete rows are never written and the others are rows and columns of one array. The kernel may
        ignore the results in these rows.
        """
        rows = self.filled.any(axis=1)
        if not self.array or rows.all() or not rows.any() or not self.filled[rows].all():
            return False
        return all(_is_separable(g[rows]) for g in self.places)

    @cached_property
    def k_order(self) -> tuple[int, ...] | None:
        """The K that each column counts, from 0 and without a common factor; None if ambiguous."""
        steps = [g[0] - g[0, 0] for g in self.places if (g[0] != g[0, 0]).any()]
        return find_common_value(_fix_sign(tuple((step // gcd(*map(int, step))).tolist())) for step in steps)

    @cached_property
    def repeated_rows(self) -> bool:
        """Whether rows 8 to 15 are rows 0 to 7 again."""
        rows = np.stack([g[:, 0] for g in self.places])
        if rows.shape[1] != 16 or _count_columns(rows[:, :8]) < 8:
            return False
        return bool((rows[:, :8] == rows[:, 8:]).all())

    @cached_property
    def has_even_rows(self) -> bool:
        """Whether each 8 rows that one matrix holds are equally far apart."""
        steps = (np.diff(g[:, 0].reshape(-1, 8), axis=1) for g in self.places if g.shape[0] % 8 == 0)
        return all(bool((step == step[:, :1]).all()) for step in steps)

    @cached_property
    def has_rows_twice(self) -> bool:
        """Whether some rows occur twice, but not only one."""
        rows = np.stack([g[:, 0] for g in self.places])
        return bool(1 < _count_columns(rows) < rows.shape[1])

    @cached_property
    def has_uneven_starts(self) -> bool:
        """Whether rows begin at different K: they are not multiples of one pitch apart, although each has its own."""
        along = np.stack([g[:, 0] - g[:, 0].min() for g, step in zip(self.places, self.k_step, strict=True) if step])
        apart = [g[:, 0] - g[0, 0] for g, step in zip(self.places, self.k_step, strict=True) if not step]
        if any(line.any() for line in apart):
            own = _count_columns(np.stack(apart)) == along.shape[1]
            rank = [int(np.linalg.matrix_rank(np.stack(lines))) for lines in (apart, [*apart, *along])]
            return own and rank[0] < rank[1]
        steps = np.diff(np.unique(along[0]))
        return len(along) == 1 and bool(steps.size) and bool((along[0] % steps.min()).any())

    @cached_property
    def repeats_rows(self) -> bool:
        """Whether any row occurs twice."""
        rows = np.stack([g[:, 0] for g in self.places])
        return bool(_count_columns(rows) < rows.shape[1])

    @cached_property
    def is_factor(self) -> bool:
        """Whether each row has one element, or each group of at least 8 along K: scales or zero points."""
        columns = np.stack(self.places, axis=-1)
        changes = np.flatnonzero((columns[:, 1:] != columns[:, :-1]).any(axis=(0, 2)))
        return self.unit == 8 and all(int(at + 1) % FACTOR_GROUP == 0 for at in changes)

    @cached_property
    def computed(self) -> bool:
        """Whether the elements are those of an earlier product."""
        return is_computed(self.array)

    @cached_property
    def lines(self) -> dict[str, tuple[int, int]]:
        """The offset of the first element and the step along K, by name."""
        return dict(zip(self.names, zip(self.base, self.k_step, strict=True), strict=True))

    @cached_property
    def element_bits(self) -> int:
        """The bits of an element in memory: at most the distance of the two that are closest to each other; 0 if there
        are no two.
        """
        gaps = [int(np.diff(values).min()) for g in self.places if len(values := np.unique(g[self.filled])) > 1]
        return self.unpacked or self.unit * min(gaps, default=0)

    @cached_property
    def has_neighbours(self) -> bool:
        """Whether elements that follow each other along K, or in the next row, are next to each other in memory."""
        steps = (int(step) for g in self.places for step in (g[0, 1] - g[0, 0], g[1, 0] - g[0, 0]))
        return any(abs(step) * self.unit == self.element_bits for step in steps)

    @cached_property
    def repeated_k(self) -> bool:
        """Whether a position along K occurs twice."""
        columns = np.stack([g[0] for g in self.places])
        return bool(_count_columns(columns) < columns.shape[1])

    @cached_property
    def base(self) -> tuple[int, ...]:
        """The offset of the first element."""
        return tuple(int(g[0, 0]) for g in self.places)

    @cached_property
    def k_step(self) -> tuple[int, ...]:
        """The offset from the first element to the next along K."""
        return tuple(int(g[0, 1] - g[0, 0]) for g in self.places)

    @cached_property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """The offset from the first row to every other."""
        return _keep_rows(tuple(tuple((g[:, 0] - g[0, 0]).tolist()) for g in self.places))

    def is_same_rows(self, other: FragmentOrigin) -> bool:
        """Return whether another fragment is some whole fragments further along K."""
        if not self.has_terms_of(other) or self.base == other.base:
            return False
        width = self.places[0].shape[1]
        step = [width * n for n in self.k_step]
        difference = [b - a for a, b in zip(self.base, other.base, strict=True)]
        count = next((b // a for a, b in zip(step, difference, strict=True) if a), 0)
        return 0 < abs(count) <= 16 and all(b == count * a for a, b in zip(step, difference, strict=True))

    def follows_along_k(self, difference: Sequence[int]) -> bool:
        """Return whether an offset leads along K."""
        step = self.k_step
        return all(
            a * y == b * x for a, x in zip(step, difference, strict=True) for b, y in zip(step, difference, strict=True)
        )

    def has_terms_of(self, other: FragmentOrigin) -> bool:
        """Return whether offsets of both are in one array and of the same open names, so that they can be compared."""
        return self.names == other.names and self.array == other.array

    def count_k(self, later: FragmentOrigin) -> int | None:
        """Return by how many elements along K another fragment starts later; None if it is elsewhere."""
        if not self.has_terms_of(later) or self.k_step != later.k_step:
            return None
        difference = tuple(b - a for a, b in zip(self.base, later.base, strict=True))
        counts = {b / a for a, b in zip(self.k_step, difference, strict=True) if a}
        count = counts.pop() if len(counts) == 1 else 0.5
        along = all(b == count * a for a, b in zip(self.k_step, difference, strict=True))
        return int(count) if along and count == int(count) else None

    def has_rows_within(self, count: int) -> bool:
        """Return whether other rows begin between its first element and the element `count` positions later along K."""
        for row in zip(*self.rows, strict=True):
            ratio = find_common_value(b / a if a else None for a, b in zip(self.k_step, row, strict=True) if a or b)
            if ratio is not None and 0 < abs(ratio) < abs(count):
                return True
        return False

    def find_misplaced(self) -> NDArray[np.bool_]:
        """Find the elements that are not where the most common steps from row to row and along K put them."""
        wrong = np.zeros(self.places[0].shape, np.bool_)
        for g in self.places:
            rows = g[0, 0] + _find_usual(np.diff(g, axis=0)) * np.arange(g.shape[0])[:, None]
            wrong |= g != rows + _find_usual(np.diff(g, axis=1)) * np.arange(g.shape[1])[None]
        return wrong & self.filled


@lru_cache(maxsize=1 << 10)
def _keep_rows(rows: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Return rows as one object, which is quickly compared."""
    return rows


def _fix_sign(order: tuple[int, ...]) -> tuple[int, ...]:
    first = next((n for n in order if n), 1)
    return tuple(-n for n in order) if first < 0 else order


def _is_separable(grid: Ints) -> bool:
    """Return whether every element is the sum of a row term and a column term."""
    steps = grid[1:] - grid[:-1]
    return bool((steps == steps[:, :1]).all())


def _count_columns(values: Ints) -> int:
    """Return how many different columns there are."""
    return len(set(map(tuple, values.T.tolist())))


def _find_usual(steps: Ints) -> int:
    values, counts = np.unique(steps, return_counts=True)
    return int(values[counts.argmax()]) if len(values) else 0


@dataclass(frozen=True, slots=True, eq=False)
class ArrivedOperand:
    """An operand of one mma: its registers, and its origin in each warp; None if unknown."""

    name: str
    instruction: Instruction
    registers: tuple[RegisterUse, ...]
    warps: tuple[FragmentOrigin, ...] | None

    @property
    def unpacked(self) -> bool:
        """Whether threads make the elements of narrower ones in global memory."""
        bits = self.instruction.operand(self.name).container_bits
        return any(0 < warp.element_bits < bits and not warp.computed for warp in self.warps or ())

    @property
    def loads(self) -> tuple[MatrixLoad, ...]:
        """The ldmatrix that filled it, each once; empty if another load filled a register."""
        found = [register.load for register in self.registers]
        known = [load for load in found if load is not None]
        return tuple({id(load): load for load in known}.values()) if len(known) == len(found) else ()


def find_wrong_element(arrived: ArrivedOperand) -> tuple[int, int]:
    """Return (register, byte in it) of the element that most often comes from a wrong place."""
    operand = arrived.instruction.operand(arrived.name)
    i, k = list_coordinates(operand)
    wrong = sum(warp.find_misplaced()[i, k].astype(np.int64) for warp in arrived.warps or ())
    elements = np.asarray(wrong).reshape(len(i), operand.registers, -1).sum(axis=0)
    register = int(elements.sum(axis=1).argmax())
    return register, int(elements[register].argmax()) * max(operand.container_bits // 8, 1)


@lru_cache(maxsize=256)
def find_mma(opcode: str) -> Instruction | None:
    """Return the dense product of warps of an opcode; None for any other."""
    instruction = catalog.find_instruction(opcode)
    if instruction is None:
        return None
    family = instruction.family
    plain = family.multiplies and not family.sparsity and family.scope is WARP
    if not plain or any(not _fills_bytes(instruction.operand(name)) for name in "ab"):
        return None
    return instruction


def count_packed(operand: Operand) -> int:
    """Return how many elements along K a byte of an operand holds; 1 for elements of a byte and more."""
    return max(8 // operand.container_bits, 1)


@lru_cache(maxsize=64)
def list_coordinates(operand: Operand) -> tuple[Ints, Ints]:
    """Return (rows of A or columns of B, K) of the elements that each lane holds; if packed, of the first of each byte,
    with K in bytes.
    """
    i, k = _list_elements(operand)
    packed = count_packed(operand)
    return i[:, ::packed], k[:, ::packed] // packed


def _list_elements(operand: Operand) -> tuple[Ints, Ints]:
    """Return (rows of A or columns of B, K) of every element that each lane holds."""
    row, col = (np.asarray(operand.coords[axis], np.int64) for axis in ("row", "col"))
    return (row, col) if operand.dims[0] != "k" else (col, row)


def _fills_bytes(operand: Operand) -> bool:
    """Return whether an operand's elements are within one register each; if packed, consecutive along K in bytes."""
    i, k = _list_elements(operand)
    rows, units = (np.repeat(part, count_packed(operand), axis=1) for part in list_coordinates(operand))
    first = units * count_packed(operand)
    order = np.arange(k.shape[1]) % count_packed(operand)
    alone = operand.container_bits <= 32 and i.size == (i.max() + 1) * (k.max() + 1)
    return bool(alone and np.array_equal(rows, i) and np.array_equal(first + order, k))


def locate_operand(run: KernelRunner, use: MmaUse, instruction: Instruction, name: str) -> ArrivedOperand:
    """Return the origin of an operand of an mma; the same one for products that take the same registers."""
    registers = use.a if name == "a" else use.b
    key = (name, use.opcode, use.active.tobytes(), *(id(register.data) for register in registers))
    if key not in run.origins:
        data = [register.data for register in registers if register.data is not None]
        operand = instruction.operand(name)
        known = len(data) == len(registers) == operand.registers
        run.origins[key] = locate_warps(run, data, operand, use) if known else None
    return ArrivedOperand(name, instruction, registers, run.origins[key])


def locate_warps(
    run: KernelRunner, data: Sequence[DataBytes], operand: Operand, use: MmaUse
) -> tuple[FragmentOrigin, ...] | None:
    """Return the origin of an operand's elements in each warp that multiplies; None if a byte's is not known.

    Of elements that are computed from several loads, it is the only one that is not of scales or zero points.
    """
    fragment = join_data(list(data))
    size = max(operand.container_bits // 8, 1)
    first = DataBytes(fragment.record[:, ::size], fragment.thread[:, ::size], fragment.byte[:, ::size])
    choices = list_choices(run, replace_results(run, first, _locate_sides))
    found = [_locate_elements(run, choice, operand, use) for choice in choices]
    if len(found) > 1:
        found = [warps for warps in found if warps is None or not all(warp.is_factor for warp in warps)]
    return found[0] if len(found) == 1 else None


def _locate_elements(
    run: KernelRunner, first: DataBytes, operand: Operand, use: MmaUse
) -> tuple[FragmentOrigin, ...] | None:
    """Return the origin of elements, of which the first bytes are given, in each warp; None if one is not known."""
    if _is_open(_leave_zeros(run, first.record)[use.active]):
        return None
    offsets = dict(list_offsets(run.records, first, run.threads))
    grids = [_arrange_elements(operand, grid) for grid in offsets.values()]
    records = _arrange_elements(operand, first.record)
    located = []
    for warp in np.flatnonzero(use.active.reshape(-1, 32).all(axis=1)).tolist():
        loads = [run.records[n] for n in set(records[warp].ravel().tolist()) - {EMPTY, ZEROED}]
        array = _find_array(loads)
        if array is None or array in run.indices:
            return None
        places, filled = tuple(grid[warp] for grid in grids), records[warp] != EMPTY
        unit, unpacked = (loads[0].unit, loads[0].unpacked) if loads else (8, 0)
        zeros = _find_zeros(records[warp])
        located.append(FragmentOrigin(array, tuple(offsets), places, filled, unit, unpacked, zeros))
    return tuple(located) or None


def _find_array(loads: Sequence[LoadRecord]) -> str | None:
    """Return the array of all loads, "" if they have several; None if what they load is not comparable."""
    array, units = find_common_value(load.array for load in loads) or "", {load.unit for load in loads}
    alone = any(load.parts or load.unit != 8 or is_computed(load.array) for load in loads)
    mixed = len(units) > 1 or any(load.parts for load in loads)
    return None if mixed or (alone and not array) else array


def _locate_sides(run: KernelRunner, use: MmaUse) -> tuple[Instruction, list[Side]] | None:
    """Return the rows of A and the columns of B of a product; None if they are not known."""
    instruction, sides = find_mma(use.opcode), list[Side]()
    if instruction is None:
        return None
    for name in "ab":
        warps = locate_operand(run, use, instruction, name).warps
        arrays = {warp.array for warp in warps or ()}
        if not warps or len(arrays) > 1 or not all(warp.separable and not warp.repeats_rows for warp in warps):
            return None  # of one row for all threads, or two times the same rows
        grids = tuple(np.stack([warp.places[n][:, 0] for warp in warps]) for n in range(len(warps[0].names)))
        sides.append(Side(arrays.pop(), warps[0].names, grids))
    return instruction, sides


def _arrange_elements(operand: Operand, values: Ints) -> Ints:
    """Return values of the elements that every thread holds, [threads, elements], as [warps, rows of A or columns of
    B, K].
    """
    i, k = list_coordinates(operand)
    grid = np.zeros((len(values) // 32, int(i.max()) + 1, int(k.max()) + 1), np.int64)
    grid[:, i, k] = values.reshape(-1, *i.shape)
    return grid


def _leave_zeros(run: KernelRunner, record: Ints) -> Ints:
    """Return records without those of zeros, which only a run with known sizes can tell from padding."""
    return record if run.sizes is None else np.where(record == ZEROED, EMPTY, record)


def _find_zeros(record: Ints) -> NDArray[np.bool_] | None:
    zeros = record == ZEROED
    return zeros if zeros.any() else None


def _is_open(record: Ints) -> bool:
    """Return whether the origin of a byte is not known, or is a product."""
    return bool(((record == OPEN) | (record == ZEROED) | (record < 0)).any())


def reload_operand(
    run: KernelRunner, use: MmaUse, operand: ArrivedOperand, toggle: bool, exchange: bool
) -> tuple[FragmentOrigin, ...] | None:
    """Return what would arrive if its ldmatrix had .trans, or matrices 1 and 2 exchanged."""
    data = []
    for register in operand.registers:
        if register.load is None:
            return None
        number = {1: 2, 2: 1}.get(register.number, register.number) if exchange else register.number
        if number >= (4 if ".x4" in register.load.opcode else 2 if ".x2" in register.load.opcode else 1):
            return None
        data.append(gather_register(register.load.rows, number, (".trans" in register.load.opcode) != toggle))
    return locate_warps(run, data, operand.instruction.operand(operand.name), use)


def locate_descriptor(run: KernelRunner, use: DescriptorUse) -> FragmentOrigin | None:
    """Return the origin of the elements that a descriptor reads; None if a byte's is not known."""
    size = use.element_bytes
    first = DataBytes(use.data.record[:, ::size], use.data.thread[:, ::size], use.data.byte[:, ::size])
    if _is_open(_leave_zeros(run, first.record)):
        return None
    offsets = dict(list_offsets(run.records, first, run.threads))
    loads = set(np.unique(first.record).tolist()) - {EMPTY, ZEROED}
    array = find_common_value(run.records[n].array for n in loads) or ""
    filled, zeros = first.record != EMPTY, _find_zeros(first.record)
    return FragmentOrigin(array, tuple(offsets), tuple(offsets.values()), filled, zeros=zeros)
