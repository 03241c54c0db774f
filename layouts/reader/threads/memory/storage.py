"""Origins of bytes in registers, local variables and shared memory, for every thread.

A load of global memory is a record: the array's name and the byte offset of every thread. A byte of a register or of
shared memory is (record, thread, byte), so that a value keeps its origin through registers, conversions and tiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.cxx.value_class import value_class
from lanescope.reader.threads.language.number_bytes import cut_number, join_numbers
from lanescope.reader.threads.language.numbers import (
    LONG,
    Number,
    ThreadNumber,
    add_numbers,
    as_array,
    make_uniform,
    select_numbers,
)

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
EMPTY, ZEROED, OPEN = 0, 1, 2  # records: a byte that nothing wrote, one of a 0, one whose origin is not known
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LoadRecord:
    """A load of global memory: the array, and the first byte that each thread reads; site: the expression of the
    address; calls: around it, outermost first; unit: bits that are counted instead of bytes; parts: of what is computed
    from several loads, these; unpacked: bits of each element that threads take out of words, 0 if they do not.
    """

    array: str
    offset: ThreadNumber
    site: Span = (0, 0)
    calls: tuple[Span, ...] = ()
    unit: int = 8
    parts: tuple[DataBytes, ...] = ()
    unpacked: int = 0


@value_class(frozen=True, slots=True, eq=False)
class DataBytes:
    """Bytes of every thread, each with its origin: [threads, bytes]."""

    record: Ints
    thread: Ints
    byte: Ints

    @property
    def size(self) -> int:
        return int(self.record.shape[1])

    def cut_bytes(self, first: int, size: int) -> DataBytes:
        """Return a range of the bytes."""
        part = slice(first, first + size)
        return DataBytes(self.record[:, part], self.thread[:, part], self.byte[:, part])

    def select_threads(self, lanes: Ints) -> DataBytes:
        """Return the bytes of some threads."""
        return DataBytes(self.record[lanes], self.thread[lanes], self.byte[lanes])

    def resize_element(self, size: int) -> DataBytes:
        """Return one element converted to another size: its bytes from the first one; the rest is its last byte."""
        first = self.byte[:, :1] + np.minimum(np.arange(size), self.size - 1)
        record, thread = (np.repeat(part[:, :1], size, axis=1) for part in (self.record, self.thread))
        return DataBytes(record, thread, first)


@lru_cache(maxsize=64)
def make_open_data(threads: int, size: int) -> DataBytes:
    """Return bytes of unknown origin."""
    nothing = np.zeros((threads, size), np.int64)
    return DataBytes(nothing + OPEN, nothing, nothing)


@lru_cache(maxsize=64)
def make_zeros(threads: int, size: int) -> DataBytes:
    """Return bytes that are 0."""
    nothing = np.zeros((threads, size), np.int64)
    return DataBytes(nothing + ZEROED, nothing, nothing)


@value_class(frozen=True, slots=True, eq=False)
class ReadBytes(DataBytes):
    """A register that plain loads of shared memory filled; sites: the load of each byte."""

    sites: tuple[Span, ...] = ()

    @property
    def site(self) -> Span:
        return self.sites[0]

    def cut_bytes(self, first: int, size: int) -> ReadBytes:
        part = DataBytes.cut_bytes(self, first, size)
        return ReadBytes(part.record, part.thread, part.byte, self.sites[first : first + size])

    def resize_element(self, size: int) -> ReadBytes:
        resized = DataBytes.resize_element(self, size)
        return ReadBytes(resized.record, resized.thread, resized.byte, self.sites[:1] * size)


def fill_up(data: DataBytes, copied: Ints) -> DataBytes:
    """Return data whose bytes are 0 after the first ones. copied: the number of these in every thread."""
    beyond = np.arange(data.size) >= copied[:, None]
    return DataBytes(np.where(beyond, ZEROED, data.record), data.thread, data.byte) if beyond.any() else data


def join_data(parts: list[DataBytes]) -> DataBytes:
    """Concatenate several values."""
    record, thread, byte = (
        np.concatenate([getattr(p, n) for p in parts], axis=1) for n in ("record", "thread", "byte")
    )
    sites = tuple(site for part in parts if isinstance(part, ReadBytes) for site in part.sites)
    if len(sites) == record.shape[1]:
        return ReadBytes(record, thread, byte, sites)
    return DataBytes(record, thread, byte)


@dataclass(frozen=True, slots=True)
class FloatConstant:
    """A floating-point number that depends on no element. zero: whether it is certainly 0; partly: in some threads."""

    zero: bool = False
    partly: bool = False


CONSTANT, ZERO, PARTLY_ZERO = FloatConstant(), FloatConstant(True), FloatConstant(partly=True)
Value = Any  # ThreadNumber, DataBytes, FloatConstant, Pointer, a type, a lambda, or None


def parse_constant(text: str) -> FloatConstant:
    """Return the constant of a floating-point literal of C++; that of a hexadecimal one counts as other than 0."""
    try:
        return CONSTANT if float(text.rstrip("fFlL")) else ZERO
    except ValueError:
        return CONSTANT


def parse_real(text: str) -> float:
    """Return the number of a floating-point literal of C++."""
    text = text.rstrip("fFlL").replace("'", "")
    return float.fromhex(text) if text.lower().startswith("0x") else float(text)


def convert_to_float(value: ThreadNumber) -> FloatConstant:
    """Return an integer as a floating-point number."""
    zeros = np.asarray(as_array(value.const)) == 0 if value.const is not None else np.False_
    return ZERO if zeros.all() else PARTLY_ZERO if zeros.any() else CONSTANT


def is_zero(value: Value) -> bool:
    """Return whether a value, or all of a vector such as uint4, is certainly 0 in all threads."""
    if isinstance(value, Pointer) and value.space == "local" and not value.dims and value.type.vector:
        first = value.offset.known if value.offset is not None else None
        return first is not None and value.array.is_zero(first, value.type.size)
    return value == ZERO if isinstance(value, FloatConstant) else isinstance(value, ThreadNumber) and value.known == 0


@dataclass(slots=True)
class LocalMemory:
    """A variable or an array of every thread: offset in bytes → (value, its size).

    owners: the threads that ran its declaration, None for all: no other thread can read it; valued: whether that gives
    it a value.
    """

    cells: dict[int, tuple[Value, int]] = field(default_factory=dict)
    initializer: Any = None  # the expression that it got last, and the scope of that
    forgotten: bool = False  # whether anything may have been written
    owners: Mask | None = None
    valued: bool = False
    stepped: bool = False  # whether an operator such as += has changed it
    sites: dict[int, Span] = field(default_factory=dict)  # by offset: the expression that was stored last
    width: int = 0  # of all cells, if they have one and lie at its multiples; -1 if they overlap otherwise

    def note_assignment(self, value: Any, stepped: bool) -> None:
        """Note an assignment of an expression, and its scope. stepped: whether it is by an operator such as +=."""
        self.stepped |= stepped
        self.initializer = self.initializer if stepped else value

    def read_value(self, offset: int, size: int) -> Value:
        """Return the value at an offset, None if it is not known."""
        found = self.cells.get(offset)
        if found is not None and found[1] == size:
            return found[0]
        if (numbers := self._list_numbers(offset, size)) is not None:
            return join_numbers(numbers)
        if found is not None and not isinstance(found[0], DataBytes):
            return None
        parts: list[DataBytes] = []
        at = offset
        while at < offset + size:
            piece = self._find(at)
            if piece is None:
                return None
            data, first = piece
            parts.append(data.cut_bytes(first, min(data.size - first, offset + size - at)))
            at += parts[-1].size
        return join_data(parts)

    def _list_numbers(self, offset: int, size: int) -> list[tuple[ThreadNumber, int]] | None:
        """Return the integers, with their bytes, that some bytes are; None if not all are of integers."""
        near = [
            (start, *cell) for start, cell in self.cells.items() if start < offset + size and offset < start + cell[1]
        ]
        parts, at = list[tuple[ThreadNumber, int]](), offset
        for start, value, width in sorted(near, key=lambda cell: cell[0]):
            past = min(start + width, offset + size)
            part = cut_number(value, width, at - start, past - at) if isinstance(value, ThreadNumber) else None
            if start > at or part is None:
                return None
            parts.append((part, past - at))
            at = past
        return parts if at == offset + size else None

    def _find(self, at: int) -> tuple[DataBytes, int] | None:
        for start in range(at, max(at - 16, -1), -1):
            found = self.cells.get(start)
            if found is not None:
                inside = isinstance(found[0], DataBytes) and at < start + found[1]
                return (found[0], at - start) if inside else None
        return None

    def write_value(self, offset: int, size: int, value: Value, mask: Mask | None) -> None:
        """Write a value; mask: the threads that do, None for all."""
        old = self.cells.get(offset)
        if mask is not None and old is not None and old[1] == size:
            value = merge_values(mask, value, old[0])
        elif mask is not None and (isinstance(value, DataBytes) or is_zero(value)):
            before = self._collect_bytes(offset, size, len(mask))
            value = merge_values(mask, value, before) if before is not None else value
        if not self.cells and size and not offset % size:
            self.width = size
        if size and self.width == size and not offset % size:
            self.cells[offset] = (value, size)
            return
        self.width = -1
        for start in self._find_overlap(offset, size):
            del self.cells[start]
        self.cells[offset] = (value, size)

    def _collect_bytes(self, offset: int, size: int, threads: int) -> DataBytes | None:
        """Return the bytes of values of other sizes; None if none of them is loaded data or 0."""
        found = list[DataBytes]()
        for at in range(offset, offset + size):
            piece = self._find(at)
            near = ((start, *cell) for start, cell in self.cells.items() if start <= at < start + cell[1])
            zero = piece is None and any(is_zero(value) for _, value, _ in near)
            found.append(
                piece[0].cut_bytes(piece[1], 1) if piece else (make_zeros if zero else make_open_data)(threads, 1)
            )
        data = join_data(found)
        return data if (data.record != OPEN).any() else None

    def _find_overlap(self, offset: int, size: int) -> list[int]:
        near: Iterable[int] = range(max(offset - 16, 0), offset + size) if size <= 64 else list(self.cells)
        if size <= 64 and len(self.cells) < 8:
            near = sorted(start for start in self.cells if start >= max(offset - 16, 0))
        hit = [s for s in near if s in self.cells and s < offset + size and offset < s + self.cells[s][1]]
        for start in hit:  # what is left of a larger value stays
            value, width = self.cells[start]
            if start < offset:
                self.cells[start] = (cut_value(value, width, 0, offset - start), offset - start)
            if offset + size < start + width:
                rest = start + width - offset - size
                self.cells[offset + size] = (cut_value(value, width, width - rest, rest), rest)
        return [s for s in hit if s >= offset]

    def is_unset(self, offset: int, size: int) -> bool:
        """Return whether nothing has written any byte of a value."""
        if self.forgotten:
            return False
        return not any(start < offset + size and offset < start + width for start, (_, width) in self.cells.items())

    def is_partly_unset(self, offset: int, size: int) -> bool:
        """Return whether some bytes of a value are written and others never."""
        if self.valued or self.forgotten or not all(width for _, width in self.cells.values()):
            return False
        written = {byte for start, (_, width) in self.cells.items() for byte in range(start, start + width)}
        return 0 < len(written.intersection(range(offset, offset + size))) < size

    def is_zero(self, offset: int, size: int) -> bool:
        """Return whether all bytes of a value are certainly 0."""
        every = ((start, start + width, value) for start, (value, width) in self.cells.items())
        near = [one for one in every if one[0] < offset + size and offset < one[1]]
        covered = {byte for start, past, _ in near for byte in range(start, past)}
        return covered.issuperset(range(offset, offset + size)) and all(is_zero(value) for *_, value in near)

    def forget_values(self) -> None:
        """Make all values unknown."""
        self.forgotten = True
        self.cells = {offset: (None, size) for offset, (_, size) in self.cells.items()}


def cut_value(value: Value, width: int, first: int, count: int) -> Value:
    """Return some bytes of a value of some width, None if they are not known."""
    if isinstance(value, ThreadNumber):
        return cut_number(value, width, first, count)
    if isinstance(value, DataBytes):
        return value.cut_bytes(first, count)
    return value if isinstance(value, FloatConstant) else None


def merge_values(mask: Mask, new: Value, old: Value) -> Value:
    """Return the new value where the mask is set, else the old one; None if unknown."""
    if new is old:
        return new
    if isinstance(new, ThreadNumber) and isinstance(old, ThreadNumber):
        return select_numbers(mask, new, old)
    if isinstance(new, DataBytes) and isinstance(old, DataBytes) and new.size == old.size:
        both = zip((new.record, new.thread, new.byte), (old.record, old.thread, old.byte), strict=True)
        return DataBytes(*(a if a is b else np.where(mask[:, None], a, b) for a, b in both))
    if isinstance(new, DataBytes) or isinstance(old, DataBytes):
        return _join_constant(mask, new, old)
    if not isinstance(new, FloatConstant) or not isinstance(old, FloatConstant):
        return None
    return CONSTANT if new.zero == old.zero else PARTLY_ZERO


def _join_constant(mask: Mask, new: Value, old: Value) -> DataBytes | None:
    """Return data where the mask is set, and a constant elsewhere, or the reverse; None if D would be replaced."""
    if isinstance(new, DataBytes):
        return DataBytes(np.where(mask[:, None], new.record, ZEROED if is_zero(old) else OPEN), new.thread, new.byte)
    if not is_zero(new) or (old.record < 0).any():
        return None
    return DataBytes(np.where(mask[:, None], ZEROED, old.record), old.thread, old.byte)


@value_class(frozen=True, slots=True, eq=False)
class Pointer:
    """A pointer.

    space: global, shared or local; array: a global array's name, or the local memory; offset in bytes; type: of the
    target, with the dimensions of an array.
    """

    space: str
    array: Any
    offset: Number
    type: Any
    dims: tuple[int, ...] = ()

    @property
    def shared_address(self) -> Number:
        """The address in shared memory; None in another memory, or if it is unknown."""
        return self.offset if self.space == "shared" else None

    def move(self, offset: Number) -> Pointer:
        return Pointer(self.space, self.array, offset, self.type, self.dims)

    def find_part(self, start: int, kind: Any, dims: tuple[int, ...] = ()) -> Pointer:
        """Return the part of the target that begins at byte `start`."""
        return Pointer(self.space, self.array, add_numbers(self.offset, make_uniform(start, LONG)), kind, dims)


def spread_coefficient(value: Any, threads: int) -> Ints:
    """Return a coefficient as an array [threads]."""
    if isinstance(value, int):
        return _spread_uniform(value, threads)
    if isinstance(value, np.ndarray) and value.shape == (threads,) and value.dtype == np.int64:
        return value
    return np.broadcast_to(np.asarray(value, np.int64), (threads,))


@lru_cache(maxsize=1 << 10)
def _spread_uniform(value: int, threads: int) -> Ints:
    return np.broadcast_to(as_array(value), (threads,))


def spread_number(value: Any, threads: int) -> Ints | None:
    """Return a number, or an address in shared memory, as an array [threads]; None if it is not known."""
    if isinstance(value, Pointer):
        value = value.shared_address
    known = isinstance(value, ThreadNumber) and value.const is not None
    return spread_coefficient(value.const, threads) if known else None


def list_offsets(records: list[LoadRecord], data: DataBytes, threads: int) -> Iterator[tuple[str, Ints]]:
    """Yield the coefficients of each product of open names in the byte offsets of data that is all known, by name."""
    used = np.unique(data.record)
    offsets = [records[n].offset for n in used.tolist()]
    which = np.searchsorted(used, data.record)
    for name in sorted({(), *(name for offset in offsets for name in offset.terms)}):
        table = np.stack([spread_coefficient(offset.terms.get(name, 0), threads) for offset in offsets])
        result = table[which, data.thread]
        yield "*".join(name), result + data.byte if not name else result
