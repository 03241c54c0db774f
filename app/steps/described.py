"""The bytes that a wgmma reads of one operand through its descriptors: the byte of every element in every K step,
the element stored there, and the core matrices in the order of the picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lanescope.app.steps.stored import LINE_BYTES, apply_xor, find_nearest, find_origin, undo_xor
from lanescope.descriptor import matrix as desc
from lanescope.descriptor.matrix import Descriptor, View
from lanescope.descriptor.verify import Verdict, verify
from lanescope.product.plan import DescribedSide, PlacedSide, TiledSide
from lanescope.shared.pieces import ROW_BYTES
from lanescope.shared.storage import BitPlacement, Storage, make_tile_storage

Ints = NDArray[np.int64]
LINES_OF_CORE = 8  # of 16 bytes: one core matrix
GROUPS_OF_WARP = 2  # of 8 rows of A
MOST_LINES = 40  # of shared memory that one operand's picture shows


@dataclass(frozen=True)
class AddressTerms:
    """The terms of an address in bytes: start + lbos · LBO + sbos · SBO + inside, then the XOR."""

    start: int
    lbos: int
    sbos: int
    inside: int
    before: int
    address: int

    @property
    def xor(self) -> int:
        """Return the change made by the XOR, in chunks of 16 bytes."""
        return (self.before ^ self.address) // ROW_BYTES


@dataclass(frozen=True)
class DescribedOperand:
    """An operand and everything that its K steps read.

    Element (mn, k) has number mn · K + k. full_operand: the operand of the instruction, if an element of `side`
    combines several.
    """

    side: DescribedSide
    steps: int
    full_operand: DescribedSide | None = None

    @cached_property
    def stored(self) -> tuple[Storage, int]:
        """Return the storage, and the line of it at which the product begins."""
        side = self.side
        if isinstance(side, PlacedSide):
            return side.where, 0
        assert isinstance(side, TiledSide)
        return make_tile_storage(side.tile), side.first

    @property
    def placed(self) -> BitPlacement:
        found = self.stored[0].placed
        assert found is not None
        return found

    @property
    def view(self) -> View:
        return self.side.view

    @cached_property
    def words(self) -> list[Descriptor]:
        return [self.side.get_descriptor(step) for step in range(self.steps)]

    @cached_property
    def addresses(self) -> Ints:
        """Return the byte at which the program stored each element: [mn, k]."""
        mn, k = np.arange(self.side.mn)[:, None], np.arange(self.side.k)[None, :]
        return np.asarray(self.side.address(mn, k), np.int64)

    @cached_property
    def addresses_before_xor(self) -> Ints:
        """Return the byte of each element without the XOR: [mn, k]."""
        return np.asarray(undo_xor(self.placed, self.addresses * 8), np.int64) >> 3

    @cached_property
    def reads(self) -> Ints:
        """Return the byte that is read for each element: [K step, mn, k of the step]."""
        return np.stack([desc.reads(word, self.view) for word in self.words])

    @cached_property
    def cores(self) -> Ints:
        """Return mn · (K of a step) + k of each element: [core matrix, line, element].

        Core matrices are in the order of the picture: in pairs of 8 rows (a warp's rows of A), those with the smallest
        k first. A line is 16 contiguous bytes.
        """
        seen, per = self.view, self.view.per
        line, inside = np.arange(LINES_OF_CORE)[:, None], np.arange(per)[None, :]
        high, deep = (LINES_OF_CORE, per) if seen.major == "K" else (per, LINES_OF_CORE)
        found = []
        for pair in range(0, seen.rows // high, GROUPS_OF_WARP):
            for c in range(seen.k // deep):
                for group in range(pair, min(pair + GROUPS_OF_WARP, seen.rows // high)):
                    mn = group * high + (line if seen.major == "K" else inside)
                    k = c * deep + (inside if seen.major == "K" else line)
                    found.append(mn * seen.k + k)
        return np.array(found, np.int64)

    def get_corner(self, core: int) -> tuple[int, int, int, int]:
        """Return (first row, last row, first k, last k) of a core matrix in its K step."""
        mn, k = np.divmod(self.cores[core], self.view.k)
        return int(mn.min()), int(mn.max()), int(k.min()), int(k.max())

    def find_sources(self, other: DescribedOperand | None) -> Ints:
        """Return the number of the element that is stored where each one is read: [K step, mn, k].

        −1 if none is stored there, −2 − n for element n of the other operand.
        """
        found = _find_elements(self.addresses, self.reads)
        if other is None:
            return found
        theirs = _find_elements(other.addresses, self.reads)
        return np.where((found < 0) & (theirs >= 0), -2 - theirs, found)

    def get_expected(self) -> Ints:
        """Return the number of the element that should be read: [K step, mn, k]."""
        mn, k = np.arange(self.side.mn)[:, None], np.arange(self.side.k)[None, :]
        element = mn * self.side.k + k
        return np.stack(np.split(element, self.steps, axis=1))

    def explain_address(self, mn: int, k: int) -> AddressTerms:
        """Return the terms of the address of an element of the first K step."""
        word = self.words[0]

        def offset(lbo: int, sbo: int) -> int:
            mode = word.mode
            return int(
                desc.compute_offset_before_swizzle(
                    np.int64(mn),
                    np.int64(k),
                    chunks=np.int64(mode.chunks),
                    lbo_bytes=lbo,
                    sbo_bytes=sbo,
                    view=self.view,
                    deep=mode.deep,
                )
            )

        inside = offset(0, 0)
        before = word.start_address + offset(word.lbo_bytes, word.sbo_bytes)
        lbos, sbos = offset(1, 0) - inside, offset(0, 1) - inside
        return AddressTerms(word.start_address, lbos, sbos, inside, before, int(self.reads[0, mn, k]))

    def check_step(self, step: int) -> Verdict:
        """Compare the elements that a K step reads with the stored ones, and diagnose a difference."""
        if self.full_operand and self.full_operand is not self.side:
            return DescribedOperand(self.full_operand, self.steps).check_step(step)
        where, first = self.stored
        return verify(self.words[step], self.view, where, mn=first, k=step * self.side.step)

    def list_lines(self, rows: slice, step: int) -> Ints:
        """Return the 128-byte lines of these rows, of all K steps if they are few, else of one; and the lines that
        this K step reads instead.
        """
        size = max(1, self.side.element.bits // 8)
        stored = np.stack([self.addresses[rows], self.addresses_before_xor[rows]])
        mine = self._find_lines(stored.ravel(), size)
        if len(mine) > MOST_LINES:
            mine = self._find_lines(np.split(stored, self.steps, axis=2)[step].ravel(), size)[:MOST_LINES]
        extra = np.setdiff1d(self._find_lines(self.reads[step, rows].ravel(), size), mine)
        kept = np.concatenate([mine, extra[: MOST_LINES - len(mine)]])
        return np.sort(kept) * LINE_BYTES + self.origin

    def _find_lines(self, at: Ints, size: int) -> Ints:
        return np.unique((np.concatenate([at, at + size - 1]) - self.origin) // LINE_BYTES)

    @property
    def origin(self) -> int:
        return find_origin(self.placed)

    def list_chunks(self, lines: Ints) -> tuple[Ints, Ints]:
        """Return (address without the XOR, address) of every 16-byte chunk of these lines."""
        before = (lines[:, None] + np.arange(0, LINE_BYTES, ROW_BYTES)).ravel()
        return before, np.asarray(apply_xor(self.placed, before * 8), np.int64) >> 3


def _find_elements(at: Ints, reads: Ints) -> Ints:
    """Return the element that begins at each address, −1 for none."""
    flat = at.ravel()
    element = find_nearest(flat, reads)
    return np.where(flat[element] == reads, element, -1)
