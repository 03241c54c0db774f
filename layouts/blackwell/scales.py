"""Scale factors of block-scaled tcgen05.mma in shared memory: atoms of 128 rows by 4 factors, 512 bytes, as
tcgen05.cp.32x128b.warpx4 copies them.

CUTLASS, cutlass/detail/sm100_blockscaled_layout.hpp, l.48-59 (3 maps); PTX ISA 9.1, 9.7.16.10.7. Not run on hardware.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lanescope.errors import LayoutError
from lanescope.ptx.pattern import Pattern

ROWS, COLUMNS, GROUPS = 128, 4, 32  # rows and factors of an atom; rows whose factors lie 16 bytes apart
SOURCE = "CUTLASS, cutlass/detail/sm100_blockscaled_layout.hpp (3 maps); not executed on hardware"


@dataclass(frozen=True, slots=True)
class ScaleAtom:
    """One atom: (16-byte line)(byte of it) → (row, factor). line: bytes of a line."""

    pattern: str = "(l:32) (c:4 s:4) -> (c l) (s)"
    line: int = 16

    @property
    def bytes(self) -> int:
        return ROWS * COLUMNS


SCALE_ATOM = ScaleAtom()


def make_tile_pattern(rows: int, factors: int) -> Pattern:
    """Return the atoms of a whole operand, those along K first: (128 bytes of 16-byte lines)(byte) → (row, factor).

    LayoutError for sizes that are not multiples of the atom.
    """
    for name, size, unit in (("rows", rows, ROWS), ("factors", factors, COLUMNS)):
        if size < unit or size % unit:
            raise LayoutError("bad_scales", f"{name} is {size}.", f"Pad to a multiple of {unit}.", name)
    return Pattern.parse("(r:R k:S l:32) (c:4 s:4) -> (r c l) (k s)", R=rows // ROWS, S=factors // COLUMNS)


def compute_offset(row: Any, factor: Any, factors: int) -> Any:
    """Return the byte offset of a factor from the first atom; factors: of one row. Arguments broadcast."""
    atom = row // ROWS * (factors // COLUMNS) + factor // COLUMNS
    return (
        SCALE_ATOM.bytes * atom + SCALE_ATOM.line * (row % GROUPS) + COLUMNS * (row % ROWS // GROUPS) + factor % COLUMNS
    )
