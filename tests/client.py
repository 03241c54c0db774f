"""Starlette's client, whose requests are answered in the test's own thread: a thread and a loop for each take longer
than the answer.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

import httpx2 as httpx
from starlette.testclient import TestClient

from lanescope.app.kit.local_fetch import LocalAnswer, build_scope, make_receive
from tests import asgi


class DirectTransport(httpx.BaseTransport):
    """An application as httpx asks a server."""

    def __init__(self, app: Any, raises: bool) -> None:
        self.app, self.raises = app, raises

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url, answer = request.url, LocalAnswer()
        scope = build_scope(
            request.method,
            url.raw_path.decode(),
            [(name.lower(), value) for name, value in request.headers.raw],
            scheme=url.scheme,
            client=("testclient", 50000),
            server=(url.host, url.port or 80),
        )
        try:
            asgi.run_coroutine(self.app(scope, make_receive(request.read()), answer.send))
        except Exception:
            if self.raises or not answer.status:
                raise
        stream = httpx.ByteStream(b"" if request.method == "HEAD" else bytes(answer.body))
        return httpx.Response(answer.status, headers=answer.headers, stream=stream, request=request)


class Client(TestClient):
    def __init__(self, app: Any, raise_server_exceptions: bool = True, **options: Any) -> None:
        super().__init__(app, raise_server_exceptions=raise_server_exceptions, **options)
        self._transport = DirectTransport(app, raise_server_exceptions)


@lru_cache(maxsize=1)
def share_client() -> Client:
    """Return the one client of this process, for tests that change nothing of its application."""
    from lanescope.app.main import create_app

    return Client(create_app())


def parse_page_data(page: str) -> Any:
    """Return what a page's script gets."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found[1].replace("<\\/", "</"))
