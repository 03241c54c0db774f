"""The language server; it has no page."""

from __future__ import annotations

from lanescope.app.kit.feature import Feature

FEATURE = Feature()
