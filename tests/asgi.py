"""Requests to an application without a socket or a second thread: the test's own thread is the event loop's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from lanescope.app.kit.local_fetch import LocalAnswer, build_scope, make_receive

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
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {
        "host": "127.0.0.1",
        "x-request-id": "test",
        "content-length": str(len(raw)),
        **({} if isinstance(body, bytes) else {"content-type": "application/json"}),
        **(headers or {}),
    }
    sent = [(name.lower().encode(), value.encode("latin-1")) for name, value in given.items()]
    scope, answer = build_scope(method, address, sent, client=(client, 50000)), LocalAnswer()
    await app(scope, receive or make_receive(raw), answer.send)
    received = {name.decode().lower(): value.decode("latin-1") for name, value in answer.headers}
    return AsgiAnswer(answer.status, received, bytes(answer.body), getattr(scope.get("route"), "path", ""))


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
