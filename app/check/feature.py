"""Descriptors and tensor maps in source files."""

from __future__ import annotations

from lanescope.app.check.answer import CheckBody, answer_check
from lanescope.app.kit.feature import Feature, Tool

FEATURE = Feature(
    tools=(Tool(question=CheckBody, answer=answer_check, api="check", body="Check", name="check_api"),),
    bodies={
        "/api/v1/check": {
            "files": [{"name": "map.cu", "text": "uint64_t desc = (uint64_t)(smem & 0x3FFFF) | (uint64_t)64 << 32;"}],
            "target": "sm_90a",
        },
    },
)
