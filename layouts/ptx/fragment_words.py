"""Pack matrices into the registers of a fragment and unpack them. lanescope.ptx.codec converts the element values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx.codec import (
    Bits as Bits,
    decode_bits as decode_bits,
    encode_values as encode_values,
    list_legal_values as list_legal_values,
)
from lanescope.ptx.instruction import Operand


def pack(op: Operand, matrix: Bits) -> NDArray[np.unsignedinteger[Any]]:
    """Pack a matrix of element bits [..., *coordinates] into registers [..., threads, registers]."""
    coords: tuple[Any, ...] = (..., *op.pattern.evaluate())
    values = matrix[coords].astype(np.uint64)
    return pack_values(op, values)


def pack_values(op: Operand, values: Bits) -> NDArray[np.unsignedinteger[Any]]:
    """Pack each thread's element bits [..., threads, values] into registers [..., threads, registers]."""
    per = op.values // op.registers
    shift = np.arange(per, dtype=np.uint64) * np.uint64(op.container_bits) + np.uint64(op.padding_below)
    words: NDArray[np.uint64] = np.bitwise_or.reduce(
        values.reshape(*values.shape[:-1], values.shape[-1] // per, per) << shift, axis=-1
    )
    return words.astype(np.uint64 if op.register_bits == 64 else np.uint32)


def unpack_values(op: Operand, registers: NDArray[Any]) -> Bits:
    """Unpack registers [..., threads, registers] into each thread's element bits [..., threads, values]."""
    per = op.values // op.registers
    shift = np.arange(per, dtype=np.uint64) * np.uint64(op.container_bits) + np.uint64(op.padding_below)
    mask = np.uint64((1 << op.element.bits) - 1)
    values: Bits = registers.astype(np.uint64)[..., None] >> shift & mask
    return values.reshape(*registers.shape[:-1], registers.shape[-1] * per)


def unpack(op: Operand, registers: NDArray[Any]) -> tuple[Bits, int]:
    """Unpack registers into (element bits [..., *coordinates], number of copies that differ from the first copy)."""
    values = unpack_values(op, registers)
    thread, value = op.pattern.inverse()
    copies = values[..., thread, value]
    return copies[..., 0], int((copies != copies[..., :1]).sum())
