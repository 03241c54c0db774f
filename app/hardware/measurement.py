"""The parts of measuring a map: its result, and numbers sent one bit a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx import fragment_words
from lanescope.ptx.instruction import Operand

Array = NDArray[Any]


@dataclass(frozen=True)
class MeasuredMap:
    """One operand's measured map: coordinate axes → [thread][value] arrays, −1 where hardware gave no single answer."""

    operand: str
    axes: tuple[str, ...]
    predicted: dict[str, Array]
    measured: dict[str, Array]
    source: str

    @property
    def wrong(self) -> Array:
        differs: Array = np.any([self.predicted[axis] != self.measured[axis] for axis in self.axes], axis=0)
        return differs


def codes_to_bits(codes: Array) -> Array:
    """Return codes from 0 as [runs, …] of 0 and 1: bit 0 of code + 1, bit 1, …; 0 in every run means that no code
    arrived.
    """
    count = int(codes.max() + 1).bit_length()
    bits: Array = (codes[None] + 1) >> np.arange(count).reshape(-1, *[1] * codes.ndim) & 1
    return bits


def bits_to_codes(bits: Array, axis: int = 0) -> Array:
    """Invert codes_to_bits: −1 where nothing arrived."""
    weights = 1 << np.arange(bits.shape[axis])
    codes: Array = np.tensordot(bits.astype(np.int64), weights, (axis, 0)) - 1
    return codes


def pack_ones(op: Operand, values: Array) -> Array:
    """Pack 0 and 1 as the element's bits, in registers [runs, threads, registers]."""
    return fragment_words.pack_values(op, fragment_words.encode_values(values, op.element.name))


def unpack_ones(op: Operand, registers: Array) -> Array:
    """Unpack D's values of [..., threads, registers]."""
    return fragment_words.decode_bits(fragment_words.unpack_values(op, registers), op.element.name)


def list_flat_coords(op: Operand, cols: Array) -> dict[str, Array]:
    return {axis: (cols if axis == "col" else array).reshape(-1).astype(np.int64) for axis, array in op.coords.items()}


def merge_sightings(slot: Array, value: Array, op: Operand) -> Array:
    """Return [thread][value]: the value of each slot if all its sightings agree, else −1."""
    count = op.threads * op.values
    low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    np.minimum.at(low, slot, value)
    np.maximum.at(high, slot, value)
    merged: Array = np.where(low == high, high, -1).reshape(op.threads, op.values)
    return merged


def make_zero_registers(op: Operand) -> Array:
    return np.zeros((1, op.threads, op.registers), np.uint64 if op.register_bits == 64 else np.uint32)
