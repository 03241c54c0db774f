"""Stores to shared memory that conflict: of two threads in the same bytes, over unread bytes, or not aligned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.reader.threads.memory.shared_memory import SHARED_BYTES
from lanescope.reader.threads.memory.shared_order import SharedOrder
from lanescope.reader.threads.memory.storage import DataBytes, Ints, spread_coefficient

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

Span = tuple[int, int]
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
    it, that nothing has read. first: where each lane stores.
    """
    new = tuple(part[lanes, 0] for part in (data.record, data.thread, data.byte))
    if not (new[0] < 0).any():
        return np.zeros(0, np.int64)
    old = tuple(part[first] for part in (run.shared.record, run.shared.thread, run.shared.byte))
    over = order.is_fresh(first) & (old[0] == new[0]) & ((old[1] != new[1]) | (old[2] != new[2]))
    ranks = np.lexsort((new[0], first))
    again = (np.diff(first[ranks]) == 0) & (np.diff(new[0][ranks]) == 0)
    lost: Ints = np.concatenate([first[over & (new[0] < 0)], first[ranks][1:][again & (new[0][ranks][1:] < 0)]])
    return lost


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
