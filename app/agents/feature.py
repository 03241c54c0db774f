"""Tools for coding agents."""

from __future__ import annotations

from lanescope.app.kit.feature import Feature

FEATURE = Feature(written=("verbs",))
