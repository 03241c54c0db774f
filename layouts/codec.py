"""Small whole numbers as the bits of any element type, and the values of such bits.

f16, bf16, f32, f64 as IEEE 754 has them; e4m3, e5m2: OCP FP8; e3m2, e2m3, e2m1, ue8m0: OCP MX 1.0.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layouts.dtypes import dtype

Bits = NDArray[np.uint64]
SCALES = {"ue8m0": (126, 127, 128), "ue4m3": (0x30, 0x38, 0x40)}  # codes of a half, one, two

_FINITE = {"e4m3": 448.0, "e5m2": 57344.0}  # the largest finite value; codes above are NaN or infinite
_DIGITS = {
    "f16": (11, -14),
    "bf16": (8, -126),
    "tf32": (11, -126),
    "f32": (24, -126),
}  # significant bits, least exponent
_LARGEST = {
    "f16": 65504.0,
    "bf16": float.fromhex("0x1.fep127"),
    "tf32": float.fromhex("0x1.ffcp127"),
    "f32": float.fromhex("0x1.fffffep127"),
    "f64": float.fromhex("0x1.fffffffffffffp1023"),
}
# exponent bits, mantissa bits, bias of the narrow floats (OCP MX 1.0; e4m3 and e5m2: FP8 formats)
_NARROW = {"e4m3": (4, 3, 7), "e5m2": (5, 2, 15), "e3m2": (3, 2, 3), "e2m3": (2, 3, 1), "e2m1": (2, 1, 1)}


@lru_cache(maxsize=8)
def _codes(name: str) -> dict[float, int]:
    """Value → code of a narrow float, positive zero for 0."""
    exponent_bits, mantissa_bits, bias = _NARROW[name]
    out: dict[float, int] = {}
    for code in range(1 << (1 + exponent_bits + mantissa_bits)):
        sign = -1.0 if code >> (exponent_bits + mantissa_bits) else 1.0
        exponent, mantissa = code >> mantissa_bits & (1 << exponent_bits) - 1, code & (1 << mantissa_bits) - 1
        fraction = mantissa / (1 << mantissa_bits)
        value = sign * (2.0 ** (1 - bias) * fraction if exponent == 0 else 2.0 ** (exponent - bias) * (1 + fraction))
        out.setdefault(value, code)
    return out


@lru_cache(maxsize=8)
def _sorted_codes(name: str) -> tuple[NDArray[np.float64], Bits]:
    table = sorted(_codes(name).items())
    return np.array([value for value, _ in table]), np.array([code for _, code in table], np.uint64)


def legal_values(name: str) -> tuple[int, ...]:
    """Whole numbers that the type holds exactly and whose products stay exact in every accumulator."""
    if name == "b1":
        return (0, 1)
    return (0, 1, 2, 3) if name.startswith("u") else (-2, -1, 0, 1, 2)


def bounds(name: str) -> tuple[float, float]:
    """The least and the largest finite value of a type."""
    if name in _NARROW:
        known = _sorted_codes(name)[0]
        finite = known[np.abs(known) <= _FINITE.get(name, np.inf)]
        return float(finite[0]), float(finite[-1])
    if name in _LARGEST:
        return -_LARGEST[name], _LARGEST[name]
    width = dtype(name).bits
    return (
        (-float(1 << (width - 1)), float((1 << (width - 1)) - 1))
        if name.startswith("s")
        else (0.0, float((1 << width) - 1))
    )


def nearest(values: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """The values that a type holds: floats rounded to nearest, ties to even; whole numbers as they are. They must lie
    within bounds().
    """
    if name in _NARROW:
        _, mantissa_bits, bias = _NARROW[name]
        digits, least = mantissa_bits + 1, 1 - bias
    elif name in _DIGITS:
        digits, least = _DIGITS[name]
    else:
        return values
    exponent = np.maximum(np.frexp(values)[1] - 1, least)
    step = np.exp2(exponent - (digits - 1.0))
    return np.asarray(np.rint(values / step) * step)


def encode(values: NDArray[Any], name: str) -> Bits:
    """Element bits of whole numbers."""
    if name == "f16":
        return values.astype(np.float16).view(np.uint16).astype(np.uint64)
    if name in ("f32", "tf32"):
        return values.astype(np.float32).view(np.uint32).astype(np.uint64)
    if name == "bf16":
        return values.astype(np.float32).view(np.uint32).astype(np.uint64) >> np.uint64(16)
    if name == "f64":
        return values.astype(np.float64).view(np.uint64)
    if name in _NARROW:
        known, codes = _sorted_codes(name)
        return codes[np.searchsorted(known, values)]
    width = dtype(name).bits
    return values.astype(np.int64).view(np.uint64) & np.uint64((1 << width) - 1)


def decode(bits: Bits, name: str) -> NDArray[np.float64]:
    """The values of element bits."""
    if name == "f16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float64)
    if name in ("f32", "tf32"):
        return bits.astype(np.uint32).view(np.float32).astype(np.float64)
    if name == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    if name == "f64":
        return bits.view(np.float64)
    if name in _NARROW:
        return _values(name)[bits.astype(np.int64)]
    if name == "ue8m0":
        return np.asarray(np.exp2(bits.astype(np.float64) - 127))
    if name == "ue4m3":
        return np.asarray(_values("e4m3")[bits.astype(np.int64) & 0x7F])
    width = dtype(name).bits
    unsigned = (bits & np.uint64((1 << width) - 1)).astype(np.int64)
    negative = (unsigned >> (width - 1)).astype(bool) & name.startswith("s")
    return (unsigned - (negative.astype(np.int64) << width)).astype(np.float64)


@lru_cache(maxsize=8)
def _values(name: str) -> NDArray[np.float64]:
    """Code → value of a narrow float; NaN where a code is no number's first."""
    exponent_bits, mantissa_bits, _ = _NARROW[name]
    out = np.full(1 << (1 + exponent_bits + mantissa_bits), np.nan)
    for value, code in _codes(name).items():
        out[code] = value
    out[1 << (exponent_bits + mantissa_bits)] = 0.0  # −0
    return out
