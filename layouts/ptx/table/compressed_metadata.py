"""Orders of CUTLASS's sparsity metadata in global memory, one row each: (32-bit word)(4-bit index) → (row, K group).

The pattern describes one atom; atoms are repeated along the rows first, then along K.

mma.sp: CUTLASS, cutlass/util/host_reorder.h (reorder_meta) with ColumnMajorInterleaved<2>. wgmma.sp and tcgen05:
cutlass/gemm/collective/builders/sm90_sparse_config.inl and sm1xx_sparse_config.inl (TensorEAtom).
"""

from __future__ import annotations

from dataclasses import dataclass

WIDE, NARROW = ("f16", "bf16", "tf32"), ("e4m3", "e5m2", "s8", "u8")
FOUR = ("e2m1",)
GROUP = {"tf32": 2, "e2m1": 8, "s4": 8, "u4": 8}  # elements along K per 4-bit index; 4 for other types
HOPPER = "CUTLASS, cutlass/gemm/collective/builders/sm90_sparse_config.inl"
BLACKWELL = "CUTLASS, cutlass/gemm/collective/builders/sm1xx_sparse_config.inl"
AMPERE = "CUTLASS, cutlass/util/host_reorder.h and cutlass/gemm/kernel/default_gemm_sparse.h"


@dataclass(frozen=True, slots=True)
class MetadataOrderRow:
    """One order. types: of A; read: how the metadata reaches the instruction; step: K groups per X of the atom."""

    opcode: str
    types: tuple[str, ...]
    atom: str
    read: str
    source: str
    step: int = 0


ORDERS = (
    MetadataOrderRow(
        "mma.sp",
        WIDE,
        "(g:8 h:2 c:2) (i:2 q:4) -> (h i g) (c q)",
        "ldmatrix: row g holds the words of lanes 4g to 4g + 3; h is the sparsity selector",
        AMPERE,
    ),
    MetadataOrderRow(
        "mma.sp",
        (*NARROW, "s4", "u4"),
        "(g:8 c:2 i:2) (q:8) -> (i g) (c q)",
        "ldmatrix: row g holds the words of lanes 4g to 4g + 3; the sparsity selector is 0",
        AMPERE,
    ),
    MetadataOrderRow(
        "wgmma.sp",
        WIDE,
        "(w:4 k:2 g:8 x:X) (i:2 q:4) -> (w i g) (x k q)",
        "each lane loads its words of all K steps at once: they are neighbours",
        HOPPER,
        8,
    ),
    MetadataOrderRow("wgmma.sp", NARROW, "(l:64 x:X) (q:8) -> (l) (x q)", "row by row, 4 bits a group", HOPPER, 8),
    MetadataOrderRow(
        "tcgen05.mma.sp",
        WIDE,
        "(m:8 k:2 g:8 x:4) (i:2 q:4) -> (m i g) (x k q)",
        "tcgen05.cp.128x128b: 16 bytes per lane, four columns, one for each K step",
        BLACKWELL,
    ),
    MetadataOrderRow(
        "tcgen05.mma.sp",
        (*NARROW, *FOUR),
        "(l:128 x:4) (q:8) -> (l) (x q)",
        "tcgen05.cp.128x128b: 16 bytes per lane, four columns, two for each K step",
        BLACKWELL,
    ),
)
OPCODES = tuple(dict.fromkeys(row.opcode for row in ORDERS))
