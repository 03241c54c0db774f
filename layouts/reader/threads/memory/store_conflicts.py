"""Stores to shared memory that conflict: of two threads in the same bytes, over unread bytes, or not aligned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.reader.threads.memory.storage import SHARED_BYTES, DataBytes, Ints, spread_coefficient

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

Span = tuple[int, int]
_MOST_CLASHES = 8


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
        run.clashes.append((site, first, second))


def report_second_store(run: KernelRunner, places: Ints, data: DataBytes, site: Span) -> None:
    """Report a store of elements of global memory over others that nothing has read."""
    lanes = np.flatnonzero(run.mask)
    first = places[lanes]
    if (
        run.order is None
        or run.assumed
        or not lanes.size
        or not data.size
        or first.min() < 0
        or first.max() >= SHARED_BYTES
    ):
        return
    old = run.shared.record[first]
    unread = run.order.find_unread(first) & (old > 1) & (data.record[lanes, 0] > 1)
    for lane, place in zip(lanes[unread][:1], first[unread][:1], strict=True):
        shared, cell = run.shared, slice(int(place), int(place) + 1)
        before = DataBytes(*(part[None, cell] for part in (shared.record, shared.thread, shared.byte)))
        loaded = all(_is_loaded(run, int(n)) for n in (before.record[0, 0], data.record[lane, 0]))
        if loaded and _find_origin(run, before, 0, 0) != _find_origin(run, data, int(lane), 0):
            run.order.report_second_store(site)


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
