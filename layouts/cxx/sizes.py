"""Look up sizeof, alignof and element bits of the types in kernels: C's integers, CUDA's vectors, and the element types
of lanescope.ptx.dtypes by all their names.

CUDA C++ Programming Guide 13.0, "Built-in Vector Types" (alignment); cuda_fp16.h, cuda_bf16.h, cuda_fp8.h, cuda_fp6.h,
cuda_fp4.h (sizes of the packed types).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from lanescope.cxx.integers import find_integer_type
from lanescope.ptx.dtypes import DTYPES


class TypeSize(NamedTuple):
    """The size of a type in bytes, and its alignment."""

    bytes: int
    align: int


# PTX's element type → its names in CUDA's headers, CUTLASS, PyTorch and C++
_NAMED = {
    "f16": "half __half half_t float16_t fp16 f16 nv_half __nv_half float16 Half",
    "bf16": "bfloat16_t bf16 __nv_bfloat16 nv_bfloat16 hip_bfloat16 bfloat16 BFloat16 bhalf",
    "f32": "float float32_t float32 fp32",
    "tf32": "tfloat32_t tf32",
    "f64": "double float64 float64_t fp64",
    "e4m3": "__nv_fp8_e4m3 fp8e4m3 fp8_e4 float_e4m3_t float8_e4m3fn Float8_e4m3fn fp8_t e4m3 fp8_e4_t",
    "e5m2": "__nv_fp8_e5m2 fp8e5m2 fp8_e5 float_e5m2_t float8_e5m2 Float8_e5m2 e5m2 fp8_e5_t",
    "ue8m0": "__nv_fp8_e8m0 float_ue8m0_t",
    "ue4m3": "float_ue4m3_t",
    "e2m1": "float_e2m1_t __nv_fp4_e2m1",
    "s4": "int4b_t int4_t",
    "u4": "uint4b_t uint4_t",
}
# a packed type of CUDA's headers → (element, count)
_PACKED = {
    **dict.fromkeys("half2 __half2 half_2".split(), ("f16", 2)),
    **dict.fromkeys("__nv_bfloat162 nv_bfloat162 bf16_2".split(), ("bf16", 2)),
    "uint128_t": ("f64", 2),
}
_VECTORS = (
    ("char", 1),
    ("uchar", 1),
    ("short", 2),
    ("ushort", 2),
    ("int", 4),
    ("uint", 4),
    ("long", 8),
    ("ulong", 8),
    ("longlong", 8),
    ("ulonglong", 8),
    ("float", 4),
    ("double", 8),
)
_MOST_ALIGNED = 16


def _make_vector_sizes() -> dict[str, TypeSize]:
    """Return the sizes of char1 … double4, dim3 and the packed fp8, fp6 and fp4 types."""
    sizes = {"dim3": TypeSize(12, 4)}
    for base, each in _VECTORS:
        for count in (1, 2, 3, 4):
            align = each if count in (1, 3) else min(each * count, _MOST_ALIGNED)
            sizes[f"{base}{count}"] = TypeSize(each * count, align)
    for form in ("e4m3", "e5m2", "e8m0"):
        sizes |= {f"__nv_fp8x2_{form}": TypeSize(2, 2), f"__nv_fp8x4_{form}": TypeSize(4, 4)}
    for form in ("e2m3", "e3m2"):
        sizes |= {
            f"__nv_fp6_{form}": TypeSize(1, 1),
            f"__nv_fp6x2_{form}": TypeSize(2, 2),
            f"__nv_fp6x4_{form}": TypeSize(4, 4),
        }
    return sizes | {"__nv_fp4x2_e2m1": TypeSize(1, 1), "__nv_fp4x4_e2m1": TypeSize(2, 2)}


VECTORS = _make_vector_sizes()
# name of a floating-point or 4-bit element type → PTX's name
ELEMENT_NAMES = {name: ptx for ptx, names in _NAMED.items() for name in names.split()}
# bits of element types and vectors in kernels
ELEMENT_BITS: dict[str, int] = {
    **{name: DTYPES[ptx].bits for name, ptx in ELEMENT_NAMES.items()},
    **{name: DTYPES[ptx].bits * count for name, (ptx, count) in _PACKED.items()},
    **{
        name: VECTORS[name].bytes * 8 for name in "float2 int2 uint2 long2 float4 int4 uint4 double2 ulonglong2".split()
    },
}


# a number in an element type's name is its bits in CuTe's Python DSL, and in C++ with the suffix _t
_SIZED = re.compile(r"(?:[BT]?Float|[Uu]?[Ii]nt|bit)(\d+)\w*")


def find_element_bits(name: str) -> int | None:
    """Return the bits of an element type by its name in C++ or CuTe's Python DSL; None for another name.

    >>> find_element_bits("half_t"), find_element_bits("Float8E4M3FN"), find_element_bits("float4")
    (16, 8, 128)
    """
    if name in ELEMENT_BITS:
        return ELEMENT_BITS[name]
    if name in VECTORS:
        return VECTORS[name].bytes * 8
    match = _SIZED.fullmatch(name)
    return int(match[1]) if match else None


# MLIR's i8, ui8, bf16, f32 and narrow floats, f8E4M3FN; u8 in prints of CuTe and Triton
_MLIR = re.compile(r"(?:[su]?i|u)([1-9]\d{0,2})|[bt]?f(16|32|64)|f([468])E\dM\d(?:B11)?(?:FN)?U?Z?", re.I)


def find_mlir_bits(name: str) -> int | None:
    """Return the bits of an element type by its name in MLIR, as nvgpu, Triton and CuTe's DSL print it; None for
    another name.

    >>> find_mlir_bits("bf16"), find_mlir_bits("ui8"), find_mlir_bits("f8E4M3FN"), find_mlir_bits("half")
    (16, 8, 8, None)
    """
    match = _MLIR.fullmatch(name)
    return int(match[match.lastindex or 1]) if match else None


@lru_cache(maxsize=1024)
def find_size(name: str) -> TypeSize | None:
    """Return sizeof and alignof of a type by its name; None for another name.

    >>> (find_size("float4"), find_size("unsigned long long"), find_size("std::uint16_t"),
    ... find_size("float_e2m1_t").bytes)
    (TypeSize(bytes=16, align=16), TypeSize(bytes=8, align=8), TypeSize(bytes=2, align=2), 1)
    """
    last = name.rpartition("::")[2]
    integer_type = find_integer_type(name)
    if integer_type is not None:
        return TypeSize(integer_type.size, integer_type.size)
    if last in VECTORS:
        return VECTORS[last]
    if last in ELEMENT_BITS:
        each = max(ELEMENT_BITS[last] // 8, 1)
        return TypeSize(each, min(each, _MOST_ALIGNED))
    return None
