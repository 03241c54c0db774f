"""Number classes of CUTLASS and CUDA that a text uses without their headers, and which of them are distinct types."""

from __future__ import annotations

# By their libraries: CUTLASS's (numeric_types.h, float8.h, float_subbyte.h) and CUDA's. None is an alias of another of
# its library; of another library's it may be.
_LIBRARIES = (
    frozenset(
        "half_t bfloat16_t tfloat32_t float_e4m3_t float_e5m2_t float_ue4m3_t float_ue8m0_t float_e2m1_t float_e2m3_t"
        " float_e3m2_t type_erased_dynamic_float8_t type_erased_dynamic_float6_t type_erased_dynamic_float4_t"
        " type_erased_dynamic_float6_unpacksmem_t type_erased_dynamic_float4_unpacksmem_t float_e2m1_unpacksmem_t"
        " float_e2m3_unpacksmem_t float_e3m2_unpacksmem_t".split()
    ),
    frozenset("__half __nv_bfloat16 __nv_fp8_e4m3 __nv_fp8_e5m2 __nv_fp6_e2m3 __nv_fp6_e3m2 __nv_fp4_e2m1".split()),
)


def is_number_class(name: str) -> bool:
    """Return whether a name, qualified or not, is that of a number class."""
    return any(name.rpartition("::")[2] in library for library in _LIBRARIES)


def are_other_classes(left: str, right: str) -> bool:
    """Return whether two names mean distinct classes of one library."""
    left_name, right_name = left.rpartition("::")[2], right.rpartition("::")[2]
    return left_name != right_name and any(left_name in library and right_name in library for library in _LIBRARIES)
