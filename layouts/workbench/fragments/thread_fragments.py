"""Trace the fragment that arrives at an mma: the origin of each element as a function of row and column.

Elements of A come from `a(m) + p(k)` of one array, those of B from `b(n) + q(k)`, and p and q count the same K:
otherwise the result is not a matrix product, in any order of rows and columns. Another order along K is right if both
operands have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx import catalog
from lanescope.ptx.instruction import WARP, Instruction, Operand
from lanescope.ptx.threads import WARP as LANES
from lanescope.reader.threads.instructions.matrix_loads import gather_register
from lanescope.reader.threads.language.bit_words import list_choices
from lanescope.reader.threads.memory.records import DescriptorUse, MatrixLoad, MmaUse, RegisterUse
from lanescope.reader.threads.memory.storage import EMPTY, OPEN, ZEROED, DataBytes, LoadRecord, join_data, list_offsets
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.fragments.computed_operands import Side, is_computed, replace_results
from lanescope.workbench.fragments.fragment_origin import FragmentOrigin, Ints
from lanescope.workbench.text.known_values import find_common_value


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


def count_wrong_elements(arrived: ArrivedOperand) -> Ints:
    """Return how often each element comes from a wrong place: [registers, elements]."""
    operand = arrived.instruction.operand(arrived.name)
    i, k = list_coordinates(operand)
    wrong = sum(warp.find_misplaced()[i, k].astype(np.int64) for warp in arrived.warps or ())
    elements: Ints = np.asarray(wrong).reshape(len(i), operand.registers, -1).sum(axis=0)
    return elements


def find_wrong_element(arrived: ArrivedOperand) -> tuple[int, int]:
    """Return (register, byte in it) of the element that most often comes from a wrong place."""
    operand, elements = arrived.instruction.operand(arrived.name), count_wrong_elements(arrived)
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


def find_register_product(opcode: str) -> Instruction | None:
    """Return the dense product of warpgroups of an opcode whose A may be in registers; None for any other."""
    instruction = catalog.find_instruction(opcode)
    family = instruction.family if instruction is not None else None
    return instruction if family is not None and "a" in family.fragments and not family.sparsity else None


def count_packed(operand: Operand) -> int:
    """Return how many elements along K a byte of an operand holds; 1 for elements of a byte and more."""
    return max(8 // operand.container_bits, 1)


@lru_cache(maxsize=64)
def list_coordinates(operand: Operand) -> tuple[Ints, Ints]:
    """Return (rows of A or columns of B, K) of the elements that each lane of a warp holds; if packed, of the first of
    each byte, with K in bytes. Each warp of a warpgroup has the 16 rows of A that are its own.
    """
    i, k = (part[:LANES] for part in _list_elements(operand))
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
    run: KernelRunner, use: MmaUse, operand: ArrivedOperand, toggle: bool, exchanged: tuple[int, ...] = ()
) -> tuple[FragmentOrigin, ...] | None:
    """Return what would arrive if its ldmatrix had .trans, or two matrices exchanged."""
    data = []
    for register in operand.registers:
        if register.load is None:
            return None
        number = sum(exchanged) - register.number if register.number in exchanged else register.number
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
