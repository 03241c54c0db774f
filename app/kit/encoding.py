"""Answers as JSON bytes, for the server and the command line."""

from __future__ import annotations

import json
from dataclasses import is_dataclass
from typing import Any

from lanescope.app.kit.fact import fact_to_json

try:
    import orjson
except ImportError:  # the command line without the extra `web`
    orjson = None  # type: ignore[assignment]


def encode_json(content: Any) -> bytes:
    """Return JSON bytes; facts become objects (kit/fact.py), NumPy arrays are written directly."""
    if orjson is None:
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=_convert_to_list).encode()
    return orjson.dumps(
        content,
        option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS,
        default=_convert_value,
    )


def _convert_value(value: Any) -> Any:
    if is_dataclass(value):  # the most frequent case: a listing has thousands
        return fact_to_json(value)
    import numpy as np

    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value)
    raise TypeError(type(value).__name__)


def _convert_to_list(value: Any) -> Any:
    if is_dataclass(value):
        return fact_to_json(value)
    if hasattr(value, "tolist"):  # an array or scalar of NumPy
        return value.tolist()
    raise TypeError(type(value).__name__)
