"""Integer arithmetic, extended precision, dot products of bytes. PTX ISA 9.1, 9.7.1 and 9.7.2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.instructions.arithmetic import apply, apply_types, check_words, join_lanes, shared, take_lanes
from lanescope.emulate.state.block import Group
from lanescope.emulate.text.program import Statement
from lanescope.emulate.text.types import TYPES, RegisterType

Array = NDArray[Any]
Compute = Callable[..., Any]
_PLAIN = ("u16", "u32", "u64", "s16", "s32", "s64")
_PAIRS = ("u16x2", "s16x2")


def _check_type(statement: Statement, row: RegisterType, allowed: tuple[str, ...]) -> None:
    if row.name not in allowed:
        raise UnknownInstructionError(statement, f"{statement.opcode}: type .{row.name} is not emulated")


def _apply_pairs(compiler: Compiler, statement: Statement, row: RegisterType, compute: Compute) -> Action:
    """Build an operation on both 16-bit halves."""
    dtype = np.dtype(np.int16 if row.name[0] == "s" else np.uint16)
    return apply(
        compiler,
        statement,
        row,
        lambda *values: join_lanes(compute(*(take_lanes(value, dtype) for value in values)), row.storage),
    )


@shared("add", "sub", floats=False)
def build_sum(compiler: Compiler, statement: Statement) -> Action:
    (row,) = check_words(statement, ("sat", "cc"))
    subtracts = statement.words[0] == "sub"
    if statement.has("cc"):
        return _extend(compiler, statement, row)
    compute = np.subtract if subtracts else np.add
    if row.name in _PAIRS and not statement.has("sat"):
        return _apply_pairs(compiler, statement, row, compute)
    if statement.has("sat"):
        _check_type(statement, row, ("s32",))
        low, high = -(1 << 31), (1 << 31) - 1

        def saturate(a: Array, b: Array) -> Array:
            return np.clip(compute(a.astype(np.int64), b.astype(np.int64)), low, high).astype(np.int32)

        return apply(compiler, statement, row, saturate)
    _check_type(statement, row, _PLAIN)
    return apply(compiler, statement, row, compute)


@instruction("addc", "subc", "madc")
def build_carried(compiler: Compiler, statement: Statement) -> Action:
    (row,) = check_words(statement, ("cc", "lo", "hi"))
    return _extend(compiler, statement, row)


def _extend(compiler: Compiler, statement: Statement, row: RegisterType) -> Action:
    """Build addition or subtraction with carry flag CC.CF in (addc) and out (.cc).

    Of a subtraction the flag is the borrow.
    """
    _check_type(statement, row, ("u32", "s32", "u64", "s64"))
    name = statement.words[0]
    takes, gives = name.endswith("c") and name != "mad", statement.has("cc")
    unsigned = TYPES[f"u{row.bits}"]
    target, *sources = statement.take(1, more=True)
    multiplies = name.startswith("mad")
    if multiplies and statement.has("lo") == statement.has("hi"):
        raise UnknownInstructionError(statement)
    readers = [compiler.read(source, row if multiplies else unsigned) for source in sources]
    product = _multiply_high if statement.has("hi") else np.multiply
    write = compiler.write(target, unsigned)
    subtracts = name.startswith("sub")

    def act(group: Group) -> None:
        values = [read(group) for read in readers]
        if multiplies:
            values = [product(values[0], values[1]), values[2]]
        a, b = (np.asarray(value).astype(unsigned.dtype) for value in values)
        flag = group.frame.carry[group.threads] if takes else np.zeros((), bool)
        step = flag.astype(unsigned.dtype)
        if subtracts:
            first = a - b
            result = first - step
            out = (a < b) | (first < step)
        else:
            first = a + b
            result = first + step
            out = (first < a) | (result < first)
        write(group, result)
        if gives:
            group.frame.carry[group.threads] = out

    return act


def _multiply_high(a: Array, b: Array) -> Array:
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


@shared("mul", "mad", floats=False)
def build_product(compiler: Compiler, statement: Statement) -> Action:
    (row,) = check_words(statement, ("lo", "hi", "wide", "cc", "sat"))
    _check_type(statement, row, _PLAIN)
    if statement.has("cc"):
        return _extend(compiler, statement, row)
    adds = statement.words[0] == "mad"
    if statement.has("wide") and row.bits < 64:
        wide = TYPES[f"{row.kind}{row.bits * 2}"]

        def multiply_wide(a: Array, b: Array, c: Any = 0) -> Array:
            return a.astype(wide.dtype) * b.astype(wide.dtype) + c if adds else a.astype(wide.dtype) * b

        return apply_types(compiler, statement, wide, [row, row, wide] if adds else [row, row], multiply_wide)
    if statement.has("sat"):
        if not (adds and statement.has("hi") and row.name == "s32"):
            raise UnknownInstructionError(statement)

        def saturate(a: Array, b: Array, c: Array) -> Array:
            total = _multiply_high(a, b).astype(np.int64) + c
            return np.clip(total, -(1 << 31), (1 << 31) - 1).astype(np.int32)

        return apply(compiler, statement, row, saturate)
    if statement.has("lo") == statement.has("hi"):
        raise UnknownInstructionError(statement)
    product: Compute = _multiply_high if statement.has("hi") else np.multiply
    return apply(compiler, statement, row, (lambda a, b, c: product(a, b) + c) if adds else product)


@instruction("mul24", "mad24")
def build_short_product(compiler: Compiler, statement: Statement) -> Action:
    """Build mul24: multiply the low 24 bits of both; .hi returns bits 16 to 47 of the product."""
    (row,) = check_words(statement, ("lo", "hi", "sat"))
    _check_type(statement, row, ("u32", "s32"))
    if statement.has("lo") == statement.has("hi"):
        raise UnknownInstructionError(statement)
    shift, saturates = 16 if statement.has("hi") else 0, statement.has("sat")

    def cut(value: Array) -> Array:
        wide = value.astype(np.int64) & 0xFFFFFF
        return wide - ((wide >> 23) << 24) if row.kind == "s" else wide

    def multiply(a: Array, b: Array, c: Any = 0) -> Array:
        part = (cut(a) * cut(b)) >> shift
        part = (part & 0xFFFFFFFF).astype(np.uint32).astype(row.dtype).astype(np.int64) + c
        if saturates:
            part = np.clip(part, -(1 << 31), (1 << 31) - 1)
        return np.asarray((part & 0xFFFFFFFF).astype(np.uint32).view(row.dtype))

    return apply(compiler, statement, row, multiply)


@instruction("sad")
def build_difference(compiler: Compiler, statement: Statement) -> Action:
    (row,) = check_words(statement, ())
    _check_type(statement, row, _PLAIN)
    return apply(compiler, statement, row, lambda a, b, c: c + np.where(a < b, b - a, a - b))


@shared("div", floats=False)
def build_quotient(compiler: Compiler, statement: Statement) -> Action:
    (row,) = check_words(statement, ())
    _check_type(statement, row, _PLAIN)
    return apply(compiler, statement, row, lambda a, b: divide(a, b, row)[0])


@instruction("rem")
def build_remainder(compiler: Compiler, statement: Statement) -> Action:
    (row,) = check_words(statement, ())
    _check_type(statement, row, _PLAIN)
    return apply(compiler, statement, row, lambda a, b: divide(a, b, row)[1])


def divide(a: Array, b: Array, row: RegisterType) -> tuple[Array, Array]:
    """Return quotients truncated toward zero and remainders with the dividend's sign.

    For a divisor of zero both are all ones, as in code that ptxas generates for sm_90 (measured).
    """
    unsigned = np.dtype(f"uint{row.bits}")
    a, b = np.broadcast_arrays(a, b)
    if row.kind == "s":
        x, y = (np.where(v < 0, -v, v).astype(row.dtype).view(unsigned) for v in (a, b))
    else:
        x, y = a, b
    by_zero = y == 0
    y = np.where(by_zero, unsigned.type(1), y)
    quotient, rest = x // y, x % y
    if row.kind == "s":
        quotient = np.where((a < 0) ^ (b < 0), unsigned.type(0) - quotient, quotient)
        rest = np.where(a < 0, unsigned.type(0) - rest, rest)
    ones = unsigned.type((1 << row.bits) - 1)
    return (
        np.where(by_zero, ones, quotient).astype(unsigned).view(row.dtype),
        np.where(by_zero, ones, rest).astype(unsigned).view(row.dtype),
    )


@shared("abs", "neg", floats=False)
def build_sign(compiler: Compiler, statement: Statement) -> Action:
    (row,) = check_words(statement, ())
    _check_type(statement, row, ("s16", "s32", "s64", *(_PAIRS if statement.words[0] == "neg" else ())))
    compute: Compute = np.negative if statement.words[0] == "neg" else (lambda a: np.where(a < 0, -a, a))
    if row.name in _PAIRS:
        return _apply_pairs(compiler, statement, row, compute)
    return apply(compiler, statement, row, compute)


@shared("min", "max", floats=False)
def build_extreme(compiler: Compiler, statement: Statement) -> Action:
    statement.take(3)
    (row,) = check_words(statement, ("relu",))
    compute: Compute = np.minimum if statement.words[0] == "min" else np.maximum
    if statement.has("relu"):
        _check_type(statement, row, ("s32", "s16x2"))
        plain = compute

        def compute(a: Array, b: Array) -> Array:
            return np.asarray(np.maximum(plain(a, b), a.dtype.type(0)))

    if row.name in _PAIRS:
        return _apply_pairs(compiler, statement, row, compute)
    _check_type(statement, row, _PLAIN)
    return apply(compiler, statement, row, compute)


@instruction("dp4a", "dp2a")
def build_dot_product(compiler: Compiler, statement: Statement) -> Action:
    """Build dp4a (four bytes with four bytes) or dp2a (two halves with two bytes), accumulated."""
    first, second = check_words(statement, ("lo", "hi"), types=2)
    halves = statement.words[0] == "dp2a"
    if halves != (statement.has("lo") or statement.has("hi")) or {first.bits, second.bits} != {32}:
        raise UnknownInstructionError(statement)
    to = TYPES["u32" if first.kind == second.kind == "u" else "s32"]
    left = np.dtype(f"{'int' if first.kind == 's' else 'uint'}{16 if halves else 8}")
    right = np.dtype(f"{'int' if second.kind == 's' else 'uint'}8")
    chosen = slice(2, 4) if statement.has("hi") else slice(0, 2 if halves else 4)

    def multiply(a: Array, b: Array, c: Array) -> Array:
        products = take_lanes(a, left).astype(np.int64) * take_lanes(b, right)[:, chosen]
        return np.asarray(((products.sum(axis=1) + c) & 0xFFFFFFFF).astype(np.uint32).view(to.dtype))

    return apply_types(compiler, statement, to, [first, second, to], multiply)
