"""Any text, read: what it is, and where it leads."""

from __future__ import annotations

from lanescope.app.kit.feature import Feature

FEATURE = Feature(
    written=("api", "page"),
    bodies={
        "/api/v1/read": {"text": "SM90_64x128x16_F32BF16BF16_SS"},
    },
)
