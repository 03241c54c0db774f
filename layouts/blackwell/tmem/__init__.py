"""Tensor memory: 128 lanes × 512 columns of 32 bits a CTA. What one MMA keeps where, what an access touches, and what
is wrong with a placement.

PTX ISA 9.1, 9.7.16.1. Documented, and equal to CUTLASS's maps as each layout says; nothing here has run on hardware.
"""

from lanescope.blackwell.tmem.access import EXAMPLE, Access, Mask, access, is_access, shifted, split_columns, touched
from lanescope.blackwell.tmem.operands import FACTORS, OPERANDS, Layout, Mma, columns_of, form_called, layout
from lanescope.blackwell.tmem.placement import (
    Allocation,
    Fault,
    Placed,
    access_faults,
    allocation_faults,
    faults,
    idesc_faults,
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
    "Access",
    "Allocation",
    "Fault",
    "Layout",
    "Mask",
    "Mma",
    "Placed",
    "access",
    "access_faults",
    "allocation_faults",
    "columns_of",
    "faults",
    "form_called",
    "idesc_faults",
    "is_access",
    "layout",
    "shifted",
    "split_columns",
    "touched",
]
