"""Comparison and selection: setp, set, selp, slct, testp, copysign. PTX ISA 9.1, 9.7.3.1, 9.7.3.2, 9.7.6 and 9.7.7."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Compiler, Reader, UnknownInstructionError, instruction
from lanescope.emulate.instructions.arithmetic import apply, apply_types, check_words
from lanescope.emulate.instructions.floats import flush_element, get_element
from lanescope.emulate.instructions.rounding import ELEMENTS, decode, encode, flush
from lanescope.emulate.state.block import Group
from lanescope.emulate.text.program import Operand, PairOperand, Statement
from lanescope.ptx.operations.operation import join_lanes, take_lanes
from lanescope.ptx.register_types import TYPES, RegisterType

Array = NDArray[Any]
Comparison = Callable[[Array, Array], Array]
_PRED = TYPES["pred"]
_SIGNED: dict[str, Comparison] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_UNSIGNED: dict[str, Comparison] = {
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}
_FLOATS: dict[str, Comparison] = {
    **_SIGNED,
    "ne": lambda a, b: (a < b) | (a > b),  # ordered: false where either is NaN
    "equ": lambda a, b: ~((a < b) | (a > b)),
    "neu": np.not_equal,
    "ltu": lambda a, b: ~(a >= b),
    "leu": lambda a, b: ~(a > b),
    "gtu": lambda a, b: ~(a <= b),
    "geu": lambda a, b: ~(a < b),
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}
_COMBINE = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _is_float(row: RegisterType) -> bool:
    return row.name.lstrip("b").startswith("f")


def _find_comparison(statement: Statement, row: RegisterType) -> Comparison:
    """Return the comparison of the opcode's second word for a type."""
    table = _FLOATS if _is_float(row) else {**_SIGNED, **_UNSIGNED} if row.kind == "u" else _SIGNED
    name = statement.words[1]
    if name not in table or (row.kind == "b" and name not in ("eq", "ne")) or row.kind == "pred":
        raise UnknownInstructionError(statement)
    return table[name]


def _make_comparison(compiler: Compiler, statement: Statement, row: RegisterType) -> Callable[[Group], Array]:
    """Return a function that computes the comparison, bool [threads], or [threads, 2] for packed types."""
    compare = _find_comparison(statement, row)
    flushes = statement.has("ftz")
    a, b = statement.operand(1), statement.operand(2)
    if not _is_float(row):
        if flushes:
            raise UnknownInstructionError(statement)
        first, second = compiler.read(a, row), compiler.read(b, row)
        return lambda group: compare(first(group), second(group))
    if row.name in ("f32", "f64", "f16"):
        first, second = compiler.read(a, row), compiler.read(b, row)
        if not flushes:
            return lambda group: compare(first(group), second(group))
        if row.name == "f32":
            return lambda group: compare(flush(first(group)), flush(second(group)))
        if row.name == "f64":
            raise UnknownInstructionError(statement)
        half = ELEMENTS["f16"]
        return lambda group: compare(flush_element(first(group), half), flush_element(second(group), half))
    element, lanes = get_element(row, statement)
    bits = TYPES[f"b{row.bits}"]
    first, second = compiler.read(a, bits), compiler.read(b, bits)
    if flushes and element.name != "f16":
        raise UnknownInstructionError(statement)

    def compute(group: Group) -> Array:
        values = [decode(take_lanes(read(group), element.bits), element) for read in (first, second)]
        if flushes:
            values = [flush_element(value, element) for value in values]
        result = compare(*values)
        return result if lanes > 1 else result[:, 0]

    return compute


def _find_condition(compiler: Compiler, statement: Statement) -> tuple[Any, Reader | None]:
    """Return (function that combines the result with a predicate, reader of that predicate)."""
    combine = _COMBINE.get(statement.find_word(_COMBINE))
    if (combine is not None) != (len(statement.operands) == 4):
        raise UnknownInstructionError(statement)
    return combine, compiler.read(statement.operand(3), _PRED) if combine else None


@instruction("setp")
def build_comparison(compiler: Compiler, statement: Statement) -> Action:
    """Build setp: p = t op c; q = !t op c, or for packed types the upper half's result."""
    row = _get_type(statement)[-1]
    compute = _make_comparison(compiler, statement, row)
    combine, condition = _find_condition(compiler, statement)
    target = statement.operand(0)
    pair = isinstance(target, PairOperand)
    targets: list[Operand] = [target.first, target.second] if isinstance(target, PairOperand) else [target]
    writers = [compiler.write(target, _PRED) for target in targets]
    packed = row.kind == "packed"
    if packed and not pair:
        raise UnknownInstructionError(statement)
    write = writers[0]
    if not pair and condition is None:
        return lambda group: write(group, compute(group))

    def act(group: Group) -> None:
        result = compute(group)
        parts = [result[:, 0], result[:, 1]] if packed else [result, ~result]
        if condition is not None:
            with_what = condition(group)
            parts = [combine(part, with_what) for part in parts]
        for write_part, part in zip(writers, parts, strict=False):
            write_part(group, part)

    return act


def _get_type(statement: Statement, types: int = 1) -> tuple[RegisterType, ...]:
    return check_words(statement, (*_FLOATS, *_UNSIGNED, *_COMBINE, "ftz"), types=types)


@instruction("set")
def build_set(compiler: Compiler, statement: Statement) -> Action:
    """Build set: all ones, or 1.0 for a float type, where the comparison holds, else zero."""
    to, row = _get_type(statement, types=2)
    compute = _make_comparison(compiler, statement, row)
    combine, condition = _find_condition(compiler, statement)
    packed = row.kind == "packed"
    if to.kind in ("u", "s"):
        bits = 16 if packed else to.bits
        dtype, true = np.dtype(f"uint{bits}"), (1 << bits) - 1
    else:
        element, _ = get_element(to, statement)
        dtype, true = element.bits, int(encode(np.ones(()), element))
    write = compiler.write(statement.operand(0), TYPES[f"b{to.bits}"])

    def act(group: Group) -> None:
        result = compute(group)
        if condition is not None:
            other = condition(group)
            result = combine(result, other[:, None] if packed and np.ndim(other) else other)
        values = np.where(result, dtype.type(true), dtype.type(0))
        write(group, join_lanes(values, to.storage) if packed else values)

    return act


@instruction("selp")
def build_selection(compiler: Compiler, statement: Statement) -> Action:
    (row,) = check_words(statement, ())
    target, first, second, condition = statement.take(4)
    row = row if row.bits == 1 else TYPES[f"b{row.bits}"]
    a, b = _read_bits(compiler, first, row, statement), _read_bits(compiler, second, row, statement)
    chosen, write = compiler.read(condition, _PRED), compiler.write(target, row)
    return lambda group: write(group, np.where(chosen(group), a(group), b(group)))


def _read_bits(compiler: Compiler, operand: Operand, row: RegisterType, statement: Statement) -> Reader:
    """Return a reader of an operand's bits; a float literal is encoded in the opcode's type."""
    typed = compiler.get_type(statement)
    if typed.kind != "f":
        return compiler.read(operand, row)
    read, storage = compiler.read(operand, typed), row.storage
    return lambda group: np.asarray(read(group)).view(storage)


@instruction("slct")
def build_sign_selection(compiler: Compiler, statement: Statement) -> Action:
    """Build slct: select by whether the last operand is at least 0 (NaN is not)."""
    row, by = check_words(statement, ("ftz",), types=2)
    if by.name not in ("s32", "f32"):
        raise UnknownInstructionError(statement)
    flushes = statement.has("ftz")
    bits = TYPES[f"b{row.bits}"]

    def select(a: Array, b: Array, c: Array) -> Array:
        return np.where((flush(c) if flushes else c) >= 0, a, b)

    return apply_types(compiler, statement, bits, [bits, bits, by], select)


_TESTS: dict[str, Callable[[Array], Array]] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & ((np.abs(a) >= np.finfo(a.dtype).tiny) | (a == 0)),
    "subnormal": lambda a: (np.abs(a) < np.finfo(a.dtype).tiny) & (a != 0),
}


@instruction("testp")
def build_test(compiler: Compiler, statement: Statement) -> Action:
    (row,) = check_words(statement, _TESTS)
    test = _TESTS.get(statement.words[1])
    if row.name not in ("f32", "f64") or test is None:
        raise UnknownInstructionError(statement)
    return apply_types(compiler, statement, _PRED, [row], test)


@instruction("copysign")
def build_sign_copy(compiler: Compiler, statement: Statement) -> Action:
    """Build copysign: the second operand with the first one's sign."""
    (row,) = check_words(statement, ())
    if row.name not in ("f32", "f64"):
        raise UnknownInstructionError(statement)
    return apply(compiler, statement, row, lambda a, b: np.copysign(b, a))
