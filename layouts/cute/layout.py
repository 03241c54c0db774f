"""A CuTe layout: shape and stride, and the swizzle, offset and pointer that may precede them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.cute import tuples
from lanescope.cute.tuples import Nested, format_tuple, has_symbol, list_leaves, pair_leaves
from lanescope.notebook import NotebookObject
from lanescope.shared.swizzle import Swizzle

__all__ = ["DEEPEST", "LONGEST", "MOST", "CuteLayout", "Nested", "compute_index", "format_tuple", "list_leaves"]

LONGEST = 4096  # characters of a layout's text
DEEPEST = 32  # nested parentheses
MOST = 2**31 - 1  # a size or stride: CuTe's are int


@dataclass(frozen=True, slots=True)
class CuteLayout(NotebookObject):
    """swizzle ∘ offset + (shape:stride).

    unit_bits: the width that smem_ptr gives the index; the XOR is then on byte addresses. Readers of texts leave sizes
    open as symbols, and strides that depend on them as None.
    """

    shape: Nested
    stride: Nested
    swizzle: Swizzle | None = None
    unit_bits: int | None = None
    offset: int = 0

    def __str__(self) -> str:
        parts = [str(self.swizzle)] if self.swizzle else []
        parts += (
            [f"smem_ptr[{self.unit_bits}b](unset)"] if self.unit_bits else [str(self.offset)] if self.offset else []
        )
        stride = "" if None in list_leaves(self.stride) else f":{format_tuple(self.stride)}"
        return " o ".join([*parts, f"{format_tuple(self.shape)}{stride}"])

    @property
    def known(self) -> bool:
        """Whether it has no symbol."""
        return None not in list_leaves(self.stride) and not has_symbol((self.shape, self.stride))

    @property
    def size(self) -> int:
        return tuples.size(self.shape)

    @property
    def rank(self) -> int:
        return tuples.rank(self.shape)

    @property
    def cosize(self) -> int:
        """One more than the largest index before the swizzle."""
        return self.offset + 1 + sum((count - 1) * step for count, step in self.digits)

    @property
    def digits(self) -> list[tuple[int, int]]:
        """The (size, stride) of every leaf, fastest first."""
        return pair_leaves(self.shape, self.stride)

    @property
    def modes(self) -> tuple[CuteLayout, ...]:
        """The modes as layouts without swizzle and offset; a layout of one int is its own only mode."""
        pairs = zip(tuples.list_modes(self.shape), tuples.list_modes(self.stride), strict=True)
        return tuple(CuteLayout(shape, stride) for shape, stride in pairs)

    def __call__(self, *coord: Nested) -> int:
        """Return the index of a coordinate: one number per mode, or one number for all modes together."""
        at = self.offset + tuples.coordinate_to_index(coord[0] if len(coord) == 1 else coord, self.shape, self.stride)
        return int(self._swizzle_index(at))

    def list_indices(self) -> NDArray[np.int64]:
        """Return the indices of all coordinates in colexicographic order: int64 [size]."""
        out = np.full(1, self.offset, dtype=np.int64)
        for count, step in self.digits:
            out = (np.arange(count, dtype=np.int64)[:, None] * step + out).reshape(-1)
        return np.asarray(self._swizzle_index(out))

    def _swizzle_index(self, index: Any) -> Any:
        """Return the swizzled index; with smem_ptr the XOR is on the byte address."""
        if self.swizzle is None or not self.unit_bits:
            return self.swizzle(index) if self.swizzle else index
        byte, bit = divmod(index * self.unit_bits, 8)
        return (8 * self.swizzle(byte) + bit) // self.unit_bits


def compute_index(coordinate: Any, modes: list[tuple[int, int]]) -> Any:
    """Return the index of a colexicographic coordinate in one mode, [(size, stride)]; the last digit is not bounded.

    Broadcasts.
    """
    out = 0
    for number, (size, step) in enumerate(modes):
        digit = coordinate if number + 1 == len(modes) else coordinate % size
        out = out + digit * step
        coordinate = coordinate // size
    return out
