"""Captures: body."""

from __future__ import annotations

from pydantic import Field

from lanescope.app.capture.facts import MOST_TEXT
from lanescope.app.kit.schemas import ClosedModel


class CaptureBody(ClosedModel):
    """A capture, and what A and B were where they were not the fills."""

    capture: str = Field(max_length=MOST_TEXT, description="The file that lanescope::save wrote, in base64.")
    second: str | None = Field(
        default=None, max_length=MOST_TEXT, description="The second pass of an 8-bit type, in base64; null for none."
    )
    a: str | None = Field(
        default=None, max_length=MOST_TEXT, description="A in base64: a .npy file of (m, k); null for the fill."
    )
    b: str | None = Field(
        default=None, max_length=MOST_TEXT, description="B in base64: a .npy file of (k, n); null for the fill."
    )
    nk: bool = Field(default=False, description="Whether B is (n, k).")
