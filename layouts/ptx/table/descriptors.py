"""Formats of matrix descriptors, one row each. wgmma: PTX ISA 9.1, 9.7.15.5.1.2.2.

tcgen05 on sm_107: PTX ISA 9.4, Table 49. PTX ISA 9.3, Table 43 has the bits of the other targets; 9.4 does not say for
which targets its own hold. Bit 53 is of .decompress::lut::b, which sm_107 alone has, and no other target's shared
memory needs a start of 15 bits. The table's function, (x & 0x3FFFF) >> 4, never sets bits 14 and 30. NVIDIA's operation
nvvm.tcgen05_mma_smem_desc_v2 (nvidia-cutlass-dsl 4.8.1) has the same fields, and no such mask.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from lanescope.bits import BitField
from lanescope.blackwell.kind import RUBIN
from lanescope.descriptor.format import DescriptorFormat
from lanescope.inputs import parse_choice
from lanescope.ptx.targets import strip_suffix
from lanescope.shared.swizzle import MODES, Mode, Swizzle, get_mode

START = BitField(
    "start_address",
    0,
    13,
    16,
    "bytes of the shared window, low 18 bits",
    title="start address",
    short="start",
    phrase="the start",
    columns=9,
)
LBO = BitField(
    "lbo", 16, 29, 16, "leading dimension byte offset", "lbo_bytes", title="LBO", short="LBO", phrase="LBO", columns=8
)
SBO = BitField(
    "sbo", 32, 45, 16, "stride dimension byte offset", "sbo_bytes", title="SBO", short="SBO", phrase="SBO", columns=8
)
BASE_OFFSET = BitField(
    "base_offset",
    49,
    51,
    meaning="128-byte rows past the pattern's boundary",
    title="base offset",
    short="base",
    phrase="the base offset",
)
SWIZZLE = BitField("swizzle", 62, 63, meaning="0 none, 1 128B, 2 64B, 3 32B", short="swz", phrase="the swizzle mode")
_MASK = f"mask %s with 0x{START.mask:X}"
_LOW = ((14, 15, _MASK % "the address"), (30, 31, _MASK % "LBO"))  # an address or a stride above 18 bits runs into them

WGMMA = DescriptorFormat(
    "wgmma",
    (START, LBO, SBO, BASE_OFFSET, SWIZZLE),
    {get_mode("none"): 0, get_mode("128B"): 1, get_mode("64B"): 2, get_mode("32B"): 3},
    "PTX ISA 9.1, 9.7.15.5.1.2.2; addresses measured on an H100, 2026-11-21",
    element_bits=(1, 8, 16, 32),  # b1; fp8 and integers; f16, bf16; tf32
    narrow={
        4: "Widen them to 8 bits before wgmma. For ldmatrix the tile is one of bytes: element_bits 8 and half of k. ",
        6: "wgmma has no 6-bit types; on later architectures such an element occupies a byte: element_bits 8. ",
    },
    turned={16: MODES},
    usual=True,
    runs=True,
    ignores=True,  # none of them moved an address on an H200
    readers={
        1: "wgmma.mma_async.m64n{n}k256.s32.b1.b1.and.popc",
        8: "wgmma.mma_async.m64n{n}k32.f32.e4m3.e4m3",
        16: "wgmma.mma_async.m64n{n}k16.f32.f16.f16",
        32: "wgmma.mma_async.m64n{n}k8.f32.tf32.tf32",
    },
    cutlass=("cute::GmmaDescriptor", "bitfield."),
    example="0x4000004000010100",
    documented="0x4000004004000101",
    kept_clear=(
        *_LOW,
        (46, 46, "leave out 1 << 46, which is tcgen05’s version, or " + _MASK % "SBO"),
        (47, 47, _MASK % "SBO"),
        (48, 48, "the base offset begins at bit 49"),
        (52, 52, "mask the base offset with 7"),
        (61, 61, "the swizzle mode begins at bit 62"),
    ),
)
VERSION = BitField(
    "version",
    46,
    48,
    meaning="1 in every descriptor of tcgen05; wgmma's has 0 there",
    phrase="the version",
    short="ver",
)
LBO_MODE = BitField(
    "lbo_mode",
    52,
    52,
    meaning="0 LBO is an offset, 1 an absolute address (K = 96 only)",
    title="LBO mode",
    short="lbo_mode",
    phrase="the mode of LBO",
)
# the XOR moves 32-byte chunks, and an atom has 4 values of K: 32-bit elements, MN-major
BASE32B = Mode("128B_base32B", 4, 8, Swizzle(2, 5, 2), 4)
_AGREES = "agrees with CUTLASS (912 layouts)"
TCGEN05 = DescriptorFormat(
    "tcgen05",
    (
        START,
        LBO,
        SBO,
        VERSION,
        BASE_OFFSET,
        LBO_MODE,
        replace(SWIZZLE, low=61, meaning="0 none, 1 128B_base32B, 2 128B, 4 64B, 6 32B", columns=12),
    ),
    {get_mode("none"): 0, BASE32B: 1, get_mode("128B"): 2, get_mode("64B"): 4, get_mode("32B"): 6},
    f"PTX ISA 9.1, 9.7.16.4.1; wgmma's model of addresses, which {_AGREES}; not run on hardware",
    constants={"version": 1},
    reader="tcgen05.mma",
    transpose="The instruction descriptor's transpose bit",
    element_bits=(4, 8, 16, 32),  # e2m1 of the mxf4 kinds; 8 bits and narrower ones padded to them; f16, bf16; tf32
    narrow={
        6: "Each 6-bit element of kind::f8f6f4 and kind::mxf8f6f4 occupies a byte of the tile: element_bits 8. ",
        1: "tcgen05.mma has no kind of single bits. ",
    },
    turned={8: MODES, 16: MODES, 32: (BASE32B,)},
    by_idesc=True,
    readers={4: "mxf4", 8: "f8f6f4", 16: "f16", 32: "tf32"},
    cutlass=("cute::UMMA::SmemDescriptor", ""),
    example="0x4000404000010100",
    agrees=_AGREES,
    open={LBO_MODE.name: "LBO is an absolute address"},
    kept_clear=_LOW,
    notice="Bits 46 to 48 hold version 1: this is a tcgen05 descriptor of Blackwell, whose swizzle is at bit 61.",
)
RUBIN_START = replace(START, high=14, meaning="bytes of the shared window, low 19 bits")
RUBIN_LBO = replace(LBO, high=30)
K_SEGMENT = BitField(
    "k_segment",
    53,
    53,
    meaning="of .decompress::lut::b: 0 the first 24 of 48 bytes of B, 1 the second",
    title="K segment",
    short="k_seg",
    phrase="the K segment",
)
_RUBIN_MASK = f"mask %s with 0x{RUBIN_START.mask:X}"
TCGEN05_RUBIN = replace(
    TCGEN05,
    fields=(
        *({START: RUBIN_START, LBO: RUBIN_LBO}.get(field, field) for field in TCGEN05.fields[:-1]),
        K_SEGMENT,
        TCGEN05.fields[-1],
    ),
    source="PTX ISA 9.4, 9.7.18.4.1, Table 49; wgmma's model of addresses; not run on hardware",
    open={**TCGEN05.open, K_SEGMENT.name: "the K segment is the second, which exists only for .decompress::lut::b"},
    kept_clear=((15, 15, _RUBIN_MASK % "the address"), (31, 31, _RUBIN_MASK % "LBO")),
    block_bytes=327 * 1024,
    agrees="",
)
FORMATS = (WGMMA, TCGEN05)
VARIANTS = {(TCGEN05.name, RUBIN): TCGEN05_RUBIN}  # of a format on one architecture
ROWS = (*FORMATS, *VARIANTS.values())
USUAL = next(row for row in FORMATS if row.usual)


def get_format_of_word(word: int) -> DescriptorFormat:
    """Return the format that a word belongs to: the one whose constants it has, else the usual one."""
    return next((get_format(row.name) for row in ROWS if row.constants and row.matches_word(word)), USUAL)


def is_clean_word(word: int) -> bool:
    """Return whether a word has a format's constants and no reserved bit, on any architecture."""
    return any(row.matches_word(word) for row in ROWS)


@lru_cache
def fit_format(form: DescriptorFormat, target: str) -> DescriptorFormat:
    """Return the variant of a format on a target; the format itself if target is "" or has no variant."""
    row = get_format(form.name)
    if not target or not list_variants(row):
        return row
    return replace(VARIANTS.get((row.name, strip_suffix(target)), row), target=target)


def list_variants(form: DescriptorFormat) -> dict[str, DescriptorFormat]:
    """Map each architecture on which a format differs to its variant there."""
    return {on: row for (name, on), row in VARIANTS.items() if name == form.name}


def find_variant_of_word(form: DescriptorFormat, word: int) -> tuple[str, DescriptorFormat] | None:
    """Return (architecture, variant) on which no set bit of a word is reserved, although `form` reserves some.

    None if `form` is of a known target, if it reserves none of the word's bits, or if there is no such variant.
    """
    if form.target or not word & form.reserved_mask:
        return None
    return next(((on, row) for on, row in list_variants(form).items() if not word & row.reserved_mask), None)


def get_format(name: object) -> DescriptorFormat:
    """Return a format by its name; LayoutError lists the names."""
    formats = {row.name: row for row in FORMATS}
    return formats[parse_choice(name, "format", tuple(formats), "unknown_format")]
