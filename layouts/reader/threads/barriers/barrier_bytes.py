"""The bytes that the mbarriers of a run expect and that copies bring, in the whole kernel.

Every phase of an mbarrier must get the bytes that it expects (PTX ISA 9.1, 9.7.13.15.5), so both sums are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod

import numpy as np

from lanescope.reader.threads.barriers.clusters import WINDOW
from lanescope.reader.threads.memory.storage import Ints, Mask, Span

MOST_SIZES = 64  # choices of the sizes of boxes


@dataclass(frozen=True, slots=True)
class BoxCopy:
    """A copy of a box.

    names: those of its tensor map; target: its address in the block that gets it; source: the rank of the block that
    sends it; place: the mbarrier that it signals; mask: where the mask of a multicast is given; blocks: how many it
    names.
    """

    names: frozenset[str]
    target: int
    source: int
    place: int = 0
    mask: Span | None = None
    blocks: int = 1


@dataclass(slots=True)
class BarrierBytes:
    """Bytes by mbarrier. open: those with bytes that are not known; sites: where bytes are expected; boxes: copies of
    boxes of tensor maps; multicasts: mask → the bytes that it brings each mbarrier.
    """

    expected: dict[int, int] = field(default_factory=dict)
    copied: dict[int, int] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)
    sites: dict[int, Span] = field(default_factory=dict)
    boxes: Counter[BoxCopy] = field(default_factory=Counter)
    multicasts: dict[Span, dict[int, int]] = field(default_factory=dict)

    def note_expected(self, mask: Mask, places: Ints, values: Ints | None, site: Span) -> None:
        """Note that threads expect bytes. values: their numbers, None if these are not known."""
        self._note(self.expected, mask, places, values, site)

    def note_copied(self, mask: Mask, places: Ints, size: int | Ints | None, site: Span) -> None:
        """Note that threads copy `size` bytes each."""
        values = None if size is None else np.broadcast_to(np.asarray(size, np.int64), mask.shape)
        self._note(self.copied, mask, places, values, site)

    def note_boxes(self, mask: Mask, places: Ints, box: BoxCopy, site: Span) -> None:
        """Note that threads copy a box each that signals an mbarrier."""
        for place in places[mask].tolist():
            self.boxes[replace(box, place=place)] += 1
            self.sites.setdefault(place, site)

    def count_boxes(self, sizes: Mapping[frozenset[str], int]) -> None:
        """Count the bytes of boxes. sizes: those of a box by the names of its map, where they are known."""
        for box, times in self.boxes.items():
            if box.names not in sizes:
                self.open.add(box.place)
                continue
            sums = [self.copied, *([self.multicasts.setdefault(box.mask, {})] if box.mask is not None else [])]
            for brought in sums:
                brought[box.place] = brought.get(box.place, 0) + times * sizes[box.names]

    def find_wrong_mask(self) -> Span | None:
        """Return the mask of the only multicast that explains why blocks of a cluster get other bytes than they expect:
        some get more and others fewer, two blocks send to the same bytes, or each sends to one block only.
        """
        missing = {at: count - self.copied.get(at, 0) for at, count in self.expected.items() if at not in self.open}
        found = [mask for mask in self.multicasts if self._explains(mask, missing)]
        return found[0] if len(found) == 1 else None

    def _explains(self, mask: Span, missing: Mapping[int, int]) -> bool:
        brought, own = self.multicasts[mask], [box for box in self.boxes if box.mask == mask]
        groups: dict[int, list[int]] = {}
        for place in missing:
            groups.setdefault(place & WINDOW, []).append(place)
        if any(len({missing[at] for at in places}) > 1 for places in groups.values()):
            return all(len({brought.get(at, 0) + missing[at] for at in places}) == 1 for places in groups.values())
        if any(count < 0 for count in missing.values()):
            sources: dict[tuple[int, int], set[int]] = {}
            for box in own:
                sources.setdefault((box.place, box.target), set()).add(box.source)
            return any(len(ranks) > 1 for ranks in sources.values())
        return any(missing.values()) and all(box.blocks == 1 for box in own)

    def merge(self, other: BarrierBytes) -> None:
        """Add the bytes of another block of the cluster."""
        for mine, theirs in ((self.expected, other.expected), (self.copied, other.copied)):
            for place, count in theirs.items():
                mine[place] = mine.get(place, 0) + count
        self.boxes.update(other.boxes)
        self.open |= other.open
        self.sites = {**other.sites, **self.sites, **{at: other.sites[at] for at in other.expected}}

    def _note(self, sums: dict[int, int], mask: Mask, places: Ints, values: Ints | None, site: Span) -> None:
        for lane in np.flatnonzero(mask):
            place = int(places[lane])
            if values is None:
                self.open.add(place)
            else:
                sums[place] = sums.get(place, 0) + int(values[lane])
            if sums is self.expected or place not in self.sites:
                self.sites[place] = site

    def find_difference(self) -> tuple[Span, int, int] | None:
        """Return (place, expected bytes, copied bytes) of an mbarrier where these differ, if all are known."""
        for place in sorted({*self.expected, *self.copied} - self.open, key=lambda one: one in self.expected):
            pair = self.expected.get(place, 0), self.copied.get(place, 0)
            if pair[0] != pair[1] and self.copied:
                return self.sites[place], *pair
        return None


def join_bytes(
    blocks: Sequence[BarrierBytes], list_bytes: Callable[[frozenset[str]], frozenset[int]] | None
) -> BarrierBytes:
    """Return the bytes of all blocks of a cluster, with the sizes of boxes that the mbarriers expect if some do.

    list_bytes: those that a box of the map with some names may have, none if they are not known.
    """
    names = sorted({box.names for block in blocks for box in block.boxes}, key=sorted)
    known = {one: list_bytes(one) for one in names} if list_bytes is not None else {}
    known = {one: sizes for one, sizes in known.items() if sizes}
    few = prod(map(len, known.values())) <= MOST_SIZES
    choices: Iterable[tuple[int, ...]] = product(*known.values()) if few else [()]
    for sizes in choices:
        joined = BarrierBytes()
        for block in blocks:
            joined.merge(block)
        joined.count_boxes(dict(zip(known, sizes, strict=False)))
        if joined.find_difference() is None:
            break
    return joined
