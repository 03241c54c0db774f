"""Formats of matrix descriptors, one row each. wgmma: PTX ISA 9.1, 9.7.15.5.1.2.2."""

from __future__ import annotations

from layouts.bits import Field
from layouts.format import Format
from layouts.swizzle import mode

START = Field(
    "start_address", 0, 13, 16, "bytes of the shared window, low 18 bits",
    title="start address", short="start", said="the start", columns=9,
)  # fmt: skip
LBO = Field(
    "lbo", 16, 29, 16, "leading dimension byte offset", "lbo_bytes", title="LBO", short="LBO", said="LBO", columns=8
)
SBO = Field(
    "sbo", 32, 45, 16, "stride dimension byte offset", "sbo_bytes", title="SBO", short="SBO", said="SBO", columns=8
)
BASE_OFFSET = Field(
    "base_offset", 49, 51, meaning="128-byte rows past the pattern's boundary",
    title="base offset", short="base", said="the base offset",
)  # fmt: skip
SWIZZLE = Field("swizzle", 62, 63, meaning="0 none, 1 128B, 2 64B, 3 32B", short="swz", said="the swizzle mode")

WGMMA = Format(
    "wgmma",
    (START, LBO, SBO, BASE_OFFSET, SWIZZLE),
    {mode("none"): 0, mode("128B"): 1, mode("64B"): 2, mode("32B"): 3},
    "PTX ISA 9.1, 9.7.15.5.1.2.2; addresses measured on an H100, 2026-11-21",
)
FORMATS = (WGMMA,)
