"""Descriptors that a text builds in two words of 32 bits: the items 0 and 1 of one array."""

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
    """Put the word of `desc[0]` and that of `desc[1]` together; a `desc[1]` alone is no descriptor's first half."""
    lows = {_get_key(group, _LOW): group for group in groups if _is_half(group, _LOW)}
    highs = {_get_key(group, _HIGH): group for group in groups if _is_half(group, _HIGH)}
    joined: list[list[FoundDescriptor]] = []
    for group in groups:
        if _is_half(group, _HIGH) and _get_key(group, _HIGH) in lows:
            low = lows[_get_key(group, _HIGH)]
            joined.append([_join(one, other) for one, other in zip(low, group, strict=False)])
        elif not (_is_half(group, _LOW) and _get_key(group, _LOW) in highs):
            joined.append(group)
    return joined


def get_low_half(value: SymbolicInt) -> tuple[object, ...]:
    """Return what tells the low 32 bits of a word apart."""
    low = and_ints(convert_int(value, ULONG), SymbolicInt(_MASK, type=ULONG))
    return low.const, low.pieces


def _get_key(group: Sequence[FoundDescriptor], ending: str) -> tuple[str, object]:
    return group[0].name.removesuffix(ending), group[0].calls


def _is_half(group: Sequence[FoundDescriptor], ending: str) -> bool:
    """Return whether words are items of an array that is called a descriptor, and none is known to be longer."""
    name = group[0].name
    whole = any(one.value.const >> 32 or any(p.low >= 32 for p in one.value.pieces) for one in group)
    return name.endswith(ending) and bool(_DESC.search(name)) and not whole


def _join(low: FoundDescriptor, high: FoundDescriptor) -> FoundDescriptor:
    mask = SymbolicInt(_MASK, type=ULONG)
    first, second = (and_ints(convert_int(one.value, ULONG), mask) for one in (low, high))
    word = or_ints(first, shift_int(second, 32))
    return replace(high, name=high.name.removesuffix(_HIGH), value=word)
