"""Integer arithmetic and dot products of bytes. PTX ISA 9.1, 9.7.1 and 9.7.2."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanescope.ptx.operations.operation import (
    PLAIN,
    Array,
    Compute,
    Operation,
    OperationError,
    Words,
    check_words,
    declare,
    join_lanes,
    operation,
    require_half,
    take_lanes,
    take_type,
)
from lanescope.ptx.register_types import TYPES, RegisterType

_PAIRS = "u16x2 s16x2"


def _make_plain(row: RegisterType, sources: int, compute: Compute) -> Operation:
    """Return an operation on values of a type, or on both 16-bit halves."""
    if row.name in _PAIRS.split():
        half = np.dtype(np.int16 if row.name[0] == "s" else np.uint16)
        plain = compute

        def compute(*values: Array) -> Array:
            return join_lanes(plain(*(take_lanes(value, half) for value in values)), row.storage)

    return Operation(row, (row,) * sources, compute)


def _saturate(total: Array) -> Array:
    """Return 64-bit integers clamped to the range of .s32."""
    return np.clip(total, -(1 << 31), (1 << 31) - 1)


@operation("add", "sub")
def _make_sum(words: Words) -> Operation:
    saturates = "sat" in words
    row = take_type(words, "s32" if saturates else f"{PLAIN} {_PAIRS}", ("sat",))
    compute: Compute = np.add if words[0] == "add" else np.subtract
    if saturates:
        wide = np.int64
        return _make_plain(row, 2, lambda a, b: _saturate(compute(a.astype(wide), b.astype(wide))).astype(np.int32))
    return _make_plain(row, 2, compute)


def multiply_high(a: Array, b: Array) -> Array:
    """Return the upper half of products."""
    a, b = np.asarray(a), np.asarray(b)
    bits = a.dtype.itemsize * 8
    if bits < 64:
        wide = np.int64 if a.dtype.kind == "i" else np.uint64
        return ((a.astype(wide) * b.astype(wide)) >> wide(bits)).astype(a.dtype)
    x, y = a.astype(np.uint64), b.astype(np.uint64)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    middle = x1 * y0 + (x0 * y0 >> half)
    other = x0 * y1 + (middle & low)
    high = x1 * y1 + (middle >> half) + (other >> half)
    if a.dtype.kind == "i":
        zero = np.uint64(0)
        high = high - np.where(a < 0, y, zero) - np.where(b < 0, x, zero)
    return np.asarray(high.astype(a.dtype))


@operation("mul", "mad")
def _make_product(words: Words) -> Operation:
    row = take_type(words, PLAIN, ("lo", "hi", "wide", "sat"))
    adds = words[0] == "mad"
    if "wide" in words and row.bits < 64:
        wide = TYPES[f"{row.kind}{row.bits * 2}"]

        def multiply_wide(a: Array, b: Array, c: Any = 0) -> Array:
            return a.astype(wide.dtype) * b.astype(wide.dtype) + c if adds else a.astype(wide.dtype) * b

        return Operation(wide, (row, row, wide) if adds else (row, row), multiply_wide)
    if "sat" in words:
        if not (adds and "hi" in words and row.name == "s32"):
            raise OperationError
        return _make_plain(row, 3, lambda a, b, c: _saturate(multiply_high(a, b).astype(np.int64) + c).astype(np.int32))
    product: Compute = multiply_high if require_half(words) else np.multiply
    return _make_plain(row, 3, lambda a, b, c: product(a, b) + c) if adds else _make_plain(row, 2, product)


@operation("mul24", "mad24")
def _make_short_product(words: Words) -> Operation:
    """Make mul24: multiply the low 24 bits of both; .hi returns bits 16 to 47 of the product."""
    row = take_type(words, "u32 s32", ("lo", "hi", "sat"))
    shift = 16 if require_half(words) else 0

    def cut(value: Array) -> Array:
        wide = value.astype(np.int64) & 0xFFFFFF
        return wide - ((wide >> 23) << 24) if row.kind == "s" else wide

    def multiply(a: Array, b: Array, c: Any = 0) -> Array:
        part = (cut(a) * cut(b)) >> shift
        part = (part & 0xFFFFFFFF).astype(np.uint32).astype(row.dtype).astype(np.int64) + c
        part = _saturate(part) if "sat" in words else part
        return np.asarray((part & 0xFFFFFFFF).astype(np.uint32).view(row.dtype))

    return _make_plain(row, 3 if words[0] == "mad24" else 2, multiply)


def _divide(a: Array, b: Array) -> tuple[Array, Array]:
    """Return quotients truncated toward zero and remainders with the dividend's sign.

    For a divisor of zero both are all ones, as in code that ptxas generates for sm_90 (measured).
    """
    a, b = np.broadcast_arrays(a, b)
    dtype, signed = a.dtype, a.dtype.kind == "i"
    unsigned = np.dtype(f"uint{8 * dtype.itemsize}")
    x, y = (np.where(v < 0, -v, v).astype(dtype).view(unsigned) for v in (a, b)) if signed else (a, b)
    by_zero = y == 0
    y = np.where(by_zero, unsigned.type(1), y)
    quotient, rest = x // y, x % y
    if signed:
        quotient = np.where((a < 0) ^ (b < 0), unsigned.type(0) - quotient, quotient)
        rest = np.where(a < 0, unsigned.type(0) - rest, rest)
    ones = ~unsigned.type(0)
    quotient, rest = (np.where(by_zero, ones, part).astype(unsigned).view(dtype) for part in (quotient, rest))
    return quotient, rest


declare({"div": lambda a, b: _divide(a, b)[0], "rem": lambda a, b: _divide(a, b)[1]}, PLAIN, 2, divides=True)
declare({"sad": lambda a, b, c: c + np.where(a < b, b - a, a - b)}, PLAIN, 3)


def _get_magnitude(a: Array) -> Array:
    return np.where(a < 0, -a, a)


@operation("abs", "neg")
def _make_sign(words: Words) -> Operation:
    signed = "s16 s32 s64"
    if words[0] == "abs":
        return _make_plain(take_type(words, signed), 1, _get_magnitude)
    return _make_plain(take_type(words, f"{signed} {_PAIRS}"), 1, np.negative)


@operation("min", "max")
def _make_extreme(words: Words) -> Operation:
    relu = "relu" in words
    row = take_type(words, "s32 s16x2" if relu else f"{PLAIN} {_PAIRS}", ("relu",))
    compute: Compute = np.minimum if words[0] == "min" else np.maximum
    if relu:
        return _make_plain(row, 2, lambda a, b: np.asarray(np.maximum(compute(a, b), a.dtype.type(0))))
    return _make_plain(row, 2, compute)


@operation("dp4a", "dp2a")
def _make_dot_product(words: Words) -> Operation:
    """Make dp4a (four bytes with four bytes) or dp2a (two halves with two bytes), accumulated."""
    first, second = check_words(words, ("lo", "hi"), types=2)
    halves = words[0] == "dp2a"
    if halves != ("lo" in words or "hi" in words) or {first.bits, second.bits} != {32}:
        raise OperationError
    to = TYPES["u32" if first.kind == second.kind == "u" else "s32"]
    left = np.dtype(f"{'int' if first.kind == 's' else 'uint'}{16 if halves else 8}")
    right = np.dtype(f"{'int' if second.kind == 's' else 'uint'}8")
    chosen = slice(2, 4) if "hi" in words else slice(0, 2 if halves else 4)

    def multiply(a: Array, b: Array, c: Array) -> Array:
        products = take_lanes(a, left).astype(np.int64) * take_lanes(b, right)[:, chosen]
        return np.asarray(((products.sum(axis=1) + c) & 0xFFFFFFFF).astype(np.uint32).view(to.dtype))

    return Operation(to, (first, second, to), multiply)
