"""Names and numbers of a tensor map's arguments: element types, swizzles, interleaves.

Source: cuda.h of CUDA 13.0, CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapInterleave.
"""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.shared.swizzle import Swizzle


@dataclass(frozen=True, slots=True)
class MapType:
    """An element type of tensor maps. name: of CUtensorMapDataType; kind: u, s or f; bits: in global memory;
    padded_bits: in shared memory, 0 if they are the same.
    """

    name: str
    code: int
    bits: int
    kind: str
    padded_bits: int = 0

    @property
    def shared_bits(self) -> int:
        """The bits that an element takes in shared memory."""
        return self.padded_bits or self.bits


MAP_TYPES = (
    MapType("UINT8", 0, 8, "u"),
    MapType("UINT16", 1, 16, "u"),
    MapType("UINT32", 2, 32, "u"),
    MapType("INT32", 3, 32, "s"),
    MapType("UINT64", 4, 64, "u"),
    MapType("INT64", 5, 64, "s"),
    MapType("FLOAT16", 6, 16, "f"),
    MapType("FLOAT32", 7, 32, "f"),
    MapType("FLOAT64", 8, 64, "f"),
    MapType("BFLOAT16", 9, 16, "f"),
    MapType("FLOAT32_FTZ", 10, 32, "f"),
    MapType("TFLOAT32", 11, 32, "f"),
    MapType("TFLOAT32_FTZ", 12, 32, "f"),
    MapType("16U4_ALIGN8B", 13, 4, "u"),
    MapType("16U4_ALIGN16B", 14, 4, "u", 8),
    MapType("16U6_ALIGN16B", 15, 6, "u", 8),
)
# name → (code, the XOR on byte addresses, bytes of the span that an inner box may fill)
SWIZZLES: dict[str, tuple[int, Swizzle, int]] = {
    "none": (0, Swizzle(0, 4, 3), 0),
    "32B": (1, Swizzle(1, 4, 3), 32),
    "64B": (2, Swizzle(2, 4, 3), 64),
    "128B": (3, Swizzle(3, 4, 3), 128),
    "128B_ATOM_32B": (4, Swizzle(2, 5, 2), 128),
    "128B_ATOM_32B_FLIP_8B": (5, Swizzle(2, 5, 2), 128),
    "128B_ATOM_64B": (6, Swizzle(1, 6, 1), 128),
}
INTERLEAVES = ("none", "16B", "32B")
