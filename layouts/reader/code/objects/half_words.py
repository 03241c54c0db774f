"""Join descriptors built as two 32-bit words: items 0 and 1 of an array."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from lanescope.cxx.integers import ULONG
from lanescope.reader.code.findings import FoundDescriptor
from lanescope.reader.code.symbolic_integers import SymbolicInt
from lanescope.reader.code.symbolic_integers.bits import and_ints, or_ints, shift_int
from lanescope.reader.code.symbolic_integers.conversion import convert_int

_LOW, _HIGH = "[0]", "[1]"
_MASK = (1 << 32) - 1
_DESC = re.compile(r"desc", re.I)


def join_half_words(groups: Sequence[list[FoundDescriptor]]) -> list[list[FoundDescriptor]]:
    """Join the words `desc[0]` and `desc[1]` into one descriptor; a `desc[1]` alone is kept."""
    lows = {_get_key(group, _LOW): group for group in groups if _is_half(group, _LOW)}
    highs = {_get_key(group, _HIGH): group for group in groups if _is_half(group, _HIGH)}
    joined_groups: list[list[FoundDescriptor]] = []
    for group in groups:
        if _is_half(group, _HIGH) and _get_key(group, _HIGH) in lows:
            low = lows[_get_key(group, _HIGH)]
            joined_groups.append([_join(first, second) for first, second in zip(low, group, strict=False)])
        elif not (_is_half(group, _LOW) and _get_key(group, _LOW) in highs):
            joined_groups.append(group)
    return joined_groups


def get_low_half(value: SymbolicInt) -> tuple[object, ...]:
    """Return a key of the low 32 bits of a word."""
    low = and_ints(convert_int(value, ULONG), SymbolicInt(_MASK, type=ULONG))
    return low.const, low.pieces


def _get_key(group: Sequence[FoundDescriptor], ending: str) -> tuple[str, object]:
    return group[0].name.removesuffix(ending), group[0].calls


def _is_half(group: Sequence[FoundDescriptor], ending: str) -> bool:
    """Return whether the values are 32-bit items of an array named as a descriptor."""
    name = group[0].name
    is_long = any(
        descriptor.value.const >> 32 or any(p.low >= 32 for p in descriptor.value.pieces) for descriptor in group
    )
    return name.endswith(ending) and bool(_DESC.search(name)) and not is_long


def _join(low: FoundDescriptor, high: FoundDescriptor) -> FoundDescriptor:
    mask = SymbolicInt(_MASK, type=ULONG)
    first, second = (and_ints(convert_int(descriptor.value, ULONG), mask) for descriptor in (low, high))
    word = or_ints(first, shift_int(second, 32))
    return replace(high, name=high.name.removesuffix(_HIGH), value=word)
