"""Everything one mma does, step by step."""

from __future__ import annotations

from lanescope.app.kit.feature import Feature

FEATURE = Feature(
    written=("api", "page"),
    within={"steps": "Instructions"},
    bodies={
        "/api/v1/steps": {
            "instruction": "mma.m8n8k16.row.col.s32.s8.s8.s32",
            "data": {"a": "i", "b": "-(i + 1)"},
            "row": 0,
            "col": 1,
        },
    },
)
