"""Deliveries by exhaustive search over whole arrays of elements, and layouts of public kernels in their own loops.

Nothing here knows maps of bits: a state is the element at every place, a move permutes the axes of that array.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import count, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.int64]
PACKED = (0, 2, 4, 6, 1, 3, 5, 7)  # AWQ's and Marlin's order of the nibbles of a word


def list_marlin_weights() -> list[int]:
    """The 1,024 entries of Marlin's permutation: the weight at each nibble, counted in tiles of 16 × 16, k first."""
    entries = []
    for lane in range(32):
        column, row = lane // 4, 2 * (lane % 4)
        one_tile = [16 * k + column + 8 * half for half in range(2) for k in (row, row + 1, row + 8, row + 9)]
        for tile in range(4):
            entries += [one_tile[place] + 256 * tile for place in PACKED]
    return entries


def list_marlin_scales() -> tuple[list[int], list[int]]:
    """Marlin's order of scales: of groups, and of whole columns."""
    groups = [i + 8 * j for i in range(8) for j in range(8)]
    columns = [2 * i + j for i in range(4) for j in (0, 1, 8, 9, 16, 17, 24, 25)]
    return groups, columns


# exhaustive search --------------------------------------------------------------------------------------------------


def search_arrays(
    goal: Array, address: Array, width: int, moves: Sequence[str], loads: Sequence[str], limit: int
) -> int | None:
    """The least cost of a delivery, None if there is none within the limit.

    goal: the element at every place [register, lane, place]; address: of each element, in elements.
    """
    best: dict[bytes, int] = {}
    number, heap = count(), list[tuple[int, int, Any]]()
    heappush(heap, (0, next(number), goal))
    while heap:
        cost, _, held = heappop(heap)
        if cost > limit:
            return None
        if held is None:
            return cost
        for load in loads:
            count_loads = _count_loads(held, address, width, load)
            if count_loads:
                heappush(heap, (cost + count_loads, next(number), None))
        for price, after in _list_moves(held, moves):
            key = b"".join(sorted(register.tobytes() for register in after))
            if cost + price < best.get(key, 1 << 30):
                best[key] = cost + price
                heappush(heap, (cost + price, next(number), after))
    return None


def _list_moves(held: Array, moves: Sequence[str]) -> Iterator[tuple[int, Array]]:
    registers, _, places = held.shape
    bits = registers.bit_length() - 1, 5, places.bit_length() - 1
    cube = held.reshape((2,) * sum(bits))
    axes = list(range(sum(bits)))
    of_registers, lanes, inside = axes[: bits[0]], axes[bits[0] : bits[0] + 5], axes[bits[0] + 5 :]
    units = inside[:2]  # the highest two number bytes or halves

    def moved(order: Sequence[int]) -> Array:
        return np.ascontiguousarray(cube.transpose(order)).reshape(held.shape)

    def swapped(a: int, b: int) -> Array:
        return np.ascontiguousarray(cube.swapaxes(a, b)).reshape(held.shape)

    if "prmt" in moves:
        for register in of_registers or [-1]:
            group = [*units, *([register] if register >= 0 else [])]
            for order in permutations(group):
                place = dict(zip(group, order, strict=True))
                yield registers, moved([place.get(axis, axis) for axis in axes])
    if "shfl" in moves:
        for order in permutations(lanes):
            place = dict(zip(lanes, order, strict=True))
            yield registers, moved([place.get(axis, axis) for axis in axes])
        for lane in lanes:
            for register in of_registers:
                yield 2 * registers, swapped(lane, register)
            for unit in units if "prmt" in moves else ():
                yield 2 * registers, swapped(lane, unit)
    if "movmatrix" in moves and inside:
        matrix = held.reshape(registers, 8, 8, -1).swapaxes(1, 2)  # [register, row, column of 16 bits, part]
        yield registers, np.ascontiguousarray(matrix).reshape(held.shape)


def _count_loads(held: Array, address: Array, width: int, load: str) -> int:
    """How many of a load fill all registers; 0 if it cannot."""
    at = address[held]
    registers, _, places = at.shape
    per = 128 // width
    steps = np.arange(places)
    if load.startswith("ld."):
        words = int(load[3:]) // 32
        run = places * words
        firsts = at[:, :, 0]
        if (at != firsts[:, :, None] + steps).any() or words > registers:
            return 0
        for order in permutations(range(registers)) if words > 1 else [tuple(range(registers))]:
            groups = firsts[list(order)].reshape(-1, words, 32)
            begins = groups[:, :1]
            if (begins % run == 0).all() and (groups == begins + places * np.arange(words)[None, :, None]).all():
                return registers // words
        return 0
    rows = at.reshape(registers, 8, 8, -1)  # [register, row, column of 16 bits, part]
    if load == "ldmatrix.trans":
        rows = rows.swapaxes(1, 2)
    rows = rows.reshape(registers, 8, per)
    begins = rows[:, :, :1]
    fits = (begins % per == 0).all() and (rows == begins + np.arange(per)).all()
    return -(-registers // 4) if fits else 0
