"""What threads store to tiles in shared memory, and the products and bulk copies to global memory that read it.

Both read through the async proxy: after a fence.proxy.async of the threads that store, and after a barrier if they are
in other warps. A bulk copy is complete when a wait for its group has ended (PTX ISA 9.1, 9.7.9.25.5 and 9.7.13). Every
fence, every barrier and every wait counts for all tiles, so that only what is certainly missing is a mistake.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lanescope.ptx.threads import WARP
from lanescope.reader.threads.memory.storage import Mask, Pointer, Span

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

Place = tuple[Pointer, int]  # the array of a tensor, and the element where it begins
Key = tuple[Pointer | int, int]  # of a tile: its array and first element, or KNOWN and its address
KNOWN = -1  # of the key of a place whose address is known
UNFENCED, UNORDERED, UNCOMMITTED, UNAWAITED = "unfenced", "unordered", "uncommitted", "unawaited"
OVERWRITTEN = "overwritten"


@dataclass(slots=True)
class _Fill:
    """A tile that threads have stored to. base: kept so that its id stays its own; unordered: the threads without a
    barrier since; fenced: whether a thread has executed a fence since; site: of the last store; whole: whether every
    store fills the tile; own: whether a warp may store what it reads itself in a product, as by make_tiled_copy_A.
    """

    base: Pointer
    unordered: Mask
    fenced: bool
    site: Span
    whole: bool
    own: bool


@dataclass(frozen=True, slots=True)
class FillMistake:
    """A reader of a tile that comes too early, or a bulk copy whose end nothing waits for. kind: what is missing; site:
    of the product or the copy; before: of the store or of the commit.
    """

    kind: str
    site: Span
    before: Span
    stored: bool  # whether a bulk copy reads


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of an array in shared memory: the array, and its bytes by their addresses, or from the array's beginning
    if its address is not known.
    """

    array: Key
    first: int
    past: int

    def overlaps(self, other: _Part) -> bool:
        near = self.array == other.array or self.array[0] == other.array[0] == KNOWN
        return near and self.first < other.past and other.first < self.past


@dataclass(slots=True)
class StageReads:
    """The parts of shared memory that TMA copies of a run fill, and those that its products read, with their places.

    open: whether a product may read something else.
    """

    copied: Counter[_Part] = field(default_factory=Counter)
    read: dict[_Part, Span] = field(default_factory=dict)
    open: bool = False

    def note_copy(self, place: Place, size: int) -> None:
        """Note a copy of `size` bytes to a tile."""
        self.copied[_make_part(place, size)] += 1

    def note_read(self, place: Place | None, size: int | None, site: Span) -> None:
        """Note a product that reads `size` bytes of a tile; None for what is not known."""
        if place is None or size is None:
            self.open = True
        else:
            self.read[_make_part(place, size)] = site

    def find_unread(self) -> tuple[Span, int, int] | None:
        """Return (product, parts of its array that are copied, parts of these that nothing reads), if a product reads
        only some of an array that copies fill, and the others are filled again and again.
        """
        for part, site in self.read.items() if not self.open else ():
            copied = [one for one in self.copied if one.array == part.array]
            unread = [one for one in copied if not any(map(one.overlaps, self.read))]
            if unread and all(self.copied[one] > 1 for one in unread):
                return site, len(copied), len(unread)
        return None


def _make_part(place: Place, size: int) -> _Part:
    base, first = place
    array = get_key((base, 0))
    at = first * base.type.size + (array[1] if array[0] == KNOWN else 0)
    return _Part(array, at, at + size)


@dataclass(slots=True)
class SharedFills:
    """The tiles of a run that threads have stored to, and its bulk copies to global memory.

    loose: the threads that have copied without a commit since; copied: the last of these copies; commit: the last
    commit; reading: the threads whose copies of a tile nothing has waited for.
    """

    fills: dict[Key, _Fill] = field(default_factory=dict)
    loose: Mask | None = None
    copied: Span | None = None
    commit: Span | None = None
    waits: bool = False
    reading: dict[Key, Mask] = field(default_factory=dict)
    stages: StageReads = field(default_factory=StageReads)
    mistake: FillMistake | None = None

    def note_fill(self, run: KernelRunner, place: Place, site: Span, whole: bool, own: bool) -> None:
        """Note that the running threads store to a tile, if they certainly do. whole, own: see _Fill."""
        if run.assumed:
            return
        key = get_key(place)
        before, reading = self.fills.get(key), self.reading.get(key, run.nobody)
        if whole and self.mistake is None and (reading & run.mask).any():
            self.mistake = FillMistake(OVERWRITTEN, site, site, True)
        unordered = run.mask.copy() if before is None else before.unordered | run.mask
        whole, own = whole and (before is None or before.whole), own or (before is not None and before.own)
        self.fills[key] = _Fill(place[0], unordered, False, site, whole, own)

    def meet_threads(self) -> None:
        """Note that threads wait for others."""
        for fill in self.fills.values():
            fill.unordered = np.zeros_like(fill.unordered)

    def note_fence(self) -> None:
        """Note a fence between the generic and the async proxy."""
        for fill in self.fills.values():
            fill.fenced = True

    def note_read(self, run: KernelRunner, place: Place, site: Span, stored: bool = False) -> None:
        """Note a product, or a bulk copy to global memory, that reads a tile."""
        fill = self.fills.get(get_key(place))
        judged = fill is not None and (fill.whole if stored else not fill.own)
        if fill is not None and judged and self.mistake is None and not run.assumed:
            writers, readers = (set((np.flatnonzero(lanes) // WARP).tolist()) for lanes in (fill.unordered, run.mask))
            if stored and not fill.fenced:
                self.mistake = FillMistake(UNFENCED, site, fill.site, stored)
            elif writers and readers and len(writers | readers) > 1:
                self.mistake = FillMistake(UNORDERED, site, fill.site, stored)

    def note_store(self, run: KernelRunner, place: Place | None, site: Span) -> None:
        """Note a bulk copy to global memory. place: the tile that it reads, None if that is not known."""
        if place is not None:
            self.note_read(run, place, site, stored=True)
        if place is not None and not run.assumed:
            key = get_key(place)
            self.reading[key] = self.reading.get(key, run.nobody) | run.mask
        if not run.assumed:
            self.loose = run.mask.copy() if self.loose is None else self.loose | run.mask
            self.copied = site

    def commit_group(self, site: Span) -> None:
        """Note that threads commit their bulk copies to a group; one that may do so counts as well."""
        self.loose, self.commit = None, site

    def wait_groups(self, run: KernelRunner, site: Span) -> None:
        """Note a wait for groups of bulk copies."""
        if self.loose is not None and self.copied is not None and (self.loose & run.mask).any():
            self.mistake = self.mistake or FillMistake(UNCOMMITTED, self.copied, site, True)
        self.waits = True
        self.reading.clear()

    def find_mistake(self) -> FillMistake | None:
        """Return the first mistake of a run that has come to its end."""
        if self.mistake is None and self.copied is not None:
            if self.loose is not None and self.commit is None:
                return FillMistake(UNCOMMITTED, self.copied, self.copied, True)
            if not self.waits:
                return FillMistake(UNAWAITED, self.copied, self.commit or self.copied, True)
        return self.mistake


def get_key(place: Place) -> Key:
    """Return the address of a tile, else its array and its first element."""
    base, first = place
    address = base.shared_address
    known = address.known if address is not None else None
    return (base, first) if known is None else (KNOWN, known + first * base.type.size)
