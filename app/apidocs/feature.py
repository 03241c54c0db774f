"""The documents of the API."""

from __future__ import annotations

from lanescope.app.kit.feature import Feature

FEATURE = Feature(
    written=("api", "page"),
)
