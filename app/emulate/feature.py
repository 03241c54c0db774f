"""The emulator: a kernel's PTX executed on the CPU."""

from __future__ import annotations

from lanescope.app.kit.feature import Feature

FEATURE = Feature(written=("verbs",))
