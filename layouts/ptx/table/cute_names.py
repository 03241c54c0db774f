"""Names of CuTe's atoms and of the namespaces of its MMA descriptors.

CUTLASS 4.7, include/cute/arch and include/cute/atom. The atoms of SM70 to SM90 are complete: no release has added to
them since 4.0. Those of later devices still grow, so only their words are listed.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

from lanescope.ptx.table.wgmma import N_FLOAT, N_INTEGER

_FLOAT8 = tuple("".join(pair) for pair in product(("E4M3", "E5M2"), repeat=2))
_INTEGERS = tuple("".join(pair) for pair in product(("S8", "U8"), repeat=2))
_NARROW = tuple("".join(pair) for pair in product(("S4", "U4"), repeat=2))
# K, sizes of N, types and endings of the atoms of wgmma
_GROUP_ROWS: tuple[tuple[int, tuple[int, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    (16, N_FLOAT, ("F16F16F16", "F32F16F16", "F32BF16BF16"), ("",)),
    (8, N_FLOAT, ("F32TF32TF32",), ("_TN",)),
    (32, N_FLOAT, tuple(d + types for d in ("F16", "F32") for types in _FLOAT8), ("_TN",)),
    (32, N_INTEGER, tuple(f"S32{types}" for types in _INTEGERS), ("_TN", "_TN_SATURATE")),
)
# architecture, shape, types and endings of the atoms of mma.sync
_WARP_ROWS: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("SM70", "8x8x4", ("F16F16F16F16", "F32F16F16F32"), ("_TN", "_NT", "_NN", "_TT")),
    ("SM75", "16x8x8", ("F16F16F16F16", "F32F16F16F32"), ("_TN",)),
    ("SM75", "8x8x16", ("S32S8S8S32",), ("_TN",)),
    ("SM80", "16x8x4", ("F32TF32TF32F32",), ("_TN",)),
    ("SM80", "16x8x8", ("F16F16F16F16", "F32F16F16F32", "F32BF16BF16F32", "F32TF32TF32F32"), ("_TN",)),
    ("SM80", "16x8x16", ("F16F16F16F16", "F32F16F16F32", "F32BF16BF16F32"), ("_TN",)),
    ("SM80", "8x8x4", ("F64F64F64F64", "C64C64C64C64", "GC64C64C64GC64"), ("_TN",)),
    *(
        ("SM80", shape, tuple(f"S32{types}S32" for types in kinds), ("_TN", "_TN_SATURATE"))
        for kinds, shapes in (
            (_INTEGERS, ("8x8x16", "16x8x16", "16x8x32")),
            (_NARROW, ("8x8x32", "16x8x32", "16x8x64")),
        )
        for shape in shapes
    ),
    *(
        ("SM80", shape, ("S32U1U1S32",), ("_TN_ANDPOPC", "_TN_XORPOPC"))
        for shape in ("8x8x128", "16x8x128", "16x8x256")
    ),
    ("SM89", "16x8x32", tuple(d + types + d for d in ("F16", "F32") for types in _FLOAT8), ("_TN",)),
    *((arch, f"16x8x{k}", ("F64F64F64F64", "C64C64C64C64"), ("_TN",)) for arch in ("SM90", "MMA") for k in (4, 8, 16)),
)
_TMA_SHAPES = ("", "_1D", "_2D", "_3D", "_4D", "_5D")
_OTHERS = (
    *(f"SM75_U32x{n}_LDSM_N" for n in (1, 2, 4)),
    *(f"SM75_U16x{n}_LDSM_T" for n in (2, 4, 8)),
    *(f"SM90_U32x{n}_STSM_N" for n in (1, 2, 4)),
    *(f"SM90_U16x{n}_STSM_T" for n in (2, 4, 8)),
    "SM75_U32x1_MOVM_T",
    *(f"SM80_CP_ASYNC_CACHE{where}{fill}" for where in ("ALWAYS", "GLOBAL") for fill in ("", "_ZFILL")),
    *(f"SM90_TMA_{kind}{shape}" for kind in ("LOAD", "LOAD_MULTICAST") for shape in (*_TMA_SHAPES, "_OP")),
    *(f"SM90_TMA_{kind}{shape}" for kind in ("STORE", "REDUCE_ADD") for shape in _TMA_SHAPES),
    *(
        f"SM90_TMA_LOAD_IM2COL{cast}{shape}"
        for cast in ("", "_MULTICAST")
        for shape in ("", "_3D", "_4D", "_5D", "_OP")
    ),
    *(f"SM90_TMA_STORE_IM2COL{shape}" for shape in ("", "_3D", "_4D", "_5D")),
    "SM90_TMA_STORE_PTR",
    *(f"SM90_BULK_COPY_{way}" for way in ("AUTO", "G2S", "S2G")),
    *("SM61_DP2A SM61_DP4A SM70_QuadPair SM50_Shuffle_U32_2x2Trans_XOR1 SM50_Shuffle_U32_2x2Trans_XOR4".split()),
    *"SM70_8x4_Col SM70_8x4_Row SM70_8x8_16b SM70_8x8_32b SM80_8x4 SM80_8x8_Row SM80_8x16_Row SM80_16x8_Row".split(),
)

COMPLETE = frozenset(("SM50", "SM61", "SM70", "SM75", "SM80", "SM89", "SM90"))
GROWING = frozenset(("SM100", "SM103", "SM120"))
GROWING_WORDS = frozenset(
    """
    CACHE F16BF16 F8F6F4 GATHER4 IM2COL INTERLEAVED LDSM LOAD MMA MULTICAST MXF4 MXF4NVF4 MXF8F6F4 N NOALLOCATION OP Row
    S8 SCALED SCATTER4 SPARSE SS STAT STORE STSM SU4 SU6 T TF32 TMA TMEM TN TS ULTRA UTCCP VS
    """.split()
)

_LAYOUTS = tuple(
    f"Layout_{major}_{swizzle}_{kind}"
    for major in ("K", "MN")
    for swizzle in ("INTER", "SW32", "SW64", "SW128")
    for kind in ("Atom", "SpAtom", "Atom_Bits")
)
MEMBERS = {  # namespace → its names
    "GMMA": frozenset(
        (
            *_LAYOUTS,
            *"""Major ScaleIn ScaleOut SparseSel LayoutType SPARSE smem_desc sparse_smem_desc ABLayout
            DescriptorIterator ss_op_selector rs_op_selector ss_op_selector_sparse rs_op_selector_sparse make_gmma_desc
            layout_type Layout_INTER_Atom Layout_SW32_Atom Layout_SW64_Atom Layout_SW128_Atom to_string""".split(),
        )
    ),
    "UMMA": frozenset(
        (
            *_LAYOUTS,
            *"""Major ScaleIn ScaleOut Saturate MaxShift LayoutType TmemAllocMode F16F32Format S8Format MXF8F6F4Format
            MXF4Format CFormat ScaleFormat BMatrixBufferId BMatrixBufferReuse MaskAndShiftB InstrDescriptor
            InstrDescriptorBlockScaled SmemDescriptor DescriptorIterator smem_desc sparse_smem_desc make_umma_desc
            make_instr_desc make_instr_desc_block_scaled make_runtime_instr_desc make_runtime_instr_desc_block_scaled
            make_column_zero_mask tile_to_mma_shape tmem_frg tmem_frg_1sm tmem_frg_2sm tmem_frg_ws tmem_frg_base
            tmem_sf_frg tmem_e_frg tmem_e_frg_ws ElementXFrg to_UMMAFormat to_CFormat to_ScaleFormat layout_type
            Layout_MN_SW128_32B_Atom Layout_MN_SW128_32B_SpAtom to_string""".split(),
        )
    ),
}
NUMERIC_TYPES = frozenset(  # of namespaces cutlass and cute
    """
    half_t bfloat16_t tfloat32_t float_e4m3_t float_e5m2_t float_e2m1_t float_e2m3_t float_e3m2_t float_ue8m0_t
    float_ue4m3_t int2b_t int4b_t int6b_t uint1b_t uint2b_t uint4b_t uint6b_t bin1_t mx_float4_t mx_float6_t mx_float8_t
    nv_float4_t type_erased_dynamic_float4_t type_erased_dynamic_float6_t type_erased_dynamic_float8_t
    """.split()
)
ENUMERATORS = {  # (namespace, enumeration) → its enumerators
    **{(space, "Major"): ("K", "MN") for space in MEMBERS},
    **{(space, "ScaleIn"): ("One", "Neg") for space in MEMBERS},
    **{(space, "ScaleOut"): ("Zero", "One") for space in MEMBERS},
    ("GMMA", "SparseSel"): ("Zero", "One"),
    ("GMMA", "LayoutType"): ("INTERLEAVE", "B128", "B64", "B32"),
    ("UMMA", "LayoutType"): ("SWIZZLE_NONE", "SWIZZLE_128B_BASE32B", "SWIZZLE_128B", "SWIZZLE_64B", "SWIZZLE_32B"),
    ("UMMA", "Saturate"): ("False", "True"),
}


@lru_cache(maxsize=1)
def list_complete_names() -> frozenset[str]:
    """List the atoms of SM70 to SM90; those of namespaces SM90 and GMMA begin with MMA_, sparse ones with GMMA_."""
    names = list(_OTHERS)
    for k, sizes, group_types, group_endings in _GROUP_ROWS:
        for n, kinds, source, ending in product(sizes, group_types, ("SS", "RS"), group_endings):
            rest = f"{kinds}_{source}{ending}"
            names += (f"SM90_64x{n}x{k}_{rest}", f"MMA_64x{n}x{k}_{rest}", f"GMMA_64x{n}x{2 * k}_{rest}")
    for arch, shape, types, endings in _WARP_ROWS:
        names += (f"{arch}_{shape}_{kinds}{ending}" for kinds, ending in product(types, endings))
    return frozenset(names)
