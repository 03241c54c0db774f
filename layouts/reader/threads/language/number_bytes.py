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

_WORD, _WIDTHS = 8, (1, 2, 4, 8)  # the most bytes of an integer, and those of its types


def cut_number(number: ThreadNumber, size: int, first: int, count: int) -> Number:
    """Return some bytes of an integer, the lowest first, as one without sign; None if they are not known.

    size: bytes of the integer; first, count: those that are taken. All bytes of 0 are 0, whatever its size.
    """
    if number.known == 0 or size > _WORD or count > _WORD:
        return make_number(0, _get_kind(count)) if number.known == 0 else None
    whole = convert_number(number, _get_kind(size))
    part = apply_operator(">>", whole, make_number(8 * first)) if first else whole
    if count not in _WIDTHS:
        part = apply_operator("&", part, make_number((1 << 8 * count) - 1, ULONG))
    return convert_number(part, _get_kind(count))


def _get_kind(size: int) -> tuple[int, bool]:
    """Return the type of an integer of some bytes without sign: of 8 if there is none of them."""
    return (8 * size, False) if size in _WIDTHS else ULONG


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
