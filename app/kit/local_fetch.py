"""Requests to the application without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from lanescope.app.kit.asgi import ASGIApp, Message, Receive, Scope


@dataclass(slots=True)
class LocalAnswer:
    """The answer that an application sends; status 0 before it begins."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message["headers"])
        else:
            self.body.extend(message.get("body", b""))


def make_receive(body: bytes) -> Receive:
    """Return the receiver of a request with this body, after which the client is gone."""
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return parts.pop() if parts else {"type": "http.disconnect"}

    return receive


def build_scope(method: str, address: str, headers: Sequence[tuple[bytes, bytes]], **more: Any) -> Scope:
    """Return the ASGI scope of a request. more: keys that replace those of a local client."""
    path, _, query = address.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": list(headers),
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 80),
    } | more


def fetch_address(app: ASGIApp, address: str) -> bytes:
    """Send a GET to the application; RuntimeError if the status is not 200.

    The request runs in a thread of its own, because the caller may be inside a running event loop (a notebook).
    """
    scope, answer = build_scope("GET", address, [(b"host", b"127.0.0.1")]), LocalAnswer()

    async def run() -> None:
        await app(scope, make_receive(b""), answer.send)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(run())).result()
    if answer.status != 200:
        raise RuntimeError(f"{address} answered {answer.status}")
    return bytes(answer.body)
