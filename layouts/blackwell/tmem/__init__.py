"""Tensor memory, 128 lanes × 512 columns of 32 bits per CTA: layouts of operands, accesses, faults of a placement.

PTX ISA 9.1, 9.7.16.1. Documented, and equal to CUTLASS's maps as each layout says; not executed on hardware.
"""

from lanescope.blackwell.tmem.access import (
    EXAMPLE as EXAMPLE,
    Mask as Mask,
    TensorAccess as TensorAccess,
    is_access as is_access,
    map_shifted_lanes as map_shifted_lanes,
    mask_touched as mask_touched,
    parse_access as parse_access,
    place_columns as place_columns,
)
from lanescope.blackwell.tmem.operands import (
    FACTORS as FACTORS,
    OPERANDS as OPERANDS,
    TmemMma as TmemMma,
    TmemOperandLayout as TmemOperandLayout,
    count_columns as count_columns,
    format_form as format_form,
    make_tmem_layout as make_tmem_layout,
)
from lanescope.blackwell.tmem.placement import (
    Allocation as Allocation,
    PlacedOperand as PlacedOperand,
    PlacementFault as PlacementFault,
    find_access_faults as find_access_faults,
    find_allocation_faults as find_allocation_faults,
    find_idesc_faults as find_idesc_faults,
    find_placement_faults as find_placement_faults,
)
from lanescope.ptx.table.tmem import (
    COLUMNS as COLUMNS,
    LANES as LANES,
    LEAST_ALLOCATION as LEAST_ALLOCATION,
    QUARTER as QUARTER,
)
