"""Captures: the elements that a kernel's instructions read."""

from __future__ import annotations

from lanescope.app.capture import forms
from lanescope.app.capture.forms import CaptureBody
from lanescope.app.kit.feature import Entry, Feature, Tool

CAPTURE = (  # a buffer without records
    "TEFORVNDT1ABAAAAQAAAAEAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="
)

FEATURE = Feature(
    tools=(
        Tool(question=CaptureBody, answer=forms.verify_capture, api="captures/verify", body="CaptureBody", raw=True),
    ),
    written=("page",),
    menu=(Entry("Debug", 4, "Capture", "/capture", "what the instructions of your own kernel really read"),),
    bodies={
        "/api/v1/captures/verify": {"capture": CAPTURE},
    },
)
