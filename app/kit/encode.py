"""Answers as JSON bytes, for the server and the command line alike."""

from __future__ import annotations

from typing import Any

import orjson


def dumps(content: Any) -> bytes:
    """JSON bytes; NumPy arrays go straight in."""
    return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS, default=_contiguous)


def _contiguous(value: Any) -> Any:
    import numpy as np

    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value)
    raise TypeError(type(value).__name__)
