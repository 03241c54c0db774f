"""Exactness of sums of products: an exact sum has the same bits in every order of summation, also a tensor core's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.state.block import Group
from lanescope.emulate.text.program import Statement
from lanescope.ptx.instruction import Instruction

Array = NDArray[Any]
NOTE = "inexact_sum"

# Significant bits that sums certainly keep: sums below 2**digits units are exact. D of f16 is rounded to nearest from a
# sum of f32's width. Products of 8-bit floats and C are cut to 13 bits below the largest exponent (wgmma of e4m3 on an
# H100: 2**13 + 1 + 1 is exact, 2**14 + 1 is 2**14). Both measured on an H100, CUDA 13.0, 2026-11-26.
_DIGITS = {"f16": 24, "f32": 24, "f64": 53, "s32": 53}
_SMALL_FLOATS = {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"}
_SMALL_DIGITS = 14


def count_digits(instruction: Instruction) -> int:
    """Return the significant bits that a product's sums are guaranteed to keep."""
    digits = _DIGITS[instruction.types["d"]]
    return min(digits, _SMALL_DIGITS) if instruction.types["a"] in _SMALL_FLOATS else digits


def find_unit(values: Array) -> int:
    """Return an exponent such that every finite value is a multiple of that power of two.

    >>> find_unit(np.array([3.0, 0.75, 0.0])), find_unit(np.array([8.0]))
    (-2, 0)
    """
    if np.array_equal(values, np.rint(values)):
        return 0
    finite = values[np.isfinite(values) & (values != 0)]
    if not len(finite):
        return 0
    mantissa, exponent = np.frexp(finite)
    integers = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = np.log2((integers & -integers).astype(np.float64)).astype(np.int64)
    return int((exponent - 53 + lowest).min())


def is_exact(a: Array, b: Array, c: Array | None, digits: int) -> bool:
    """Return whether every partial sum of A [..., m, k] · B [..., k, n] + C fits in that many significant bits."""
    with np.errstate(invalid="ignore", over="ignore"):
        unit = find_unit(a) + find_unit(b)
        largest = _find_largest(a) * _find_largest(b) * a.shape[-1]
        if c is not None and c.size:
            scaled = np.ldexp(c, -unit)
            if not np.array_equal(scaled, np.rint(scaled)):
                unit = min(unit, find_unit(c))
            largest += _find_largest(c)
        if largest < np.ldexp(1.0, digits + unit):
            return True
        sums = np.abs(np.nan_to_num(a, posinf=0, neginf=0)) @ np.abs(np.nan_to_num(b, posinf=0, neginf=0))
        largest = _find_largest(sums if c is None else sums + np.abs(c))
        return bool(largest < np.ldexp(1.0, digits + unit))


def _find_largest(values: Array) -> float:
    sizes = np.abs(values)
    most = float(sizes.max(initial=0.0))
    return most if np.isfinite(most) else float(sizes[np.isfinite(sizes)].max(initial=0.0))


def note_inexact(group: Group, statement: Statement, known: bool) -> None:
    """Add a note, once per run, that a result depends on how a tensor core adds.

    known: whether it was added the way the target does.
    """
    machine = group.run.machine
    if any(finding.code == NOTE for finding in machine.findings):
        return
    how = (
        "it is truncated and rounded as in captures of an H200; other devices may differ in the last bits"
        if known
        else "this is the sum in float64, rounded once; a tensor core's result may differ in the last bits"
    )
    machine.report(NOTE, f"The sum of products in {statement.words[0]} is not exact: {how}", statement, "note")
