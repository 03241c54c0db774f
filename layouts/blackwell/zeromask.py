"""The zero-column mask descriptor of tcgen05.mma.ws: 64 bits that generate a mask of N bits; 1 zeroes a column of B.

PTX ISA 9.1, 9.7.16.4.3, Table 45. The rule below gives all seven masks of the examples there; the table's descriptions
of skip span and use span contradict those examples, and CUTLASS's comment on bit 39 is inverted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lanescope.bits import BitField, find_gaps
from lanescope.descriptor.spelling import parse_word
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, join_words, parse_integer

STARTS = tuple(
    BitField(f"start_count_{i}", 8 * i, 8 * i + 7, meaning=f"bits of sub-mask {i}'s run that are dropped first")
    for i in range(4)
)
SPANS = tuple(
    BitField(f"first_span_{i}", 32 + i, 32 + i, meaning=f"sub-mask {i} begins with: 0 used columns, 1 zeroed ones")
    for i in range(4)
)
NON_ZERO = BitField("non_zero_mask", 39, 39, meaning="0: no column is zeroed; 1: the mask is generated")
SKIP = BitField("skip_span", 40, 47, meaning="number of consecutive zeroed columns, minus 1")
USE = BitField("use_span", 48, 55, meaning="number of consecutive used columns, minus 1")
SHIFT = BitField("shift", 56, 61, meaning="columns of B are taken from this one on")
FIELDS = (*STARTS, *SPANS, NON_ZERO, SKIP, USE, SHIFT)
NAMES = tuple(f.name for f in FIELDS)
RESERVED = sum(((1 << (high - low + 1)) - 1) << low for low, high in find_gaps(FIELDS))
SUBMASKS = {128: 1, 64: 2, 32: 4}
MOST_SHIFT = {128: 32, 64: 32, 32: 16}
LEGAL_N = (64, 128, 256)


@dataclass(frozen=True, slots=True)
class ZeroMask:
    """A zero-column mask descriptor. Reserved bits are kept."""

    word: int

    def get_field(self, name: str) -> int:
        """Return a field by its name."""
        return FIELDS[NAMES.index(name)].get(self.word)

    @property
    def reserved(self) -> int:
        return self.word & RESERVED

    def expand_bits(self, m: int, n: int) -> list[int]:
        """Return the N bits of the mask, column 0 first; 1 means a zero column.

        LayoutError for an M or N that .ws does not have.
        """
        parts = SUBMASKS[_require_one_of(m, "m", tuple(SUBMASKS))]
        wide = _require_one_of(n, "n", LEGAL_N) // parts
        return [bit for part in range(parts) for bit in self.expand_sub_mask(part, wide)]

    def expand_sub_mask(self, part: int, wide: int) -> list[int]:
        """Return the bits of one sub-mask: runs of skip + 1 ones and use + 1 zeros in turn, from bit `start count` on.

        >>> ZeroMask(encode_mask({"non_zero_mask": 1, "skip_span": 2, "use_span": 3}).word).expand_sub_mask(0, 8)
        [0, 0, 0, 0, 1, 1, 1, 0]
        """
        if not self.get_field("non_zero_mask"):
            return [0] * wide
        runs = ([0] * (self.get_field("use_span") + 1), [1] * (self.get_field("skip_span") + 1))
        first = self.get_field(f"first_span_{part}")
        period = runs[first] + runs[1 - first]
        start = self.get_field(f"start_count_{part}")
        return [period[(start + at) % len(period)] for at in range(wide)]

    def list_zero_columns(self, m: int, n: int) -> list[int]:
        """Return the columns of D for which B is zero, in order."""
        return [at for at, bit in enumerate(self.expand_bits(m, n)) if bit]

    def find_problems(self, m: int) -> list[str]:
        """Return the errors of the word for an M."""
        problems = []
        if self.reserved:
            problems.append(f"Reserved bits are set: 0x{self.reserved:016x}. They must be 0.")
        most = MOST_SHIFT[m]
        if self.get_field("shift") > most:
            problems.append(f"The shift is {self.get_field('shift')}; with M = {m} it is at most {most}.")
        return problems

    def __str__(self) -> str:
        return f"0x{self.word:016x}"


def parse_mask_word(value: object) -> int:
    """Parse a 64-bit word in any spelling."""
    return parse_word(value, "word").word


def _require_one_of(value: int, field: str, allowed: Sequence[int]) -> int:
    if value not in allowed:
        words = join_words([str(number) for number in allowed], "or")
        raise LayoutError("bad_number", f"{field} is {value}.", f"tcgen05.mma.ws takes {words}.", field)
    return value


def encode_mask(fields: Mapping[str, object]) -> ZeroMask:
    """Return a descriptor from its fields; missing ones are 0. LayoutError names the field that does not fit.

    Spans are given as encoded: a run of 3 zeroed columns is skip_span 2.
    """
    check_keys(fields, NAMES)
    word = 0
    for field in FIELDS:
        word = field.put(word, parse_integer(fields.get(field.name, 0), field.name, 0, field.most))
    return ZeroMask(word)


def find_runs(bits: Sequence[int]) -> list[tuple[int, int]]:
    """Return the (first, last) columns of every run of ones.

    >>> find_runs([0, 1, 1, 0, 1])
    [(1, 2), (4, 4)]
    """
    runs: list[tuple[int, int]] = []
    for at, bit in enumerate(bits):
        if bit and runs and runs[-1][1] == at - 1:
            runs[-1] = (runs[-1][0], at)
        elif bit:
            runs.append((at, at))
    return runs
