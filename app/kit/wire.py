"""Response bodies that are made once and sent many times, a bounded cache of them, and the reader of uploads.

Each body has raw, gzip and brotli bytes, a strong ETag, and answers 304. A PictureSketch is the placeholder of a
picture that is not drawn yet.
"""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import brotli
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.media import FORMS
from lanescope.app.kit.picture import DrawingJob, check_drawing
from lanescope.app.kit.uploads import Upload, UploadForm
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value

SMALLEST_COMPRESSED = 400
LARGE = 4 << 20  # larger bodies take longer to compress well than to send
CODINGS = ("br", "gzip")  # in order of preference
DENSE = ("image/png", "application/pdf")  # already compressed
UPLOAD_FORM = "multipart/form-data"
OVERHEAD = 2048  # overhead of a cache entry in bytes: objects, headers, the key


class CachedBody(Response):
    """A representation as a response: it selects the coding the client prefers and handles If-None-Match.

    Compressing is work: `prepare` does it in a worker thread when the body is made. Only prepared codings are sent.
    """

    def __init__(
        self,
        raw: bytes,
        media_type: str,
        *,
        cache: str = "no-cache",
        status: int = 200,
        cacheable: bool = True,
        headers: dict[str, str] | None = None,
    ) -> None:
        """Take the body. cacheable: whether it depends on the address alone and may be cached."""
        super().__init__(raw, status, headers, media_type)
        self.cacheable = cacheable
        self.route: Any = None  # the route that metrics count when it is sent from the cache
        self._tag = hashlib.sha256(raw).hexdigest()[:20].encode()
        self._common_headers = [
            *self.raw_headers[: len(headers or {})],
            (b"cache-control", cache.encode()),
            (b"vary", b"Accept-Encoding"),
        ]
        self._encoded = {"": raw}

    def select_coding(self, accepted: str) -> str:
        """Return the content coding for an Accept-Encoding header, "" for none."""
        small = len(self.body) < SMALLEST_COMPRESSED or self.media_type in DENSE
        return "" if small else _select_coding(accepted)

    def has_coding(self, coding: str) -> bool:
        return coding in self._encoded

    def prepare(self, coding: str) -> CachedBody:
        """Make the bytes of a coding, if not yet made."""
        if coding not in self._encoded:
            raw = self._encoded[""]
            self._encoded[coding] = (
                brotli.compress(raw, quality=5 if len(raw) < LARGE else 1)
                if coding == "br"
                else gzip.compress(raw, 6, mtime=0)
            )
        return self

    @property
    def size(self) -> int:
        """Return its size in the cache, in bytes."""
        return sum(map(len, self._encoded.values())) + OVERHEAD

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        accepted = known_tags = b""
        for name, value in scope["headers"]:
            if name == b"accept-encoding":
                accepted = value
            elif name == b"if-none-match":
                known_tags = known_tags + b"," + value if known_tags else value
        coding = self.select_coding(accepted.decode("latin-1"))
        if coding not in self._encoded:
            coding = ""
        tag = b'"' + self._tag + (b"-" + coding.encode() if coding else b"") + b'"'
        headers = [*self._common_headers, (b"etag", tag)]
        if known_tags and self.status_code == 200 and _has_tag(known_tags, tag):
            await send({"type": "http.response.start", "status": 304, "headers": headers})
            return await send({"type": "http.response.body", "body": b""})
        raw = self._encoded[coding]
        headers += [(b"content-type", self.headers["content-type"].encode()), (b"content-length", b"%d" % len(raw))]
        if coding:
            headers.append((b"content-encoding", coding.encode()))
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": raw})


def _has_tag(known_tags: bytes, tag: bytes) -> bool:
    """Return whether If-None-Match has a tag, also in a list, as a weak tag (RFC 9110, 13.1.2), or is *."""
    return known_tags.strip() == b"*" or tag in (part.strip().removeprefix(b"W/") for part in known_tags.split(b","))


def encode_json_body(content: Any) -> CachedBody:
    """Encode an answer as a JSON body."""
    return CachedBody(encode_json(content), "application/json")


class PictureSketch(Response):
    """Placeholder of a PNG or PDF that another process draws."""

    def __init__(self, drawing: DrawingJob) -> None:
        """LayoutError if the drawing exceeds what a server draws for one request."""
        super().__init__(media_type=FORMS[drawing.form])
        self.drawing = check_drawing(drawing)


def make_picture_body(picture: str | bytes | DrawingJob, form: str) -> CachedBody | PictureSketch:
    """Return the body of what `lanescope.app.diagram.forms` rendered, or a sketch if it is still to be drawn."""
    if isinstance(picture, DrawingJob):
        return PictureSketch(picture)
    return CachedBody(picture.encode() if isinstance(picture, str) else picture, FORMS[form])


def _select_coding(accepted: str) -> str:
    """Return which of br and gzip a client prefers, "" if it accepts neither (RFC 9110, 12.5.3).

    >>> _select_coding("gzip, br;q=0.5"), _select_coding("*"), _select_coding("br;q=0"), _select_coding("gzip, br")
    ('gzip', 'br', '', 'br')
    """
    weights: dict[str, float] = {}
    for item in accepted.lower().split(","):
        name, _, options = item.partition(";")
        weights[name.strip()] = _parse_weight(options)
    best = max(CODINGS, key=lambda coding: weights.get(coding, weights.get("*", 0.0)))
    return best if weights.get(best, weights.get("*", 0.0)) > 0 else ""


def _parse_weight(options: str) -> float:
    """Return the q of an item: 1 if left out, 0 if malformed."""
    name, _, value = options.partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0


class BodyCache:
    """A least-recently-used cache of bodies with at most `most_bytes` bytes. Thread-safe."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.held_bytes = 0
        self._bodies: OrderedDict[Hashable, tuple[CachedBody, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> CachedBody | None:
        """Return the body of a key, None if it is not cached."""
        with self._lock:
            entry = self._bodies.get(key)
            if entry is None:
                return None
            self._bodies.move_to_end(key)
            return entry[0]

    def put(self, key: Hashable, body: CachedBody) -> None:
        """Cache a body, or update its size. One larger than a quarter of the cache is not kept."""
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


async def read_upload_form(request: Request, most_files: int, most_fields: int, most_bytes: int) -> UploadForm:
    """Return the fields and files of a posted form. most_bytes: limit of each field or file.

    LayoutError if the body has another media type, is not a form, or has too many parts.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != UPLOAD_FORM:
        message = f"The body is '{shorten_value(media_type, 60)}'."
        raise LayoutError("unsupported_media_type", message, f"Send the form: {UPLOAD_FORM}.")
    uploaded = UploadForm()
    try:
        async with request.form(max_files=most_files, max_fields=most_fields, max_part_size=most_bytes) as form:
            for name, value in form.multi_items():
                if not isinstance(value, UploadFile):
                    uploaded.fields[name] = value
                elif value.filename:
                    uploaded.files.append(Upload(name, value.filename, await value.read()))
    except HTTPException as error:
        hint = f"Send at most {most_files} files and {most_fields} fields as {UPLOAD_FORM}."
        raise LayoutError("bad_request", f"The body is not a form: {error.detail}", hint) from None
    return uploaded
