"""Registers whose bits code moves: elements narrower than a byte that shifts, masks, lop3 and prmt unpack.

A bit is that of a loaded byte, or a constant. An element of a word is a function of the bits of one loaded element: it
gets a record in which these elements are numbered instead of bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.cxx.value_class import value_class
from lanescope.reader.threads.language.numbers import LONG, ThreadNumber, make_uniform, multiply_numbers
from lanescope.reader.threads.memory.results import keep_result
from lanescope.reader.threads.memory.storage import (
    OPEN,
    DataBytes,
    FloatConstant,
    LoadRecord,
    join_data,
    make_open_data,
)

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

WORD = 32
Bit = tuple[DataBytes, int] | None  # the data and the number of its bit; None for a constant
_LOGIC = {"&": 0xC0, "|": 0xFC, "^": 0x3C}  # tables of lop3
MOST_PARTS = 4  # loaded elements that one is computed from


@value_class(frozen=True, slots=True, eq=False)
class BitWord:
    """A register of which bits are known: from the lowest one."""

    bits: tuple[Bit, ...]


def list_bits(value: Any) -> tuple[Bit, ...] | None:
    """Return the bits of loaded data, of a word or of a number; None for any other value."""
    if isinstance(value, BitWord):
        return value.bits
    if isinstance(value, DataBytes) and value.size <= WORD // 8 and bool((value.record > OPEN).all()):
        return (*((value, n) for n in range(8 * value.size)), *[None] * (WORD - 8 * value.size))
    return (None,) * WORD if isinstance(value, ThreadNumber) and value.known is not None else None


def move_bits(op: str, left: Any, right: Any) -> BitWord | None:
    """Return the word that a shift, a mask or another operator on bits makes; None if its bits are not known."""
    bits, number = list_bits(left), right.known if isinstance(right, ThreadNumber) else None
    if bits is None or (op not in _LOGIC and number not in range(WORD)):
        return None
    if op == "<<":
        return BitWord(((None,) * (number or 0) + bits)[:WORD])
    if op == ">>":
        return BitWord((*bits[number or 0 :], *bits[WORD - 1 :] * (number or 0)))  # of signed numbers
    return combine_bits(_LOGIC[op], left, right) if op in _LOGIC else None


def combine_bits(table: int, *operands: Any) -> BitWord | None:
    """Return the word that lop3 makes of two or three registers; None if a bit depends on two that are not constant.

    table: its bit 4·a + 2·b + c is the result for bits a, b and c (PTX ISA 9.1, 9.7.8.6, lop3).
    """
    words = [list_bits(value) for value in operands]
    numbers = [value.known if isinstance(value, ThreadNumber) else None for value in operands]
    known = [word for word in words if word is not None]
    columns = list(zip(*known, strict=True))
    if len(known) < len(words) or any(sum(bit is not None for bit in column) > 1 for column in columns):
        return None
    return BitWord(tuple(_combine_column(table, n, column, numbers) for n, column in enumerate(columns)))


def _combine_column(table: int, n: int, column: Sequence[Bit], numbers: Sequence[int | None]) -> Bit:
    """Return bit n of lop3: the bit of data that the result depends on, None if it depends on none."""
    choices = [0]
    for bit, number in zip(column, numbers, strict=True):
        digits = (0, 1) if bit is not None or number is None else ((number >> n) & 1,)
        choices = [2 * choice + digit for choice in choices for digit in digits]
    found = {table >> (choice << 3 - len(column)) & 1 for choice in choices}
    return next((bit for bit in column if bit is not None), None) if len(found) > 1 else None


def permute_bits(low: Any, high: Any, selector: int) -> BitWord | None:
    """Return the bytes that prmt selects from registers and constants; None if one is not known."""
    words = [list_bits(value) for value in (low, high)]
    result: list[Bit] = []
    for n in range(4):
        digit = selector >> 4 * n & 0xF
        word = words[digit >> 2 & 1]
        if word is None or digit > 7:
            return None
        result += word[8 * (digit & 3) : 8 * (digit & 3) + 8]
    return BitWord(tuple(result))


def make_elements(run: KernelRunner, word: BitWord, size: int, count: int | None = None) -> DataBytes:
    """Return the elements of a word as data. size: bytes of each; count: of elements, as many as fit by default."""
    width = 8 * size
    groups = [word.bits[first : first + width] for first in range(0, WORD, width)][:count]
    return join_data([_make_element(run, [bit for bit in group if bit is not None], size) for group in groups])


def decode_byte(run: KernelRunner, value: Any, size: int) -> DataBytes | None:
    """Return what a table has for a loaded element of a byte; None for any other value. size: bytes of an entry."""
    if isinstance(value, BitWord) and not any(value.bits[8:]):
        value = make_elements(run, value, 1, 1)
    if not isinstance(value, DataBytes) or not (value.record[run.mask] > OPEN).all():
        return None
    return value.resize_element(size) if (value.byte == value.byte[:, :1]).all() else None


def _make_element(run: KernelRunner, bits: Sequence[tuple[DataBytes, int]], size: int) -> DataBytes:
    """Return the smallest element that has all these bits of one loaded value; open data without one."""
    opened = make_open_data(run.threads, size)
    if not bits or any(bit[0] is not bits[0][0] for bit in bits):
        return opened
    data, numbers = bits[0][0], [number for _, number in bits]
    first, last = min(numbers), max(numbers)
    unit = next((unit for unit in (1, 2, 4, 8, 16, 32) if first // unit == last // unit), 0)
    if unit > 8 and first % unit:
        return opened  # no element of 2 or 4 bytes: bits of two bytes
    if unit == 8 * size:
        return data.cut_bytes(first // 8, size)
    part = data.cut_bytes(first // 8, max(unit // 8, 1))
    record = part.record.copy()
    for number in np.unique(part.record).tolist():
        new_record = _find_record(run, number, unit)
        if new_record is None:
            return opened
        record[part.record == number] = new_record
    byte = part.byte * (8 // unit) + first % 8 // unit if unit < 8 else part.byte
    return DataBytes(record, part.thread, byte).resize_element(size)


def _find_record(run: KernelRunner, number: int, unit: int) -> int | None:
    """Return the record of a load whose elements of some bits are unpacked, and counted if they are narrower than a
    byte; None if it has others already.
    """
    if (number, unit) not in run.unit_records:
        load = run.records[number]
        offset = multiply_numbers(load.offset, make_uniform(8 // unit, LONG)) if unit < 8 else load.offset
        if load.unit != 8 or load.parts or offset is None:
            return None
        run.records.append(LoadRecord(load.array, offset, load.site, load.calls, min(unit, 8), unpacked=unit))
        run.unit_records[number, unit] = len(run.records) - 1
    return run.unit_records[number, unit]


def compute_elements(run: KernelRunner, *operands: Any, size: int = 4, name: str = "") -> Any:
    """Return what the result of arithmetic depends on: elements of D, else loaded elements; None if on none.

    size: bytes of an element of a word; name: the operator, the function or the opcode, of a run that computes.
    """
    if run.tape is not None:
        return run.tape.apply(run, name, operands)
    result = keep_result(run, *operands)
    return result if result is not None else _combine_loads(run, *operands, size=size)


def _combine_loads(run: KernelRunner, *operands: Any, size: int = 4) -> DataBytes | None:
    """Return data that is computed from loaded elements, of which each is a part of its origin; None without any.

    size: bytes of an element of a word.
    """
    found: list[DataBytes] = []
    for value in operands:
        if not isinstance(value, FloatConstant | DataBytes | BitWord | ThreadNumber):
            return None
        data = make_elements(run, value, size) if isinstance(value, BitWord) else value
        if isinstance(data, DataBytes):
            found += [part for part in _list_parts(run, data) if not any(part is one for one in found)]
    if not found or len({one.size for one in found}) > 1:
        return None
    if len(found) > MOST_PARTS or any(bool((one.record <= OPEN).any()) for one in found):
        return make_open_data(run.threads, found[0].size)
    if len(found) == 1:
        return found[0]
    run.records.append(LoadRecord("", make_uniform(0), parts=tuple(found)))
    here = np.arange(found[0].size) + np.zeros((run.threads, 1), np.int64)
    return DataBytes(here * 0 + len(run.records) - 1, here * 0 + np.arange(run.threads)[:, None], here)


def _list_parts(run: KernelRunner, data: DataBytes) -> tuple[DataBytes, ...]:
    """Return the parts of data that is computed from several loaded elements in place, else the data."""
    number = int(data.record[0, 0]) if data.size else OPEN
    parts = run.records[number].parts if number > OPEN and bool((data.record == number).all()) else ()
    whole = all(part.size == data.size for part in parts) and bool((data.byte == np.arange(data.size)).all())
    own = bool((data.thread == np.arange(run.threads)[:, None]).all())
    return parts if parts and whole and own else (data,)


def list_choices(run: KernelRunner, data: DataBytes) -> list[DataBytes]:
    """Return data for each part of its origin, in which this part alone stands for what is computed from all."""
    numbers = [int(n) for n in np.unique(data.record) if n > OPEN and run.records[int(n)].parts]
    count = {len(run.records[n].parts) for n in numbers}
    if not numbers:
        return [data]
    return [_take_part(run, data, numbers, n) for n in range(count.pop())] if len(count) == 1 else []


def _take_part(run: KernelRunner, data: DataBytes, numbers: Sequence[int], part: int) -> DataBytes:
    record, thread, byte = (one.copy() for one in (data.record, data.thread, data.byte))
    for number in numbers:
        mine = data.record == number
        source = run.records[number].parts[part]
        at = data.thread[mine], np.minimum(data.byte[mine], source.size - 1)
        record[mine], thread[mine], byte[mine] = source.record[at], source.thread[at], source.byte[at]
    return DataBytes(record, thread, byte)
