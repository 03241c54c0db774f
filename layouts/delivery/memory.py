"""The addresses of elements in memory, and the aligned runs that one load can take."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lanescope.delivery.places import Longs, Space
from lanescope.errors import LayoutError
from lanescope.shared.storage import Storage

CHUNK_BITS = 128  # the widest load of a lane, and a row of ldmatrix


@dataclass(frozen=True)
class Memory:
    """The elements in memory.

    width: bits of an element; address: int64, of every element in elements from the start; storage: the storage that
    they are in, None for the order that the solver chose.
    """

    space: Space
    width: int
    address: Longs
    storage: Storage | None = None

    @property
    def size(self) -> int:
        """The number of elements from the start to the last one, including holes, rounded up to 16 bytes."""
        run = CHUNK_BITS // self.width
        return -(-(int(self.address.max()) + 1) // run) * run

    @cached_property
    def element_at(self) -> Longs:
        """The element at every address, −1 in holes."""
        held = np.full(self.size, -1, np.int64)
        held[self.address] = np.arange(len(self.address))
        return held

    @cached_property
    def runs(self) -> tuple[int, ...]:
        """The coordinate vectors of the lowest address bits, up to 16 bytes.

        They end where the elements of an aligned run do not differ from its first one by the same XOR everywhere.
        """
        numbers = np.arange(len(self.address))
        found: list[int] = []
        for bit in range((CHUNK_BITS // self.width).bit_length() - 1):
            vector = int(self.element_at[int(self.address[0]) ^ 1 << bit])
            if vector < 0 or not np.array_equal(self.address[numbers ^ vector], self.address ^ 1 << bit):
                break
            found.append(vector)
        while found and not self._adds_up(len(found)):
            found.pop()
        return tuple(found)

    def _adds_up(self, count: int) -> bool:
        """Return whether the lowest `count` address bits are an XOR of what each coordinate bit changes."""
        low = (1 << count) - 1
        expected = np.zeros(1, np.int64)
        for n in range(sum(self.space.bits)):
            expected = np.concatenate([expected, expected ^ (int(self.address[1 << n]) ^ int(self.address[0])) & low])
        return bool((expected == (self.address ^ self.address[0]) & low).all())

    def list_address_bits(self) -> list[int]:
        """Return the coordinate vector of each address bit, lowest first, 0 for a gap.

        Only those of `runs` if the others do not form a linear map.
        """
        numbers, start = np.arange(len(self.address)), int(self.address[0])
        found = []
        for bit in range((self.size - 1).bit_length()):
            at = start ^ 1 << bit
            vector = int(self.element_at[at]) if at < self.size else -1
            if vector >= 0 and not np.array_equal(self.address[numbers ^ vector], self.address ^ 1 << bit):
                return list(self.runs)
            found.append(max(vector, 0))
        return found

    def name_low_bits(self) -> list[int]:
        """Return, for each unit vector of the coordinates, the address bits inside a 16-byte run that it changes."""
        low = (1 << len(self.runs)) - 1
        start = int(self.address[0])
        return [(int(self.address[1 << n]) ^ start) & low for n in range(sum(self.space.bits))]


def place_elements(space: Space, width: int, storage: Storage) -> Memory:
    """Return the memory of elements in a storage; LayoutError if it does not hold all of them."""
    for size, bits, name in zip((storage.mn, storage.k), space.bits, space.axes, strict=True):
        if size is not None and size < 1 << bits:
            raise LayoutError(
                "bad_storage",
                f"The storage has {size} elements along {name}, the operand {1 << bits}.",
                f"Give {1 << bits} or more.",
                "source",
            )
    placed = storage.placed
    assert placed is not None
    first, second = space.split(np.arange(space.size, dtype=np.int64))
    bits_at = np.asarray(placed.locate_bits(placed.before(first, second, 0)), np.int64)
    bits_at = np.broadcast_to(bits_at, (space.size,)) - 8 * placed.base
    if (bits_at % width).any() or int(bits_at.min()) < 0 or len(np.unique(bits_at)) != space.size:
        raise LayoutError(
            "bad_storage",
            "Elements overlap, or are before the start.",
            "Rows may not overlap; their distance is a multiple of an element.",
            "source",
        )
    return Memory(space, width, bits_at // width, storage)
