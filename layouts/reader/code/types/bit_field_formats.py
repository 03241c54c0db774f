"""Recognise structs of bit fields as matrix descriptors by the positions of their fields, not by names."""

from __future__ import annotations

from collections.abc import Iterator

from lanescope.descriptor.format import DescriptorFormat
from lanescope.ptx.table.descriptors import ROWS
from lanescope.reader.code.values import RecordType

WORD_BITS = 64
NO_FORMAT = ""  # for bit fields that split the fields of every format

_BitRange = tuple[int, int]  # first and last bit


def find_format_of_fields(record: RecordType) -> str | None:
    """Return the name of the descriptor format of a 64-bit struct.

    It is that format if start, SBO and swizzle are separate bit fields and no bit field splits a field of the format.
    NO_FORMAT if the bit fields split fields of every format, None for any other struct.
    """
    if record.bits != WORD_BITS:
        return None
    places = set(_list_bit_fields(record))
    fitting = [form for form in ROWS if not any(_splits_field(form, place) for place in places)]
    if places and not fitting:
        return NO_FORMAT
    return next((form.name for form in fitting if _list_required_fields(form) <= places), None)


def _list_required_fields(form: DescriptorFormat) -> set[_BitRange]:
    fields = map(form.get_field, ("start_address", "sbo", form.coded))
    return {(field.low, field.high) for field in fields}


def _splits_field(form: DescriptorFormat, place: _BitRange) -> bool:
    """Return whether a bit field splits a field of a format."""
    first, last = place
    return any(
        first <= field.high
        and field.low <= last  # they overlap
        and not (field.low <= first and last <= field.high)
        and not (first <= field.low and field.high <= last)
        for field in form.fields
    )


def _list_bit_fields(record: RecordType, start: int = 0) -> Iterator[_BitRange]:
    """Yield the bit ranges of a struct's bit fields, including nested structs."""
    for member in (record.fields or {}).values():
        low = start + member.low
        if member.inner is not None and not member.count:
            yield from _list_bit_fields(member.inner, low)
        elif member.integer is not None and not member.count and member.width < member.integer.bits:
            yield low, low + member.width - 1
