"""Shared memory of a block: the origin of each byte."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from lanescope.reader.threads.memory.storage import OPEN, DataBytes, Ints, LoadRecord, Mask, list_offsets

SHARED_BYTES = 1 << 19


ALIGNMENT = 1 << 10  # of every array


TOP = 1 << 18  # the end of the addresses that a descriptor has bits for


BASE = 1 << 10  # where shared memory begins: aligned as the largest swizzle needs it


@dataclass(frozen=True, slots=True, eq=False)
class BranchStores:
    """The bytes that some threads store in a branch which others do not run: all, and those that are stored again."""

    threads: Mask
    stored: Mask = field(default_factory=lambda: np.zeros(SHARED_BYTES, np.bool_))
    again: Mask = field(default_factory=lambda: np.zeros(SHARED_BYTES, np.bool_))

    def note(self, places: Ints) -> None:
        """Note that the branch stores some bytes."""
        self.again[places] |= self.stored[places]
        self.stored[places] = True

    def find_foreign(self, places: Ints, mask: Mask | None) -> tuple[bool, bool]:
        """Return whether other threads read bytes that the branch stores, and that it stores again. places: of the
        bytes, [threads, bytes].
        """
        read = places[~self.threads if mask is None else mask & ~self.threads]
        return bool(self.stored[read].any()), bool(self.again[read].any())


@dataclass(slots=True, eq=False)
class SharedMemory:
    """Shared memory of the block: the origin of each byte.

    stored_again: bytes that one place of the text has stored twice or more; incomplete: why stores to it may be
    missing; copied: the bulk copy that writes it; boxes: where bulk copies begin, and expected: the most bytes that an
    mbarrier expects of them, 0 if it is not known; outside: the writers that have stored between all arrays and dynamic
    shared memory, where nothing is; top: where the arrays above dynamic shared memory begin; base: what addresses have
    before the offset in the block's own memory, in a cluster; branch: that which some threads run now, before others
    run theirs; unmet: such branches with stores since all threads met; is_apart: whether other threads read what these
    store.
    """

    record: Ints = field(default_factory=lambda: np.zeros(SHARED_BYTES, np.int64))
    thread: Ints = field(default_factory=lambda: np.zeros(SHARED_BYTES, np.int64))
    byte: Ints = field(default_factory=lambda: np.zeros(SHARED_BYTES, np.int64))
    writer: Ints = field(default_factory=lambda: np.zeros(SHARED_BYTES, np.int64))
    was_read: Mask = field(default_factory=lambda: np.zeros(SHARED_BYTES, np.bool_))
    stored_again: Mask = field(default_factory=lambda: np.zeros(SHARED_BYTES, np.bool_))
    next: int = BASE
    dynamic: int = 1 << 17  # the address of dynamic shared memory
    placed: bool = False  # whether the text has declared it
    top: int = TOP
    incomplete: str = ""
    copied: str = ""
    boxes: set[int] = field(default_factory=set)
    expected: int = 0
    outside: set[int] = field(default_factory=set)
    changed: list[tuple[Ints, DataBytes]] | None = None  # bytes that stores have changed, and what they were before
    past: int = 0  # the end of the highest bytes that are certainly stored
    base: int = 0
    branch: BranchStores | None = None
    unmet: list[BranchStores] = field(default_factory=list)
    is_apart: bool = False

    @property
    def broken(self) -> str:
        """Why its contents may be incomplete, "" if they are not."""
        return self.incomplete or self.copied

    def run_branch(self, threads: Mask, execute: Callable[[], Mask]) -> Mask:
        """Run a branch of some threads, whose stores others may see in another order; return the threads that leave."""
        if self.branch is not None:  # a branch of a branch
            return execute()
        before = next((one for one in self.unmet if np.array_equal(one.threads, threads)), None)
        self.branch = before or BranchStores(threads.copy())
        left = execute()
        self.unmet += [self.branch] if before is None and self.branch.stored.any() else []
        self.branch = None
        return left

    def may_be_copied(self, places: Ints) -> bool:
        """Return whether a bulk copy may have written one of some bytes."""
        at = np.array(sorted(self.boxes), np.int64)[:, None]
        return bool(((places.ravel() >= at) & (places.ravel() < at + (self.expected or SHARED_BYTES))).any())

    def allocate_array(self, size: int, stated: int = 0) -> int:
        """Return the address of a new array: below dynamic shared memory, or far above it if that is placed. stated:
        the alignment that its declaration states.
        """
        alignment = max(stated, ALIGNMENT)
        at = -(-self.next // alignment) * alignment
        if self.placed and at + size > self.dynamic:
            self.top = (self.top - size) // alignment * alignment
            return self.base + self.top
        self.next = at + size
        return at

    def note_stored(self, places: Ints, size: int) -> None:
        """Note where bytes of the first array, or of dynamic shared memory, are stored."""
        self.past = max(self.past, int(places[places < self.top].max(initial=-1)) + size)

    def place_dynamic(self, stated: int = 0) -> int:
        """Return the address of dynamic shared memory: behind the arrays that are declared before it. stated: the
        alignment that its declaration states.
        """
        if not self.placed:
            alignment = max(stated, ALIGNMENT)
            self.dynamic, self.placed = -(-max(self.dynamic, self.next) // alignment) * alignment, True
        return self.dynamic

    def localize(self, places: Ints) -> Ints:
        """Return addresses without that of the block."""
        return places - self.base if self.base else places

    def store_bytes(self, address: Ints, data: DataBytes, mask: Mask, writer: int) -> None:
        """Store bytes at an address of every thread; store nothing if an address is out of range."""
        places = address[:, None] + np.arange(data.size)
        places = places[mask]
        if places.size and (places.min() < 0 or places.max() >= SHARED_BYTES):
            self.incomplete = "a store is out of range"
            return
        if ((places >= self.next - self.base) & (places < self.dynamic - self.base)).any():
            self.outside.add(writer)
        if self.changed is not None:
            other = (self.record[places] != data.record[mask]) | (self.thread[places] != data.thread[mask])
            self.changed.append((places[other], self._get_bytes(places[other])))
        self.record[places], self.thread[places], self.byte[places] = (
            data.record[mask],
            data.thread[mask],
            data.byte[mask],
        )
        if self.branch is not None:
            self.branch.note(places)
        self.stored_again[places] |= self.writer[places] == writer
        self.writer[places] = writer

    def _get_bytes(self, places: Ints) -> DataBytes:
        """Return bytes, one after the other."""
        return DataBytes(self.record[places][None], self.thread[places][None], self.byte[places][None])

    def forget_changes(self, records: list[LoadRecord], threads: int, changed: list[tuple[Ints, DataBytes]]) -> None:
        """Make bytes unknown of which stores that may not have happened have changed the origin."""
        for places, before in changed:
            same = _have_same_origin(records, before, self._get_bytes(places), threads)[0]
            self.record[places] = np.where(same, before.record[0], OPEN)
            self.thread[places], self.byte[places] = before.thread[0], before.byte[0]

    def load_bytes(self, address: Ints, size: int, mask: Mask | None = None) -> DataBytes:
        """Return the bytes at an address of every thread."""
        least, most = int(address.min()), int(address.max())
        inside = least >= 0 and most <= SHARED_BYTES - size
        for one in self.unmet if inside else ():
            read, again = one.find_foreign(address[:, None] + np.arange(size), mask)
            self.is_apart |= read
            self.incomplete = self.incomplete or "warps of another branch fill it again" * again
        if least == most and 0 <= least <= SHARED_BYTES - size:  # all threads read the same bytes
            here = slice(least, least + size)
            self.was_read[here] |= mask is None or bool(mask.any())
            shape = len(address), size
            parts = (np.broadcast_to(of[here].copy(), shape) for of in (self.record, self.thread, self.byte))
            return DataBytes(*parts)
        places = address[:, None] + np.arange(size)
        legal = True if inside else (places >= 0) & (places < SHARED_BYTES)
        places = places if inside else np.where(legal, places, 0)
        self.was_read[places if mask is None else places[mask]] = True
        record, thread, byte = (of.take(places) for of in (self.record, self.thread, self.byte))
        return DataBytes(record if inside else np.where(legal, record, OPEN), thread, byte)


def _have_same_origin(records: list[LoadRecord], left: DataBytes, right: DataBytes, threads: int) -> Mask:
    """Return which bytes are those of the same elements, which several places of the code may load or compute."""
    same: Mask = (left.record > OPEN) & (right.record > OPEN)
    if not same.any():
        return same
    offsets = [dict(list_offsets(records, data, threads)) for data in (left, right)]
    for name in offsets[0] | offsets[1]:
        same &= offsets[0].get(name, 0) == offsets[1].get(name, 0)
    for one, other in {*zip(left.record[same].tolist(), right.record[same].tolist(), strict=True)}:
        mine = same & (left.record == one) & (right.record == other)
        parts, others = records[one].parts, records[other].parts
        if one != other and (records[one].array != records[other].array or len(parts) != len(others)):
            same[mine] = False
            continue
        for pair in zip(parts, others, strict=True) if one != other else ():
            one_part, other_part = (
                part.select_threads(side.thread[mine]) for part, side in zip(pair, (left, right), strict=True)
            )
            same[mine] &= _have_same_origin(records, one_part, other_part, threads).all(axis=1)
    return same
