"""Recognise the constant part of a descriptor that code keeps in a variable and adds an address to."""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.reader.code.findings import FoundDescriptor
from lanescope.reader.code.symbolic_integers import Span

_START_MASK = 0x3FFF  # bits 0 to 13 of either format


def drop_bases(groups: list[list[FoundDescriptor]]) -> list[list[FoundDescriptor]]:
    """Drop the groups of constants to which another descriptor adds its start: base | address >> 4."""
    values = [group[0].value for group in groups if group[0].value.pieces]
    started = [(value.const, {mark.span for mark in value.marks}) for value in values]
    return [group for group in groups if not _is_base(group, started)]


def _is_base(group: list[FoundDescriptor], started: Sequence[tuple[int, set[Span]]]) -> bool:
    """Return whether a descriptor without a start has its bits, set at the same places, in a descriptor with one."""
    value = group[0].value
    bits, spans = value.known, {mark.span for mark in value.marks}
    if bits is None or bits & _START_MASK or not spans or any(other.value.known != bits for other in group):
        return False
    return any(bits & const == bits and spans <= places for const, places in started)
