"""Dumps of shared memory: what an instruction reads from them."""

from __future__ import annotations

import base64

from lanescope.app.kit.feature import Entry, Feature

DUMP = base64.b64encode(bytes(range(256))).decode()  # 8 × 16 elements of 16 bits

FEATURE = Feature(
    written=("api", "page"),
    menu=(
        Entry(
            "Shared memory",
            3,
            "Memory dump",
            "/dump",
            "what it reads from bytes you copied out, and where your tile lies",
        ),
    ),
    bodies={
        "/api/v1/dumps/verify": {
            "dump": DUMP,
            "descriptor": "0x0000001000080040",
            "instruction": "wgmma.mma_async.m64n8k16.f32.f16.f16",
            "operand": "b",
            "major": "K",
            "base": 1024,
        },
    },
)
