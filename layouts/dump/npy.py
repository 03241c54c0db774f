"""Parse an untrusted .npy file: numbers only; objects are never unpickled.

Source of the format: numpy.lib.format.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"\x93NUMPY"


@dataclass(frozen=True, slots=True)
class NpyHeader:
    """The header of a file: shape, whether the first index is fastest, type, and offset of the data."""

    shape: tuple[int, ...]
    by_column: bool
    kind: np.dtype[Any]
    offset: int

    @property
    def data_bytes(self) -> int:
        return prod(self.shape) * self.kind.itemsize


def parse_header(raw: bytes) -> NpyHeader | None:
    """Parse the header of a .npy file; None for other bytes."""
    stream = io.BytesIO(raw)
    try:
        version = np.lib.format.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            return None
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_column, kind = read(stream)
    except Exception:  # NumPy does not document what its parser raises for a malformed header
        return None
    if any(not 0 <= size < 1 << 31 for size in shape) or kind.subdtype is not None or not kind.itemsize:
        return None
    return NpyHeader(shape, by_column, kind, stream.tell())


def parse_array(raw: bytes, header: NpyHeader) -> NDArray[Any]:
    """Return the array of a file; LayoutError unless it has numbers only, and as many bytes as its shape requires."""
    flat = np.frombuffer(raw, header.kind, prod(header.shape), header.offset)
    return flat.reshape(header.shape, order="F" if header.by_column else "C")
