"""Arrays as the files that people give."""

from __future__ import annotations

import io
from typing import Any

import numpy as np


def encode_npy(array: Any) -> bytes:
    """A .npy file."""
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()
