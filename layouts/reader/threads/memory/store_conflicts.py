"""Stores to shared memory that conflict: of two threads in the same bytes, over unread bytes, or not aligned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.ptx.threads import WARP
from lanescope.reader.threads.memory.shared_memory import SHARED_BYTES
from lanescope.reader.threads.memory.shared_order import SharedOrder
from lanescope.reader.threads.memory.storage import DataBytes, Ints, Span, spread_coefficient

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_MOST_CLASHES = 8
_MOST_LOST = 64  # bytes of one store that are compared with what was there


def note_misaligned(run: KernelRunner, places: Ints, size: int, site: Span) -> None:
    """Record a store of 4 to 16 bytes whose addresses are not multiples of it apart, wherever the array begins."""
    mine = places[run.mask]
    if size in (4, 8, 16) and mine.size and ((mine - mine[0]) % size).any():
        run.misaligned.setdefault(site, size)


def note_clash(run: KernelRunner, places: Ints, data: DataBytes, site: Span) -> None:
    """Record two threads that store different elements in the same bytes."""
    mine = places[run.mask]
    if len(mine) < 2 or len(run.clashes) >= _MOST_CLASHES or run.assumed or run.folded:
        return
    order = np.argsort(mine, kind="stable")
    near = np.flatnonzero(np.diff(mine[order]) < data.size)
    if not len(near):
        return
    lanes = np.flatnonzero(run.mask)[order]
    first, second = int(lanes[near[0]]), int(lanes[near[0] + 1])
    away = int(places[second] - places[first])
    known = all(n > 1 and _is_loaded(run, int(n)) for n in (data.record[first, away], data.record[second, 0]))
    if known and _find_origin(run, data, first, away) != _find_origin(run, data, second, 0):
        run.clashes.append((site, first, second, int(places[second])))


def find_lost_bytes(run: KernelRunner, order: SharedOrder, places: Ints, data: DataBytes) -> Ints:
    """Return the bytes where a store puts elements of global memory over others that another thread has stored without
    a barrier since, so that which one is lost is not certain, or elements of D over others of the same product.
    """
    lanes = np.flatnonzero(run.mask)
    first = places[lanes]
    if run.assumed or not lanes.size or not data.size or first.min() < 0 or first.max() >= SHARED_BYTES:
        return np.zeros(0, np.int64)
    shared, new = run.shared, data.record[lanes, 0]
    unread = order.find_unread(first, lanes) & (shared.record[first] > 1) & (new > 1)
    before = DataBytes(*(part[first, None] for part in (shared.record, shared.thread, shared.byte)))
    lost = [
        int(first[n])
        for n in np.flatnonzero(unread)[:_MOST_LOST].tolist()
        if all(_is_loaded(run, int(record)) for record in (before.record[n, 0], new[n]))
        and _find_origin(run, before, n, 0) != _find_origin(run, data, int(lanes[n]), 0)
    ]
    return np.concatenate([np.array(lost, np.int64), _find_lost_results(run, order, first, lanes, data)])


def _find_lost_results(run: KernelRunner, order: SharedOrder, first: Ints, lanes: Ints, data: DataBytes) -> Ints:
    """Return the places where a store puts elements of D over others of the same product, of the same store or before
    it, that nothing has read, unless warps that compute the same store it. first: where each lane stores.
    """
    new = tuple(part[lanes, 0] for part in (data.record, data.thread, data.byte))
    if not (new[0] < 0).any():
        return np.zeros(0, np.int64)
    old = tuple(part[first] for part in (run.shared.record, run.shared.thread, run.shared.byte))
    over = order.is_fresh(first) & (old[0] == new[0]) & ((old[1] != new[1]) | (old[2] != new[2])) & (new[0] < 0)
    ranks = np.lexsort((new[0], first))
    again = (np.diff(first[ranks]) == 0) & (np.diff(new[0][ranks]) == 0) & (new[0][ranks][1:] < 0)
    sides = (part[ranks] for part in new)
    one, other = zip(*((part[:-1][again], part[1:][again]) for part in sides), strict=True)
    places = np.concatenate([first[over], first[ranks][1:][again]])
    before = tuple(np.concatenate([part[over], more]) for part, more in zip(old, one, strict=True))
    after = tuple(np.concatenate([part[over], more]) for part, more in zip(new, other, strict=True))
    repeated = (before[1] % WARP == after[1] % WARP) & (before[2] == after[2]) & (before[1] != after[1])
    pairs = np.stack([after[0], before[1] // WARP, after[1] // WARP], axis=1)
    alike = {pair for pair in {*map(tuple, pairs[repeated].tolist())} if _is_same_product(run, *pair)}
    kept = [not same or tuple(pair) not in alike for same, pair in zip(repeated.tolist(), pairs.tolist(), strict=True)]
    lost: Ints = places[np.array(kept, bool)]
    return lost


def _is_same_product(run: KernelRunner, record: int, one: int, other: int) -> bool:
    """Return whether two warps multiply the same elements in a product."""
    use = run.results[-record - 1].use
    registers = () if use is None else (*use.a, *use.b)
    return bool(registers) and all(
        register.data is not None and _is_same_data(run, register.data, one, other) for register in registers
    )


def _is_same_data(run: KernelRunner, data: DataBytes, one: int, other: int) -> bool:
    """Return whether two warps hold the same bytes."""
    warps = [slice(warp * WARP, (warp + 1) * WARP) for warp in (one, other)]
    records, threads, places = ([part[warp] for warp in warps] for part in (data.record, data.thread, data.byte))
    if (records[0] != records[1]).any():
        return False
    for number in np.unique(records[0]).tolist():
        chosen = records[0] == number
        lanes, at = ([part[chosen] for part in parts] for parts in (threads, places))
        if number > 1 and not _is_same_load(run, number, lanes, at):
            return False
        if number < 0 and ((lanes[0] != lanes[1]) | (at[0] != at[1])).any():
            return False
    return True


def _is_same_load(run: KernelRunner, number: int, lanes: list[Ints], at: list[Ints]) -> bool:
    """Return whether two lists of bytes of a load are the same elements."""
    if not _is_loaded(run, number):
        return bool((lanes[0] == lanes[1]).all() and (at[0] == at[1]).all())
    away = at[1] - at[0]
    terms = dict(run.records[number].offset.terms)
    for name, factor in {(): 0, **terms}.items():
        spread = spread_coefficient(factor, run.threads)
        moved = spread[lanes[1]] - spread[lanes[0]]
        if (moved + (away if name == () else 0)).any():
            return False
    return True


def _is_loaded(run: KernelRunner, record: int) -> bool:
    """Return whether a record is of one load, and not of computed elements."""
    return not run.records[record].parts and run.records[record].array not in run.indices


def _find_origin(run: KernelRunner, data: DataBytes, thread: int, byte: int) -> tuple[Any, ...]:
    """Return the origin of a byte as comparable values."""
    record = run.records[int(data.record[thread, byte])]
    lane, at = int(data.thread[thread, byte]), int(data.byte[thread, byte])
    terms = {n: int(spread_coefficient(c, run.threads)[lane]) for n, c in record.offset.terms.items()}
    terms[()] = terms.get((), 0) + at
    return record.array, tuple(sorted((n, c) for n, c in terms.items() if c))
