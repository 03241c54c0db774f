"""Limits of the captures that a server verifies."""

from __future__ import annotations

MOST_STEPS = 512  # more are not verified by a server
MOST_TEXT = 24 << 20  # characters of one file in base64
