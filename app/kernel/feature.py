"""A whole program around an instruction."""

from __future__ import annotations

from lanescope.app.kit.feature import Feature

FEATURE = Feature(
    written=("api", "page"),
    within={"kernel": "Instructions"},
    examples={
        "/api/v1/instructions/{ptx}/kernel": (
            "/api/v1/instructions/wgmma.mma_async.m64n32k16.f32.f16.f16/kernel?a=major=MN,swizzle=64B&b=major=MN"
        ),
    },
)
