"""Answers as JSON bytes, for the server and the command line alike."""

from __future__ import annotations

import json
from dataclasses import is_dataclass
from typing import Any

from lanescope.app.kit.fact import plain

try:
    import orjson
except ImportError:  # the command line without the extra `web`
    orjson = None  # type: ignore[assignment]


def dumps(content: Any) -> bytes:
    """JSON bytes; facts become objects (kit/fact.py), NumPy arrays go straight in."""
    if orjson is None:
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=_listed).encode()
    return orjson.dumps(
        content,
        option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS,
        default=_plain,
    )


def _plain(value: Any) -> Any:
    if is_dataclass(value):  # asked first: a listing has thousands
        return plain(value)
    import numpy as np

    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value)
    raise TypeError(type(value).__name__)


def _listed(value: Any) -> Any:
    if is_dataclass(value):
        return plain(value)
    if hasattr(value, "tolist"):  # an array or a number of NumPy's
        return value.tolist()
    raise TypeError(type(value).__name__)
