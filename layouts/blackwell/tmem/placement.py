"""Operands and accesses at addresses of tensor memory, and what is wrong with them.

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
from lanescope.ptx.table.tmem import COLUMNS, LANES, LEAST_ALLOCATION, QUARTER


@dataclass(frozen=True, slots=True)
class PlacedOperand:
    """An operand at an address. name: its name in the picture."""

    name: str
    layout: TmemOperandLayout
    lane: int
    column: int

    @property
    def mask(self) -> Mask:
        """The lanes and columns it takes: bool [lanes][columns]; for interleaved halves the one its lane selects."""
        out = np.zeros((LANES, COLUMNS), bool)
        wide = slice(self.column, self.column + self.layout.columns)
        rows = np.ones(LANES, bool)
        if "half" in self.layout.axes:
            rows = self.layout.coords["half"][:, 0] == (self.lane % QUARTER >= 16)
        out[rows, wide] = True
        return out


@dataclass(frozen=True, slots=True)
class PlacementFault:
    """One error of a placement: ptxas's name of the check, the operand, and the reason."""

    code: str
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Allocation:
    """Allocated columns, from `first` on."""

    columns: int = COLUMNS
    first: int = 0


def find_allocation_faults(given: Allocation) -> list[PlacementFault]:
    """Return what tcgen05.alloc refuses: sizes must be powers of two from 32 to 512, inside the memory."""
    columns = given.columns
    out = []
    if columns & (columns - 1) or not LEAST_ALLOCATION <= columns <= COLUMNS:
        says = f"tcgen05.alloc takes a power of two from {LEAST_ALLOCATION} to {COLUMNS} columns, not {columns}."
        out.append(PlacementFault("allocation_granularity_invalid", "alloc", says))
    if given.first + columns > COLUMNS:
        says = f"Columns {given.first} to {given.first + columns - 1} do not lie in the {COLUMNS} there are."
        out.append(PlacementFault("out_of_physical_bounds", "alloc", says))
    return out


def find_placement_faults(
    given: Allocation, placed: list[PlacedOperand], mma_of: dict[str, TmemMma]
) -> list[PlacementFault]:
    """Return what is wrong with operands in an allocation: bounds, alignment of lanes, overlaps, in that order."""
    out = find_allocation_faults(given)
    for one in placed:
        last = one.column + one.layout.columns - 1
        out += _find_bound_faults(one.name, one.column, last, given)
        aligned = mma_of[one.name].place.aligned
        if one.lane % QUARTER not in aligned or (one.lane >= QUARTER):
            lanes = join_words([str(lane) for lane in aligned], "or")
            says = f"{one.name} begins at lane {one.lane}; layout {one.layout.letter} begins at lane {lanes}."
            out.append(PlacementFault("invalid_datapath_alignment", one.name, says))
    out += _find_alignment_faults(placed, mma_of)
    for n, one in enumerate(placed):
        for other in placed[n + 1 :]:
            both = one.mask & other.mask
            if both.any():
                columns = np.flatnonzero(both.any(axis=0))
                says = f"{one.name} and {other.name} share columns {columns[0]} to {columns[-1]}."
                out.append(PlacementFault("operands_overlap", other.name, says))
    return out


def find_idesc_faults(given: IdescWord, mma: TmemMma) -> list[PlacementFault]:
    """Return where an MMA's instruction descriptor contradicts its PTX text and placement: sparsity, M and N."""
    out = []
    if given.sparse != mma.sparse:
        said = "sparse" if given.sparse else "dense"
        says = f"Bit 2 of {given} says {said}; the MMA has{'' if mma.sparse else ' no'} .sp."
        out.append(PlacementFault("sparse_mismatch_between_idesc_mod", "idesc", says))
    for name, told, meant in (("M", given.m, mma.m), ("N", given.n, mma.n)):
        if told != meant:
            out.append(
                PlacementFault(
                    "idesc_size", "idesc", f"{given} says {name} {told}; the operands are placed for {meant}."
                )
            )
    return out


def _find_alignment_faults(placed: list[PlacedOperand], mma_of: dict[str, TmemMma]) -> list[PlacementFault]:
    """Return operands of one MMA that begin at different lanes in layouts C and F (PTX ISA 9.1, 9.7.16.10.8.5)."""
    out = []
    for n, one in enumerate(placed):
        split = [
            other for other in placed[:n] if mma_of[other.name] is mma_of[one.name] and "half" in other.layout.axes
        ]
        if "half" in one.layout.axes and split and split[0].lane != one.lane:
            says = f"{one.name} begins at lane {one.lane}, {split[0].name} of the same MMA at lane {split[0].lane}."
            out.append(PlacementFault("invalid_datapath_alignment", one.name, says))
    return out


def _find_bound_faults(name: str, first: int, last: int, given: Allocation) -> list[PlacementFault]:
    if last >= COLUMNS:
        says = f"{name} reaches column {last}; the last is {COLUMNS - 1}."
        return [PlacementFault("out_of_physical_bounds", name, says)]
    if first < given.first or last >= given.first + given.columns:
        says = (
            f"{name} takes columns {first} to {last}; {given.first} to {given.first + given.columns - 1} are allocated."
        )
        return [PlacementFault("unallocated_columns_access", name, says)]
    return []


def find_access_faults(
    found: TensorAccess, lane: int, column: int, warp: int, given: Allocation
) -> list[PlacementFault]:
    """Return what is wrong with an access at an address: bounds, the quarter that the warp owns, the lane's
    alignment.
    """
    out = _find_bound_faults(found.ptx, column, column + found.columns - 1, given)
    quarter = lane // QUARTER
    if lane >= LANES:
        return [
            *out,
            PlacementFault("out_of_physical_bounds", found.ptx, f"Lane {lane} is past the last, {LANES - 1}."),
        ]
    if found.by_warp and warp % 4 != quarter:
        says = (
            f"Warp {warp} reaches lanes {warp % 4 * QUARTER} to {warp % 4 * QUARTER + QUARTER - 1}; the address has"
            f" lane {lane}, which warp {quarter} of the warpgroup owns."
        )
        out.append(PlacementFault("current_warp_owner_invalid", found.ptx, says))
    allowed = tuple(range(0, QUARTER, found.tall)) if found.by_warp else (0,)
    inside = lane % QUARTER
    if found.by_warp or found.verb == "shift":
        if inside not in allowed:
            says = (
                f"Lane {lane} is {inside} past a quarter's first;"
                f" {join_words([str(n) for n in allowed], 'or')} is legal."
            )
            out.append(PlacementFault("invalid_datapath_alignment", found.ptx, says))
    elif lane and not found.of_quarters:
        says = f"{found.ptx} copies from lane 0 on; the address has lane {lane}."
        out.append(PlacementFault("invalid_datapath_alignment", found.ptx, says))
    return out
