"""Formats of matrix descriptors, one row each. wgmma: PTX ISA 9.1, 9.7.15.5.1.2.2."""

from __future__ import annotations

from dataclasses import replace

from lanescope.bits import BitField
from lanescope.descriptor.format import DescriptorFormat
from lanescope.inputs import parse_choice
from lanescope.shared.swizzle import MODES, Mode, Swizzle, get_mode

START = BitField(
    "start_address",
    0,
    13,
    16,
    "bytes of the shared window, low 18 bits",
    title="start address",
    short="start",
    said="the start",
    columns=9,
)
LBO = BitField(
    "lbo", 16, 29, 16, "leading dimension byte offset", "lbo_bytes", title="LBO", short="LBO", said="LBO", columns=8
)
SBO = BitField(
    "sbo", 32, 45, 16, "stride dimension byte offset", "sbo_bytes", title="SBO", short="SBO", said="SBO", columns=8
)
BASE_OFFSET = BitField(
    "base_offset",
    49,
    51,
    meaning="128-byte rows past the pattern's boundary",
    title="base offset",
    short="base",
    said="the base offset",
)
SWIZZLE = BitField("swizzle", 62, 63, meaning="0 none, 1 128B, 2 64B, 3 32B", short="swz", said="the swizzle mode")
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
        6: "wgmma has no 6-bit types; on later architectures such an element takes a byte: element_bits 8. ",
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
    "version", 46, 48, meaning="1 in every descriptor of tcgen05; wgmma's has 0 there", said="the version", short="ver"
)
LBO_MODE = BitField(
    "lbo_mode",
    52,
    52,
    meaning="0 LBO is an offset, 1 an absolute address (K = 96 alone)",
    title="LBO mode",
    short="lbo_mode",
    said="the mode of LBO",
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
        6: "Each 6-bit element of kind::f8f6f4 and kind::mxf8f6f4 takes a byte of the tile: element_bits 8. ",
        1: "tcgen05.mma has no kind of single bits. ",
    },
    turned={8: MODES, 16: MODES, 32: (BASE32B,)},
    by_idesc=True,
    readers={4: "mxf4", 8: "f8f6f4", 16: "f16", 32: "tf32"},
    cutlass=("cute::UMMA::SmemDescriptor", ""),
    example="0x4000404000010100",
    agrees=_AGREES,
    kept_clear=_LOW,
    notice="Bits 46 to 48 hold version 1: this is a tcgen05 descriptor of Blackwell, whose swizzle stands at bit 61.",
)
FORMATS = (WGMMA, TCGEN05)
USUAL = next(row for row in FORMATS if row.usual)


def get_format_of_word(word: int) -> DescriptorFormat:
    """Return the format of a word without a name: the one whose constants it holds, else the usual one."""
    return next((row for row in FORMATS if row.constants and row.matches_word(word)), USUAL)


def get_format(name: object) -> DescriptorFormat:
    """Return a format by its name; LayoutError lists them."""
    known = {row.name: row for row in FORMATS}
    return known[parse_choice(name, "format", tuple(known), "unknown_format")]
