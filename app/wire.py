"""Bodies that are made once and sent many times: raw, gzip and brotli bytes with a strong ETag each, 304, and a cache bounded in bytes."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import brotli
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.encode import dumps

SMALLEST_COMPRESSED = 400
DENSE = ("image/png", "application/pdf")  # compressed already
OVERHEAD = 2048  # bytes an entry of the cache costs beside its bodies: objects, headers, the key


class Body(Response):
    """One representation as a response: it takes the coding the client prefers and answers 304 by itself.

    Compressing is work: `prepare` does it where the body is made, in a worker thread. A coding nobody prepared is made on sending.
    """

    def __init__(self, raw: bytes, media_type: str, cache: str = "no-cache", status: int = 200, keep: bool = True) -> None:
        """keep: whether the address alone says what it is, so that it may be sent again for it."""
        super().__init__(raw, status, media_type=media_type)
        self.cache, self.keep = cache, keep
        self.route: Any = None  # under which route metrics count it when it is sent from the cache
        self._tag = hashlib.sha256(raw).hexdigest()[:20]
        self._encoded = {"": raw}

    def coding(self, accepted: str) -> str:
        """The content coding for an Accept-Encoding header, "" for none."""
        small = len(self._encoded[""]) < SMALLEST_COMPRESSED or self.media_type in DENSE
        return "" if small else _coding(accepted)

    def has(self, coding: str) -> bool:
        return coding in self._encoded

    def prepare(self, coding: str) -> Body:
        """Make a coding's bytes where they are not made yet."""
        if coding not in self._encoded:
            raw = self._encoded[""]
            self._encoded[coding] = brotli.compress(raw, quality=5) if coding == "br" else gzip.compress(raw, 6, mtime=0)
        return self

    @property
    def size(self) -> int:
        """Bytes it keeps."""
        return sum(map(len, self._encoded.values())) + OVERHEAD

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = dict(scope["headers"])
        coding = self.coding(given.get(b"accept-encoding", b"").decode("latin-1"))
        tag = f'"{self._tag}{"-" + coding if coding else ""}"'
        headers = [(b"etag", tag.encode()), (b"cache-control", self.cache.encode()), (b"vary", b"Accept-Encoding")]
        if self.status_code == 200 and tag in given.get(b"if-none-match", b"").decode("latin-1"):
            await send({"type": "http.response.start", "status": 304, "headers": headers})
            return await send({"type": "http.response.body", "body": b""})
        raw = self._encoded.get(coding) or self.prepare(coding)._encoded[coding]
        headers += [(b"content-type", self.headers["content-type"].encode()), (b"content-length", str(len(raw)).encode())]
        if coding:
            headers.append((b"content-encoding", coding.encode()))
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": raw})


def json_body(content: Any) -> Body:
    """The JSON of an answer."""
    return Body(dumps(content), "application/json")


def _coding(accepted: str) -> str:
    offered = {}
    for item in accepted.split(","):
        name, _, weight = item.strip().partition(";q=")
        offered[name.strip()] = weight.strip() not in ("0", "0.0", "0.00", "0.000")
    return next((coding for coding in ("br", "gzip") if offered.get(coding)), "")


class Cache:
    """Bodies by key, the ones used last; never more than `most_bytes` of them. Safe in threads."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.held_bytes = 0
        self._bodies: OrderedDict[Hashable, tuple[Body, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Body | None:
        """The body of a key, None where it is not kept."""
        with self._lock:
            found = self._bodies.get(key)
            if found is None:
                return None
            self._bodies.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, body: Body) -> None:
        """Keep a body, or count it anew where it has grown; one larger than a quarter of the cache is not kept."""
        with self._lock:
            self.held_bytes -= self._bodies.pop(key, (body, 0))[1]
            size = body.size
            if size > self.most_bytes // 4:
                return
            self._bodies[key] = body, size
            self.held_bytes += size
            while self.held_bytes > self.most_bytes:
                self.held_bytes -= self._bodies.popitem(last=False)[1][1]

    def __len__(self) -> int:
        return len(self._bodies)
