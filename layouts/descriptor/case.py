"""One wrong descriptor to be explained: what was given, what would have been right, and what of it the
hardware reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import Addresses, Descriptor, View, find_inert_fields
from lanescope.inputs import join_words
from lanescope.ptx.table.descriptors import BASE_OFFSET, ROWS
from lanescope.shared.storage import Storage
from lanescope.shared.swizzle import Mode

Amounts = Mapping[
    str, int
]  # field name → bytes (start_address, lbo, sbo), rows of 128 bytes (base_offset), code (swizzle)
WORD = (1 << 64) - 1
NAMES = {f.name: f.said for row in ROWS for f in row.fields}


def get_amounts(descriptor: Descriptor) -> dict[str, int]:
    """Return what the fields of a descriptor say, in their units."""
    return {f.name: f.get(descriptor.word) * f.unit for f in descriptor.format.fields}


def pack_word(values: Amounts, form: DescriptorFormat) -> int:
    """Return the word of these amounts, each shifted right and cut to its field's width."""
    return sum(f.truncate(values[f.name]) << f.low for f in form.fields)


def count_bytes(elements: int, seen: View) -> int:
    """Return the bytes of a number of elements of the operand."""
    return elements * seen.bits // 8


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One named cause of a mismatch.

    fix: the descriptor that verifies, None if a descriptor alone cannot help; storage: how the data would have to be
    stored instead, as a storage of POST /descriptors/verify, None if they are not at fault.
    """

    code: str
    message: str
    fix: Descriptor | None = None
    changes: dict[str, tuple[int, int]] = field(default_factory=dict)
    storage: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class FieldSlip:
    """A wrong amount in some fields. cost: how much evidence it needs; rarer and vaguer causes cost more."""

    code: str
    message: str
    amounts: Amounts
    cost: float = 1.0
    must: Mapping[str, int] = field(default_factory=dict)  # given amounts that the slip also explains, read or not
    taken: bool = (
        False  # the amount is the given field itself, so that nothing follows for a word that is packed wrongly, too
    )


@dataclass(frozen=True, kw_only=True)
class DiagnosisCase:
    """One descriptor to be explained.

    given: the program's word. right: a descriptor that reads the slice at (mn, k) where `stored` put it, equal to
    `given` in everything that nothing reads. computed: the word is an expression whose shifts were computed, so that
    none of them cut an integer to 32 bits.
    """

    given: Descriptor
    right: Descriptor
    seen: View
    stored: Storage
    mn: int
    k: int
    expected: Addresses
    computed: bool = False

    @property
    def form(self) -> DescriptorFormat:
        """The format of both words."""
        return self.given.format

    @cached_property
    def wanted(self) -> dict[str, int]:
        """The right amounts."""
        return get_amounts(self.right)

    @cached_property
    def had(self) -> dict[str, int]:
        """The given amounts."""
        return get_amounts(self.given)

    @property
    def mode(self) -> Mode:
        """The swizzle mode that reads these data."""
        return self.right.mode

    @cached_property
    def free(self) -> int:
        """The bits of the right word that nothing reads: they prove nothing."""
        unread = find_inert_fields(self.right, self.seen)
        mask = sum(f.most << f.low for f in self.form.fields if f.name in unread)
        return mask | (BASE_OFFSET.most & ~(self.mode.chunks - 1)) << BASE_OFFSET.low

    @cached_property
    def read_fields(self) -> frozenset[str]:
        """The fields the hardware reads in the right word."""
        return frozenset(f.name for f in self.form.fields) - set(find_inert_fields(self.right, self.seen))

    @cached_property
    def differ(self) -> frozenset[str]:
        """The read fields whose given value is not the right one."""
        wrong = (self.given.word ^ self.right.word) & ~self.free
        return frozenset(f.name for f in self.form.fields if f.get(wrong))

    @cached_property
    def stray(self) -> int:
        """Set bits that belong to no field."""
        return self.given.reserved

    def matches_given(self, word: int, free: int = 0) -> bool:
        """Return whether a word is the given one in every bit outside `free`."""
        return not (word ^ self.given.word) & WORD & ~free

    def has_same_field(self, name: str, amount: int) -> bool:
        """Return whether packing this amount gives the field the program's word has."""
        f = self.form.get_field(name)
        return not (amount // f.unit ^ f.get(self.given.word)) & f.most

    def get_start(self, mn: int, k: int) -> int:
        """Return the start, in bytes, of the right descriptor for another slice of the same tile."""
        return int(self._unswizzle_address(np.array([[mn]]), np.array([[k]]))[0, 0])

    def _unswizzle_address(self, mn: Addresses, k: Addresses) -> Addresses:
        address = np.asarray(self.stored.address(mn, k), np.int64)
        return np.asarray(self.mode.unswizzle(address, self.right.base_offset), np.int64)

    @cached_property
    def extents(self) -> tuple[int, int]:
        """(mn, k) of the stored tile; where the storage has no end, some slices further than the one that is read."""
        mn, k = self.mn + 4 * self.seen.rows, self.k + 4 * self.seen.k
        pitch = self.stored.pitch_bytes
        if pitch and self.stored.spec.get("inner", self.seen.major) == "K":
            k = pitch * 8 // self.seen.bits
        return self.stored.mn or mn, self.stored.k or k

    @cached_property
    def atom(self) -> tuple[int, int]:
        """Elements (mn, k) of one atom of the right mode."""
        return self.mode.get_atom_size(self.seen.bits, self.seen.major)

    @cached_property
    def slices(self) -> dict[int, tuple[int, int]]:
        """start → (mn, k) of every slice of the tile that a descriptor could begin at.

        Along K these are whole instructions in a swizzled K-major tile, whole core matrices elsewhere.
        """
        mn_most, k_most = self.extents
        per = self.seen.k if self.mode.chunks > 1 else self.seen.per
        step = per if self.seen.major == "K" else self.atom[1]
        mn = np.arange(0, min(mn_most, 4096), self.atom[0] if self.seen.major == "MN" else 8)
        k = np.arange(0, min(k_most, 4096), min(step, self.seen.k))
        starts = self._unswizzle_address(mn[:, None], k[None, :])
        slices: dict[int, tuple[int, int]] = {}
        for (i, j), start in np.ndenumerate(starts):
            slices.setdefault(int(start), (int(mn[i]), int(k[j])))
        return slices

    def is_whole_slice(self, start: int) -> bool:
        """Return whether a start is that of a slice a whole number of instructions away, which a program's loops could
        reach.
        """
        origin = self.slices.get(start)
        return origin is not None and (origin[0] - self.mn) % self.seen.rows == 0 and origin[1] % self.seen.k == 0

    @cached_property
    def edge(self) -> int:
        """Contiguous bytes of K in a row of the tile, at most the slice's own K."""
        first, step = self.get_start(self.mn, 0), self.seen.k
        steps = range(step, self.k + 1, step)
        reached = (k for k in steps if self.get_start(self.mn, k) - first != count_bytes(k, self.seen))
        return count_bytes(next(reached, self.k), self.seen)

    @cached_property
    def line_bytes(self) -> int:
        """Bytes from one line to the next: rows of M or N when K is contiguous, of K otherwise."""
        first = self.get_start(0, 0)
        return (self.get_start(1, 0) if self.seen.major == "K" else self.get_start(0, 1)) - first


def format_bytes(amount: int) -> str:
    return f"{amount} byte{'' if amount == 1 else 's'}"


def list_field_names(names: Mapping[str, object] | frozenset[str] | tuple[str, ...]) -> str:
    """Return field names in the order of the word, listed for a sentence."""
    return join_words([NAMES[name] for name in NAMES if name in names])


def capitalize_sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def list_subsets(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return every choice of at least one name, the largest first."""
    return [c for size in range(len(names), 0, -1) for c in combinations(names, size)]
