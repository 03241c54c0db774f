"""Answers as JSON bytes, for the server and the command line alike."""

from __future__ import annotations

from typing import Any

import orjson

from app.kit.fact import plain


def dumps(content: Any) -> bytes:
    """JSON bytes; facts become objects (kit/fact.py), NumPy arrays go straight in."""
    return orjson.dumps(
        content, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS, default=_plain
    )


def _plain(value: Any) -> Any:
    import numpy as np

    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value)
    return plain(value)
