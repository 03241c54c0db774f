"""CUDA C++ for one descriptor: a constant, a function of the tile's address, and CUTLASS's bit field.
`layouts.statements` reads each back.
"""

from __future__ import annotations

from layouts.descriptor import BASE_OFFSET, LBO, SBO, START, SWIZZLE, Descriptor


def code(descriptor: Descriptor) -> dict[str, str]:
    """{"constant", "function", "cutlass"}. Bits of no field are kept; the tests compile and run all three
    on the host.
    """
    other = f"{descriptor.reserved:#x}ull" if descriptor.reserved else ""
    return {
        "constant": f"constexpr uint64_t desc = {descriptor}ull;",
        "function": (
            "__device__ inline uint64_t make_desc(const void* tile) {\n  const uint64_t start ="
            f" (uint64_t)(__cvta_generic_to_shared(tile) & 0x{START.mask:X}) >> 4;\n  return start |"
            f" (uint64_t)({descriptor.lbo_bytes} >> 4) << {LBO.low} | (uint64_t)({descriptor.sbo_bytes} >> 4) <<"
            f" {SBO.low}\n       | (uint64_t){descriptor.base_offset} << {BASE_OFFSET.low} |"
            f" (uint64_t){descriptor.mode_code} << {SWIZZLE.low}"
            + (f"\n       | {other};  // bits of no field" if other else ";")
            + f"  // swizzle {descriptor.mode.name}\n}}"
        ),
        "cutlass": (
            "cute::GmmaDescriptor desc{};\ndesc.bitfield.start_address_ ="
            f" {descriptor.start_address >> 4};\ndesc.bitfield.leading_byte_offset_ ="
            f" {descriptor.lbo_bytes >> 4};\ndesc.bitfield.stride_byte_offset_ ="
            f" {descriptor.sbo_bytes >> 4};\ndesc.bitfield.base_offset_ ="
            f" {descriptor.base_offset};\ndesc.bitfield.layout_type_ = {descriptor.mode_code};"
            + (f"\ndesc.desc_ |= {other};  // bits of no field" if other else "")
        ),
    }
