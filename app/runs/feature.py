"""Runs on a GPU or its reference, and the evidence of hardware."""

from __future__ import annotations

from lanescope.app.kit.feature import Entry, Feature

FEATURE = Feature(
    written=("api", "page"),
    menu=(Entry("Instructions", 6, "Hardware evidence", "/gpu", "what ran on which GPU, and a run of your own"),),
    examples={
        "/api/v1/gpu": "/api/v1/gpu",
    },
    bodies={
        "/api/v1/gpu/runs": {"kind": "mma", "instruction": "mma.m16n8k16.row.col.f32.f16.f16.f32", "backend": "numpy"},
    },
)
