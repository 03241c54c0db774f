"""Bodies that are made once and sent many times: raw, gzip and brotli bytes with a strong ETag each, and 304."""

from __future__ import annotations

import gzip
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import brotli
import orjson
from starlette.requests import Request
from starlette.responses import Response

SMALLEST_COMPRESSED = 400


class Body:
    """One representation, compressed on first demand."""

    def __init__(self, raw: bytes, media_type: str) -> None:
        self.media_type = media_type
        self._tag = hashlib.sha256(raw).hexdigest()[:20]
        self._encoded = {"": raw}

    def encoded(self, coding: str) -> bytes:
        if coding not in self._encoded:
            raw = self._encoded[""]
            self._encoded[coding] = brotli.compress(raw, quality=5) if coding == "br" else gzip.compress(raw, 6, mtime=0)
        return self._encoded[coding]

    def respond(self, request: Request, cache: str = "no-cache", status: int = 200) -> Response:
        coding = _coding(request.headers.get("accept-encoding", "")) if len(self._encoded[""]) >= SMALLEST_COMPRESSED else ""
        tag = f'"{self._tag}{"-" + coding if coding else ""}"'
        headers = {"ETag": tag, "Cache-Control": cache, "Vary": "Accept-Encoding"}
        if status == 200 and tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if coding:
            headers["Content-Encoding"] = coding
        return Response(self.encoded(coding), status, headers, media_type=self.media_type)


def _coding(accepted: str) -> str:
    offered = {}
    for item in accepted.split(","):
        name, _, weight = item.strip().partition(";q=")
        offered[name.strip()] = weight.strip() not in ("0", "0.0", "0.00", "0.000")
    return next((coding for coding in ("br", "gzip") if offered.get(coding)), "")


def dumps(content: Any) -> bytes:
    """JSON bytes; NumPy arrays go straight in."""
    return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS, default=_contiguous)


def _contiguous(value: Any) -> Any:
    import numpy as np

    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value)
    raise TypeError(type(value).__name__)


class Cache:
    """The last `most` bodies by key."""

    def __init__(self, most: int = 2048) -> None:
        self.most = most
        self._bodies: OrderedDict[Hashable, Body] = OrderedDict()

    def known(self, key: Hashable) -> Body | None:
        """The body of a key, None where it has not been made."""
        return self._bodies.get(key)

    def get(self, key: Hashable, make: Callable[[], Body]) -> Body:
        body = self._bodies.get(key)
        if body is None:
            body = self._bodies[key] = make()
            if len(self._bodies) > self.most:
                self._bodies.popitem(last=False)
        else:
            self._bodies.move_to_end(key)
        return body

    def json(self, key: Hashable, make: Callable[[], Any]) -> Body:
        return self.get(key, lambda: Body(dumps(make()), "application/json"))
