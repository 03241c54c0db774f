"""Place the members of a struct or union as gcc does on 64-bit Linux (System V ABI, bit fields from the lowest bit up).

This is arithmetic on sizes; records.py finds the members and their types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from lanescope.bits import round_up
from lanescope.cxx.integers import IntegerType
from lanescope.cxx.source_text import read_statement_head
from lanescope.reader.code.values import RecordField, RecordType

ALIGNED = re.compile(r"(?:alignas|__align__|aligned)\s*\(+\s*([^()]*)\)|(\bpack(?:ed)?\b)")

MOST_BITS = 1 << 12


@dataclass(frozen=True, slots=True)
class BitMember:
    """A member kept as bits: an integer, or a struct of integers.

    bits, align: of its type, or of an array item. count: number of array items, 0 for a scalar. field_width: of a
    bit field, else None.
    """

    name: str
    integer: IntegerType | None
    inner: RecordType | None
    bits: int
    align: int
    count: int = 0
    field_width: int | None = None

    def list_fields(self, start: int, width: int) -> Iterator[tuple[str, RecordField]]:
        """Yield (name, field) of the member, or of the members of an unnamed struct."""
        if self.name:
            yield self.name, RecordField(start, width, self.integer, self.inner, self.count)
        elif self.inner is not None and self.inner.fields:
            for name, inside in self.inner.fields.items():
                yield name, replace(inside, low=start + inside.low)


@dataclass(frozen=True, slots=True)
class RecordMeasures:
    """The size and alignment of a struct in bytes, None if unknown, and the offsets of its members."""

    size: int | None = None
    align: int | None = None
    offsets: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MeasuredMember:
    """A member of known size. inside: member → offset, if it is an unnamed struct."""

    name: str
    size: int
    align: int
    inside: Mapping[str, int]


def has_plain_alignments(members: str) -> bool:
    """Return whether every alignment in the text of a struct's members is a number, and none is packed."""
    return all(not match[2] and match[1].strip().isdecimal() for match in ALIGNED.finditer(members))


def find_member_alignment(text: str, span: tuple[int, int], name: str) -> int:
    """Return the bytes that alignas before a member's name requests, 1 without it."""
    own = text[slice(*span)]
    head = read_statement_head(text, span[0]) + (own.partition(name)[0] if name else own.partition("{")[0])
    return max((int(match[1]) for match in ALIGNED.finditer(head) if match[1]), default=1)


def place_members(
    members: Iterable[BitMember | None], union: bool, align: int
) -> tuple[dict[str, RecordField], int, int] | None:
    """Return (fields by name, bits, alignment in bits); None if a member is None or gcc rejects it.

    align: the minimum alignment of the class.
    """
    fields: dict[str, RecordField] = {}
    end = longest = 0
    for member in members:
        placed = _place_member(member, 0 if union else end) if member is not None else None
        if member is None or placed is None:
            return None
        start, width = placed
        if member.name or member.field_width is None:
            align = max(align, member.align)
        end = start + width
        longest = max(longest, end)
        if end > MOST_BITS:
            return None
        fields.update(member.list_fields(start, width))
    return (fields, round_up(longest if union else end, align), align) if fields else None


def _place_member(member: BitMember, at: int) -> tuple[int, int] | None:
    """Return (first bit, width) of a member placed at bit `at` or later; None if it does not fit its type."""
    width = member.field_width
    if width is None:
        return round_up(at, member.align), member.bits * max(member.count, 1)
    if width > member.bits or (member.integer is not None and member.integer.name == "bool" and width > 1):
        return None
    crosses = at // member.bits != (at + width - 1) // member.bits
    return (round_up(at, member.bits) if not width or crosses else at), width


def measure_members(members: Iterable[MeasuredMember | None], union: bool, align: int) -> RecordMeasures:
    """Return the size, alignment and offsets in bytes, unknown if a member is None.

    align: the minimum alignment of the class.
    """
    offsets: dict[str, int] = {}
    end = longest = 0
    for member in members:
        if member is None:
            return RecordMeasures()
        start = 0 if union else round_up(end, member.align)
        if member.name:
            offsets[member.name] = start
        offsets.update({name: start + at for name, at in member.inside.items()})
        end, align = start + member.size, max(align, member.align)
        longest = max(longest, end)
    return RecordMeasures(max(round_up(longest if union else end, align), 1), align, offsets)
