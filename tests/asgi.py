"""Requests to an application without a socket or a second thread: the test's own thread is the event loop's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote

Made = TypeVar("Made")
# An address of each sort that a server answers: facts, a page, a picture, data that is computed, a file.
M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
OPERAND = f"/api/v1/instructions/{M16}/operands/a"
PAGE, PICTURE, DATA, STATIC = f"/i/{M16}", f"/i/{M16}/a.svg", "/api/v1/instructions?family=wgmma", "/static/style.css"


@dataclass
class AsgiAnswer:
    status: int
    headers: dict[str, str]
    body: bytes
    route: str  # the template of the route that answered

    def json(self) -> Any:
        return json.loads(self.body)


async def send_request(
    app: Any,
    method: str,
    address: str,
    body: bytes | Any = b"",
    *,
    headers: dict[str, str] | None = None,
    client: str = "127.0.0.1",
    receive: Any = None,
) -> AsgiAnswer:
    """One request and its answer. A body that is not bytes is sent as JSON; `receive` instead gives its parts as ASGI
    messages.
    """
    path, _, query = address.partition("?")
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {
        "host": "127.0.0.1",
        "x-request-id": "test",
        "content-length": str(len(raw)),
        **({} if isinstance(body, bytes) else {"content-type": "application/json"}),
        **(headers or {}),
    }
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in given.items()],
        "client": (client, 50000),
        "server": ("127.0.0.1", 80),
    }
    parts = [{"type": "http.request", "body": raw, "more_body": False}]
    out = AsgiAnswer(0, {}, b"", "")

    async def whole() -> dict[str, Any]:
        return parts.pop() if parts else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            out.status = message["status"]
            out.headers = {name.decode().lower(): value.decode("latin-1") for name, value in message["headers"]}
        else:
            out.body += message.get("body", b"")

    await app(scope, receive or whole, send)
    out.route = getattr(scope.get("route"), "path", "")
    return out


def run_coroutine(coroutine: Coroutine[Any, Any, Made]) -> Made:
    """asyncio.run, also in a process in which Playwright's own loop waits in this thread (browser tests ran here
    before).
    """
    waiting = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        return asyncio.run(coroutine)
    finally:
        asyncio._set_running_loop(waiting)


def fetch(app: Any, address: str, method: str = "GET", body: Any = b"", **options: Any) -> AsgiAnswer:
    """One request in a loop of its own."""
    return run_coroutine(send_request(app, method, address, body, **options))


def parse_refusal(answer: AsgiAnswer) -> tuple[int, str]:
    """(status, code) of a refusal, which has a message and a hint."""
    error = answer.json()["error"]
    assert set(error) >= {"code", "message", "hint", "field"} and error["message"] and error["hint"]
    return answer.status, error["code"]
