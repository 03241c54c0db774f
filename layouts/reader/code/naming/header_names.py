"""Names that CUDA's and CUTLASS's headers define, and their values.

Sources: cuda.h (by lanescope.shared.map_enums), CUTLASS 4
include/cute/arch/mma_sm90_desc.hpp (GMMA::LayoutType, Major) and mma_sm100_desc.hpp (UMMA::LayoutType, the members of
its instruction descriptors and the enums of their types).
"""

from __future__ import annotations

import re
from functools import lru_cache

from lanescope.cxx.integers import INT, LONG, SCHAR, SHORT, UCHAR, UINT, ULONG, USHORT, IntegerType, find_integer_type
from lanescope.cxx.sizes import VECTORS
from lanescope.ptx.table.descriptors import TCGEN05, WGMMA
from lanescope.ptx.table.kinds import KINDS
from lanescope.shared.map_enums import INTERLEAVES, MAP_TYPES, SWIZZLES

SWIZZLE_NAMES = tuple(name.upper() for name in SWIZZLES)  # of CUtensorMapSwizzle, by their codes
_L2 = "NONE L2_64B L2_128B L2_256B".split()

CODED = frozenset(  # types of enumerators
    "CUtensorMapSwizzle CUtensorMapDataType CUtensorMapInterleave CUtensorMapL2promotion".split()
)
CONSTANTS: dict[str, int] = {
    **{f"CU_TENSOR_MAP_DATA_TYPE_{row.name}": row.code for row in MAP_TYPES},
    **{f"CU_TENSOR_MAP_SWIZZLE_{name}": code for code, name in enumerate(SWIZZLE_NAMES)},
    **{f"CU_TENSOR_MAP_INTERLEAVE_{name.upper()}": code for code, name in enumerate(INTERLEAVES)},
    **{f"CU_TENSOR_MAP_L2_PROMOTION_{name}": code for code, name in enumerate(_L2)},
    "CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE": 0,
    "CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA": 1,
    "CUDA_SUCCESS": 0,
}
# limits of <cstdint> and <climits>, and CUDA's warpSize → (value, type)
LIMITS: dict[str, tuple[int, IntegerType]] = {
    **{
        f"{kind}{bits}_MAX": (type_.most, type_)
        for kind, bits, type_ in (
            ("INT", 8, SCHAR),
            ("INT", 16, SHORT),
            ("INT", 32, INT),
            ("INT", 64, LONG),
            ("UINT", 8, UCHAR),
            ("UINT", 16, USHORT),
            ("UINT", 32, UINT),
            ("UINT", 64, ULONG),
        )
    },
    "INT_MAX": (INT.most, INT),
    "UINT_MAX": (UINT.most, UINT),
    "LONG_MAX": (LONG.most, LONG),
    "CHAR_BIT": (8, INT),
    "warpSize": (32, INT),
    "ULONG_MAX": (ULONG.most, ULONG),
    "SIZE_MAX": (ULONG.most, ULONG),
    "INT_MIN": (INT.least, INT),
    "INT32_MIN": (INT.least, INT),
    "INT64_MIN": (LONG.least, LONG),
}
ELEMENT_FORMATS = {  # CUTLASS's enum → (field of an instruction descriptor that has its values, kinds of tcgen05.mma)
    "F16F32Format": ("a", ("f16", "tf32")),
    "S8Format": ("a", ("i8",)),
    "MXF8F6F4Format": ("a", ("f8f6f4", "mxf8f6f4")),
    "MXF4Format": ("a", ("mxf4", "mxf4nvf4")),
    "CFormat": ("d", ("f16", "i8")),
    "ScaleFormat": ("scale_type", ("mxf4nvf4",)),
}
TYPE_NAMES = {"u8": "UINT8", "s8": "INT8"}  # of CUTLASS; others are PTX's in capitals
# members of CUTLASS's enums: (enum, member) → value
MEMBERS: dict[tuple[str, str], int] = {
    **{("LayoutType", f"B{mode.width_bytes}"): code for mode, code in WGMMA.codes.items() if mode.chunks > 1},
    ("LayoutType", "INTERLEAVE"): 0,
    **{("LayoutType", f"SWIZZLE_{mode.name.upper()}"): code for mode, code in TCGEN05.codes.items()},
    ("Major", "K"): 0,
    ("Major", "MN"): 1,
    ("ScaleIn", "One"): 0,
    ("ScaleIn", "Neg"): 1,
    ("Saturate", "False"): 0,
    ("Saturate", "True"): 1,
    **{
        (enum, TYPE_NAMES.get(name, name.upper())): code
        for enum, (field, kinds) in ELEMENT_FORMATS.items()
        for row in KINDS
        if row.name in kinds
        for name, code in row.get_field(field).codes.items()
    },
}

# Bytes of types that are not tensor elements: cuda.h (CUtensorMap), CUDA's vector_types.h and driver_types.h,
# libcu++ (a block's barrier is one mbarrier), CUTLASS's cute/arch/copy_sm90_desc.hpp and cutlass/arch/barrier.h
OPAQUE_BYTES: dict[str, int] = {
    **dict.fromkeys("CUtensorMap CUtensorMap_st TmaDescriptor".split(), 128),
    **dict.fromkeys("cudaStream_t CUstream cudaEvent_t CUevent CUmodule CUfunction CUcontext cudaGraph_t".split(), 8),
    **dict.fromkeys("ClusterBarrier ClusterTransactionBarrier nullptr_t".split(), 8),
    **dict.fromkeys("cudaError_t CUresult CUtensorMapDataType CUtensorMapSwizzle CUtensorMapInterleave".split(), 4),
    **dict.fromkeys("dim3 uint3 int3 float3".split(), 12),
}
# Bits of CUDA's built-in variables, unsigned ints (CUDA C++ Programming Guide 13.0, compute capabilities: at most
# 1,024 × 1,024 × 64 threads a block, 2³¹ − 1 × 65,535 × 65,535 blocks a grid)
BUILT_IN: dict[tuple[str, str], int] = {
    (name, axis): bits
    for name, each in {
        "threadIdx": (10, 10, 6),
        "blockDim": (11, 11, 7),
        "blockIdx": (31, 16, 16),
        "gridDim": (31, 16, 16),
    }.items()
    for axis, bits in zip("xyz", each, strict=True)
}
THREADS = frozenset(f"{name}.{axis}" for name, axis in BUILT_IN)
OF_DESCRIPTOR = frozenset("reg32_ reg16_ bitfield desc_ lo hi".split())  # members of CUTLASS's descriptors

# Names of functions that return the shared-window address of a pointer.
SHARED_ADDRESS = re.compile(
    r"__cvta_generic_to_shared|__nvvm_ptr_gen_to_shared|cast_smem_ptr_to_uint"
    r"|(?:get_)?(?:smem|shared|shmem)_?(?:ptr|addr\w*|u32\w*)(?:_?to_?\w+)?"
    r"|(?:to|as|get)_?(?:smem|shared)_?(?:ptr|addr\w*|u32|uint)?|smem_?u32|u32_?smem"
    r"|cvta_?(?:to_?(?:shared|smem))?\w*"
    r"|smem_ptr_to_uint\w*|generic_to_shared\w*|elect_smem_addr",
    re.I,
)
# Functions that return one of their arguments → the index of that argument. The first argument of a shuffle is the
# mask of lanes; a name stands for the same value in every lane.
IDENTITY = dict.fromkeys(
    "raw_pointer_cast make_smem_ptr recast_ptr forward move __builtin_assume_aligned launder to_address as_const"
    " __builtin_expect const_expr __ldg addressof __shfl readfirstlane".split(),
    0,
) | {"__shfl_sync": 1}
# Names for PTX's matrix-descriptor-encode, (x & 0x3FFFF) >> 4; programs often define it in a header.
ENCODE = re.compile(
    r"(?:smem_?)?(?:matrix_?)?desc(?:riptor)?_?enc(?:ode)?|encode_?(?:matrix_?)?desc(?:riptor)?(?:_?field)?", re.I
)
# swizzle → (bytes of a row, layout_type) of descriptors of K-major tiles, which have LBO 1 and an SBO of eight rows
# (PTX ISA 9.1, canonical layouts; CUTLASS's make_gmma_desc)
STANDARD = {mode.name: (mode.width_bytes, code) for mode, code in WGMMA.codes.items() if mode.chunks > 1}
# Descriptor types of CUTLASS and of Triton's Utility.h that programs use without defining them.
_UNSIGNED = re.compile(r"\bu(char|short|int|long)")
PRELUDE = """
union GmmaDescriptor {
  uint64_t desc_; uint32_t reg32_[2]; uint16_t reg16_[4];
  struct { uint16_t start_address_ : 14, : 2; uint16_t leading_byte_offset_ : 14, : 2;
           uint16_t stride_byte_offset_ : 14, : 2; uint8_t : 1, base_offset_ : 3, : 4;
           uint8_t : 6, layout_type_ : 2; } bitfield;
};
union SmemDescriptor {
  uint64_t desc_;
  struct { uint16_t start_address_ : 14, : 2; uint16_t leading_byte_offset_ : 14, : 2;
           uint16_t stride_byte_offset_ : 14, version_ : 2;
           uint8_t : 1, base_offset_ : 3, lbo_mode_ : 1, : 3; uint8_t : 5, layout_type_ : 3; };
  struct { uint32_t lo; uint32_t hi; };
};
union InstrDescriptor {
  uint32_t desc_;
  struct { uint16_t sparse_id2_ : 2, sparse_flag_ : 1, saturate_ : 1, c_format_ : 2, : 1, a_format_ : 3, b_format_ : 3,
           a_negate_ : 1, b_negate_ : 1, a_major_ : 1;
           uint16_t b_major_ : 1, n_dim_ : 6, : 1, m_dim_ : 5, : 1, max_shift_ : 2; };
  operator uint32_t() const { return desc_; }
};
union InstrDescriptorBlockScaled {
  uint32_t desc_;
  struct { uint16_t sparse_id2_ : 2, sparse_flag_ : 1, : 1, b_sf_id_ : 2, : 1, a_format_ : 3, b_format_ : 3,
           a_negate_ : 1, b_negate_ : 1, a_major_ : 1;
           uint16_t b_major_ : 1, n_dim_ : 6, scale_format_ : 1, m_dim_ : 5, a_sf_id_ : 2, k_size_ : 1; };
  operator uint32_t() const { return desc_; }
};
typedef SmemDescriptor UmmaDescriptor;
union SMEMDescriptor {
  uint64_t descriptor;
  struct { uint64_t baseAddress : 14, : 2, leadDimensionBaseOffset : 14, : 2, strideDimensionBaseOffset : 14, : 3,
           matrixBaseOffset : 3, : 10, swizzlingMode : 2; };
};
"""
# CUDA's vectors of integers, which are structs: name → definition (vector_types.h)
VECTOR_TYPES: dict[str, str] = {
    name: f"struct alignas({size.align}) {name} {{ {kind} {', '.join('xyzw'[: int(name[-1])])}; }};"
    for name, size in VECTORS.items()
    if (kind := _UNSIGNED.sub(r"unsigned \1", name[:-1]).replace("longlong", "long long")) != name
    and find_integer_type(kind) is not None
}
_DIM3 = """struct dim3 { unsigned int x, y, z;
  dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1) : x(x_), y(y_), z(z_) {} };"""
_CONFIG = "cudaLaunchConfig_t"  # CUDA Runtime API, 6.11
_LAUNCH_CONFIG = f"""struct {_CONFIG} {{ dim3 gridDim, blockDim; size_t dynamicSmemBytes; void* stream; void* attrs;
  unsigned int numAttrs; }};"""
_ASSIGNED_SIZE = re.compile(r"\b(\w+)\s*\.\s*[xyz]\s*=(?!=)")
_OF_DIM3 = re.compile(r"\bdim3\s+([^;{}]*)[;{]")
FIELDS_UNION = "MatrixDescriptor"
_VECTOR_NAME = re.compile(rf"(?<!\w)(?:make_)?({'|'.join(VECTOR_TYPES)})(?!\w)")
_LAYS_OUT = re.compile(r"(?:->|\.)\s*(?:leading|stride)_byte_offset_?\b")
_CONTAINED = re.compile(r"(?:->|\.)\s*([A-Za-z_]\w*)\s*\.\s*(?:leading|stride)_byte_offset_?\b")
_OF_BLACKWELL = re.compile(r"\bUMMA\b|tcgen05|sm_?10\d|blackwell", re.I)
_OF_HOPPER = re.compile(r"wgmma|\bGMMA\b", re.I)
_OWN_FIELDS = re.compile(r"\.\s*(?:version|lbo_mode)_?\b")  # which only tcgen05's descriptors have
_WORDS_OF_UNION = "desc desc_ raw raw_ u64 value".split()
_HOLDER = re.compile(r"(?<![\w.>])(\w{1,80})(?:\[\w*\])?(?:->|\.)\w+\.(?:leading|stride)_byte_offset_?\b")
MOST_HOLDERS = 16  # objects of one text


@lru_cache(maxsize=8)
def write_vector_types(text: str) -> str:
    """Write the definitions of the vectors of integers and of the configuration of launches that a text names, and of
    dim3 if it assigns members of one.

    >>> write_vector_types("uint2 halves = make_uint2(lo, hi);")
    'struct alignas(8) uint2 { unsigned int x, y; };'
    """
    sizes = {name for listed in _OF_DIM3.findall(text) for name in re.findall(r"\w+", listed)}
    assigned = any(name in sizes for name in _ASSIGNED_SIZE.findall(text))
    named = (VECTOR_TYPES[name] for name in dict.fromkeys(_VECTOR_NAME.findall(text)))
    configured = _CONFIG in text
    return "\n".join((*named, *(_DIM3,) * (assigned or configured), *(_LAUNCH_CONFIG,) * configured))


def find_matching_union(text: str) -> str:
    """Return the CUTLASS union whose members a text assigns: the one of tcgen05 or of wgmma."""
    return "SmemDescriptor" if _is_of_blackwell(text) else "GmmaDescriptor"


def _is_of_blackwell(text: str) -> bool:
    """Return whether the descriptors of a text are tcgen05's; one that multiplies with wgmma may name both."""
    if _OWN_FIELDS.search(text) is not None:
        return True
    return _OF_BLACKWELL.search(text) is not None and _OF_HOPPER.search(text) is None


def _find_union_word(text: str) -> tuple[str, ...]:
    """Return the name that a text uses for the whole word of an undefined union.

    It is the only other member used of the objects whose fields the text assigns; () if there is not exactly one.
    """
    names = dict.fromkeys(_HOLDER.findall(text))
    others: set[str] = set()
    for name in list(names)[:MOST_HOLDERS]:
        others |= set(re.findall(rf"(?<![\w.>]){name}(?:->|\.)(\w{{1,80}})\b(?!\s*[.(\[]|->)", text))
    others -= {"desc_", "lo", "hi"}
    return tuple(others) if len(others) == 1 else ()


def find_fields_union(text: str) -> tuple[str, frozenset[str]]:
    """Write a union with the matrix-descriptor fields that a text assigns but does not define.

    Return its C++, and the members that identify it; ("", nothing) if the text has no such members.

    Source of the fields: CUTLASS, cute/arch/mma_sm90_desc.hpp and mma_sm100_desc.hpp.

    >>> sorted(find_fields_union("d.bits.stride_byte_offset = 64;")[1]), find_fields_union("d.x = 1;")[0]
    (['bits'], '')
    """
    if not _LAYS_OUT.search(text):
        return "", frozenset()
    blackwell = _is_of_blackwell(text)
    fields, names = _write_fields(text, blackwell)
    word = _find_union_word(text)
    containers = {name for name in _CONTAINED.findall(text) if name != "bitfield" or blackwell or word}
    direct = re.search(r"(?<![.\w])\w+(?:\[\w*\])?\s*(?:->|\.)\s*(?:leading|stride)_byte_offset_?\b", text)
    members = [f"struct {{ {fields} }} {name};" for name in sorted(containers)]
    if direct:
        members.append(f"struct {{ {fields} }};")
    if not members:
        return "", frozenset()
    words = " ".join(f"uint64_t {name};" for name in dict.fromkeys([*_WORDS_OF_UNION, *word]))
    identifying = containers | ({*names, *_WORDS_OF_UNION} if direct else set())
    identifying |= {"version_", "lbo_mode_", "version", "lbo_mode"} if direct and blackwell else set()
    return f"union {FIELDS_UNION} {{ {words} {' '.join(members)} }};", frozenset(identifying)


def _write_fields(text: str, blackwell: bool) -> tuple[str, tuple[str, ...]]:
    """Return a descriptor's bit fields in C++, and the names of the fields of both formats, as the text spells them."""

    def spelled(*names: str) -> str:
        spellings = (spelling for name in names for spelling in (f"{name}_", name))
        return next((spelling for spelling in spellings if re.search(rf"\.\s*{spelling}\b", text)), names[0])

    start, lead, stride = map(spelled, ("start_address", "leading_byte_offset", "stride_byte_offset"))
    base, mode = spelled("base_offset"), spelled("layout_type", "swizzle_mode", "swizzle_type", "swizzle")
    head = f"uint64_t {start} : 14, : 2, {lead} : 14, : 2, {stride} : 14, "
    if blackwell:
        version, lbo_mode = spelled("version"), spelled("lbo_mode")
        fields = f"{head}{version} : 2, : 1, {base} : 3, {lbo_mode} : 1, : 8, {mode} : 3;"
    else:
        fields = f"{head}: 3, {base} : 3, : 10, {mode} : 2;"
    return fields, (start, lead, stride, base, mode)


# intrinsics of CUDA that only compute: they write and order nothing, and epilogues call them for every element
ARITHMETIC = re.compile(
    r"__(?:\w*2(?:float|half|bfloat16|u?int|u?ll|u?short|u?char|fp8|double)\w*"
    r"|(?:half|bfloat16|bfloat162|low|high)2?float2?|\w+_as_\w+"
    r"|h(?:add|sub|mul|fma|div|neg|abs|max|min)2?\w*|f(?:add|sub|mul|div|ma|sqrt|rcp)f?_r[nzud]"
    r"|(?:exp|exp10|log|log2|log10|sin|cos|tan)f|fdividef)"
)
