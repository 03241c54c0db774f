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
    "scale_vec::1X": "1 scale factor a row of A and a column of B",
    "scale_vec::2X": "2 scale factors a row of A and a column of B",
    "scale_vec::4X": "4 scale factors a row of A and a column of B",
    "b8x16": "in registers: elements in 8-bit containers",
    "b6x16_p32": "in memory: 16 packed 6-bit elements and 32 bits of padding",
    "b4x16_p64": "in memory: 16 packed 4-bit elements and 64 bits of padding",
}

KINDS = tuple(
    name for name in MODIFIERS if name.startswith(("kind::", "scale_vec::"))
)  # which types, and how they are scaled
