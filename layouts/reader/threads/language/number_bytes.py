"""Integers that are made of the bytes of others, as those of a union, of `mov.b64 d, {lo, hi}` and of memcpy."""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.reader.threads.language.numbers import (
    ULONG,
    Number,
    ThreadNumber,
    apply_operator,
    convert_number,
    make_number,
)

_WIDTHS = (1, 2, 4, 8)  # bytes of an integer


def cut_number(number: ThreadNumber, size: int, first: int, count: int) -> Number:
    """Return some bytes of an integer, the lowest first, as one without sign; None if they are not known.

    size: bytes of the integer; first, count: those that are taken. All bytes of 0 are 0, whatever its size.
    """
    if number.known == 0:
        return make_number(0, (8 * count, False)) if count in _WIDTHS else None
    if size not in _WIDTHS or count not in _WIDTHS:
        return None
    whole = convert_number(number, (8 * size, False))
    return convert_number(apply_operator(">>", whole, make_number(8 * first)) if first else whole, (8 * count, False))


def join_numbers(parts: Sequence[tuple[ThreadNumber, int]]) -> Number:
    """Return the integer that the bytes of others make; None if it is not known. parts: (integer, bytes), the lowest
    first.
    """
    if sum(size for _, size in parts) not in _WIDTHS:
        return None
    whole: Number = make_number(0, ULONG)
    at = 0
    for number, size in parts:
        part = convert_number(cut_number(number, size, 0, size), ULONG)
        whole = apply_operator("|", whole, apply_operator("<<", part, make_number(8 * at)))
        at += size
    return convert_number(whole, (8 * at, False))
