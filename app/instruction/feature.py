"""An instruction's page and operands."""

from __future__ import annotations

from lanescope.app.kit.feature import Feature

FEATURE = Feature(
    written=("api", "page"),
    within={"i": "Instructions"},
    examples={
        "/api/v1/instructions/{ptx}": "/api/v1/instructions/mma.m16n8k16.row.col.f32.f16.f16.f32",
        "/api/v1/instructions/{ptx}/operands/{name}": (
            "/api/v1/instructions/mma.m16n8k16.row.col.f32.f16.f16.f32/operands/a"
        ),
    },
)
