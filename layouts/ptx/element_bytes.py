"""Read and write element bits in bytes of memory: little-endian; elements narrower than a byte are packed along the
last axis, lowest bits first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx.codec import Bits

Bytes = NDArray[np.uint8]
Addresses = NDArray[np.int64]


def read_codes(memory: Bytes, address: Addresses, bits: int) -> Bits:
    """Return the codes at byte addresses of memories [..., byte]: [..., *address.shape].

    >>> read_codes(np.array([0x34, 0x12], np.uint8), np.array([[0, 0, 1, 1]]), 4).tolist()
    [[4, 3, 2, 1]]
    """
    codes = np.zeros((*memory.shape[:-1], *address.shape), np.uint64)
    for byte in range(max(bits // 8, 1)):
        codes |= memory[..., address + byte].astype(np.uint64) << np.uint64(8 * byte)
    return codes if bits >= 8 else codes >> _list_shifts(address, bits) & np.uint64((1 << bits) - 1)


def read_known_codes(memory: Bytes, address: Addresses, bits: int) -> tuple[Bits, NDArray[np.bool_]]:
    """Return (codes, whether the memory contains them) at byte addresses, some of which may be outside: 0."""
    inside = (address >= 0) & (address + max(bits // 8, 1) <= len(memory))
    if not inside.any():
        return np.zeros(address.shape, np.uint64), inside
    return read_codes(memory, np.where(inside, address, 0), bits) * inside, inside


def write_codes(memory: Bytes, address: Addresses, codes: Bits, bits: int) -> None:
    """Write codes at byte addresses of memories [..., byte], which are zero where elements share a byte."""
    if bits < 8:
        np.bitwise_or.at(memory, address, (codes << _list_shifts(address, bits)).astype(np.uint8))
        return
    for byte in range(bits // 8):
        memory[..., address + byte] = codes >> np.uint64(8 * byte) & np.uint64(255)


def _list_shifts(address: Addresses, bits: int) -> Bits:
    return np.arange(address.shape[-1], dtype=np.uint64) * np.uint64(bits) % np.uint64(8)
