"""How much of a capture a server takes. No framework."""

from __future__ import annotations

MOST_STEPS = 512  # that a server judges
MOST_TEXT = 24 << 20  # characters of base64 of one file
