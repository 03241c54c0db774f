"""Compute the row addresses that lanes pass to the ldmatrix of an mma operand, to compare formulas with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.instruction import WARP, Family, Instruction
from lanescope.reader.formula.lane_places import Values
from lanescope.shared import chain


@dataclass(frozen=True, slots=True, eq=False)
class AddressMap:
    """The address that each lane passes to an operand's load, as (row, column) of a row's first element.

    tiles: how many neighbouring tiles of the operand the load fills. others: whether a compared formula gives lanes
    whose addresses the load does not use other addresses.
    """

    load: Instruction
    mma: Instruction
    operand: str
    major: str
    rows: NDArray[np.int64]
    cols: NDArray[np.int64]
    tiles: int = 1
    others: bool = False


def is_constant(difference: NDArray[np.int64]) -> bool:
    """Return whether a difference is non-negative and the same for all threads and values, in each trial."""
    first = difference[:, :1, :1]
    return bool((difference == first).all() and (first >= 0).all())


@lru_cache(maxsize=1)
def list_address_maps() -> tuple[AddressMap, ...]:
    """Return the row addresses of single loads that fill an operand of mma, or two neighbouring B, from K- and MN-major
    storage; of K-major B, which is stored N × K, also with N as rows.
    """
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
    pairs = [pair for address_map in found.values() if (pair := _pair_tiles(address_map)) is not None]
    return tuple(each for address_map in (*found.values(), *pairs) for each in _list_as_stored(address_map))


def _pair_tiles(address_map: AddressMap) -> AddressMap | None:
    """Return the addresses of an x4 that fills two tiles of B side by side; None unless x2 fills one."""
    if address_map.operand != "b" or ".x2" not in address_map.load.ptx:
        return None
    load = catalog.find(address_map.load.ptx.replace(".x2", ".x4"))
    rows, cols = address_map.rows, address_map.cols
    right = np.concatenate([cols, cols + address_map.mma.sizes["n"]])
    return replace(address_map, load=load, rows=np.concatenate([rows, rows]), cols=right, tiles=2)


def _list_as_stored(address_map: AddressMap) -> list[AddressMap]:
    """List an address map, and that of the stored matrix if its rows are the operand's columns."""
    if address_map.operand != "b" or address_map.major != "K":
        return [address_map]
    return [replace(address_map, rows=address_map.cols, cols=address_map.rows), address_map]


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


def find_addresses(rows: Values, cols: Values) -> tuple[AddressMap, ...]:
    """Return the loads whose row addresses a formula gives, those of the most lanes first."""
    found = [address_map for address_map in list_address_maps() if _matches_addresses(rows, cols, address_map)]
    threads = min(WARP.threads, max(rows.shape[1], cols.shape[1]))
    axes = [np.broadcast_to(axis[:, : WARP.threads], (len(axis), threads, 1)) for axis in (rows, cols)]
    named = [
        replace(address_map, others=any((axis[:, count:] != axis[:, :-count]).any() for axis in axes))
        for address_map in found
        for count in [len(address_map.rows)]
    ]
    return tuple(sorted(named, key=lambda address_map: -len(address_map.rows)))


def _matches_addresses(rows: Values, cols: Values, address_map: AddressMap) -> bool:
    """Return whether a formula gives a load's row addresses for all lanes whose addresses are used."""
    lanes = len(address_map.rows)
    if rows.shape[1] < lanes:
        return False
    mine = (np.broadcast_to(axis, (axis.shape[0], rows.shape[1], 1))[:, :lanes, 0] for axis in (rows, cols))
    pairs = zip(mine, (address_map.rows, address_map.cols), strict=True)
    return all(is_constant((axis - expected)[:, :, None]) for axis, expected in pairs)
