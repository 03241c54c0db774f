"""Define a wrong descriptor to explain: the program's word, the right word, and the fields that the hardware reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import Addresses, Descriptor, View, find_unread_fields
from lanescope.inputs import join_words
from lanescope.ptx.table.descriptors import BASE_OFFSET, ROWS
from lanescope.shared.storage import Storage
from lanescope.shared.swizzle import Mode

Amounts = Mapping[
    str, int
]  # field name → bytes (start_address, lbo, sbo), rows of 128 bytes (base_offset), code (swizzle)
WORD = (1 << 64) - 1
NAMES = {f.name: f.phrase for row in ROWS for f in row.fields}


def get_amounts(descriptor: Descriptor) -> dict[str, int]:
    """Return the value of every field of a descriptor, in bytes for addresses and strides."""
    return {f.name: f.get(descriptor.word) * f.unit for f in descriptor.format.fields}


def pack_word(values: Amounts, form: DescriptorFormat) -> int:
    """Return the word with these amounts, each divided by its field's unit and truncated to its width."""
    return sum(f.truncate(values[f.name]) << f.low for f in form.fields)


def count_bytes(elements: int, view: View) -> int:
    """Return the size in bytes of a number of elements of the operand."""
    return elements * view.bits // 8


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One named cause of a mismatch.

    fix: the descriptor that reads the data, None if there is none; changes: field → (actual, needed), encoded; storage:
    the storage that the descriptor would read, as in POST /descriptors/verify, None if the data is not at fault.
    """

    code: str
    message: str
    fix: Descriptor | None = None
    changes: dict[str, tuple[int, int]] = field(default_factory=dict)
    storage: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class FieldMistake:
    """Wrong amounts in some fields.

    cost: orders causes that give the same word, the cheapest is reported. Below 1 one known slip gives exactly this
    word; 1 is a usual mistake; up to 1.5 it is rarer, or the word has another likely reading; from 1.7 on almost any
    amount would fit. Differences of less than 0.1 break ties: tests/test_diagnosis.py plants every mistake and expects
    its name. implied: further amounts of the word that the mistake explains, whether they are read or not. copied: the
    amount was copied from the field itself, so no packing of it can be a second mistake.
    """

    code: str
    message: str
    amounts: Amounts
    cost: float = 1.0
    implied: Mapping[str, int] = field(default_factory=dict)
    copied: bool = False


@dataclass(frozen=True, kw_only=True)
class DiagnosisCase:
    """One descriptor to explain.

    actual: the program's descriptor; right: the one that reads the slice at (mn, k) of `stored` and equals `actual` in
    all bits that are not read; computed: the word is an expression that was evaluated, so no shift lost bits.
    """

    actual: Descriptor
    right: Descriptor
    view: View
    stored: Storage
    mn: int
    k: int
    expected: Addresses
    computed: bool = False

    @property
    def form(self) -> DescriptorFormat:
        """The format of both descriptors."""
        return self.actual.format

    @cached_property
    def right_amounts(self) -> dict[str, int]:
        """The amounts of the right descriptor."""
        return get_amounts(self.right)

    @cached_property
    def actual_amounts(self) -> dict[str, int]:
        """The amounts of the program's descriptor."""
        return get_amounts(self.actual)

    @property
    def mode(self) -> Mode:
        """The swizzle mode of the right descriptor."""
        return self.right.mode

    @cached_property
    def unread_bits(self) -> int:
        """The mask of bits that the hardware does not read, which are no evidence."""
        unread = find_unread_fields(self.right.mode, self.view)
        mask = sum(f.most << f.low for f in self.form.fields if f.name in unread)
        return mask | (BASE_OFFSET.most & ~(self.mode.chunks - 1)) << BASE_OFFSET.low

    @cached_property
    def read_fields(self) -> frozenset[str]:
        """The fields of the right descriptor that the hardware reads."""
        return frozenset(f.name for f in self.form.fields) - set(find_unread_fields(self.right.mode, self.view))

    @cached_property
    def wrong_fields(self) -> frozenset[str]:
        """The fields that are read and differ from the right descriptor."""
        wrong = (self.actual.word ^ self.right.word) & ~self.unread_bits
        return frozenset(f.name for f in self.form.fields if f.get(wrong))

    @cached_property
    def stray_bits(self) -> int:
        """The set bits of the program's word outside all fields."""
        return self.actual.reserved

    def matches_actual(self, word: int, free: int) -> bool:
        """Return whether a word equals the program's word in every bit outside `free`."""
        return not (word ^ self.actual.word) & WORD & ~free

    def has_same_field(self, name: str, amount: int) -> bool:
        """Return whether an amount has the same encoding in a field as the program's word."""
        f = self.form.get_field(name)
        return not (amount // f.unit ^ f.get(self.actual.word)) & f.most

    def get_start(self, mn: int, k: int) -> int:
        """Return the start address of the right descriptor for another slice of the same tile."""
        return int(self._unswizzle_address(np.array([[mn]]), np.array([[k]]))[0, 0])

    def _unswizzle_address(self, mn: Addresses, k: Addresses) -> Addresses:
        address = np.asarray(self.stored.address(mn, k), np.int64)
        return np.asarray(self.mode.unswizzle(address, self.right.base_offset), np.int64)

    @cached_property
    def extents(self) -> tuple[int, int]:
        """The extents (mn, k) of the stored tile; a few slices beyond (mn, k) if the storage is unbounded."""
        mn, k = self.mn + 4 * self.view.rows, self.k + 4 * self.view.k
        pitch = self.stored.pitch_bytes
        if pitch and self.stored.spec.get("inner", self.view.major) == "K":
            k = pitch * 8 // self.view.bits
        return self.stored.mn or mn, self.stored.k or k

    @cached_property
    def atom(self) -> tuple[int, int]:
        """The elements (mn, k) of one atom of the right mode."""
        return self.mode.get_atom_size(self.view.bits, self.view.major)

    @cached_property
    def slices(self) -> dict[int, tuple[int, int]]:
        """Start address → (mn, k) of every slice of the tile at which a descriptor can begin.

        Along K they are multiples of the instruction's K in a swizzled K-major tile, and of a core matrix in other
        tiles.
        """
        mn_most, k_most = self.extents
        per = self.view.k if self.mode.chunks > 1 else self.view.per
        step = per if self.view.major == "K" else self.atom[1]
        mn = np.arange(0, min(mn_most, 4096), self.atom[0] if self.view.major == "MN" else 8)
        k = np.arange(0, min(k_most, 4096), min(step, self.view.k))
        starts = self._unswizzle_address(mn[:, None], k[None, :])
        slices: dict[int, tuple[int, int]] = {}
        for (i, j), start in np.ndenumerate(starts):
            slices.setdefault(int(start), (int(mn[i]), int(k[j])))
        return slices

    def is_loop_slice(self, start: int) -> bool:
        """Return whether a start is that of a slice which a loop over instructions reaches."""
        origin = self.slices.get(start)
        return origin is not None and (origin[0] - self.mn) % self.view.rows == 0 and origin[1] % self.view.k == 0

    @cached_property
    def edge(self) -> int:
        """The contiguous bytes along K in a row of the tile, at most the slice's K."""
        first, step = self.get_start(self.mn, 0), self.view.k
        steps = range(step, self.k + 1, step)
        reached = (k for k in steps if self.get_start(self.mn, k) - first != count_bytes(k, self.view))
        return count_bytes(next(reached, self.k), self.view)

    @cached_property
    def line_bytes(self) -> int:
        """The line pitch in bytes; lines are rows of M or N if K is contiguous, else values of K."""
        first = self.get_start(0, 0)
        return (self.get_start(1, 0) if self.view.major == "K" else self.get_start(0, 1)) - first


def format_bytes(amount: int) -> str:
    return f"{amount} byte{'' if amount == 1 else 's'}"


def list_field_names(names: Mapping[str, object] | frozenset[str] | tuple[str, ...]) -> str:
    """Return field names as a list in words, in the order of the descriptor."""
    return join_words([NAMES[name] for name in NAMES if name in names])


def list_subsets(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return every nonempty subset of the names, the largest first."""
    return [c for size in range(len(names), 0, -1) for c in combinations(names, size)]
