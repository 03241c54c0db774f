"""Captures: what a kernel's instructions really read."""

from __future__ import annotations

from lanescope.app.kit.feature import Entry, Feature

CAPTURE = (  # a buffer without records
    "TEFORVNDT1ABAAAAQAAAAEAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="
)

FEATURE = Feature(
    written=("api", "page"),
    menu=(Entry("Shared memory", 2, "Capture", "/capture", "what the instructions of your own kernel really read"),),
    bodies={
        "/api/v1/captures/verify": {"capture": CAPTURE},
    },
)
