"""Instruction descriptors of tcgen05.mma, and zero-column masks."""

from __future__ import annotations

from lanescope.app.kit.feature import Entry, Feature

FEATURE = Feature(
    written=("api", "page"),
    menu=(
        Entry(
            "Blackwell",
            5,
            "Instruction descriptor",
            "/idesc",
            "what the 32 bits of a tcgen05.mma say, and the word you want",
        ),
        Entry(
            "Blackwell", 6, "Zero-column mask", "/zero-column-mask", "which columns of B tcgen05.mma.ws takes as zero"
        ),
    ),
    examples={
        "/api/v1/instruction-descriptors/{value}": "/api/v1/instruction-descriptors/0x08400490?kind=f16",
        "/api/v1/zero-column-masks/{value}": "/api/v1/zero-column-masks/0x0003028000000000?m=64&n=128",
    },
    bodies={
        "/api/v1/instruction-descriptors/encode": {
            "kind": "f16",
            "m": 128,
            "n": 256,
            "a": "bf16",
            "b": "bf16",
            "d": "f32",
        },
        "/api/v1/zero-column-masks/encode": {"non_zero_mask": 1, "skip_span": 2, "use_span": 3, "m": 64, "n": 128},
    },
)
