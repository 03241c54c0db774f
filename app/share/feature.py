"""Sharing: pictures, cards and frames of pages for other sites."""

from __future__ import annotations

from lanescope.app.kit.feature import Feature

FEATURE = Feature(
    written=("api", "page", "verbs"),
    examples={"/api/v1/share": "/api/v1/share?address=/banks?row_bytes=128"},
)
