"""Floating-point arithmetic with PTX's rounding: f16, bf16, f32, f64, packed types. PTX ISA 9.1, 9.7.3 to 9.7.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.instructions.arithmetic import apply, apply_types, check_words, floating
from lanescope.emulate.instructions.rounding import (
    DIRECTIONS,
    ELEMENTS,
    Element,
    add_to_odd,
    compute_doubles,
    decode,
    encode,
    fix_zero_sign,
    flush,
)
from lanescope.emulate.text.program import Statement
from lanescope.ptx.operations.operation import join_lanes, take_lanes
from lanescope.ptx.register_types import TYPES, RegisterType

Array = NDArray[Any]
Compute = Callable[..., Array]
_NAN32 = np.uint32(0x7FFFFFFF).view(np.float32)
_QUALIFIERS = {
    "add": ("sat", "ftz"),
    "sub": ("sat", "ftz"),
    "mul": ("sat", "ftz"),
    "fma": ("sat", "ftz", "relu"),
    "mad": ("sat", "ftz"),
    "div": ("ftz",),
    "rcp": ("ftz",),
    "sqrt": ("ftz",),
}


def get_element(row: RegisterType, statement: Statement) -> tuple[Element, int]:
    """Return (format of a type, how many of them a register holds)."""
    name, _, count = row.name.partition("x")
    if name not in ELEMENTS:
        raise UnknownInstructionError(statement)
    return ELEMENTS[name], int(count or 1)


def _compute_wide(name: str, direction: str, values: list[Array]) -> Array:
    """Return a binary64 result, exact or rounded to odd, for operands of at most 24 significant bits."""
    a = values[0]
    if name in ("add", "sub"):
        b = values[1] if name == "add" else -values[1]
        return fix_zero_sign(add_to_odd(a, b), a, b, direction)
    if name in ("fma", "mad"):
        product = a * values[1]
        return fix_zero_sign(add_to_odd(product, values[2]), product, values[2], direction)
    # binary64's rounding error cannot move quotients and roots of 24-bit numbers across a boundary
    if name == "mul":
        return np.asarray(a * values[1])
    if name == "sqrt":
        return np.asarray(np.sqrt(a))
    return np.asarray(a / values[1] if name == "div" else np.float64(1) / a)


def finish(bits: Array, element: Element, words: frozenset[str]) -> Array:
    """Return result bits with .ftz, .sat and .relu applied."""
    if "ftz" in words:
        size = bits & element.bits.type((1 << element.bits.itemsize * 8 - 1) - 1)
        least = {"f32": 1 << 23, "f16": 1 << 10}[element.name]
        sign = element.bits.type(1 << element.bits.itemsize * 8 - 1)
        bits = np.where(size < least, bits & sign, bits)
    if "sat" in words:
        values = decode(bits, element)
        bits = np.where(values > 0, bits, element.bits.type(0))  # NaN and negative numbers become 0
        bits = np.where(values > 1, encode(np.ones(()), element), bits)
    if "relu" in words:
        bits = np.where(np.signbit(decode(bits, element)), element.bits.type(0), bits)
    return bits


_HALF_FUNCTIONS = {"add": np.add, "sub": np.subtract, "mul": np.multiply}


def _build_fast(
    compiler: Compiler, statement: Statement, row: RegisterType, name: str, words: frozenset[str]
) -> Action | None:
    """Build what NumPy computes and rounds as the instruction does; return None for the rest."""
    element, lanes = get_element(row, statement)
    if element.name == "f64":
        return _build_double(compiler, statement, row, name)
    nearest = statement.find_word(DIRECTIONS) in ("", "rn")
    if element.name == "f32" and lanes == 1 and nearest and not words - {"ftz"}:
        return _build_single(compiler, statement, row, name, "ftz" in words)
    if element.name == "f16" and name in _HALF_FUNCTIONS and not words:
        return _build_half(compiler, statement, row, _HALF_FUNCTIONS[name])
    return None


def _build(compiler: Compiler, statement: Statement, name: str) -> Action:
    types = [word for word in statement.words[1:] if word in TYPES]
    check_words(statement, (*DIRECTIONS, *_QUALIFIERS[name]), types=len(types))
    direction = statement.find_word(DIRECTIONS) or "rn"
    words = frozenset(statement.words[1:]) & {"ftz", "sat", "relu"}
    if len(types) == 2:
        return _build_mixed(compiler, statement, name, types, direction)
    row = compiler.get_type(statement)
    element, lanes = get_element(row, statement)
    _check_combination(statement, element, lanes, words)
    if fast := _build_fast(compiler, statement, row, name, words):
        return fast

    def compute(*values: Array) -> Array:
        parts = [take_lanes(value, element.bits) for value in values]
        wide = [decode(part, element) for part in parts]
        if "ftz" in words:
            wide = [flush_element(lane, element) for lane in wide]
        bits = finish(encode(_compute_wide(name, direction, wide), element, direction), element, words)
        return join_lanes(np.broadcast_to(bits, np.broadcast_shapes(*(p.shape for p in parts))), row.storage)

    return apply(compiler, statement, TYPES[f"b{row.bits}"], compute)


def _build_double(compiler: Compiler, statement: Statement, row: RegisterType, name: str) -> Action:
    direction, operation = statement.find_word(DIRECTIONS) or "rn", "fma" if name == "mad" else name

    def compute(*values: Array) -> Array:
        return mark_nan64(compute_doubles(operation, direction, *values), values[::-1] if name == "div" else values)

    return apply(compiler, statement, row, compute)


def flush_element(values: Array, element: Element) -> Array:
    """Return binary64 values; those subnormal in the format become zeros."""
    if element.name == "f16":
        return np.where(np.abs(values) < 2.0**-14, np.copysign(0.0, values), values)
    return flush(values)


def _check_combination(statement: Statement, element: Element, lanes: int, words: frozenset[str]) -> None:
    half = element.name in ("f16", "bf16")
    wrong = (
        (element.name == "f64" and words)
        or (element.name == "bf16" and words - {"relu"})
        or ("relu" in words and not half)
        or (half and statement.find_word(("rz", "rm", "rp")))
        or (element.name == "f32" and lanes == 2 and words - {"ftz"})
    )
    if wrong:
        raise UnknownInstructionError(statement)


def mark_nan64(values: Array, operands: tuple[Array, ...]) -> Array:
    """Return binary64 results with the NaNs of sm_90 (measured): an operand's, made quiet, or the default one."""
    unordered = np.isnan(values)
    if not unordered.any():
        return np.asarray(values)
    bits = np.full(np.shape(values), ELEMENTS["f64"].nan, np.uint64)
    for operand in operands:
        operand_bits = np.asarray(operand).view(np.uint64)
        bits = np.where(np.isnan(operand), operand_bits | np.uint64(1 << 51), bits)
    return np.where(unordered, bits.view(np.float64), values)


def mark_nan32(values: Array) -> Array:
    """Return float32 results with every NaN canonical."""
    unordered = np.isnan(values)
    return np.where(unordered, _NAN32, values) if unordered.any() else values


def _build_single(compiler: Compiler, statement: Statement, row: RegisterType, name: str, flushes: bool) -> Action:
    """Build an f32 instruction that rounds to nearest, the most common case."""

    def fuse(a: Array, b: Array, c: Array) -> Array:
        return add_to_odd(np.multiply(a, b, dtype=np.float64), np.asarray(c, np.float64)).astype(np.float32)

    table: dict[str, Compute] = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": np.divide,
        "sqrt": np.sqrt,
        "rcp": lambda a: np.float32(1) / a,
        "fma": fuse,
        "mad": fuse,
    }
    compute = table[name]
    if flushes:
        return apply(
            compiler, statement, row, lambda *values: flush(mark_nan32(compute(*(flush(value) for value in values))))
        )
    return apply(compiler, statement, row, lambda *values: mark_nan32(compute(*values)))


def _build_half(compiler: Compiler, statement: Statement, row: RegisterType, compute: Compute) -> Action:
    """Build add, sub or mul of f16: NumPy rounds a float32 result, which is exact."""
    half = np.dtype(np.float16)

    def act(a: Array, b: Array) -> Array:
        result = compute(take_lanes(a, half), take_lanes(b, half))
        unordered = np.isnan(result)
        bits = result.view(np.uint16)
        return join_lanes(np.where(unordered, np.uint16(0x7FFF), bits) if unordered.any() else bits, row.storage)

    return apply(compiler, statement, TYPES[f"b{row.bits}"], act)


def _build_mixed(compiler: Compiler, statement: Statement, name: str, types: list[str], direction: str) -> Action:
    """Build add, sub and fma of .f32 whose first operands are f16 or bf16."""
    if types[0] != "f32" or types[1] not in ("f16", "bf16") or name not in ("add", "sub", "fma"):
        raise UnknownInstructionError(statement)
    words = frozenset(statement.words[1:]) & {"sat", "ftz", "relu"}
    if words - {"sat"}:
        raise UnknownInstructionError(statement)
    narrow, single = ELEMENTS[types[1]], ELEMENTS["f32"]
    count = 2 if name == "fma" else 1

    def compute(*values: Array) -> Array:
        wide = [decode(value, narrow if number < count else single) for number, value in enumerate(values)]
        return finish(encode(_compute_wide(name, direction, wide), single, direction), single, words)

    return apply_types(compiler, statement, TYPES["b32"], [TYPES["b16"]] * count + [TYPES["b32"]], compute)


@floating("add", "sub", "mul", "mad")
@instruction("fma", "rcp.rn", "rcp.rz", "rcp.rm", "rcp.rp", "sqrt.rn", "sqrt.rz", "sqrt.rm", "sqrt.rp")
def build_rounded(compiler: Compiler, statement: Statement) -> Action:
    return _build(compiler, statement, statement.words[0])


@floating("abs", "neg")
def build_sign(compiler: Compiler, statement: Statement) -> Action:
    """Build abs and neg: only the sign bit changes.

    NaNs become canonical, those of f64 quiet with their sign (measured).
    """
    (row,) = check_words(statement, ("ftz",))
    element, _ = get_element(row, statement)
    flushes = statement.has("ftz")
    if flushes and element.name not in ("f32", "f16"):
        raise UnknownInstructionError(statement)
    sign = element.bits.type(1 << element.bits.itemsize * 8 - 1)
    negates = statement.words[0] == "neg"
    quiet = np.uint64(1 << 51)

    def compute(value: Array) -> Array:
        bits = take_lanes(value, element.bits)
        unordered = np.isnan(bits.view(np.float64) if element.name == "f64" else decode(bits, element))
        nan = bits | quiet if element.name == "f64" else element.bits.type(element.nan)
        bits = np.where(unordered, nan, bits ^ sign if negates else bits & ~sign)
        if flushes:
            bits = finish(bits, element, frozenset(("ftz",)))
        return join_lanes(bits, row.storage)

    return apply(compiler, statement, TYPES[f"b{row.bits}"], compute)


@floating("min", "max")
def build_extreme(compiler: Compiler, statement: Statement) -> Action:
    """Build min and max of numbers: -0 is below +0; a NaN loses, or wins with .NaN."""
    (row,) = check_words(statement, ("ftz", "NaN", "xorsign", "abs"))
    element, _ = get_element(row, statement)
    words = frozenset(statement.words[1:])
    if ("ftz" in words and element.name not in ("f32", "f16")) or (element.name == "f64" and len(words) > 1):
        raise UnknownInstructionError(statement)
    if "xorsign" in words and ("abs" not in words or len(statement.operands) != 3):
        raise UnknownInstructionError(statement)
    if "abs" in words and "xorsign" not in words and len(statement.operands) != 4:
        raise UnknownInstructionError(statement)
    smallest = statement.words[0] == "min"

    def compute(*values: Array) -> Array:
        lanes = [take_lanes(value, element.bits) for value in values]
        result = choose_extreme(lanes, element, words, smallest)
        if element.name == "f64":
            result = mark_nan64(result.view(np.float64), tuple(lane.view(np.float64) for lane in lanes)).view(np.uint64)
        return join_lanes(result, row.storage)

    return apply(compiler, statement, TYPES[f"b{row.bits}"], compute)


def choose_extreme(lanes: list[Array], element: Element, words: frozenset[str], smallest: bool) -> Array:
    """Return the bits of the least or greatest of numbers given as bits."""
    top = element.bits.itemsize * 8 - 1
    sign = element.bits.type(1 << top)
    if "ftz" in words:
        lanes = [finish(lane, element, frozenset(("ftz",))) for lane in lanes]
    signs = lanes[0] & sign
    for lane in lanes[1:]:
        signs = signs ^ (lane & sign)
    if "abs" in words:
        lanes = [lane & ~sign for lane in lanes]
    result = lanes[0]
    unordered = np.isnan(decode(result, element))
    for lane in lanes[1:]:
        key, other = _order(result, top), _order(lane, top)
        nan = np.isnan(decode(lane, element))
        better = (other < key) if smallest else (other > key)
        if "NaN" in words:
            result, unordered = np.where(better, lane, result), unordered | nan
        else:
            result = np.where(unordered | (better & ~nan), lane, result)
            unordered = unordered & nan
    if "xorsign" in words:
        result = (result & ~sign) | signs
    return np.where(unordered, element.bits.type(element.nan), result)


def _order(bits: Array, top: int) -> Array:
    """Return integers that are ordered as the floats are, -0 below +0."""
    signed = bits.view(f"int{top + 1}")
    return np.where(signed < 0, signed ^ signed.dtype.type((1 << top) - 1), signed)
