"""Tiles in shared memory, and the 64-bit matrix descriptors that read them."""

from __future__ import annotations

from lanescope.app.kit.feature import Entry, Feature
from lanescope.ptx.table.descriptors import FORMATS

FEATURE = Feature(
    written=("api", "page"),
    menu=(
        Entry(
            "Shared memory",
            1,
            "Matrix descriptor",
            "/descriptor",
            "which bytes a word reads, and whether they are your tile",
        ),
        Entry("Shared memory", 4, "Tile", "/smem", "where each element lies under a swizzle mode"),
        Entry("Shared memory", 5, "Swizzle atoms", "/smem/atoms", "the smallest repeating blocks, side by side"),
        Entry("Blackwell", 4, "Matrix descriptor", "/descriptor/tcgen05", "which bytes tcgen05.mma's word reads"),
    ),
    examples={
        "/api/v1/smem/tile": "/api/v1/smem/tile?major=K&swizzle=128B&mn=128&k=64",
        "/api/v1/descriptors/{word}": "/api/v1/descriptors/0x4000004004000101",
        **{
            f"/descriptor/{row.name}/{{word}}.{{form}}": f"/descriptor/{row.name}/{row.documented}.svg"
            for row in FORMATS
        },
    },
    bodies={
        "/api/v1/descriptors/encode": {
            "start_address": 4096,
            "lbo_bytes": 16,
            "sbo_bytes": 1024,
            "base_offset": 0,
            "swizzle": "128B",
        },
        "/api/v1/descriptors/reads": {
            "descriptor": "0x4000004000010100",
            "instruction": "wgmma.mma_async.m64n64k16.f32.f16.f16",
            "operand": "a",
            "major": "K",
        },
        "/api/v1/descriptors/verify": {
            "descriptor": "0x4000004004000101",
            "instruction": "wgmma.mma_async.m64n64k16.f32.f16.f16",
            "operand": "a",
            "major": "K",
            "storage": {"kind": "canonical", "swizzle": "128B", "mn": 64, "k": 64, "base": 4096},
            "slice": {"mn": 0, "k": 0},
        },
    },
)
