"""Follow stores, asynchronous copies, waits, barriers and reads of shared memory in the order of a kernel's run.

A read needs what other warps stored before a barrier that all threads pass, and what cp.async copied in a group that
its thread has waited for (PTX ISA 9.1, 9.7.9.25.3 and 9.7.13). A store needs a barrier after the reads of other warps.
The first mistake ends the run: what follows it may be a consequence.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lanescope.ptx.threads import WARPGROUP
from lanescope.reader.threads.memory.shared_memory import SHARED_BYTES
from lanescope.reader.threads.memory.storage import Ints, Mask, Span

_NOBODY, _SEVERAL = 0, -1  # threads, warps and groups count from 1, as arrays of zeros take no memory
_PLAIN = 0  # group of a store that is not asynchronous


@dataclass(frozen=True, slots=True)
class OrderMistake:
    """A read or a store that is too early.

    kind: stored_twice, commit_missing, wait_missing, wait_short, barrier_missing or refill_early; span: where the
    operation has to be inserted or changed; pending: the groups that the last wait may leave; store: what may store to
    the wrong stage; copy: of commit_missing, the calls around the last copy in no group, outermost first, and the copy;
    first: whether no group was committed before.
    """

    kind: str
    span: Span
    pending: int | None = None
    store: Span | None = None
    copy: tuple[Span, ...] = ()
    first: bool = False
    waited: bool = False  # whether the span of barrier_missing is a wait, which comes before
    running: bool = False  # whether what a wgmma may still read is overwritten


@dataclass(frozen=True, slots=True, eq=False)
class SharedAccess:
    """A store or a read of `size` bytes at an address of every thread. unsure: whether it may not be executed; parts:
    by thread, the addresses of its bytes, if they do not follow each other.
    """

    address: Ints
    size: int
    mask: Mask
    site: Span
    unsure: bool
    parts: Ints | None = None

    def list_places(self, lanes: Ints) -> Ints | None:
        """Return the bytes that each lane accesses; None if one is outside of shared memory."""
        places: Ints = self.address[lanes][:, None] + np.arange(self.size)
        places = places if self.parts is None else self.parts[lanes]
        return places if places.size and places.min() >= 0 and places.max() < SHARED_BYTES else None


class OrderMistakeFound(Exception):  # noqa: N818  (a signal that ends the run)
    """The run has come to a mistake."""


@dataclass(slots=True)
class _Wait:
    """A wait that was executed: its place, the groups that may stay pending, the groups committed before it, and the
    last copy before it that was in no group.
    """

    span: Span
    count: int
    committed: Ints
    copy: tuple[Span, ...]


@dataclass(slots=True)
class _WarpgroupReads:
    """The wgmma of a warpgroup that read shared memory, counted from 1. One in no group is left to other checks.

    groups: the last one of each group that is not waited for; committed: that of all groups; done: the last one that
    its own threads know to have ended; visible: that all threads know to have; number, site: of each byte, the last one
    that reads it, and where.
    """

    issued: int = 0
    groups: list[int] = field(default_factory=list)
    committed: int = 0
    done: int = 0
    visible: int = 0
    number: Ints = field(default_factory=lambda: np.zeros(SHARED_BYTES, np.int64))
    site: Ints = field(default_factory=lambda: np.zeros(SHARED_BYTES, np.int64))

    def step(self, kind: str, left: int) -> None:
        """Commit a group, or wait until `left` groups are pending."""
        if kind == "commit":
            self.groups.append(self.issued)
            self.committed = self.issued
        elif kind == "wait":
            ended = self.groups[: max(len(self.groups) - left, 0)]
            self.groups = self.groups[len(ended) :]
            self.done = max([self.done, *ended])


class SharedOrder:
    """The state of every byte of shared memory, and of the groups of every thread."""

    def __init__(self, threads: int) -> None:
        self.writer = np.zeros(SHARED_BYTES, np.int32)  # thread of the last store, if it is certain
        self.has_writers = False  # whether any byte has one
        self.group = np.zeros(SHARED_BYTES, np.int32)
        self.stored: Ints = np.zeros(SHARED_BYTES, np.int64)  # barriers before it
        self.reader = np.zeros(SHARED_BYTES, np.int32)  # warp
        self.read: Ints = np.zeros(SHARED_BYTES, np.int64)
        self.barriers = 0
        self.passed: Ints = np.zeros(threads, np.int64)  # barriers of the whole block that each thread has come to
        self.ended: Mask = np.zeros(threads, np.bool_)  # threads that have left the kernel
        self.committed: Ints = np.zeros(threads, np.int64)
        self.done: Ints = np.zeros(threads, np.int64)  # groups that each thread has waited for
        self.visible: Ints = np.zeros(threads, np.int64)  # and that a barrier has shown to the others
        self.waited: _Wait | None = None
        self.barrier: Span | None = None  # the last one, if something was read since the last wait
        self.used = False  # whether copied bytes were read since the last wait
        self.lost = False  # whether the groups are unknown
        self.unread: Mask = np.zeros(SHARED_BYTES, np.bool_)  # stored, and not read since
        self.meetings = 1  # of warps or threads, counted from 1
        self.fresh: Ints = np.zeros(SHARED_BYTES, np.int64)  # of an unread byte: the meetings before its last store
        self.lapped = np.zeros(SHARED_BYTES, np.int64)  # 1 + the place of the copy that has overwritten an unread byte
        self.contested = np.zeros(SHARED_BYTES, np.int64)  # 1 + the place of a store over what another thread stored
        self.sites: list[Span] = []
        self.site_numbers: dict[Span, int] = {}
        self.reads = 0
        self.read_event = np.zeros(SHARED_BYTES, np.int64)  # number of the last read
        self.matrices: set[int] = set()  # reads by ldmatrix
        self.taken: set[int] = set()  # of these, those that a product has taken
        self.product = 0  # reads before the last product
        self.read_site = np.zeros(SHARED_BYTES, np.int64)
        self.loops: list[tuple[Span, int]] = []  # around what is run, outermost first, and their finished turns
        self.depth = 0  # calls around the last barrier
        self.copy: tuple[Span, ...] = ()  # the calls around the last copy that is in no group, and the copy
        self.products: dict[int, _WarpgroupReads] = {}  # by the number of the warpgroup
        self.checked = 0  # reads of what is known to be stored
        self.mistake: OrderMistake | None = None

    def _report(self, kind: str, span: Span, pending: int | None = None, store: Span | None = None) -> None:
        self.mistake = OrderMistake(kind, span, pending, store)
        raise OrderMistakeFound

    # barriers and groups

    @property
    def is_uneven(self) -> bool:
        """Whether some threads have come to fewer barriers of the block than others that have not left the kernel: a
        barrier then waits for threads that are at another one, or that never come.
        """
        return len(set(self.passed[~self.ended].tolist())) > 1

    def pass_barrier(self, span: Span, depth: int = 0, whole: Mask | None = None) -> None:
        """Let all threads see what each has stored and waited for. depth: the calls around it; whole: the threads that
        come to it, if it is a barrier of the whole block.
        """
        self.passed = self.passed if whole is None else self.passed + whole
        self.depth = depth
        self.visible = self.done.copy()
        for reads in self.products.values():
            reads.visible = reads.done
        self.barriers += 1
        self.barrier = span
        self.meet_warp()

    def meet_warp(self) -> None:
        """Let the threads of each warp see what they have stored: what comes next may overwrite it without a read."""
        self.meetings += 1

    def forget_stores(self) -> None:
        """Take everything as visible: something with an unknown effect on the order was executed."""
        if self.has_writers:
            self.writer = np.zeros(SHARED_BYTES, np.int32)
            self.has_writers = False
        self.products.clear()
        self.barriers += 1
        self.meet_warp()

    def show_stores(self, mask: Mask) -> None:
        """Take what the warps of some threads have stored as visible: these arrive at an mbarrier."""
        if self.has_writers and mask.any():
            warps = np.unique(np.flatnonzero(mask) // 32)
            self.writer[np.isin((self.writer - 1) // 32, warps)] = _NOBODY

    def commit_group(self, mask: Mask, unsure: bool) -> None:
        """Close a group of copies. unsure: whether it may not be executed."""
        self.lost |= unsure
        self.committed = self.committed + mask
        self.copy = ()

    def wait_groups(self, mask: Mask, count: int | None, span: Span) -> None:
        """Wait until at most `count` groups are pending; None for all copies, committed or not."""
        if count is None:
            self.committed = self.committed + mask
        self.done = np.where(mask, np.maximum(self.done, self.committed - (count or 0)), self.done)
        copy = self.copy if count is not None else ()
        self.waited, self.used, self.barrier = _Wait(span, count or 0, self.committed.copy(), copy), False, None

    # bytes

    def store_bytes(self, access: SharedAccess, copied: bool) -> None:
        """Follow a store of each thread. copied: by cp.async."""
        lanes, site, unsure = np.flatnonzero(access.mask), access.site, access.unsure
        places = access.list_places(lanes)
        if places is None:
            return
        if not unsure:
            warp = 1 + lanes[:, None] // 32
            readers = self.reader[places]
            early = (self.read[places] == self.barriers) & (readers != _NOBODY) & (readers != warp)
            if early.any() and (copied or self._is_used(self.read_event[places][early])):
                place = self._find_loop_end(self.sites[self.read_site[places][early][0]], site)
                first = bool(self.loops) and not self.loops[-1][1]  # no barrier at the loop's end would help
                self._report("refill_early", place, store=site if first else None)
            self._check_products(places, lanes, site)
        owner = np.broadcast_to(lanes[:, None], places.shape)
        self.has_writers = True
        self.writer[places] = _NOBODY if unsure or (copied and self.lost) else 1 + owner
        self.group[places] = 1 + self.committed[owner] if copied else _PLAIN
        self.stored[places] = self.barriers
        self._note_lapped(places, site, copied and not unsure)
        self.reader[places] = _NOBODY

    def _check_products(self, places: Ints, lanes: Ints, site: Span) -> None:
        """Report a store to bytes that a wgmma reads, if nothing makes its thread wait until that has ended."""
        for group, reads in self.products.items():
            number = reads.number.take(places)
            own = lanes[:, None] // WARPGROUP == group
            early = (number > np.where(own, reads.done, reads.visible)) & (number <= reads.committed)
            if early.any():
                running = bool((number[early] > reads.done).any())
                place = site if running else self._find_loop_end(self.sites[reads.site.take(places)[early][0]], site)
                self.mistake = OrderMistake("refill_early", place, running=running)
                raise OrderMistakeFound

    def _is_used(self, events: Ints) -> bool:
        """Return whether a product uses what was read: the last iteration of a loop may read ahead for nothing.

        If it has read a matrix for the next product, its other reads may be for that, too: a dequantized operand.
        """
        ahead = max(self.matrices, default=0) > self.product
        of_product = events[events <= self.product] if ahead else events
        return any(event not in self.matrices or event in self.taken for event in np.unique(of_product).tolist())

    def _number_site(self, site: Span) -> int:
        number = self.site_numbers.setdefault(site, len(self.sites))
        if number == len(self.sites):
            self.sites.append(site)
        return number

    def _find_loop_end(self, read: Span, store: Span) -> Span:
        """Return the end of the innermost loop that leads from a read to a store before it, else the store."""
        inside = [(loop, turns) for loop, turns in self.loops if loop[0] <= read[0] < loop[1]]
        # an address that is computed before the loop is stored to in a later turn
        around = [loop for loop, turns in inside if loop[0] <= store[0] < read[0] or (store[0] < loop[0] and turns)]
        return (around[-1][1] - 1, around[-1][1]) if around else store

    def _note_lapped(self, places: Ints, site: Span, copied: bool) -> None:
        self.lapped[places] = np.where(self.unread[places] & copied, 1 + self._number_site(site), 0)
        self.unread[places] = True
        self.fresh[places] = self.meetings
        self.contested[places] = 0

    def find_unread(self, places: Ints, lanes: Ints) -> Mask:
        """Return which bytes were stored since threads last met, and not read, by another thread than that of `lanes`,
        or by a copy that may be running: its own later store need not be the last one.
        """
        writer, group = self.writer[places], self.group[places]
        known = writer != _NOBODY
        running = (group != _PLAIN) & (group > self.done[np.where(known, writer - 1, 0)])
        found: Mask = known & self.is_fresh(places) & ((writer != 1 + lanes) | running)
        return found

    def is_fresh(self, places: Ints) -> Mask:
        """Return which bytes were stored since threads last met, and not read."""
        fresh: Mask = self.fresh[places] == self.meetings
        return fresh

    def note_lost(self, places: Ints, site: Span) -> None:
        """Note bytes where a store has replaced elements of another thread: a mistake if something reads them."""
        if places.size:
            self.contested[places] = 1 + self._number_site(site)

    def step_groups(self, mask: Mask, kind: str, left: int | None) -> None:
        """Follow a commit or a wait of wgmma by the warpgroups of some threads; None for all groups."""
        for group in np.unique(np.flatnonzero(mask) // WARPGROUP).tolist():
            if group in self.products:
                self.products[group].step(kind, left or 0)

    def note_product(self, group: int, places: Ints, site: Span) -> None:
        """Note the bytes that a wgmma of a warpgroup reads until a wait for its group ends."""
        reads = self.products.setdefault(group, _WarpgroupReads())
        reads.issued += 1
        reads.number[places] = reads.issued
        reads.site[places] = self._number_site(site)

    def read_bytes(self, access: SharedAccess) -> None:
        """Follow a read of each thread."""
        lanes, site = np.flatnonzero(access.mask), access.site
        places = None if access.unsure else access.list_places(lanes)
        if places is None:
            return
        writer, group = self.writer.take(places), self.group.take(places)
        if contested := int(self.contested.take(places).max()):
            self._report("stored_twice", self.sites[contested - 1])
        known, copied = writer != _NOBODY, group != _PLAIN
        owner = np.where(known, writer - 1, 0)
        if not self.lost:
            pending = known & copied & (group > self.done.take(owner))
            if pending.any():
                lapped = int(self.lapped[places][pending].max())
                if lapped:
                    self._report("refill_early", self.sites[lapped - 1], store=self.sites[lapped - 1])
                self._report_pending(int(group[pending].min()) - 1, int(owner[pending][0]), site)
        arrived = self.lost | (group <= self.visible.take(owner))
        seen = np.where(copied, arrived, self.stored.take(places) < self.barriers)
        other = known & (owner // 32 != lanes[:, None] // 32)
        if (other & ~seen).any():
            waited = self.waited if bool((other & ~seen & copied).any()) else None
            span = site if waited is None else waited.span
            self.mistake = OrderMistake("barrier_missing", span, waited=waited is not None)
            raise OrderMistakeFound
        self.unread[places] = False
        self.fresh[places] = 0
        self.checked += int(known.any())
        self.used |= bool(copied.any())
        if access.parts is not None:
            return
        warp = np.broadcast_to(1 + lanes[:, None] // 32, places.shape)
        self._note_readers(places, warp)
        self.read_site[places] = self._number_site(site)
        self.reads += 1
        self.read_event[places] = self.reads

    def _note_readers(self, places: Ints, warp: Ints) -> None:
        """Record which warps have read bytes since the last barrier."""
        reader = self.reader.take(places)
        fresh = (self.read.take(places) != self.barriers) | (reader == _NOBODY)
        old = np.where(fresh, warp, reader)
        self.reader[places] = np.where(old == warp, warp, _SEVERAL)
        self.read[places] = self.barriers
        several = self.reader.take(places) != warp  # bytes that several warps read in this call
        self.reader[places[several]] = _SEVERAL

    def _report_pending(self, group: int, thread: int, site: Span) -> None:
        """Report a read of bytes whose copy may be running."""
        wait = self.waited
        if group >= self.committed[thread] and (wait is not None or group):
            self._report_missing_commit(site, self.copy)
        elif wait is not None and not self.used and group < wait.committed[thread] + bool(wait.copy):
            if wait.copy:  # with a group for these copies, the wait would be long enough, or would be for them
                self._report_missing_commit(site, wait.copy)
            self._report("wait_short", wait.span, wait.count)
        else:
            self._report("wait_missing", self.barrier or site)

    def _report_missing_commit(self, site: Span, copy: tuple[Span, ...]) -> None:
        self.mistake = OrderMistake("commit_missing", site, copy=copy, first=not self.committed.any())
        raise OrderMistakeFound
