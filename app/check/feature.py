"""Descriptors and tensor maps in source files."""

from __future__ import annotations

from lanescope.app.kit.feature import Feature

FEATURE = Feature()
