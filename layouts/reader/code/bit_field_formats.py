"""Structs of bit fields as matrix descriptors: by where their fields lie, whatever they are called."""

from __future__ import annotations

from collections.abc import Iterator

from lanescope.descriptor.format import DescriptorFormat
from lanescope.ptx.table.descriptors import ROWS
from lanescope.reader.code.values import RecordType

WORD_BITS = 64
NO_FORMAT = ""  # of bit fields that cut the fields of every format

_Place = tuple[int, int]  # the first and the last bit


def find_format_of_fields(record: RecordType) -> str | None:
    """Return the name of the format whose fields a struct of 64 bits has; NO_FORMAT if its bit fields cut those of
    every format, None for any other struct.

    A struct has a format's fields if start, SBO and swizzle are bit fields of their own and no other one cuts a field.
    """
    if record.bits != WORD_BITS:
        return None
    places = set(_list_bit_fields(record))
    fitting = [form for form in ROWS if not any(_cuts(form, place) for place in places)]
    if places and not fitting:
        return NO_FORMAT
    return next((form.name for form in fitting if _list_telling(form) <= places), None)


def _list_telling(form: DescriptorFormat) -> set[_Place]:
    fields = map(form.get_field, ("start_address", "sbo", form.coded))
    return {(one.low, one.high) for one in fields}


def _cuts(form: DescriptorFormat, place: _Place) -> bool:
    """Return whether a bit field begins or ends inside a field of a format that it does not lie in."""
    first, last = place
    return any(
        first <= one.high
        and one.low <= last  # they overlap
        and not (one.low <= first and last <= one.high)
        and not (first <= one.low and one.high <= last)
        for one in form.fields
    )


def _list_bit_fields(record: RecordType, start: int = 0) -> Iterator[_Place]:
    """Yield where the bit fields of a struct lie, those of its members' structs among them."""
    for one in (record.fields or {}).values():
        low = start + one.low
        if one.inner is not None and not one.count:
            yield from _list_bit_fields(one.inner, low)
        elif one.integer is not None and not one.count and one.width < one.integer.bits:
            yield low, low + one.width - 1
