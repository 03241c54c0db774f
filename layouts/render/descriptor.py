"""CUDA C++ of one descriptor: a constant, a function of the tile's address, and CUTLASS's bit field.

`lanescope.reader.code.descriptors.code_words` parses the wgmma ones.
"""

from __future__ import annotations

from lanescope.descriptor.matrix import Descriptor
from lanescope.ptx.table.descriptors import LBO, SBO, fit_format

BIT_FIELDS = {  # CUTLASS's names of the fields, in their order in the word
    "start_address": "start_address_",
    "lbo": "leading_byte_offset_",
    "sbo": "stride_byte_offset_",
    "version": "version_",
    "base_offset": "base_offset_",
    "lbo_mode": "lbo_mode_",
    "swizzle": "layout_type_",
}


def render_code(descriptor: Descriptor) -> dict[str, str]:
    """Return {"constant", "function", "cutlass"}; bits outside all fields are preserved.

    The tests compile and run all three on the host.
    """
    form = descriptor.format
    other = f"{descriptor.reserved:#x}ull" if descriptor.reserved else ""
    # besides constants, which are never 0, fields of 0 are left out
    high = [f for f in form.fields if f.low > SBO.low and (not form.constants or f.get(descriptor.word))]
    terms = " | ".join(f"(uint64_t){f.get(descriptor.word)} << {f.low}" for f in high)
    return {
        "constant": f"constexpr uint64_t desc = {descriptor}ull;",
        "function": (
            "__device__ inline uint64_t make_desc(const void* tile) {\n  const uint64_t start ="
            f" (uint64_t)(__cvta_generic_to_shared(tile) & 0x{form.window_bytes - 1:X}) >> 4;\n  return start |"
            f" (uint64_t)({descriptor.lbo_bytes} >> 4) << {LBO.low} | (uint64_t)({descriptor.sbo_bytes} >> 4) <<"
            f" {SBO.low}\n       | {terms or '0ull'}"
            + (f"\n       | {other};  // bits of no field" if other else ";")
            + f"  // swizzle {form.format_field_value(descriptor.word, form.get_field(form.coded))}\n}}"
        ),
        "cutlass": _render_cutlass(descriptor),
    }


def _render_cutlass(descriptor: Descriptor) -> str:
    """Return CUTLASS's union, one field per line, for a descriptor of any target."""
    plain = Descriptor(descriptor.word, fit_format(descriptor.format, ""))
    form, other = plain.format, plain.reserved
    owner, inside = form.cutlass
    lines = [f"{owner} desc{{}};"]
    lines += [f"desc.{inside}{BIT_FIELDS[f.name]} = {f.get(descriptor.word)};" for f in form.fields]
    if other:
        lines.append(f"desc.desc_ |= {other:#x}ull;  // bits of no field")
    return "\n".join(lines)
