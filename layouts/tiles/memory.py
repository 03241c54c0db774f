"""The memory accesses of a TiledCopy: vector width, bank conflicts in shared memory, sectors of global memory.

Shared memory: addresses come from a storage, wavefronts from lanescope.shared.banks. Global memory: a
warp's access is served in sectors of 32 bytes (CUDA C++ Best Practices Guide, coalesced access to global memory).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.cute import tuples
from lanescope.cute.layout import CuteLayout
from lanescope.errors import LayoutError
from lanescope.ptx.threads import WARP
from lanescope.shared import banks, freeing
from lanescope.shared.banks import AccessUse, Cost
from lanescope.shared.freeing import SwizzleSolution
from lanescope.shared.storage import Storage
from lanescope.tiles.access_cost import TotalCost
from lanescope.tiles.copy import TiledCopy, TransferSide

Longs = NDArray[np.int64]
SECTOR_BYTES, WIDEST_BITS = 32, 128
SIDES = ("source", "destination")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SharedCopySide(TotalCost):
    """The side of a TiledCopy in shared memory.

    address: int64 [threads, values], absolute bytes; vector_bits: of one access, why: the reason it is not wider;
    costs, repeats: of each distinct access of a warp, worst first; solution: the smallest swizzle that frees all
    accesses, None if there is no conflict.
    """

    side: str
    address: Longs
    access: str
    vector_bits: int
    why: str
    costs: tuple[Cost, ...]
    repeats: tuple[int, ...]
    solution: SwizzleSolution | None


def get_default_side(copy: TiledCopy) -> str:
    """Return the side that is in shared memory: "source" for ldmatrix, else "destination"."""
    return "source" if copy.atom.loads else "destination"


def make_shared_side(copy: TiledCopy, where: Storage, side: str = "") -> SharedCopySide:
    """Return addresses and cost of the shared side for a storage of (row, column), its (mn, k)."""
    side = side or get_default_side(copy)
    if copy.atom.instruction and side != get_default_side(copy):
        raise LayoutError(
            "bad_side",
            f"{copy.atom.name} has registers as its {side}.",
            f"Its {get_default_side(copy)} is shared.",
            "shared",
        )
    check_covers(where, copy.tile)
    thread_side: TransferSide = getattr(copy, side)
    address = np.asarray(where.address(thread_side.rows.astype(np.int64), thread_side.cols.astype(np.int64)))
    bits, why = find_vector_width(address, copy.element_bits, thread_side.access)
    if copy.atom.instruction:
        name, values = _choose_matrix_access(copy, bits, why), thread_side.access
    else:
        name = f"{'ld' if side == 'source' else 'st'}.shared.b{max(8, bits)}"
        values = max(1, bits // copy.element_bits)
    uses = collect_uses(name, address[:, ::values])
    unswizzled = [use for use, _ in uses]
    costs = [use.compute_use_cost(freeing.PLAIN) for use in unswizzled]
    order = sorted(range(len(uses)), key=lambda at: (-costs[at].ways, -uses[at][1]))
    worst = [unswizzled[at] for at in order if costs[at].ways > 1][:8]
    solution = freeing.find_freeing_swizzle(worst) if worst and not where.mode.bits else None
    repeats = tuple(uses[at][1] for at in order)
    return SharedCopySide(
        side=side,
        address=address,
        access=name,
        vector_bits=max(bits, 8),
        why=why,
        costs=tuple(costs[at] for at in order),
        repeats=repeats,
        solution=solution,
    )


def check_covers(where: Storage, tile: tuple[int, int]) -> None:
    """Raise LayoutError for a storage that is smaller than a tile of (rows, k)."""
    for name, have, want in (("mn", where.mn, tile[0]), ("k", where.k, tile[1])):
        if have is not None and have < want:
            raise LayoutError(
                "bad_storage",
                f"The storage has {name} = {have}; the tile needs {want}.",
                "Give a larger one.",
                f"storage.{name}",
            )


def _choose_matrix_access(copy: TiledCopy, bits: int, why: str) -> str:
    """Return the access of ldmatrix or stmatrix; LayoutError if the rows of its matrices are not contiguous."""
    assert copy.atom.instruction
    if bits < copy.atom.bits:
        raise LayoutError(
            "bad_storage",
            f"{copy.atom.name} moves rows of {copy.atom.bits} bits; here {bits} bits are contiguous: {why}",
            "Store the rows of its matrices contiguously, 16 bytes aligned.",
            "storage",
        )
    return f"{'ld' if copy.atom.loads else 'st'}matrix.x{copy.atom.instruction.counts['x']}"


def collect_uses(name: str, address: Longs) -> list[tuple[AccessUse, int]]:
    """Return every distinct access of a warp, and the number of its occurrences.

    Accesses whose addresses differ by a multiple of 128 bytes have the same cost and count as one.
    """
    kind = banks.get_access(name)
    counts: dict[tuple[int | None, ...], int] = {}
    for first in range(0, address.shape[0], WARP):
        for column in address[first : first + WARP].T.tolist():
            key = _make_cost_key(column, kind.lanes)
            counts[key] = counts.get(key, 0) + 1
    return [(banks.make_address_use(kind, list(key)), times) for key, times in counts.items()]


def compute_wavefronts(
    name: str, column: Longs, known: dict[tuple[int | None, ...], tuple[int, int]]
) -> tuple[int, int]:
    """Return (wavefronts, minimum wavefronts) of one access of a warp; known: a cache of the results."""
    kind = banks.get_access(name)
    key = _make_cost_key(column.tolist(), kind.lanes)
    if key not in known:
        paid = banks.make_address_use(kind, list(key)).compute_use_cost(freeing.PLAIN)
        known[key] = paid.wavefronts, paid.ideal
    return known[key]


def _make_cost_key(column: list[int], lanes: int) -> tuple[int | None, ...]:
    """Return addresses relative to the 128-byte line of the lowest one; missing lanes are inactive (None)."""
    base = min(column) // 128 * 128
    offsets = tuple(at - base for at in column[:lanes])
    return (*offsets, *[None] * (lanes - len(offsets)))


def find_vector_width(address: Longs, element_bits: int, access: int) -> tuple[int, str]:
    """Return (bits of the widest access whose values are contiguous and aligned, why it is not wider).

    address: int64 [threads, values] bytes; access: values per access of the atom.
    """
    step = element_bits // 8
    if not step:
        return 8, "Elements are narrower than a byte."
    best, limit = 1, access
    for count in (2, 4, 8, 16):
        if count > limit or count * element_bits > WIDEST_BITS or address.shape[1] % count:
            break
        grouped = address.reshape(address.shape[0], -1, count)
        apart = np.argwhere(grouped != grouped[:, :, :1] + step * np.arange(count))
        if apart.size:
            thread, group, value = (int(n) for n in apart[0])
            at, before = (int(grouped[thread, group, v]) for v in (value, value - 1))
            return best * element_bits, (
                f"Thread {thread}'s value {group * count + value} is at byte {at}, not next to value"
                f" {group * count + value - 1} at {before}."
            )
        misaligned = np.argwhere(grouped[:, :, 0] % (count * step))
        if misaligned.size:
            thread, group = (int(n) for n in misaligned[0])
            return best * element_bits, (
                f"Thread {thread}'s value {group * count} is at byte {int(grouped[thread, group, 0])}, not a multiple"
                f" of {count * step}."
            )
        best = count
    if best * element_bits == WIDEST_BITS:
        return WIDEST_BITS, "128 bits are the widest access."
    return best * element_bits, f"The atom moves {access} value{'s' * (access != 1)} of {element_bits} bits at once."


@dataclass(frozen=True, slots=True)
class SectorCount:
    """The 32-byte sectors that accesses to global memory touch, and the minimum for as many bytes."""

    sectors: int
    ideal: int
    vector_bits: int
    why: str


def count_global_sectors(copy: TiledCopy, layout: CuteLayout, side: str = "") -> SectorCount:
    """Return the sectors of one side for a global layout (row, column) → element, with a base aligned to 256 bytes."""
    side = side or next(other for other in SIDES if other != get_default_side(copy))
    if layout.rank != 2 or isinstance(layout.shape, int):
        raise LayoutError("bad_layout", f"'{layout}' does not have two modes.", "Try (128,4096):(4096,1).", "global")
    for mode, want in zip(layout.modes, copy.tile, strict=True):
        if mode.size < want:
            raise LayoutError(
                "bad_layout",
                f"'{layout}' is smaller than the tile {copy.tile[0]}×{copy.tile[1]}.",
                "Give the tensor's layout.",
                "global",
            )
    thread_side: TransferSide = getattr(copy, side)
    first, second = layout.modes
    index: Any = tuples.compute_indices(thread_side.rows.astype(np.int64), first.shape, first.stride)
    index = index + tuples.compute_indices(thread_side.cols.astype(np.int64), second.shape, second.stride)
    address = index * copy.element_bits // 8
    bits, why = find_vector_width(address, copy.element_bits, thread_side.access)
    values = max(1, bits // copy.element_bits)
    size = max(1, bits // 8)
    total = ideal = 0
    for low in range(0, thread_side.threads, WARP):
        warp = address[low : low + WARP, ::values]
        for column in warp.T:
            bytes_ = np.unique(column)
            touched = np.unique(np.concatenate([bytes_ // SECTOR_BYTES, (bytes_ + size - 1) // SECTOR_BYTES]))
            total += touched.size
            ideal += -(-bytes_.size * size // SECTOR_BYTES)
    return SectorCount(int(total), int(ideal), max(bits, 8), why)
