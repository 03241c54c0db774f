"""The bytes that the mbarriers of a run expect and that copies bring, in the whole kernel.

Every phase of an mbarrier must get the bytes that it expects (PTX ISA 9.1, 9.7.13.15.5), so both sums are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lanescope.reader.threads.storage import Ints, Mask

Span = tuple[int, int]


@dataclass(slots=True)
class BarrierBytes:
    """Bytes by mbarrier. open: those with bytes that are not known; sites: where bytes are expected."""

    expected: dict[int, int] = field(default_factory=dict)
    copied: dict[int, int] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)
    sites: dict[int, Span] = field(default_factory=dict)

    def note_expected(self, mask: Mask, places: Ints, values: Ints | None, site: Span) -> None:
        """Note that threads expect bytes. values: their numbers, None if these are not known."""
        self._note(self.expected, mask, places, values, site)

    def note_copied(self, mask: Mask, places: Ints, size: int | None, site: Span) -> None:
        """Note that threads copy `size` bytes each."""
        values = None if size is None else np.full(len(mask), size, np.int64)
        self._note(self.copied, mask, places, values, site)

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
