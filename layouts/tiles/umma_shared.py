"""A or B of a tcgen05.mma's tile in the shared memory of one CTA: descriptors and CuTe's layout.

CUTLASS 4.7, cute/atom/mma_traits_sm100.hpp (tile_to_mma_shape).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lanescope.cute import algebra
from lanescope.cute.layout import CuteLayout
from lanescope.descriptor.matrix import Descriptor
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.shared.swizzle import Mode
from lanescope.shared.tiling import Tile


@dataclass(frozen=True, slots=True)
class SharedOperand:
    """A or B in the shared memory of one CTA. rows, k: of one instruction, k as stored; reach: see Tile.descriptor."""

    operand: str
    tile: Tile
    rows: int
    k: int
    reach: int

    def get_descriptor(self, at: int, k: int) -> Descriptor:
        """Return the descriptor of a repeat along M or N and of a K iteration."""
        return self.tile.descriptor(at * self.rows, k * self.k, self.reach, self.rows)

    @property
    def layout(self) -> CuteLayout:
        """CuTe's layout after tile_to_mma_shape, in elements, without the swizzle: ((rows, K), repeats along each)."""
        tile, bits = self.tile, self.tile.element_bits
        wide = tile.mode.width_bytes * 8 // bits
        deep = 8 if tile.major == "K" else tile.mode.deep
        inside = ((deep, wide), (wide, 1)) if tile.major == "K" else ((wide, 1), (deep, wide))
        between = [stride * 8 // bits for stride in tile.strides]
        modes = [
            CuteLayout((size, atoms), (step, leap))
            for (size, step), atoms, leap in zip(inside, tile.atoms, between, strict=True)
        ]
        return algebra.tiled_divide(algebra.concatenate(*modes), (self.rows, self.k))

    @property
    def cute(self) -> str:
        """The coalesced layout with its swizzle, both in elements."""
        return f"{self.tile.mode.swizzle(self.tile.element_bits)} o {self._short}"

    @property
    def printed(self) -> str:
        """The layout as CuTe prints it, with the swizzle on byte addresses."""
        short = re.sub(r"\d+", lambda number_: f"_{number_[0]}", str(self._short))
        return f"{self.tile.mode.swizzle()} o smem_ptr[{self.tile.element_bits}b](unset) o {short}"

    @property
    def _short(self) -> CuteLayout:
        layout = self.layout
        modes = [CuteLayout(mode.shape, mode.stride) for mode in layout.modes]
        first = algebra.concatenate(*(algebra.coalesce(submode) for submode in modes[0].modes))
        return algebra.concatenate(first, *(algebra.coalesce(submode) for submode in modes[1:]))


def list_modes_by_width(bits: int, major: str) -> tuple[Mode, ...]:
    """Return the legal modes for an element size and major, widest first, like CUTLASS's sm100_smem_selector."""
    legal = [mode for mode in TCGEN05.codes if TCGEN05.allows_elements(bits, major, mode)]
    plain = [mode for mode in legal if mode.xor is None] or legal
    return tuple(sorted(plain, key=lambda mode: -mode.chunks))
