"""Swizzle<B, M, S>, an XOR of address bits, and the four swizzle modes of shared memory.

Modes: PTX ISA 9.1, 9.7.15.5.1.2; their codes in a TMA tensor map: CUDA driver API, CUtensorMapSwizzle. Descriptor
formats have codes of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lanescope.errors import LayoutError

Number = TypeVar("Number", int, NDArray[np.int64])


def apply_xor(x: Any, mask: Any, base: Any, shift: Any, back: Any = 0) -> Any:
    """XOR the bits of `mask` at `base` with those `shift` above, from which `back` is subtracted; arguments broadcast.

    The function is its own inverse if the bits it reads and the bits it changes do not overlap.
    """
    return x ^ ((((x >> (base + shift)) - back) & mask) << base)


@dataclass(frozen=True, slots=True)
class Swizzle:
    """x XOR ((x >> shift) masked to `bits` bits from `base`): its own inverse if |shift| ≥ bits.

    base depends on the unit of x: 4 for bytes, 3 for 16-bit elements, 0 for 16-byte chunks. A negative shift moves low
    bits up, as in CuTe (cute/swizzle.hpp).
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
        """Return the (changed bit, bit it is XORed with) pairs, lowest first.

        >>> Swizzle(2, 4, 3).list_terms()
        [(4, 7), (5, 8)]
        """
        low = self.base if self.shift >= 0 else self.base - self.shift
        return [(low + n, low + n + self.shift) for n in range(self.bits)]

    def __str__(self) -> str:
        return f"Sw<{self.bits},{self.base},{self.shift}>"


@dataclass(frozen=True, slots=True)
class Mode:
    """One swizzle mode.

    tma: its code in a TMA tensor map; chunks: its width in 16-byte chunks; xor: on byte addresses, if it does not
    follow from the width; deep: the size of an MN-major atom along K.
    """

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
        """The period of the pattern in bytes."""
        return 128 * self.chunks

    def get_atom_size(self, element_bits: int, major: str) -> tuple[int, int]:
        """Return the elements (mn, k) of one atom: 8 rows of the width if K-major, else the width by `deep`."""
        wide = 8 * self.width_bytes // element_bits
        return (8, wide) if major == "K" else (wide, self.deep)

    def count_atom_bytes(self, major: str) -> int:
        """Return the size of one atom in bytes."""
        return self.width_bytes * (8 if major == "K" else self.deep)

    def swizzle(self, unit_bits: int = 8) -> Swizzle:
        """Return the XOR on addresses in units of `unit_bits` bits (8: bytes, 128: chunks)."""
        pattern = self.xor or Swizzle(self.bits, 4, 3)
        return Swizzle(pattern.bits, pattern.base + 4 - unit_bits.bit_length(), pattern.shift)

    def unswizzle(self, address: Any, base_offset: Any = 0) -> Any:
        """Return byte addresses before the XOR that hardware applies; arguments broadcast.

        The function is its own inverse: the XOR never changes the bits it reads.
        """
        pattern = self.swizzle()
        return apply_xor(address, (1 << pattern.bits) - 1, pattern.base, pattern.shift, base_offset)


MODES = (Mode("none", 0, 1), Mode("128B", 3, 8), Mode("64B", 2, 4), Mode("32B", 1, 2))
WIDEST_PATTERN = max(mode.pattern_bytes for mode in MODES)  # a tile of any mode may begin at its multiples
NAMES = tuple(mode.name for mode in MODES)
BY_WIDTH = tuple(sorted(MODES, key=lambda mode: mode.chunks))


def get_mode(name: str) -> Mode:
    """Return a mode by name; LayoutError lists the four."""
    for mode_ in MODES:
        if mode_.name.lower() == name.lower():
            return mode_
    raise LayoutError(
        "unknown_swizzle",
        f"No swizzle mode '{name}'.",
        f"Allowed: {', '.join(mode.name for mode in BY_WIDTH)}.",
        "swizzle",
    )
