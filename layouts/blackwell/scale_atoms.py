"""Scale factors of block-scaled tcgen05.mma in shared memory: atoms of 128 rows × 4 factors for tcgen05.cp.

CUTLASS, cutlass/detail/sm100_blockscaled_layout.hpp, l.48-59 (3 maps); PTX ISA 9.1, 9.7.16.10.7. Not run on hardware.
"""

from __future__ import annotations

from typing import Any

ATOM_ROWS, ATOM_FACTORS, ATOM_LINES = 128, 4, 32  # rows and factors of an atom; lines of 16 bytes
LINE_BYTES = 16  # the factors of the rows r, r + 32, r + 64 and r + 96
ATOM_BYTES = ATOM_ROWS * ATOM_FACTORS
SOURCE = "CUTLASS, cutlass/detail/sm100_blockscaled_layout.hpp (3 maps); not executed on hardware"


def compute_factor_offset(row: Any, factor: Any, factors: int) -> Any:
    """Return the byte offset of a factor from the first atom; factors: per row. Arguments broadcast."""
    atom = row // ATOM_ROWS * (factors // ATOM_FACTORS) + factor // ATOM_FACTORS
    return (
        ATOM_BYTES * atom
        + LINE_BYTES * (row % ATOM_LINES)
        + ATOM_FACTORS * (row % ATOM_ROWS // ATOM_LINES)
        + factor % ATOM_FACTORS
    )
