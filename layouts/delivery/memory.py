"""The addresses of elements in memory, and the aligned runs that a load can access."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lanescope.delivery.places import Longs, Space
from lanescope.errors import LayoutError
from lanescope.shared.storage import Storage

CHUNK_BITS = 128  # the widest load per lane, and a row of ldmatrix


@dataclass(frozen=True)
class Memory:
    """The elements in memory.

    width: bits per element; address: int64, of every element in elements from the start; storage: their storage, None
    for an order chosen by the solver.
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
        elements = np.full(self.size, -1, np.int64)
        elements[self.address] = np.arange(len(self.address))
        return elements

    @cached_property
    def runs(self) -> tuple[int, ...]:
        """The coordinate vectors of the lowest address bits, up to 16 bytes.

        They end at the first bit for which aligned runs do not all have the same XOR pattern.
        """
        numbers = np.arange(len(self.address))
        found: list[int] = []
        for bit in range((CHUNK_BITS // self.width).bit_length() - 1):
            vector = int(self.element_at[int(self.address[0]) ^ 1 << bit])
            if vector < 0 or not np.array_equal(self.address[numbers ^ vector], self.address ^ 1 << bit):
                break
            found.append(vector)
        while found and not self._is_linear(len(found)):
            found.pop()
        return tuple(found)

    def _is_linear(self, count: int) -> bool:
        """Return whether the lowest `count` address bits are a linear (XOR) map of the coordinate bits."""
        low = (1 << count) - 1
        expected = np.zeros(1, np.int64)
        for n in range(sum(self.space.bits)):
            expected = np.concatenate([expected, expected ^ (int(self.address[1 << n]) ^ int(self.address[0])) & low])
        return bool((expected == (self.address ^ self.address[0]) & low).all())

    def list_address_bits(self) -> list[int]:
        """Return the coordinate vector of each address bit, lowest first, 0 for a gap.

        If the map is not linear, only the bits of `runs` are returned.
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

    def list_low_bits(self) -> list[int]:
        """Return, for each coordinate bit, the address bits inside a 16-byte run that it changes."""
        low = (1 << len(self.runs)) - 1
        start = int(self.address[0])
        return [(int(self.address[1 << n]) ^ start) & low for n in range(sum(self.space.bits))]


def place_elements(space: Space, width: int, storage: Storage) -> Memory:
    """Return the memory of elements in a storage. LayoutError if the storage is too small."""
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
            "Rows must not overlap, and their pitch must be a multiple of an element.",
            "source",
        )
    return Memory(space, width, bits_at // width, storage)
