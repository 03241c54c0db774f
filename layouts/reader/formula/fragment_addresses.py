"""Compute the row addresses that lanes pass to the ldmatrix of an mma operand, to compare formulas with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Family, Instruction
from lanescope.reader.formula.lane_code import Values
from lanescope.shared import chain


@dataclass(frozen=True, slots=True, eq=False)
class AddressMap:
    """The address that each lane passes to an operand's load, as (row, column) of a row's first element."""

    load: Instruction
    mma: Instruction
    operand: str
    major: str
    rows: NDArray[np.int64]
    cols: NDArray[np.int64]


def is_constant(difference: NDArray[np.int64]) -> bool:
    """Return whether a difference is non-negative and the same for all threads and values, in each trial."""
    first = difference[:, :1, :1]
    return bool((difference == first).all() and (first >= 0).all())


@lru_cache(maxsize=1)
def list_address_maps() -> tuple[AddressMap, ...]:
    """Return the row addresses of single loads that fill an operand of mma, from K- and MN-major storage."""
    found: dict[tuple[Any, ...], AddressMap] = {}
    for instruction in catalog.instructions():
        if not _is_dense_product_of_a_warp(instruction.family):
            continue
        for letter in "ab":
            operand = instruction.operand(letter)
            for major in ("K", "MN") if operand.container_bits == 16 else ("K",):
                key = instruction.shape, operand.container_bits, letter, major
                if key not in found and (address_map := _find_addresses(instruction, letter, major)) is not None:
                    found[key] = address_map
    return tuple(found.values())


def _is_dense_product_of_a_warp(family: Family) -> bool:
    special = family.sparsity or family.scale_blocks or family.scope.several or family.tensor
    return family.multiplies and family.specified and not special


def _find_addresses(instruction: Instruction, letter: str, major: str) -> AddressMap | None:
    """Return the row addresses of an operand's load; None unless a single load fills it."""
    try:
        chains = chain.list_best_chains(instruction.operand(letter), major)
    except LayoutError:
        return None
    if not chains or chains[0].count != 1:
        return None
    starts = chains[0].starts[0, 0].reshape(-1, 3)
    mn, k = starts[:, 0], starts[:, 1]
    rows, cols = (mn, k) if letter == "a" else (k, mn)
    return AddressMap(chains[0].load.instruction, instruction, letter, major, rows, cols)


def matches_addresses(rows: Values, cols: Values, address_map: AddressMap) -> bool:
    """Return whether a formula gives a load's row addresses for all lanes whose addresses are used."""
    lanes = len(address_map.rows)
    if rows.shape[1] < lanes:
        return False
    mine = (np.broadcast_to(axis, (axis.shape[0], rows.shape[1], 1))[:, :lanes, 0] for axis in (rows, cols))
    pairs = zip(mine, (address_map.rows, address_map.cols), strict=True)
    return all(is_constant((axis - expected)[:, :, None]) for axis, expected in pairs)
