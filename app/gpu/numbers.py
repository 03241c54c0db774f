"""Values for hardware runs: small whole numbers as the bits of any element type, and fragments packed by their maps."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layouts.instruction import Operand

Bits = NDArray[np.uint64]
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


def legal_values(name: str) -> tuple[int, ...]:
    """Whole numbers that the type holds exactly and whose products stay exact in every accumulator."""
    if name == "b1":
        return (0, 1)
    return (0, 1, 2, 3) if name.startswith("u") else (-2, -1, 0, 1, 2)


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
        table = _codes(name)
        return np.vectorize(lambda v: table[float(v)], otypes=[np.uint64])(values)
    width = {"s32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}[name]
    return values.astype(np.int64).view(np.uint64) & np.uint64((1 << width) - 1)


def decode(bits: Bits, name: str) -> NDArray[np.float64]:
    """Accumulator values of element bits."""
    if name == "f16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float64)
    if name == "f32":
        return bits.astype(np.uint32).view(np.float32).astype(np.float64)
    if name == "f64":
        return bits.view(np.float64)
    return bits.astype(np.uint32).view(np.int32).astype(np.float64)


def pack(op: Operand, matrix: Bits) -> NDArray[np.unsignedinteger[Any]]:
    """Element bits by stored coordinate → registers [threads, registers], by the operand's map."""
    held = matrix[tuple(op.pattern.evaluate())].astype(np.uint64)
    per = op.values // op.registers
    shift = (np.arange(per, dtype=np.uint64) * np.uint64(op.container_bits))[None, None, :]
    words = np.bitwise_or.reduce(held.reshape(op.threads, op.registers, per) << shift, axis=2)
    return words.astype(np.uint64 if op.register_bits == 64 else np.uint32)


def unpack(op: Operand, registers: NDArray[Any]) -> tuple[Bits, int]:
    """(element bits by coordinate, how many copies of an element disagree with the first)."""
    per = op.values // op.registers
    shift = (np.arange(per, dtype=np.uint64) * np.uint64(op.container_bits))[None, None, :]
    mask = np.uint64((1 << op.container_bits) - 1) if op.container_bits < 64 else np.uint64(2**64 - 1)
    held = (registers.astype(np.uint64)[:, :, None] >> shift & mask).reshape(op.threads, op.values)
    thread, value = op.pattern.inverse()
    found = held[thread, value]
    return found[..., 0], int((found != found[..., :1]).sum())
