"""Simulate a main loop: global memory → TiledCopy → shared memory → ldmatrix or plain loads → registers of a TiledMMA.

The result says which elements arrive, and the wavefronts of each warp in each K iteration. The store places element
(row, k) by the storage. A load is executed on those bytes: each lane's address is that of the first element of its
access, and the atom's layouts (CuTe's SrcLayout and DstLayout) give the lane and value that receive the bytes from
there on. Wavefronts: lanescope.shared.banks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lanescope.cute import algebra
from lanescope.errors import LayoutError
from lanescope.ptx.threads import WARP
from lanescope.shared import freeing
from lanescope.shared.freeing import SwizzleSolution
from lanescope.shared.storage import Storage
from lanescope.tiles import memory
from lanescope.tiles.copy import TiledCopy, tiled_copy
from lanescope.tiles.memory import SectorCount, SharedCopySide
from lanescope.tiles.mma import TiledMMA, TileOperand

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MissedElement:
    """The first element that does not arrive.

    `value` of `thread` should be (row, k); reads: the element that it gets instead, None for bytes that were not
    stored.
    """

    thread: int
    value: int
    row: int
    k: int
    reads: tuple[int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadStep:
    """The loads of one warp in one K iteration: accesses, wavefronts, minimum wavefronts, wrong elements."""

    warp: int
    step: int
    loads: int
    wavefronts: int
    ideal: int
    wrong: int
    first: MissedElement | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LoopFeed:
    """The path of one operand to the MMA.

    store: None if only the load is tested; load: None if a descriptor reads shared memory; steps: of every warp;
    uncovered: elements of the tile that the store does not write; overlaps: elements at the address of another one;
    solution: the swizzle that frees store and load; fault: why the load faults, "" if it does not.
    """

    operand: Literal["a", "b"]
    store: SharedCopySide | None
    sectors: SectorCount | None
    load: TiledCopy | None
    access: str
    steps: tuple[LoadStep, ...]
    uncovered: int
    overlaps: int
    solution: SwizzleSolution | None
    fault: str = ""

    @property
    def wrong(self) -> int:
        return sum(step.wrong for step in self.steps)

    @property
    def first(self) -> LoadStep | None:
        """The first step with a wrong element."""
        return next((step for step in sorted(self.steps, key=lambda s: (s.step, s.warp)) if step.wrong), None)

    @property
    def wavefronts(self) -> int:
        return sum(step.wavefronts for step in self.steps)

    @property
    def ideal(self) -> int:
        return sum(step.ideal for step in self.steps)

    @property
    def good(self) -> bool:
        """Whether every element arrives."""
        return not (self.wrong or self.uncovered or self.overlaps)


def feed(
    mma: TiledMMA,
    operand: str,
    where: Storage,
    load: str,
    *,
    store: TiledCopy | None = None,
    layout: Any = None,
    read: Storage | None = None,
) -> LoopFeed:
    """Simulate one operand (a or b) of a tile through a storage of (row, k), where rows are m or n.

    load: the copy atom that fills the registers; layout: of global memory, for its sectors; read: the storage from
    which the load computes addresses, if it differs from the store's. LayoutError names what does not fit.
    """
    mma.require_registers("tiled_mma")
    op = mma.operand(operand)
    letter = _read_letter(op)
    size = (op.row_count, op.col_count) if op.name == "a" else (op.col_count, op.row_count)
    if store is not None and store.tile != size:
        raise LayoutError(
            "bad_tile",
            f"The copy's tile is {store.tile[0]}×{store.tile[1]}; operand {op.name} is {size[0]}×{size[1]}.",
            "Give the operand's size: rows × k.",
            "tile",
        )
    memory.check_covers(where, size)
    stored, sectors, uncovered = _describe_store(store, where, layout, size)
    rows, cols = np.indices(size, dtype=np.int64)
    address = np.asarray(where.address(rows, cols), dtype=np.int64).reshape(-1)
    overlaps = int(address.size - np.unique(address).size)
    if op.shared:
        return LoopFeed(
            operand=letter,
            store=stored,
            sectors=sectors,
            load=None,
            access="",
            steps=(),
            uncovered=uncovered,
            overlaps=overlaps,
            solution=_find_common_swizzle([stored], where),
        )
    loads = tiled_copy(load, tiled_mma=mma, operand=op.name, tile=size, element_bits=op.element_bits)
    if loads.atom.instruction and not loads.atom.loads:
        raise LayoutError(
            "bad_atom",
            f"'{loads.atom.name}' stores: it fills no registers.",
            "ldmatrix, or universal for plain loads.",
            "load",
        )
    steps, access, at, fault = _load_steps(op, loads, read or where, address, size)
    solution = _find_common_swizzle([stored, (access, at)], where) if read is None and not fault else None
    return LoopFeed(
        operand=letter,
        store=stored,
        sectors=sectors,
        load=loads,
        access=access,
        steps=steps,
        uncovered=uncovered,
        overlaps=overlaps,
        solution=solution,
        fault=fault,
    )


def _read_letter(op: TileOperand) -> Literal["a", "b"]:
    """Return the letter of an operand that a main loop loads; LayoutError for C and for packed elements."""
    if op.name == "c":
        raise LayoutError("bad_operand", "A main loop does not load C.", "a or b.", "operand")
    if op.element_bits < 8:
        raise LayoutError(
            "bad_atom",
            f"Operand {op.name} has elements of {op.element_bits} bits.",
            "Elements must be complete bytes: pack narrower ones into bytes first.",
            "operand",
        )
    return "a" if op.name == "a" else "b"


def _describe_store(
    store: TiledCopy | None, where: Storage, layout: Any, size: tuple[int, int]
) -> tuple[SharedCopySide | None, SectorCount | None, int]:
    """Return (the store's shared side, its sectors of global memory, the number of elements it does not write)."""
    if store is None:
        return None, None, 0
    is_written = np.zeros(size, dtype=np.bool_)
    is_written[store.destination.rows, store.destination.cols] = True
    uncovered = int(is_written.size - np.count_nonzero(is_written))
    stored = memory.make_shared_side(store, where, "destination")
    sectors = None if layout is None else memory.count_global_sectors(store, layout, "source")
    return stored, sectors, uncovered


def _find_common_swizzle(
    sides: Sequence[SharedCopySide | tuple[str, Longs] | None], where: Storage
) -> SwizzleSolution | None:
    """Return the smallest swizzle that frees store and load; None without conflicts, or if the storage has one."""
    uses = []
    for side in sides:
        if side is None:
            continue
        if isinstance(side, SharedCopySide):
            each = max(1, side.vector_bits // 8)
            step = next(
                (n for n in (16, 8, 4, 2, 1) if side.address.shape[1] % n == 0 and _is_single_access(side, n, each)), 1
            )
            uses += memory.collect_uses(side.access, side.address[:, ::step])
        else:
            uses += memory.collect_uses(*side)
    unswizzled = [use for use, _ in uses]
    if where.mode.bits or not any(use.compute_use_cost(freeing.PLAIN).ways > 1 for use in unswizzled):
        return None
    worst = sorted(unswizzled, key=lambda use: -use.compute_use_cost(freeing.PLAIN).ways)[:8]
    kinds = {use.access.name: use for use in unswizzled}
    return freeing.find_freeing_swizzle(list(dict.fromkeys([*worst, *kinds.values()])))


def _is_single_access(side: SharedCopySide, count: int, each: int) -> bool:
    """Return whether `count` values of every thread are in one access of `each` bytes."""
    grouped = side.address.reshape(side.address.shape[0], -1, count)
    return bool((grouped[:, :, -1] - grouped[:, :, 0] < each).all() and count > 1)


def _load_steps(
    op: TileOperand, loads: TiledCopy, where: Storage, address: Longs, size: tuple[int, int]
) -> tuple[tuple[LoadStep, ...], str, Longs, str]:
    """Return (steps, access name, addresses of every lane and access, why it faults or "")."""
    atom, side = loads.atom, loads.source
    width, wide = op.element_bits // 8, atom.bits // 8
    at = np.asarray(where.address(side.rows.astype(np.int64), side.cols.astype(np.int64)), dtype=np.int64)
    first, fault = at[:, :: side.access], ""
    misplaced = first % wide != 0
    if misplaced.any():
        thread, access = (int(n) for n in np.argwhere(misplaced)[0])
        fault = (
            f"Thread {thread} reads {wide} bytes at byte {int(first[thread, access])}, which is not a multiple of"
            f" {wide}: the access faults."
        )
    fetched = (first[:, :, None] + width * np.arange(side.access)).reshape(at.shape)
    order = np.argsort(address, kind="stable")
    place = np.searchsorted(address[order], fetched)
    position = np.clip(place, 0, address.size - 1)
    is_stored = (address[order][position] == fetched) & ~np.repeat(misplaced, side.access, axis=1)
    elements = np.where(is_stored, order[position], -1)
    received = _map_received(loads, elements)
    destination = loads.destination
    expected = destination.rows.astype(np.int64) * size[1] + destination.cols
    wrong = received != expected
    kind = f"ldmatrix.x{atom.instruction.counts['x']}" if atom.instruction else f"ld.shared.b{atom.bits}"
    steps = _map_k_steps(op)[destination.cols]  # of every thread and value
    each = destination.access
    needed = steps.reshape(destination.threads, -1, each).min(axis=2)
    costs: dict[tuple[int | None, ...], tuple[int, int]] = {}
    load_steps = []
    for low in range(0, destination.threads, WARP):
        columns = first[low : low + WARP].T
        paid = [(0, 0) if fault else memory.compute_wavefronts(kind, column, costs) for column in columns]
        of_warp = slice(low, low + WARP)
        for step in range(int(steps.max()) + 1):
            costs_of_step = [paid[n] for n in range(first.shape[1]) if needed[low, n] == step]
            bad = wrong[of_warp] & (steps[of_warp] == step)
            load_steps.append(
                LoadStep(
                    warp=low // WARP,
                    step=step,
                    loads=len(costs_of_step),
                    wavefronts=sum(a for a, _ in costs_of_step),
                    ideal=sum(b for _, b in costs_of_step),
                    wrong=int(np.count_nonzero(bad)),
                    first=_find_first_wrong(op, destination, bad, received, low, size),
                )
            )
    return tuple(load_steps), kind, first, fault


def _map_received(loads: TiledCopy, elements: Longs) -> Longs:
    """Return the element that arrives at each (thread, value) of the destination; elements: those that the source
    reads.
    """
    bits = loads.element_bits
    source, destination = (algebra.upcast(layout, bits) for layout in (loads.atom.source, loads.atom.destination))
    lanes, per_lane = source.modes[0].size, destination.modes[0].size
    source_places = source.list_indices().reshape(-1, lanes).T  # [lane, value] → place in the atom
    destination_places = destination.list_indices().reshape(-1, per_lane).T
    sender = np.zeros((int(source_places.max()) + 1, 2), dtype=np.int64)
    for lane in range(lanes - 1, -1, -1):  # backwards: of lanes with the same address the first counts
        for value in range(source_places.shape[1]):
            sender[source_places[lane, value]] = lane, value
    threads = elements.shape[0]
    blocks = elements.reshape(threads // lanes, lanes, -1, source_places.shape[1])
    received = blocks[:, sender[destination_places, 0], :, sender[destination_places, 1]]  # [lane, value, warp, access]
    return received.transpose(2, 0, 3, 1).reshape(threads, -1)


def _map_k_steps(op: TileOperand) -> Longs:
    """Return the K iteration that needs each k: int64 [k]."""
    step = op.modes[0] * op.modes[1]
    k = op.cols if op.name == "a" else op.rows
    steps = np.zeros(int(k.max()) + 1, dtype=np.int64)
    steps[k] = np.broadcast_to(np.arange(op.values) // step % op.modes[2], k.shape)
    return steps


def _find_first_wrong(
    op: TileOperand, destination: Any, bad: NDArray[np.bool_], received: Longs, low: int, size: tuple[int, int]
) -> MissedElement | None:
    places = np.argwhere(bad)
    if not places.size:
        return None
    lane, at = (int(n) for n in places[0])
    thread = low + lane
    row, k, element = int(destination.rows[thread, at]), int(destination.cols[thread, at]), int(received[thread, at])
    rows, cols = (op.rows, op.cols) if op.name == "a" else (op.cols, op.rows)
    value = int(np.argmax((rows[thread] == row) & (cols[thread] == k)))
    return MissedElement(thread, value, row, k, divmod(element, size[1]) if element >= 0 else None)
