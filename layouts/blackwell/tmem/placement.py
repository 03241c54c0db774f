"""Check operands and accesses at addresses of tensor memory.

PTX ISA 9.1, 9.7.16.1. The names of the faults are those of the access checks that ptxas compiles in with
-g-tmem-access-check.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.tmem.access import Mask, TensorAccess
from lanescope.blackwell.tmem.operands import TmemMma, TmemOperandLayout
from lanescope.inputs import join_words
from lanescope.ptx.table.tmem import COLUMNS, EXCLUSIVE_COLUMNS, LANES, LEAST_ALLOCATION, QUARTER
from lanescope.ptx.targets import strip_suffix


@dataclass(frozen=True, slots=True)
class PlacedOperand:
    """An operand at an address of tensor memory. name: its label."""

    name: str
    layout: TmemOperandLayout
    lane: int
    column: int

    @property
    def mask(self) -> Mask:
        """The cells it takes: bool [lanes][columns]; of interleaved halves, the one that its lane selects."""
        mask = np.zeros((LANES, COLUMNS), bool)
        wide = slice(self.column, self.column + self.layout.columns)
        rows = np.ones(LANES, bool)
        if "half" in self.layout.axes:
            rows = self.layout.coords["half"][:, 0] == (self.lane % QUARTER >= 16)
        mask[rows, wide] = True
        return mask


@dataclass(frozen=True, slots=True)
class PlacementFault:
    """An error of a placement: ptxas's name of the check, the operand, and a sentence."""

    code: str
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Allocation:
    """Allocated columns, from `first` on."""

    columns: int = COLUMNS
    first: int = 0


def find_allocation_faults(allocation: Allocation) -> list[PlacementFault]:
    """Return why tcgen05.alloc rejects an allocation: it takes a power of two from 32 to 512 columns."""
    columns = allocation.columns
    faults = []
    if columns & (columns - 1) or not LEAST_ALLOCATION <= columns <= COLUMNS:
        message = f"tcgen05.alloc requires a power of two from {LEAST_ALLOCATION} to {COLUMNS} columns, not {columns}."
        faults.append(PlacementFault("allocation_granularity_invalid", "alloc", message))
    if allocation.first + columns > COLUMNS:
        last = allocation.first + columns - 1
        message = f"Columns {allocation.first} to {last} exceed the {COLUMNS} columns of tensor memory."
        faults.append(PlacementFault("out_of_physical_bounds", "alloc", message))
    return faults


def count_exclusive_columns(target: str) -> int:
    """Return the maximum number of columns of tcgen05.alloc.exclusive on a target; "" for any.

    >>> count_exclusive_columns("sm_107a"), count_exclusive_columns("sm_100f"), count_exclusive_columns("")
    (576, 512, 576)
    """
    most = EXCLUSIVE_COLUMNS.get(strip_suffix(target), COLUMNS)
    return most if target else max(COLUMNS, *EXCLUSIVE_COLUMNS.values())


def explain_exclusive_allocation(columns: int, target: str = "") -> str:
    """Return why tcgen05.alloc.exclusive rejects a number of columns, "" if it does not. PTX ISA 9.4, 9.7.18.7.1."""
    most = count_exclusive_columns(target)
    if columns % LEAST_ALLOCATION == 0 and LEAST_ALLOCATION <= columns <= most:
        return ""
    where = f" on {target}" if target else ""
    return (
        f"tcgen05.alloc.exclusive requires a multiple of {LEAST_ALLOCATION} up to {most} columns{where}, not {columns}."
    )


def find_placement_faults(
    allocation: Allocation, placed: list[PlacedOperand], mma_of: dict[str, TmemMma]
) -> list[PlacementFault]:
    """Return the faults of operands in an allocation: bounds, lane alignment and overlaps, in that order."""
    faults = find_allocation_faults(allocation)
    for operand in placed:
        last = operand.column + operand.layout.columns - 1
        faults += _find_bound_faults(operand.name, operand.column, last, allocation)
        aligned = mma_of[operand.name].place.aligned
        if operand.lane % QUARTER not in aligned or (operand.lane >= QUARTER):
            lanes = join_words([str(lane) for lane in aligned], "or")
            message = (
                f"{operand.name} begins at lane {operand.lane}; layout {operand.layout.letter} begins at lane {lanes}."
            )
            faults.append(PlacementFault("invalid_datapath_alignment", operand.name, message))
    faults += _find_alignment_faults(placed, mma_of)
    for n, operand in enumerate(placed):
        for other in placed[n + 1 :]:
            shared = operand.mask & other.mask
            if shared.any():
                columns = np.flatnonzero(shared.any(axis=0))
                message = f"{operand.name} and {other.name} share columns {columns[0]} to {columns[-1]}."
                faults.append(PlacementFault("operands_overlap", other.name, message))
    return faults


def find_idesc_faults(word: IdescWord, mma: TmemMma) -> list[PlacementFault]:
    """Return contradictions between an instruction descriptor and the MMA: sparsity, M and N."""
    faults = []
    if word.sparse != mma.sparse:
        density = "sparse" if word.sparse else "dense"
        message = f"Bit 2 of {word} means {density}; the MMA has{'' if mma.sparse else ' no'} .sp."
        faults.append(PlacementFault("sparse_mismatch_between_idesc_mod", "idesc", message))
    for name, size, expected in (("M", word.m, mma.m), ("N", word.n, mma.n)):
        if size != expected:
            faults.append(
                PlacementFault(
                    "idesc_size", "idesc", f"{word} has {name} = {size}; the operands are placed for {expected}."
                )
            )
    return faults


def _find_alignment_faults(placed: list[PlacedOperand], mma_of: dict[str, TmemMma]) -> list[PlacementFault]:
    """Return faults for operands of an MMA at different lanes in layouts C and F. PTX ISA 9.1, 9.7.16.10.8.5."""
    faults = []
    for n, operand in enumerate(placed):
        earlier = [
            other for other in placed[:n] if mma_of[other.name] is mma_of[operand.name] and "half" in other.layout.axes
        ]
        if "half" in operand.layout.axes and earlier and earlier[0].lane != operand.lane:
            first = earlier[0]
            message = (
                f"{operand.name} begins at lane {operand.lane}, {first.name} of the same MMA at lane {first.lane}."
            )
            faults.append(PlacementFault("invalid_datapath_alignment", operand.name, message))
    return faults


def _find_bound_faults(name: str, first: int, last: int, allocation: Allocation) -> list[PlacementFault]:
    if last >= COLUMNS:
        message = f"{name} reaches column {last}; the last is {COLUMNS - 1}."
        return [PlacementFault("out_of_physical_bounds", name, message)]
    if first < allocation.first or last >= allocation.first + allocation.columns:
        past = allocation.first + allocation.columns
        message = f"{name} occupies columns {first} to {last}; {allocation.first} to {past - 1} are allocated."
        return [PlacementFault("unallocated_columns_access", name, message)]
    return []


def find_access_faults(
    access: TensorAccess, lane: int, column: int, warp: int, allocation: Allocation
) -> list[PlacementFault]:
    """Return the faults of an access at an address: bounds, the warp's quarter, lane alignment."""
    faults = _find_bound_faults(access.ptx, column, column + access.columns - 1, allocation)
    quarter = lane // QUARTER
    if lane >= LANES:
        return [
            *faults,
            PlacementFault("out_of_physical_bounds", access.ptx, f"Lane {lane} is past the last, {LANES - 1}."),
        ]
    if access.by_warp and warp % 4 != quarter:
        message = (
            f"Warp {warp} reaches lanes {warp % 4 * QUARTER} to {warp % 4 * QUARTER + QUARTER - 1}; the address has"
            f" lane {lane}, which warp {quarter} of the warpgroup owns."
        )
        faults.append(PlacementFault("current_warp_owner_invalid", access.ptx, message))
    allowed = tuple(range(0, QUARTER, access.tall)) if access.by_warp else (0,)
    inside = lane % QUARTER
    if access.by_warp or access.verb == "shift":
        if inside not in allowed:
            message = (
                f"Lane {lane} is {inside} past a quarter's first;"
                f" {join_words([str(n) for n in allowed], 'or')} is legal."
            )
            faults.append(PlacementFault("invalid_datapath_alignment", access.ptx, message))
    elif lane and not access.of_quarters:
        message = f"{access.ptx} copies from lane 0 on; the address has lane {lane}."
        faults.append(PlacementFault("invalid_datapath_alignment", access.ptx, message))
    return faults
