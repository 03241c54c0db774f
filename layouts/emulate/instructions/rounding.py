"""Exact sums and products, rounded once to f16, bf16, f32 or f64 in every direction.

Operations on formats of up to 24 significant bits are computed in binary64 *rounded to odd*: an inexact result becomes
the neighbour whose last bit is one. Rounding that to a format of at most 51 bits equals rounding the exact result
(Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Doubles = NDArray[np.float64]
DIRECTIONS = ("rn", "rz", "rm", "rp")
LEAST_NORMAL = np.float32(2.0**-126)


@dataclass(frozen=True, slots=True)
class Element:
    """A floating-point format: the dtype of its bits, the NumPy dtype of its values (bf16 has none), its NaN."""

    name: str
    bits: np.dtype[Any]
    value: np.dtype[Any] | None
    nan: int


ELEMENTS = {
    "f16": Element("f16", np.dtype(np.uint16), np.dtype(np.float16), 0x7FFF),
    "bf16": Element("bf16", np.dtype(np.uint16), None, 0x7FFF),
    "f32": Element("f32", np.dtype(np.uint32), np.dtype(np.float32), 0x7FFFFFFF),
    "f64": Element("f64", np.dtype(np.uint64), np.dtype(np.float64), 0xFFF8000000000000),
}


def decode(bits: Array, element: Element) -> Doubles:
    """Return the values of bit patterns, as binary64, which holds every one."""
    if element.value is None:
        return np.asarray((np.asarray(bits, np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32), np.float64)
    return np.asarray(bits, element.bits).view(element.value).astype(np.float64)


def encode(values: Doubles, element: Element, direction: str = "rn") -> Array:
    """Return the bits of binary64 values, exact or rounded to odd, rounded to a format.

    NaNs become the canonical one.
    """
    if element.value is None:
        bits = _encode_bfloat16(values, direction)
    else:
        bits = round_to_dtype(values, element.value, direction).view(element.bits)
    unordered = np.isnan(values)
    return np.where(unordered, element.bits.type(element.nan), bits) if unordered.any() else bits


def round_to_dtype(values: Doubles, dtype: np.dtype[Any], direction: str) -> Array:
    """Return values rounded to a NumPy dtype in a direction: rn, rz, rm or rp."""
    near = np.asarray(values).astype(dtype)
    if direction == "rn":
        return near
    infinity = dtype.type(np.inf)
    if direction == "rz":
        return np.where(np.abs(near) > np.abs(values), np.nextafter(near, dtype.type(0)), near)
    if direction == "rm":
        return np.where(near > values, np.nextafter(near, -infinity), near)
    return np.where(near < values, np.nextafter(near, infinity), near)


def _encode_bfloat16(values: Doubles, direction: str) -> Array:
    single = round_to_dtype(values, np.dtype(np.float32), "rz")
    bits = single.view(np.uint32) | (single != values).astype(np.uint32)  # rounded to odd
    low = bits & np.uint32(0xFFFF)
    if direction == "rn":
        bits = bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))
    elif direction in ("rp", "rm"):
        away = (low != 0) & (np.signbit(single) == (direction == "rm"))
        bits = bits + (away.astype(np.uint32) << np.uint32(16))
    return np.asarray((bits >> np.uint32(16)).astype(np.uint16))


def add_to_odd(a: Doubles, b: Doubles) -> Doubles:
    """Return a + b rounded to odd."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    inexact = (error != 0) & np.isfinite(total)
    if not inexact.any():
        return np.asarray(total)
    bits = np.ascontiguousarray(total).view(np.int64)
    bits = np.where(np.signbit(error) != np.signbit(total), bits - 1, bits) | 1
    return np.where(inexact, bits.view(np.float64), total)


def fix_zero_sign(total: Doubles, a: Doubles, b: Doubles, direction: str) -> Doubles:
    """Return a sum whose exact zero is negative where rounding goes down. IEEE 754-2019, 6.3."""
    if direction != "rm":
        return total
    return np.where((total == 0) & (np.signbit(a) | np.signbit(b)), -0.0, total)


def flush(values: Array) -> Array:
    """Return float32 or binary64 values; those below the least normal float32 become zeros of their sign."""
    return np.where(np.abs(values) < LEAST_NORMAL, np.copysign(values.dtype.type(0), values), values)


# binary64 itself

_SPLIT = 134217729.0  # 2**27 + 1
Exact = Callable[..., Fraction]


def _two_products(a: Doubles, b: Doubles) -> tuple[Doubles, Doubles]:
    """Return the product and its rounding error (Dekker), where nothing overflows or underflows."""
    product = a * b
    x, y = a * _SPLIT, b * _SPLIT
    a_high, b_high = x - (x - a), y - (y - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def fuse_doubles(a: Doubles, b: Doubles, c: Doubles, direction: str) -> Doubles:
    """Return a·b + c of binary64, rounded once."""
    a, b, c = (np.array(v, np.float64) for v in np.broadcast_arrays(a, b, c))
    plain = a * b + c
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    product, rest = _two_products(a, b)
    easy = (np.abs(a) < 2.0**500) & (np.abs(b) < 2.0**500) & (np.abs(c) < 2.0**1000)
    easy &= ((np.abs(product) > 2.0**-900) | (a == 0) | (b == 0)) & ((np.abs(c) > 2.0**-900) | (c == 0))
    if direction == "rn":
        total, low = _two_sums(c, rest)
        high, other = _two_sums(product, total)
        result = np.where((rest == 0) | ~finite, plain, high + add_to_odd(low, other))
        hard = finite & ~easy & (a != 0) & (b != 0)
    else:
        result, hard = plain, finite
    return _replace_exactly(result, hard, direction, lambda x, y, z: x * y + z, (a, b, c))


def _two_sums(a: Doubles, b: Doubles) -> tuple[Doubles, Doubles]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _replace_exactly(
    result: Doubles, hard: Array, direction: str, compute: Exact, operands: tuple[Doubles, ...]
) -> Doubles:
    """Recompute some of the results exactly as fractions and round those."""
    result = np.array(result)
    for place in np.flatnonzero(hard):
        values = [float(operand.flat[place]) for operand in operands]
        exact = compute(*map(Fraction, values))
        if exact == 0:  # the sign is that of the computed sum, except when rounding down
            result.flat[place] = -0.0 if direction == "rm" and not _sums_positive_zeros(values) else result.flat[place]
        else:
            result.flat[place] = round_fraction(exact, direction)
    return result


def _sums_positive_zeros(values: list[float]) -> bool:
    if len(values) == 3:
        values = [math.copysign(1.0, values[0]) * math.copysign(1.0, values[1]), values[2]]
    return all(math.copysign(1.0, value) > 0 for value in values)


def round_fraction(value: Fraction, direction: str) -> float:
    """Return a nonzero fraction rounded to binary64."""
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < (Fraction(2) ** exponent)
    unit = max(exponent - 52, -1074)
    scaled = size / Fraction(2) ** unit
    integer = math.floor(scaled)
    rest = scaled - integer
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and integer & 1 == 1),
        "rz": False,
        "rm": value < 0 and rest > 0,
        "rp": value > 0 and rest > 0,
    }[direction]
    integer += up
    if integer.bit_length() + unit > 1024:
        largest = math.ldexp((1 << 53) - 1, 971)
        away = direction == "rn" or (direction != "rz" and (direction == "rp") == (value > 0))
        result = math.inf if away else largest
    else:
        result = math.ldexp(integer, unit)
    return -result if value < 0 else result


def compute_doubles(name: str, direction: str, *operands: Doubles) -> Doubles:
    """Return add, sub, mul, div, rcp, sqrt or fma of binary64 operands, rounded in a direction."""
    if name == "fma":
        return fuse_doubles(operands[0], operands[1], operands[2], direction)
    if name == "rcp":
        return compute_doubles("div", direction, np.ones((), np.float64), operands[0])
    if name == "sub":
        return compute_doubles("add", direction, operands[0], -operands[1])
    near = {"add": np.add, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt}[name](*operands)
    if direction == "rn":
        return np.asarray(near)
    values = tuple(np.array(v, np.float64) for v in np.broadcast_arrays(*operands))
    near = np.array(near)
    finite = np.logical_and.reduce([np.isfinite(v) for v in values])
    if name == "sqrt":
        return _root_doubles(near, finite & (values[0] > 0), direction, values[0])
    if name == "div":
        finite &= values[1] != 0
    if name != "add":
        finite &= values[0] != 0
    if name == "mul":
        finite &= values[1] != 0
    exact: Exact = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b}[name]
    return _replace_exactly(near, finite, direction, exact, values)


def _root_doubles(near: Doubles, chosen: Array, direction: str, values: Doubles) -> Doubles:
    for place in np.flatnonzero(chosen):
        root, value = float(near.flat[place]), Fraction(float(values.flat[place]))
        if direction == "rp" and Fraction(root) ** 2 < value:
            near.flat[place] = math.nextafter(root, math.inf)
        elif direction != "rp" and Fraction(root) ** 2 > value:
            near.flat[place] = math.nextafter(root, 0.0)
    return near
