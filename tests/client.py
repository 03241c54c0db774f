"""Starlette's client, whose requests are answered in the test's own thread: a thread and a loop for each take longer
than the answer.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import httpx2 as httpx
from starlette.testclient import TestClient

from tests import asgi


class DirectTransport(httpx.BaseTransport):
    """An application as httpx asks a server."""

    def __init__(self, app: Any, raises: bool) -> None:
        self.app, self.raises = app, raises

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        started: dict[str, Any] = {}
        parts: list[bytes] = []
        asked = [{"type": "http.request", "body": request.read(), "more_body": False}]

        async def receive() -> dict[str, Any]:
            return asked.pop() if asked else {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                started.update(message)
            else:
                parts.append(message.get("body", b""))

        url = request.url
        path, _, query = url.raw_path.partition(b"?")
        headers = [(name.lower(), value) for name, value in request.headers.raw]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": url.scheme,
            "path": url.path,
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": headers,
            "client": ("testclient", 50000),
            "server": (url.host, url.port or 80),
        }
        try:
            asgi.run_coroutine(self.app(scope, receive, send))
        except Exception:
            if self.raises or not started:
                raise
        body = b"" if request.method == "HEAD" else b"".join(parts)
        stream = httpx.ByteStream(body)
        return httpx.Response(started["status"], headers=started["headers"], stream=stream, request=request)


class Client(TestClient):
    def __init__(self, app: Any, raise_server_exceptions: bool = True, **options: Any) -> None:
        super().__init__(app, raise_server_exceptions=raise_server_exceptions, **options)
        self._transport = DirectTransport(app, raise_server_exceptions)


@lru_cache(maxsize=1)
def share_client() -> Client:
    """Return the one client of this process, for tests that change nothing of its application."""
    from lanescope.app.main import create_app

    return Client(create_app())
