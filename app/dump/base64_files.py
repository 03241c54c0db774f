"""Decode the files of a JSON body, which are base64 text."""

from __future__ import annotations

import base64
import binascii

from lanescope.dump import MOST_TILE
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value

LONGEST = (MOST_TILE + 2) // 3 * 4 + 4  # characters of base64


def decode_base64(value: object, field: str, longest: int = LONGEST) -> bytes:
    """Return bytes from base64 text of limited length; LayoutError for anything else."""
    if not isinstance(value, str):
        raise LayoutError(
            "bad_base64",
            f"{field} is {'missing' if value is None else shorten_value(value)}.",
            "Give the file's bytes in base64.",
            field,
        )
    if len(value) > longest:
        raise LayoutError("bad_base64", f"{field} has {len(value)} characters.", f"At most {longest}.", field)
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise LayoutError(
            "bad_base64",
            f"{field} is '{shorten_value(value)}', which is not base64.",
            "Give the file's bytes in base64.",
            field,
        ) from None
