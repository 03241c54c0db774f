"""Logic, shifts, bit fields and bytes. PTX ISA 9.1, 9.7.1.14 to 9.7.1.22, 9.7.8 and 9.7.9.7 (prmt)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanescope.ptx.operations.operation import (
    B32,
    PLAIN,
    U32,
    Array,
    Operation,
    OperationError,
    Words,
    check_words,
    declare,
    operation,
    take_type,
)
from lanescope.ptx.register_types import TYPES

_BITS, _FIELDS = "b16 b32 b64", "b32 b64"
_BYTE = np.uint32(0xFF)
_ENDS = ("clamp", "wrap")  # what an amount above the width becomes

declare({"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}, f"pred {_BITS}", 2)
declare({"not": np.invert}, f"pred {_BITS}", 1)
declare({"cnot": lambda a: (a == 0).astype(a.dtype)}, _BITS, 1)


def _shift_left(value: Array, count: Array) -> Array:
    """Return values shifted left; an amount of at least the width gives 0."""
    bits = value.dtype.itemsize * 8
    safe = np.minimum(count, bits - 1).astype(value.dtype)
    return np.asarray(np.where(np.asarray(count) >= bits, value.dtype.type(0), value << safe))


def _shift_right(value: Array, count: Array) -> Array:
    """Return values shifted right; an amount of at least the width gives the sign, or 0."""
    bits = value.dtype.itemsize * 8
    shifted: Array = np.asarray(value >> np.minimum(count, bits - 1).astype(value.dtype))
    if value.dtype.kind == "i":
        return shifted
    return np.asarray(np.where(np.asarray(count) >= bits, value.dtype.type(0), shifted))


@operation("shl", "shr")
def _make_shift(words: Words) -> Operation:
    """Make shl and shr: shift by an unsigned 32-bit amount, clamped to the width."""
    row = take_type(words, f"{PLAIN} {_BITS}")
    shift = _shift_left if words[0] == "shl" else _shift_right
    return Operation(row, (row, U32), lambda a, b: shift(np.asarray(a), b))


@operation("shf")
def _make_funnel_shift(words: Words) -> Operation:
    """Make shf: shift 64 bits, the second operand above the first, and return one half."""
    check_words(words, ("l", "r", *_ENDS))
    left, clamps = words[1] == "l", "clamp" in words
    word = np.uint64(32)

    def shift(a: Array, b: Array, c: Array) -> Array:
        count = (np.minimum(c, np.uint32(32)) if clamps else c & np.uint32(31)).astype(np.uint64)
        both = (b.astype(np.uint64) << word) | a
        return ((both << count) >> word if left else both >> count).astype(np.uint32)

    return Operation(B32, (B32,) * 3, shift)


@operation("lop3")
def _make_table_logic(words: Words) -> Operation:
    """Make lop3, whose table is the same for all threads."""
    row = take_type(words, "b32")
    return Operation(row, (row,) * 4, lambda a, b, c, table: look_up(int(np.ravel(table)[0]), a, b, c))


def look_up(table: int, a: Array, b: Array, c: Array) -> Array:
    """Return the bits of a table of eight: bit 4a + 2b + c of it."""
    simple = _SIMPLE.get(table)
    if simple is not None:
        return np.asarray(simple(a, b, c))
    result = np.zeros(np.broadcast(a, b, c).shape, np.uint32)
    for index in range(8):
        if table >> index & 1:
            result |= (a if index & 4 else ~a) & (b if index & 2 else ~b) & (c if index & 1 else ~c)
    return result


_SIMPLE: dict[int, Any] = {
    0x96: lambda a, b, c: a ^ b ^ c,
    0xE8: lambda a, b, c: (a & b) | (a & c) | (b & c),
    0xCA: lambda a, b, c: (a & b) | (~a & c),
    0x80: lambda a, b, c: a & b & c,
    0xFE: lambda a, b, c: a | b | c,
}


def _make_mask(count: Array, dtype: np.dtype[Any]) -> Array:
    """Return masks of that many low bits."""
    return np.asarray(_shift_left(np.ones((), dtype), count) - dtype.type(1))


def _cut_places(position: Array, length: Array, bits: int) -> tuple[Array, Array]:
    """Return a field's position and length: their low byte for 32 bits; for 64, sm_90 uses all bits (measured)."""
    if bits == 32:
        return position & _BYTE, length & _BYTE
    return np.minimum(position, _BYTE), np.minimum(length, _BYTE)


@operation("bfe")
def _make_field_extract(words: Words) -> Operation:
    row = take_type(words, "u32 u64 s32 s64")
    dtype = row.storage

    def extract(a: Array, position: Array, length: Array) -> Array:
        position, length = _cut_places(position, length, row.bits)
        field = _shift_right(a, position).view(dtype)
        mask = _make_mask(length, dtype)
        result = field & mask
        if row.kind == "s":
            last = np.minimum(position + length - np.uint32(1), np.uint32(row.bits - 1))
            sign = (_shift_right(a.view(dtype), last) & dtype.type(1)).astype(bool) & (length > 0)
            result = np.where(sign, result | ~mask, result)
        return result.view(row.dtype)

    return Operation(row, (row, U32, U32), extract)


@operation("bfi")
def _make_field_insert(words: Words) -> Operation:
    row = take_type(words, _FIELDS)

    def insert(a: Array, b: Array, position: Array, length: Array) -> Array:
        position, length = _cut_places(position, length, row.bits)
        mask = _shift_left(_make_mask(length, row.dtype), position)
        return (b & ~mask) | (_shift_left(a, position) & mask)

    return Operation(row, (row, row, U32, U32), insert)


def _spread(value: Array) -> Array:
    """Return values with every bit below their highest set bit also set."""
    bits = value.dtype.itemsize * 8
    step = 1
    while step < bits:
        value = value | value >> value.dtype.type(step)
        step *= 2
    return value


def _count_ones(value: Array) -> Array:
    return np.bitwise_count(value).astype(np.uint32)


def _count_leading_zeros(value: Array) -> Array:
    return np.uint32(8 * value.dtype.itemsize) - _count_ones(_spread(value))


def _reverse_bits(value: Array) -> Array:
    dtype = value.dtype
    octets = np.ascontiguousarray(np.atleast_1d(value)).view(np.uint8).reshape(-1, dtype.itemsize)[:, ::-1]
    reversed_bits = np.packbits(np.unpackbits(octets, axis=1).reshape(-1, dtype.itemsize, 8)[:, :, ::-1], axis=-1)
    return np.ascontiguousarray(reversed_bits.reshape(-1, dtype.itemsize)).view(dtype)[:, 0]


declare({"popc": _count_ones, "clz": _count_leading_zeros}, _FIELDS, 1, to="u32")
declare({"brev": _reverse_bits}, _FIELDS, 1)


@operation("bfind")
def _make_find_highest_bit(words: Words) -> Operation:
    """Make bfind: the highest bit that differs from the sign, or with .shiftamt the shift that moves it to the top."""
    row = take_type(words, "u32 u64 s32 s64", ("shiftamt",))
    bits = np.uint32(row.bits)

    def find(a: Array) -> Array:
        spread = _spread(np.where(a < 0, ~a, a).astype(row.dtype).view(row.storage))
        position = _count_ones(spread) - np.uint32(1)
        if "shiftamt" not in words:
            return position
        return np.where(position < bits, bits - np.uint32(1) - position, position)

    return Operation(U32, (row,), find)


@operation("fns")
def _make_find_set_bit(words: Words) -> Operation:
    """Make fns: find the n-th set bit from a base, upward for positive n and downward for negative n."""
    check_words(words, ())

    def find(mask: int, base: int, offset: int) -> int:
        if offset == 0:
            return base if mask >> base & 1 else 0xFFFFFFFF
        order = range(base, 32) if offset > 0 else range(base, -1, -1)
        found = [position for position in order if mask >> position & 1]
        return found[abs(offset) - 1] if len(found) >= abs(offset) else 0xFFFFFFFF

    def act(mask: Array, base: Array, offset: Array) -> Array:
        if (np.asarray(base) > 31).any():
            raise OperationError("fns with a base above 31, which PTX leaves undefined")
        rows = np.broadcast_arrays(np.atleast_1d(mask), base, offset)
        return np.array([find(int(m), int(b), int(o)) for m, b, o in zip(*rows, strict=True)], np.uint32)

    return Operation(U32, (U32, U32, TYPES["s32"]), act)


@operation("bmsk")
def _make_bit_mask(words: Words) -> Operation:
    """Make bmsk: `width` ones from a position on."""
    check_words(words, _ENDS)
    clamps, limit = "clamp" in words, np.uint32(32)

    def make(a: Array, b: Array) -> Array:
        position, width = (
            (np.minimum(a, limit), np.minimum(b, limit)) if clamps else (a & np.uint32(31), b & np.uint32(31))
        )
        return _shift_left(_make_mask(width, U32.dtype), position)

    return Operation(U32, (U32, U32), make)


@operation("szext")
def _make_extension(words: Words) -> Operation:
    """Make szext: keep the low bits, and extend the highest of them for a signed type."""
    row = take_type(words, "u32 s32", _ENDS)
    clamps = "clamp" in words

    def extend(a: Array, b: Array) -> Array:
        width = np.minimum(b, np.uint32(32)) if clamps else b & np.uint32(31)
        mask = _make_mask(width, U32.dtype)
        kept = a.view(np.uint32) & mask
        if row.kind == "s":
            sign = _shift_right(kept, np.maximum(width, np.uint32(1)) - np.uint32(1)) & np.uint32(1)
            kept = np.where(sign.astype(bool), kept | ~mask, kept)
        return kept.view(row.dtype)

    return Operation(row, (row, U32), extend)


_BYTE_MODES = {
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}


@operation("prmt")
def _make_byte_permutation(words: Words) -> Operation:
    """Make prmt: choose four of the eight bytes of two words; bit 3 of a selector replicates the sign."""
    row = take_type(words, "b32", _BYTE_MODES)
    mode = next((_BYTE_MODES[word] for word in words if word in _BYTE_MODES), None)
    table = np.array(mode, np.uint32) if mode else None

    def permute(a: Array, b: Array, c: Array) -> Array:
        if table is None and c.ndim == 0 and not int(c) & 0x8888:
            return _choose_bytes(a, b, int(c))
        both = (b.astype(np.uint64) << np.uint64(32)) | a
        result = np.zeros((), np.uint32)
        for place in range(4):
            choice = c >> np.uint32(4 * place) & np.uint32(15) if table is None else table[c & np.uint32(3), place]
            octet = (both >> ((choice & np.uint32(7)).astype(np.uint64) << np.uint64(3))).astype(np.uint32) & _BYTE
            if table is None:
                signs = (octet >> np.uint32(7)) * _BYTE
                octet = np.where(choice & np.uint32(8), signs, octet)
            result = result | octet << np.uint32(8 * place)
        return result

    return Operation(row, (row,) * 3, permute)


def _choose_bytes(a: Array, b: Array, selector: int) -> Array:
    """Return the bytes that the same digits below 8 choose in all threads."""
    both = np.empty((*np.broadcast_shapes(np.shape(a), np.shape(b)), 2), np.uint32)
    both[..., 0], both[..., 1] = a, b
    places = [selector >> 4 * place & 7 for place in range(4)]
    return np.ascontiguousarray(both.view(np.uint8)[..., places]).view(np.uint32)[..., 0]
