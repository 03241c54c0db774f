"""What the modifiers of a PTX text mean, one row each. PTX ISA 9.1, 9.7.14 to 9.7.16."""

from __future__ import annotations

MODIFIERS = {
    "satfinite": "D saturates at the ends of its 32-bit range; without it, D wraps around",
    "xor": "the product of two bits is their XOR",
    "and": "the product of two bits is their AND",
    "popc": "the set bits of each row-by-column product are counted, and the count is added to C",
    "rn": "round to nearest even, the default",
    "rz": "round toward zero",
    "rm": "round toward minus infinity",
    "rp": "round toward plus infinity",
    "trans": "each matrix is transposed on its way",
    "shared": "the address is in shared memory, as `.shared::cta`",
    "shared::cta": "the address is in this CTA's shared memory",
    "global": "the address is in global memory",
    "block_scale": "A and B are multiplied by scale factors, one for each block along K",
    "kind::f8f6f4": "8-, 6- and 4-bit floats, each in an 8-bit container",
    "kind::mxf8f6f4": "8-, 6- and 4-bit floats in 8-bit containers, with ue8m0 scale factors",
    "kind::mxf4": "packed 4-bit floats with ue8m0 scale factors",
    "kind::mxf4nvf4": "packed 4-bit floats with ue8m0 or ue4m3 scale factors",
    "scale_vec::1X": "1 scale factor per row of A and column of B",
    "scale_vec::2X": "2 scale factors per row of A and column of B",
    "scale_vec::4X": "4 scale factors per row of A and column of B",
    "abs": "of each value the magnitude is compared",
    "NaN": "the result is NaN where some value is; without it, NaN loses against every number",
    "min": "the smallest of the thread's values goes into one more register",
    "max": "the largest of the thread's values goes into one more register",
    "pack::16b": "a register receives the low 16 bits of two adjacent columns",
    "unpack::16b": "the two 16-bit halves of a register go to neighbouring columns",
    "cta_group::1": "the tensor memory of this CTA",
    "cta_group::2": "the tensor memory of this CTA and of its peer",
    "warpx2::02_13": "copied to two quarters: the first half to those of warps 0 and 2, the second to those of 1 and 3",
    "warpx2::01_23": "copied to two quarters: the first half to those of warps 0 and 1, the second to those of 2 and 3",
    "warpx4": "copied to all four quarters",
    "down": "lane i receives the value of lane i + 1 of its quarter",
    "kind::f16": "A and B are f16 or bf16, as the instruction descriptor says",
    "kind::tf32": "A and B are tf32",
    "kind::i8": "A and B are 8-bit integers, signed or not as the instruction descriptor says",
    "block16": "one scale factor for 16 elements along K",
    "block32": "one scale factor for 32 elements along K",
    "ashift": "the rows of A move by one lane before they are read; A is in tensor memory",
    **{
        f"collector::{buffer}::{use}": meaning.format(buffer[0].upper(), buffer)
        for buffer in ("a", "b", "b0", "b1", "b2", "b3")
        for use, meaning in {
            "fill": "{0} is kept in collector buffer {1} for the next products",
            "use": "{0} may be read from collector buffer {1}, which an earlier product filled, and stays there",
            "lastuse": "{0} may be read from collector buffer {1} for the last time",
            "discard": "the contents of collector buffer {1} are no longer needed",
        }.items()
    },
    "b8x16": "in registers: elements in 8-bit containers",
    "b6x16_p32": "in memory: 16 packed 6-bit elements and 32 bits of padding",
    "b4x16_p64": "in memory: 16 packed 4-bit elements and 64 bits of padding",
}

# The modifiers that name the types of A and B, and how they are scaled.
KINDS = tuple(name for name in MODIFIERS if name.startswith(("kind::", "scale_vec::")))
