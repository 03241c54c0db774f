"""What stands before every route: sizes, hosts, rate, ids, log lines, threads.

Headers, the prefix and the settings have files of their own.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
import threading
from typing import Any

import pytest
from fastapi import FastAPI

from lanescope.app.kit import logs
from lanescope.app.kit.examples import BODIES
from lanescope.app.kit.limits import CAPTURES, UPLOADS
from lanescope.app.kit.rate import RateLimit, TooOftenError
from lanescope.app.kit.settings import Settings
from lanescope.app.main import create_app
from tests import asgi
from tests.asgi import DATA, M16, OPERAND, PAGE, PICTURE, STATIC, fetch, parse_refusal, send_request
from tests.cases import for_each

# sizes ----------------------------------------------------------------------------------------------------------------


@for_each("path", ["/api/v1/instructions?q=", "/api/v1/nothing?", f"/i/{M16}.svg?title="])
def test_a_long_address_is_414(app: FastAPI, path: str) -> None:
    room = 8192 - len(path.replace("?", ""))
    assert fetch(app, path + "x" * room).status != 414
    assert parse_refusal(fetch(app, path + "x" * (room + 1))) == (414, "address_too_long")


@for_each("path", sorted(BODIES))
def test_a_large_body_is_413_before_it_is_read(app: FastAPI, path: str) -> None:
    most = (16 << 20) if path in CAPTURES else (1 << 20) if path in UPLOADS else 262_144
    assert parse_refusal(fetch(app, path, "POST", b"x" * (most + 1))) == (413, "body_too_large")
    assert fetch(app, path, "POST", b" " * most).status == 422  # empty JSON, but read


def test_a_body_without_a_length_is_counted(app: FastAPI) -> None:
    sent = 0

    async def parts() -> dict[str, Any]:
        nonlocal sent
        sent += 1
        return {"type": "http.request", "body": b" " * 100_000, "more_body": True}

    answer = asgi.run_coroutine(send_request(app, "POST", "/api/v1/banks", receive=parts))
    assert parse_refusal(answer) == (413, "body_too_large") and sent == 3


@for_each(("headers", "read"), [({}, 3), ({"expect": "100-continue"}, 0)])
def test_a_refused_body_is_read_first_unless_the_client_waits(app: FastAPI, headers: dict[str, str], read: int) -> None:
    sent = 0

    async def parts() -> dict[str, Any]:
        nonlocal sent
        sent += 1
        return {"type": "http.request", "body": b" " * 100_000, "more_body": sent < 3}

    answer = asgi.run_coroutine(
        send_request(app, "POST", "/api/v1/banks", receive=parts, headers={"content-length": "300000", **headers})
    )
    assert parse_refusal(answer) == (413, "body_too_large") and sent == read and answer.headers["connection"] == "close"


def test_a_slow_body_is_408() -> None:
    async def never() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    answer = asgi.run_coroutine(
        send_request(create_app(settings=Settings(seconds=0.05)), "POST", "/api/v1/banks", receive=never)
    )
    assert parse_refusal(answer) == (408, "slow_body")


# hosts, clients, ids --------------------------------------------------------------------------------------------------


@for_each(
    ("host", "status"),
    [
        ("example.org", 200),
        ("EXAMPLE.org:8000", 200),
        ("a.b.test", 200),
        ("test", 400),
        ("example.org.evil", 400),
        ("xexample.org", 400),
        ("", 400),
        ("[::1]:80", 200),
    ],
)
def test_only_the_names_of_the_setting_are_answered_to(host: str, status: int) -> None:
    app = create_app(settings=Settings(trusted_hosts="example.org, *.test, [::1]"))
    answer = fetch(app, DATA, headers={"host": host})
    assert answer.status == status and (status == 200 or parse_refusal(answer) == (400, "unknown_host"))
    if status == 400:
        error = answer.json()["error"]
        assert error["message"] == f"This server does not answer to '{host}'."
        assert error["hint"] == "LANESCOPE_TRUSTED_HOSTS names the hosts."
    for probe in ("/healthz", "/readyz"):
        assert fetch(app, probe, headers={"host": host}).status == 200  # by address, as a container's own check asks


def test_a_rate_is_kept_for_each_client() -> None:
    now = 0.0
    rate = RateLimit(2.0, clients=2, clock=lambda: now)
    for _ in range(4):
        rate.take_token("a")
    with pytest.raises(TooOftenError) as often:
        rate.take_token("a")
    assert often.value.retry_seconds == 1
    rate.take_token("b")
    now = 0.5
    rate.take_token("a")
    with pytest.raises(TooOftenError):
        rate.take_token("a")
    rate.take_token("c")
    assert len(rate._held) == 2  # the clients seen last
    now = 1000.0
    for _ in range(4):
        rate.take_token("a")
    with pytest.raises(TooOftenError):
        rate.take_token("a")


def test_computing_costs_and_what_is_kept_does_not() -> None:
    app = create_app(settings=Settings(rate=0.01))
    assert fetch(app, OPERAND).status == 200
    assert (
        fetch(app, OPERAND).status == 200 and fetch(app, "/healthz").status == 200 and fetch(app, STATIC).status == 200
    )
    often = fetch(app, DATA)
    assert parse_refusal(often) == (429, "too_many_requests") and int(often.headers["retry-after"]) > 90
    assert fetch(app, "/api/v1/banks", "POST", BODIES["/api/v1/banks"]).status == 429
    assert fetch(app, DATA, client="192.0.2.1").status == 200


def test_a_forwarded_client_is_believed_from_a_trusted_proxy_only() -> None:
    for trusted, second in (("10.0.0.0/8", 200), ("192.0.2.7", 429), ("", 429)):
        app = create_app(settings=Settings(rate=0.01, trusted_proxies=trusted))
        for name, status in (("198.51.100.1", 200), ("198.51.100.2", second)):
            answer = fetch(
                app, f"/api/v1/instructions?q={name[-1]}", client="10.1.2.3", headers={"x-forwarded-for": name}
            )
            assert answer.status == status, trusted


@for_each(
    ("asked", "same"),
    [("abc-1.2:3", True), ("x" * 64, True), ("x" * 65, False), ("a b", False), ("a\r\nb", False), ("", False)],
)
def test_every_answer_has_an_id(app: FastAPI, asked: str, same: bool) -> None:
    for path in (PAGE, DATA, STATIC, "/api/v1/nothing", "/?q=" + "x" * 9000):
        given = fetch(app, path, headers={"x-request-id": asked}).headers["x-request-id"]
        assert (given == asked) is same and re.fullmatch(r"[\w.:-]{1,64}", given)


def test_log_lines_are_json_with_the_requests_id() -> None:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(logs.JsonFormatter())
    app = create_app(settings=Settings(access_log=True))

    @app.get("/fails")
    def fails() -> None:
        raise RuntimeError("broken\nhere")

    logger = logging.getLogger("lanescope")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        fetch(app, "/api/v1/nothing?x=%0Ay", headers={"x-request-id": "one"})
        fetch(app, "/fails", headers={"x-request-id": "two"})
    finally:
        logger.removeHandler(handler)
    first, traceback, last = (json.loads(line) for line in out.getvalue().splitlines())
    assert (first["request_id"], first["status"], first["method"], first["path"], first["client"]) == (
        "one",
        404,
        "GET",
        "/api/v1/nothing",
        "127.0.0.1",
    )
    assert (
        traceback["request_id"] == "two"
        and "RuntimeError: broken" in traceback["error"]
        and traceback["level"] == "error"
    )
    assert (last["request_id"], last["status"]) == ("two", 500) and last["ms"] >= 0


# threads --------------------------------------------------------------------------------------------------------------


def test_a_busy_server_refuses_with_503(app: FastAPI) -> None:
    gate = threading.Event()
    small = create_app(settings=Settings(threads=1, waiting=0, seconds=0.2))
    small.get("/wait")(gate.wait)

    async def run() -> None:
        slow = asyncio.ensure_future(send_request(small, "GET", "/wait"))
        while not small.state.work.jobs:
            await asyncio.sleep(0)
        for path in (DATA, PAGE, PICTURE):
            busy = await send_request(small, "GET", path)
            assert busy.status == 503 and int(busy.headers["retry-after"]) > 0
        assert (
            (await send_request(small, "GET", "/healthz")).status
            == (await send_request(small, "GET", "/readyz")).status
            == 200
        )
        assert parse_refusal(await send_request(small, "GET", DATA)) == (503, "busy")
        assert (await slow).status == 503
        gate.set()

    asgi.run_coroutine(run())
    small.state.work.close()


@for_each("length", ["-1", "1e3", "9" * 30, "²"])
def test_a_strange_length_is_413(app: FastAPI, length: str) -> None:
    assert fetch(app, "/api/v1/banks", "POST", headers={"content-length": length}).status == 413
