"""Swizzle<B, M, S>: an XOR of address bits, and the four modes of shared memory as rows. Each descriptor format has
codes of its own for them.

Source of the modes: PTX ISA 9.1, 9.7.15.5.1.2; of their codes in a TMA tensor map the CUDA driver API,
CUtensorMapSwizzle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lanescope.errors import LayoutError

Number = TypeVar("Number", int, NDArray[np.int64])


def apply_xor(x: Any, mask: Any, base: Any, shift: Any, back: Any = 0) -> Any:
    """XOR the bits of `mask` from `base` on with those `shift` above, less `back`; arguments broadcast.

    Its own inverse where shift keeps read and changed bits apart.
    """
    return x ^ ((((x >> (base + shift)) - back) & mask) << base)


@dataclass(frozen=True, slots=True)
class Swizzle:
    """x XOR ((x >> shift) masked to `bits` bits from `base`): its own inverse as long as |shift| ≥ bits.

    base counts address bits below the pattern in whatever unit x is: 4 in bytes, 3 in 16-bit elements, 0 in 16-byte
    chunks. A negative shift moves the low bits up, as in CuTe (cute/swizzle.hpp).
    """

    bits: int
    base: int
    shift: int

    def __call__(self, x: Number) -> Number:
        mask = (1 << self.bits) - 1
        if self.shift < 0:
            return x ^ ((x & (mask << self.base)) << -self.shift)
        swizzled: Number = apply_xor(x, mask, self.base, self.shift)
        return swizzled

    def list_terms(self) -> list[tuple[int, int]]:
        """Return the XOR bit by bit: (changed bit, bit it is XORed with), lowest first.

        >>> Swizzle(2, 4, 3).list_terms()
        [(4, 7), (5, 8)]
        """
        low = self.base if self.shift >= 0 else self.base - self.shift
        return [(low + n, low + n + self.shift) for n in range(self.bits)]

    def __str__(self) -> str:
        return f"Sw<{self.bits},{self.base},{self.shift}>"


@dataclass(frozen=True, slots=True)
class Mode:
    """One swizzle mode: its name, its code in a TMA tensor map, its width in 16-byte chunks; xor: on byte addresses,
    where it does not follow from the width; deep: the values of K in one MN-major atom."""

    name: str
    tma: int
    chunks: int
    xor: Swizzle | None = None
    deep: int = 8

    @property
    def bits(self) -> int:
        return self.chunks.bit_length() - 1

    @property
    def width_bytes(self) -> int:
        return 16 * self.chunks

    @property
    def pattern_bytes(self) -> int:
        """The bytes after which the pattern repeats."""
        return 128 * self.chunks

    def get_atom_size(self, element_bits: int, major: str) -> tuple[int, int]:
        """Return the elements (mn, k) of one atom: 8 rows of the width where K is contiguous, else its transpose,
        `deep` of K.
        """
        wide = 8 * self.width_bytes // element_bits
        return (8, wide) if major == "K" else (wide, self.deep)

    def count_atom_bytes(self, major: str) -> int:
        """Return the bytes of one atom."""
        return self.width_bytes * (8 if major == "K" else self.deep)

    def swizzle(self, unit_bits: int = 8) -> Swizzle:
        """Return the XOR on addresses counted in units of `unit_bits` bits (8: bytes, 128: chunks)."""
        pattern = self.xor or Swizzle(self.bits, 4, 3)
        return Swizzle(pattern.bits, pattern.base + 4 - unit_bits.bit_length(), pattern.shift)

    def unswizzle(self, address: Any, base_offset: Any = 0) -> Any:
        """Return byte addresses before the XOR that hardware applies; arguments broadcast.

        It also turns them back: the XOR never changes the bits it reads.
        """
        pattern = self.swizzle()
        return apply_xor(address, (1 << pattern.bits) - 1, pattern.base, pattern.shift, base_offset)


MODES = (Mode("none", 0, 1), Mode("128B", 3, 8), Mode("64B", 2, 4), Mode("32B", 1, 2))
WIDEST_PATTERN = max(mode.pattern_bytes for mode in MODES)  # where a tile of any mode may begin: multiples of it
NAMES = tuple(mode.name for mode in MODES)
BY_WIDTH = tuple(sorted(MODES, key=lambda mode: mode.chunks))


def get_mode(name: str) -> Mode:
    """Return a mode by name; LayoutError lists the four."""
    for known in MODES:
        if known.name.lower() == name.lower():
            return known
    raise LayoutError(
        "unknown_swizzle",
        f"No swizzle mode '{name}'.",
        f"Allowed: {', '.join(mode.name for mode in BY_WIDTH)}.",
        "swizzle",
    )
