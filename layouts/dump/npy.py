"""A .npy file's array, from bytes that somebody sent: numbers and nothing else; no object is ever unpickled.

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
    """What a file says of its array: shape, whether the first index runs fastest, type, where its data begin."""

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
    except Exception:  # what NumPy's parser of a header that somebody made raises is not documented
        return None
    if any(not 0 <= size < 1 << 31 for size in shape) or kind.subdtype is not None or not kind.itemsize:
        return None
    return NpyHeader(shape, by_column, kind, stream.tell())


def parse_array(raw: bytes, header: NpyHeader) -> NDArray[Any]:
    """Return the array of a file whose header was checked: no objects, and as many bytes as its shape says."""
    flat = np.frombuffer(raw, header.kind, prod(header.shape), header.offset)
    return flat.reshape(header.shape, order="F" if header.by_column else "C")
