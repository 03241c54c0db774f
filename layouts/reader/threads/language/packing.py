"""Registers that code packs from smaller elements: (hi << 16) | lo, {lo, hi}, or bytes that prmt selects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lanescope.cxx.value_class import value_class
from lanescope.reader.threads.language.bit_words import BitWord, move_bits, permute_bits
from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.memory.storage import DataBytes, join_data

REGISTER = 4  # bytes


@value_class(frozen=True, slots=True, eq=False)
class ShiftedBytes:
    """Data shifted to a byte of a register, whose other bytes are 0. parts: (first byte, data), lowest first."""

    parts: tuple[tuple[int, DataBytes], ...]


def pack_bytes(op: str, left: Any, right: Any) -> Any:
    """Return the result of a shift by whole bytes, of a mask or of an | of data; None for any other operation."""
    if op == "|" and all(isinstance(side, DataBytes | ShiftedBytes) for side in (left, right)):
        return _join_parts(*_list_parts(left), *_list_parts(right))
    count = right.known if isinstance(right, ThreadNumber) else None
    known = isinstance(left, DataBytes) and left.size <= REGISTER and count is not None
    result = _OPERATIONS[op](left, count) if known and op in _OPERATIONS else None
    return result if result is not None else move_bits(op, left, right)


def permute_bytes(low: Any, high: Any, selector: Any) -> DataBytes | BitWord | None:
    """Return the bytes that prmt in its default mode selects from two registers; None if one is not known.

    Source: PTX ISA 9.1, 9.7.9.7 (prmt).
    """
    chosen = selector.known if isinstance(selector, ThreadNumber) else None
    if chosen is None:
        return None
    parts = []
    for n in range(REGISTER):
        digit = chosen >> 4 * n & 0xF
        data = (low, high)[digit >> 2 & 1]
        if digit > 7 or not isinstance(data, DataBytes) or digit % REGISTER >= data.size:
            return permute_bits(low, high, chosen)
        parts.append(data.cut_bytes(digit % REGISTER, 1))
    return join_data(parts)


def join_registers(values: Sequence[Any], size: int) -> DataBytes | None:
    """Return the data of registers, lowest first, as one of `size` bytes; None if they are not such data."""
    parts = [value for value in values if isinstance(value, DataBytes)]
    whole = len(parts) == len(values) and all(part.size * len(parts) == size for part in parts)
    return join_data(parts) if whole else None


def _shift_up(data: DataBytes, bits: int) -> ShiftedBytes | None:
    return ShiftedBytes(((bits // 8, data),)) if bits in range(8, 8 * REGISTER, 8) else None


def _shift_down(data: DataBytes, bits: int) -> DataBytes | None:
    return data.cut_bytes(bits // 8, data.size - bits // 8) if bits in range(8, 8 * data.size, 8) else None


def _mask_bytes(data: DataBytes, mask: int) -> DataBytes | None:
    return data.cut_bytes(0, min(mask.bit_length() // 8, data.size)) if mask in (0xFF, 0xFFFF) else None


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {"<<": _shift_up, ">>": _shift_down, "&": _mask_bytes}


def _list_parts(value: DataBytes | ShiftedBytes) -> tuple[tuple[int, DataBytes], ...]:
    return value.parts if isinstance(value, ShiftedBytes) else ((0, value),)


def _join_parts(*parts: tuple[int, DataBytes]) -> DataBytes | ShiftedBytes | None:
    """Join data at different bytes; each ends where the next begins. Return data if the first byte is among them."""
    ordered = sorted(parts, key=lambda part: part[0])
    starts = [start for start, _ in ordered]
    ends = [*starts[1:], REGISTER]
    cut = [(start, data.cut_bytes(0, end - start)) for (start, data), end in zip(ordered, ends, strict=True)]
    if len(set(starts)) < len(starts) or any(
        start + d.size < end for (start, d), end in zip(cut[:-1], ends, strict=False)
    ):
        return None
    return join_data([data for _, data in cut]) if not starts[0] else ShiftedBytes(tuple(cut))
