"""The elements of D that threads store to shared memory on their way to global memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from lanescope.ptx.threads import WARP, WARPGROUP
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent
from lanescope.reader.threads.memory.shared_memory import SHARED_BYTES
from lanescope.reader.threads.memory.storage import DataBytes, Ints, Mask, Span


class StagedBytes:
    """What each warpgroup has stored where several store at once, one after the other on the hardware.

    The run executes a statement for all warpgroups together, so that only the last one's bytes would be left.
    """

    def __init__(self) -> None:
        # the stores of elements of each record of D, with the bytes of its registers that each stores
        self.sites: dict[int, dict[Span, set[int]]] = defaultdict(dict)
        self.step = 0
        self.latest: Ints | None = None
        self.own: dict[int, tuple[Ints, Ints, Ints, Ints]] = {}

    def note_store(self, places: Ints, data: DataBytes, mask: Mask, site: Span) -> None:
        """Note a store of the running threads."""
        for record in set(data.record[mask, 0].tolist()):
            of_record = data.byte[mask][data.record[mask] == record]
            self.sites[int(record)].setdefault(site, set()).update(np.unique(of_record).tolist())
        groups = np.flatnonzero(mask) // WARPGROUP
        every = places[mask][:, None] + np.arange(data.size)
        if every.size and (every.min() < 0 or every.max() >= SHARED_BYTES):
            return
        parts = {int(g): every[groups == g].ravel() for g in np.unique(groups)}
        if self.latest is None:
            if len(parts) < 2 or not _overlap(list(parts.values())):
                return
            self.latest = np.zeros(SHARED_BYTES, np.int64)
        self.step += 1
        self.latest[every] = self.step
        for group, bytes_ in parts.items():
            if group not in self.own:
                counts = [np.zeros(SHARED_BYTES, np.int64) for _ in range(4)]
                self.own[group] = counts[0], counts[1], counts[2], counts[3]
            step, *arrays = self.own[group]
            step[bytes_] = self.step
            chosen = np.flatnonzero(mask)[groups == group]
            for array, values in zip(arrays, (data.record, data.thread, data.byte), strict=True):
                array[bytes_] = values[chosen].ravel()

    def replace_bytes(self, data: DataBytes, places: Ints, threads: Sequence[int] | Ints) -> DataBytes:
        """Return loaded bytes [threads, bytes] with what the warpgroup of each thread has stored itself."""
        if self.latest is None:
            return data
        parts = [data.record.copy(), data.thread.copy(), data.byte.copy()]
        legal = np.where((places >= 0) & (places < SHARED_BYTES), places, 0)
        groups = np.asarray(threads) // WARPGROUP
        for group, (step, *arrays) in self.own.items():
            fresh = (step[legal] > 0) & (step[legal] == self.latest[legal]) & (groups == group)[:, None]
            for part, array in zip(parts, arrays, strict=True):
                part[fresh] = array[legal][fresh]
        return DataBytes(*parts)


class StagedOrder:
    """Which thread has stored the bytes of D in shared memory, and whether barriers and fences order the reads.

    fences: how many there were; unordered: the first reads before any barrier, and copies before any fence; mixed:
    whether a warpgroup has stored over what another one has, before any barrier; replaced: the first store over bytes
    that another thread has stored, and nothing has read, without any barrier between.
    """

    def __init__(self) -> None:
        self.writer = np.zeros(SHARED_BYTES, np.int64)
        self.event = np.full(SHARED_BYTES, -1, np.int64)  # how many there were when it was stored
        self.fence = np.zeros(SHARED_BYTES, np.int64)
        self.fences = 0
        self.unordered: dict[str, Span] = {}
        self.mixed = False
        self.unread = np.zeros(SHARED_BYTES, np.bool_)
        self.element = np.zeros(SHARED_BYTES, np.int64)
        self.replaced: Span | None = None

    def note_store(self, events: int, places: Ints, data: DataBytes, mask: Mask, site: Span) -> None:
        every = places[mask][:, None] + np.arange(data.size)
        if not (data.record[mask] < 0).any() or every.min() < 0 or every.max() >= SHARED_BYTES:
            return
        writers = np.flatnonzero(mask)[:, None]
        foreign = self.writer[every] // WARPGROUP != writers // WARPGROUP
        self.mixed |= bool((foreign & (self.event[every] == events)).any())
        element = (data.record[mask] << 32) + (data.thread[mask] << 8) + data.byte[mask]
        other = self.unread[every] & (self.writer[every] != writers) & (self.event[every] == events)
        other &= self.element[every] != element
        of_d = (data.record[mask] < 0).all(axis=1)
        pairs = np.unique(np.stack([every[of_d].ravel(), element[of_d].ravel()], axis=1), axis=0)
        if self.replaced is None and (other[of_d].any() or len(np.unique(pairs[:, 0])) < len(pairs)):
            self.replaced = site
        self.unread[every], self.element[every] = True, element
        self.writer[every] = writers
        self.event[every], self.fence[every] = events, self.fences

    def check_read(
        self, events: Sequence[BarrierEvent], places: Ints, readers: Ints, site: Span, copied: bool = False
    ) -> None:
        """Check a read of bytes [readers, bytes] of D: by threads, or by a copy that one of them issues."""
        if places.min() < 0 or places.max() >= SHARED_BYTES:
            return
        self.unread[places] = False
        apart = self.writer[places] // WARP != readers[:, None] // WARP
        since = self.event[places]
        ordered = np.zeros(readers.max() + 1, np.int64)
        for n in range(max(int(since.min()), 0), len(events)):
            if events[n].kind in ("block", "wait", "await", "join"):
                ordered[events[n].mask[: len(ordered)]] = n + 1
        if (apart & (ordered[readers][:, None] <= since)).any():
            self.unordered.setdefault("bulk_barrier_missing" if copied else "barrier_missing", site)
        if copied and (self.fence[places] == self.fences).any():
            self.unordered.setdefault("proxy_fence_missing", site)


def _overlap(parts: Sequence[Ints]) -> bool:
    return len(np.unique(np.concatenate(parts))) < sum(len(np.unique(part)) for part in parts)
