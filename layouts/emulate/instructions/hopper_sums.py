"""Add products as sm_90's tensor cores do if the sum is inexact (inferred from captures of an H200).

All products of an instruction and C are truncated toward zero to a multiple of 2^(e - 25), where e is the largest
exponent among C and the products (2^(e - 13) for wgmma of 8-bit floats); a product's exponent is the sum of its
factors'. The sum is truncated to f32 (of 8-bit floats to 14 significant bits), or rounded to the nearest f16. This
gives every D of the captures in tests/golden/captures bit for bit: wgmma of f16, bf16 and e4m3, mma of f16, bf16 and
tf32. e5m2, tf32 of wgmma and mma with D of f16 are assumed to be the same. PTX does not specify any of this.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.instruction import Instruction

Array = NDArray[Any]
_NONE = -(1 << 14)  # exponent of a zero
_LEAST = {"f16": -24, "f32": -133}  # lower bound of the largest exponent
_LEAST_F32 = -149


def is_known(instruction: Instruction, target: str) -> bool:
    """Return whether the order and rounding of an instruction's sums are known for a target."""
    types = instruction.types
    if not target.startswith("sm_90") or types["d"] not in ("f16", "f32"):
        return False
    if types["a"] in ("e4m3", "e5m2"):
        return instruction.family.by_descriptor and types["d"] == "f32"
    return types["a"] in ("f16", "bf16", "tf32") and instruction.shape != "m8n8k4"


def add_products(instruction: Instruction, a: Array, b: Array, c: Array | None) -> Array:
    """Return A [..., m, k] · B [..., k, n] + C as an H200 adds them, before rounding to D's type: float64."""
    small = instruction.types["a"] in ("e4m3", "e5m2")
    with np.errstate(invalid="ignore", over="ignore"):
        plain = a @ b if c is None else a @ b + c
    finite = [np.where(np.isfinite(values), values, 0.0) for values in (a, np.swapaxes(b, -1, -2))]
    left, right = finite[0][..., :, None, :], finite[1][..., None, :, :]
    exponents = [_find_exponents(finite[n], instruction.types["ab"[n]]) for n in (0, 1)]
    products = left * right
    of_products = np.where(products == 0, _NONE, exponents[0][..., :, None, :] + exponents[1][..., None, :, :])
    largest = of_products.max(axis=-1)
    start = np.zeros(plain.shape) if c is None else np.where(np.isfinite(c), c, 0.0)
    largest = np.maximum(largest, _find_exponents(start, instruction.types["d"]))
    unit = np.maximum(largest, _LEAST[instruction.types["d"]]) - (13 if small else 25)
    units = np.trunc(np.ldexp(products, -unit[..., None])).sum(axis=-1) + np.trunc(np.ldexp(start, -unit))
    total = np.ldexp(units, unit)
    if instruction.types["d"] == "f32":
        total = _cut(total, 14 if small else 24)
    return np.where(np.isfinite(plain), total, plain)


def _find_exponents(values: Array, name: str) -> NDArray[np.int64]:
    """Return the exponent in each value's encoding; subnormal values have that of the least normal number."""
    float_format = get_dtype(name).format
    assert float_format is not None
    exponents = np.maximum(np.frexp(values)[1].astype(np.int64) - 1, float_format.least_exponent)
    return np.where(values == 0, _NONE, exponents)


def _cut(values: Array, digits: int) -> Array:
    """Return values truncated toward zero to that many significant bits, subnormal ones to f32's precision."""
    last = np.maximum(np.frexp(values)[1].astype(np.int64) - digits, _LEAST_F32)
    return np.asarray(np.ldexp(np.trunc(np.ldexp(values, -last)), last))
