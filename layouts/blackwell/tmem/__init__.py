"""Tensor memory, 128 lanes × 512 columns of 32 bits per CTA: layouts of operands, accesses, faults of a placement.

PTX ISA 9.1, 9.7.16.1. Documented, and equal to CUTLASS's maps as each layout says; not executed on hardware.
"""

from lanescope.blackwell.tmem.access import (
    EXAMPLE,
    Mask,
    TensorAccess,
    is_access,
    map_shifted_lanes,
    mask_touched,
    parse_access,
    place_columns,
)
from lanescope.blackwell.tmem.operands import (
    FACTORS,
    OPERANDS,
    TmemMma,
    TmemOperandLayout,
    count_columns,
    format_form,
    make_tmem_layout,
)
from lanescope.blackwell.tmem.placement import (
    Allocation,
    PlacedOperand,
    PlacementFault,
    find_access_faults,
    find_allocation_faults,
    find_idesc_faults,
    find_placement_faults,
)
from lanescope.ptx.table.tmem import COLUMNS, LANES, LEAST_ALLOCATION, QUARTER

__all__ = [
    "COLUMNS",
    "EXAMPLE",
    "FACTORS",
    "LANES",
    "LEAST_ALLOCATION",
    "OPERANDS",
    "QUARTER",
    "Allocation",
    "Mask",
    "PlacedOperand",
    "PlacementFault",
    "TensorAccess",
    "TmemMma",
    "TmemOperandLayout",
    "count_columns",
    "find_access_faults",
    "find_allocation_faults",
    "find_idesc_faults",
    "find_placement_faults",
    "format_form",
    "is_access",
    "make_tmem_layout",
    "map_shifted_lanes",
    "mask_touched",
    "parse_access",
    "place_columns",
]
