"""Approximate functions: the correctly rounded result, which satisfies the error bounds of PTX.

The last bits of a device may differ; `machine.notes` reports their use. PTX ISA 9.1, 9.7.3 and
9.7.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.instructions.arithmetic import apply, check_words, floating
from lanescope.emulate.instructions.floats import build_rounded, flush_element, get_element
from lanescope.emulate.instructions.rounding import DIRECTIONS, LEAST_NORMAL, decode, encode, flush
from lanescope.emulate.state.block import Group
from lanescope.emulate.text.program import Statement
from lanescope.ptx.operations.operation import join_lanes, take_lanes
from lanescope.ptx.register_types import TYPES

Array = NDArray[Any]
Doubles = NDArray[np.float64]
_FARTHEST = 2.0**16  # of sin and cos: outside, a device's error is unbounded


def _note(action: Action, statement: Statement) -> Action:
    """Return an action that also notes that an approximate instruction was executed."""
    note = f"{statement.opcode} is approximate: a device's last bits may differ"

    def act(group: Group) -> None:
        group.run.machine.notes.add(note)
        action(group)

    return act


def _reciprocal(values: Doubles) -> Doubles:
    return np.float64(1) / values


def _reciprocal_root(values: Doubles) -> Doubles:
    return np.float64(1) / np.sqrt(values)


_FUNCTIONS: dict[str, tuple[Callable[[Doubles], Doubles], tuple[str, ...]]] = {
    "rcp": (_reciprocal, ("f32", "f64")),
    "sqrt": (np.sqrt, ("f32",)),
    "rsqrt": (_reciprocal_root, ("f32", "f64")),
    "sin": (np.sin, ("f32",)),
    "cos": (np.cos, ("f32",)),
    "lg2": (np.log2, ("f32",)),
    "ex2": (np.exp2, ("f32", "f16", "f16x2", "bf16", "bf16x2")),
    "tanh": (np.tanh, ("f32", "f16", "f16x2", "bf16", "bf16x2")),
}


@instruction(*(f"{name}.approx" for name in _FUNCTIONS))
def build_function(compiler: Compiler, statement: Statement) -> Action:
    name = statement.words[0]
    function, types = _FUNCTIONS[name]
    (row,) = check_words(statement, ("approx", "ftz"))
    if row.name not in types:
        raise UnknownInstructionError(statement)
    element, _ = get_element(row, statement)
    if element.name == "f64":
        return _note(_build_double(compiler, statement, function), statement)
    flushes = statement.has("ftz")

    def compute(value: Array) -> Array:
        wide = decode(take_lanes(value, element.bits), element)
        if flushes:
            wide = flush_element(wide, element)
        if name in ("sin", "cos") and (np.isfinite(wide) & (np.abs(wide) > _FARTHEST)).any():
            raise UnknownInstructionError(statement, f"{statement.opcode} of a number beyond {_FARTHEST:,.0f}")
        result = function(wide)
        if flushes:
            result = flush_element(result, element)
        return join_lanes(encode(result, element), row.storage)

    return _note(apply(compiler, statement, TYPES[f"b{row.bits}"], compute), statement)


def _build_double(compiler: Compiler, statement: Statement, function: Callable[[Doubles], Doubles]) -> Action:
    """Build rcp and rsqrt of f64 with .ftz, which read and write the upper 32 bits."""
    if not statement.has("ftz"):
        raise UnknownInstructionError(statement)
    upper = np.uint64(0xFFFFFFFF00000000)

    def compute(value: Array) -> Array:
        wide = (value & upper).view(np.float64)
        wide = np.where(np.abs(wide) < 2.0**-1022, np.copysign(0.0, wide), wide)
        result = function(wide)
        result = np.where(np.abs(result) < 2.0**-1022, np.copysign(0.0, result), result)
        return np.ascontiguousarray(result).view(np.uint64) & upper

    return apply(compiler, statement, TYPES["b64"], compute)


@floating("div")
def build_quotient(compiler: Compiler, statement: Statement) -> Action:
    """Build div with a rounding direction, .approx (a times 1/b) or .full."""
    if statement.find_word(DIRECTIONS):
        return build_rounded(compiler, statement)
    (row,) = check_words(statement, ("approx", "full", "ftz"))
    if row.name != "f32" or statement.has("approx") == statement.has("full"):
        raise UnknownInstructionError(statement)
    flushes, full = statement.has("ftz"), statement.has("full")

    def divide(a: Array, b: Array) -> Array:
        if flushes:
            a, b = flush(a), flush(b)
        if full:
            result = a / b
        else:
            inverse = np.where(np.abs(b) > np.float32(2.0**126), np.copysign(np.float32(0), b), np.float32(1) / b)
            result = np.where(np.abs(b) < LEAST_NORMAL, a / b, a * inverse)
        result = encode(np.asarray(result, np.float64), get_element(row, statement)[0]).view(np.float32)
        return flush(result) if flushes else result

    return _note(apply(compiler, statement, row, divide), statement)
