"""What stands before every route: sizes, hosts, rate, ids, headers, prefixes; and the settings that rule them."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
import logging
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from app.kit import logs
from app.kit.asgi import Receive, Scope, Send
from app.kit.examples import BODIES
from app.kit.headers import Headers
from app.kit.limits import CAPTURES, UPLOADS
from app.kit.prefix import Prefix
from app.kit.rate import Rate, TooOftenError
from app.kit.settings import Settings, rows, variable
from app.kit.wire import _coding
from app.main import create_app
from layouts.errors import LayoutError
from tests import asgi
from tests.asgi import Answer, ask

ROOT = Path(__file__).parents[1]
M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
OPERAND = f"/api/v1/instructions/{M16}/operands/a"
PAGE, PICTURE, DATA, STATIC = f"/i/{M16}", f"/i/{M16}/a.svg", "/api/v1/instructions?family=wgmma", "/static/style.css"


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return create_app(settings=Settings())


def get(app: Any, address: str, method: str = "GET", body: Any = b"", **options: Any) -> Answer:
    return asgi.run(ask(app, method, address, body, **options))


def refused(answer: Answer) -> tuple[int, str]:
    error = answer.json()["error"]
    assert set(error) >= {"code", "message", "hint", "field"} and error["message"] and error["hint"]
    return answer.status, error["code"]


# sizes ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/api/v1/instructions?q=", "/api/v1/nothing?", f"/i/{M16}.svg?title="])
def test_a_long_address_is_414(app: FastAPI, path: str) -> None:
    room = 8192 - len(path.replace("?", ""))
    assert get(app, path + "x" * room).status != 414
    assert refused(get(app, path + "x" * (room + 1))) == (414, "address_too_long")


def test_pages_refuse_as_pages(app: FastAPI) -> None:
    answer = get(app, "/?q=" + "x" * 9000)
    assert (
        answer.status == 414
        and answer.headers["content-type"].startswith("text/html")
        and b"At most 8192" in answer.body
    )


@pytest.mark.parametrize("path", sorted(BODIES))
def test_a_large_body_is_413_before_it_is_read(app: FastAPI, path: str) -> None:
    most = (16 << 20) if path in CAPTURES else (1 << 20) if path in UPLOADS else 262_144
    assert refused(get(app, path, "POST", b"x" * (most + 1))) == (413, "body_too_large")
    assert get(app, path, "POST", b" " * most).status == 422  # empty JSON, but read


def test_a_body_without_a_length_is_counted(app: FastAPI) -> None:
    sent = 0

    async def parts() -> dict[str, Any]:
        nonlocal sent
        sent += 1
        return {"type": "http.request", "body": b" " * 100_000, "more_body": True}

    answer = asgi.run(ask(app, "POST", "/api/v1/banks", receive=parts))
    assert refused(answer) == (413, "body_too_large") and sent == 3


@pytest.mark.parametrize(("headers", "read"), [({}, 3), ({"expect": "100-continue"}, 0)])
def test_a_refused_body_is_read_first_unless_the_client_waits(app: FastAPI, headers: dict[str, str], read: int) -> None:
    sent = 0

    async def parts() -> dict[str, Any]:
        nonlocal sent
        sent += 1
        return {"type": "http.request", "body": b" " * 100_000, "more_body": sent < 3}

    answer = asgi.run(ask(app, "POST", "/api/v1/banks", receive=parts, headers={"content-length": "300000", **headers}))
    assert refused(answer) == (413, "body_too_large") and sent == read and answer.headers["connection"] == "close"


@pytest.mark.parametrize("length", ["-1", "1e3", "9" * 30, "²"])
def test_a_strange_length_is_413(app: FastAPI, length: str) -> None:
    assert get(app, "/api/v1/banks", "POST", headers={"content-length": length}).status == 413


def test_a_slow_body_is_408() -> None:
    async def never() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    answer = asgi.run(ask(create_app(settings=Settings(seconds=0.05)), "POST", "/api/v1/banks", receive=never))
    assert refused(answer) == (408, "slow_body")


# hosts, clients, ids --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "status"),
    [("example.org", 200), ("EXAMPLE.org:8000", 200), ("a.b.test", 200), ("test", 400), ("example.org.evil", 400),
    ("xexample.org", 400), ("", 400), ("[::1]:80", 200)],
)  # fmt: skip
def test_only_the_names_of_the_setting_are_answered_to(host: str, status: int) -> None:
    app = create_app(settings=Settings(trusted_hosts="example.org, *.test, [::1]"))
    answer = get(app, DATA, headers={"host": host})
    assert answer.status == status and (status == 200 or refused(answer) == (400, "unknown_host"))
    for probe in ("/healthz", "/readyz"):
        assert get(app, probe, headers={"host": host}).status == 200  # by address, as a container's own check asks


def test_a_rate_is_kept_for_each_client() -> None:
    now = 0.0
    rate = Rate(2.0, clients=2, clock=lambda: now)
    for _ in range(4):
        rate.take("a")
    with pytest.raises(TooOftenError) as often:
        rate.take("a")
    assert often.value.retry_seconds == 1
    rate.take("b")
    now = 0.5
    rate.take("a")
    with pytest.raises(TooOftenError):
        rate.take("a")
    rate.take("c")
    assert len(rate._held) == 2  # the clients seen last
    now = 1000.0
    for _ in range(4):
        rate.take("a")
    with pytest.raises(TooOftenError):
        rate.take("a")


def test_a_slow_rate_says_when() -> None:
    rate = Rate(0.1, clock=lambda: 0.0)
    rate.take("a")
    with pytest.raises(TooOftenError, match="one in 10 seconds") as often:
        rate.take("a")
    assert often.value.retry_seconds == 10


def test_computing_costs_and_what_is_kept_does_not() -> None:
    app = create_app(settings=Settings(rate=0.01))
    assert get(app, OPERAND).status == 200
    assert get(app, OPERAND).status == 200 and get(app, "/healthz").status == 200 and get(app, STATIC).status == 200
    often = get(app, DATA)
    assert refused(often) == (429, "too_many_requests") and int(often.headers["retry-after"]) > 90
    assert get(app, "/api/v1/banks", "POST", BODIES["/api/v1/banks"]).status == 429
    assert get(app, DATA, client="192.0.2.1").status == 200


def test_a_forwarded_client_is_believed_from_a_trusted_proxy_only() -> None:
    for trusted, second in (("10.0.0.0/8", 200), ("192.0.2.7", 429), ("", 429)):
        app = create_app(settings=Settings(rate=0.01, trusted_proxies=trusted))
        for name, status in (("198.51.100.1", 200), ("198.51.100.2", second)):
            answer = get(
                app, f"/api/v1/instructions?q={name[-1]}", client="10.1.2.3", headers={"x-forwarded-for": name}
            )
            assert answer.status == status, trusted


@pytest.mark.parametrize(
    ("asked", "same"),
    [("abc-1.2:3", True), ("x" * 64, True), ("x" * 65, False), ("a b", False), ("a\r\nb", False), ("", False)],
)
def test_every_answer_has_an_id(app: FastAPI, asked: str, same: bool) -> None:
    for path in (PAGE, DATA, STATIC, "/api/v1/nothing", "/?q=" + "x" * 9000):
        given = get(app, path, headers={"x-request-id": asked}).headers["x-request-id"]
        assert (given == asked) is same and re.fullmatch(r"[\w.:-]{1,64}", given)


def test_log_lines_are_json_with_the_requests_id() -> None:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(logs.JsonLines())
    app = create_app(settings=Settings(access_log=True))

    @app.get("/fails")
    def fails() -> None:
        raise RuntimeError("broken\nhere")

    logger = logging.getLogger("lanescope")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        get(app, "/api/v1/nothing?x=%0Ay", headers={"x-request-id": "one"})
        get(app, "/fails", headers={"x-request-id": "two"})
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


def test_text_lines_carry_the_id_too() -> None:
    token = logs.REQUEST_ID.set("abc")
    try:
        line = logs.Text().format(logging.LogRecord("lanescope", logging.INFO, "", 0, "said", (), None))
    finally:
        logs.REQUEST_ID.reset(token)
    assert line.endswith("INFO    said  [abc]")


# headers --------------------------------------------------------------------------------------------------------------

ALWAYS = {"x-content-type-options": "nosniff", "referrer-policy": "same-origin"}


@pytest.mark.parametrize(
    "path",
    [
        "/",
        PAGE,
        "/smem",
        "/descriptor/wgmma/0x4000004004000101",
        "/guide/swizzle",
        "/gallery",
        "/no/such/page",
        "/smem?mn=7",
    ],
)
def test_pages_run_and_take_nothing_but_ours(app: FastAPI, path: str) -> None:
    headers = get(app, path).headers
    rules = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    style = rules.pop("style-src").split()
    assert style[0] == "'self'" and all(re.fullmatch(r"'sha256-[\w+/]{43}='", part) for part in style[1:])
    assert rules == {
        "default-src": "'self'", "img-src": "'self' data: blob:", "object-src": "'none'", "base-uri": "'none'",
        "form-action": "'self'", "frame-ancestors": "'self'",
    }  # fmt: skip
    assert (
        headers.items()
        >= {
            **ALWAYS,
            "cross-origin-resource-policy": "same-origin",
            "cross-origin-opener-policy": "same-origin",
        }.items()
    )
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    "path",
    [
        PICTURE,
        f"/i/{M16}.tex",
        f"/i/{M16}/a.csv",
        f"/i/{M16}.cu",
        "/smem.svg",
        "/descriptor/wgmma/0x4000004004000101.svg",
        DATA,
        "/openapi.json",
        "/api/v1/nothing",
    ],
)
def test_pictures_and_data_are_for_everybody_and_run_nothing(app: FastAPI, path: str) -> None:
    headers = get(app, path).headers
    assert headers.items() >= {
        **ALWAYS, "cross-origin-resource-policy": "cross-origin", "access-control-allow-origin": "*",
        "content-security-policy": "default-src 'none'; frame-ancestors *",
    }.items()  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", STATIC),
        ("GET", "/palette.css"),
        ("GET", "/static/no"),
        ("GET", "/metrics"),
        ("POST", "/api/v1/banks"),
        ("GET", f"/go?ptx={M16}"),
    ],
)
def test_files_of_the_pages_and_what_is_posted_stay_here(app: FastAPI, method: str, path: str) -> None:
    headers = get(app, path, method, BODIES["/api/v1/banks"] if method == "POST" else b"").headers
    assert (
        headers.items() >= {**ALWAYS, "cross-origin-resource-policy": "same-origin"}.items()
        and "access-control-allow-origin" not in headers
    )


def test_frames_are_a_setting() -> None:
    app = create_app(settings=Settings(frame_ancestors="https://docs.example.org"))
    assert get(app, PAGE).headers["content-security-policy"].endswith("; frame-ancestors https://docs.example.org")
    assert Headers("'none'").page[2][1].endswith(b"'none'")


def test_a_304_leaves_the_headers_that_the_client_has(app: FastAPI) -> None:
    for path in (PAGE, PICTURE):
        first = get(app, path)
        again = get(app, path, headers={"if-none-match": first.headers["etag"]})
        assert (
            again.status == 304
            and "content-security-policy" not in again.headers
            and again.headers["vary"] == "Accept-Encoding"
        )


def test_no_page_needs_an_inline_style_or_script() -> None:
    for file in [
        *ROOT.glob("templates/**/*.html"),
        *ROOT.glob("app/*.py"),
        *ROOT.glob("layouts/**/*.py"),
        *ROOT.glob("static/**/*.js"),
    ]:
        if file.name == "notebook.py":  # a notebook has no style sheet of ours
            continue
        text = file.read_text()
        assert not re.search(
            r"<\w[^<>]*\sstyle=|setAttribute\(\"style|<style|\son(?:click|load|change|input|submit|error)=\"", text
        ), file
        assert not re.search(r"<script(?![^>]*(?:src=|application/json))", text), file


# conditional requests and codings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["{tag}", "W/{tag}", '"x", {tag}', '"x" ,W/{tag}, "y"', "*", " * "])
def test_a_tag_that_the_client_has_is_304(app: FastAPI, form: str) -> None:
    tag = get(app, OPERAND).headers["etag"]
    for path in (OPERAND, PAGE):
        tag = get(app, path).headers["etag"]
        for method in ("GET", "HEAD"):
            answer = get(app, path, method, headers={"if-none-match": form.format(tag=tag)})
            assert answer.status == 304 and not answer.body and answer.headers["etag"] == tag


@pytest.mark.parametrize("form", ['"x"', "{bare}", '"{bare}x"', '"x{bare}"', "", '"*"'])
def test_another_tag_is_200(app: FastAPI, form: str) -> None:
    tag = get(app, OPERAND).headers["etag"]
    assert get(app, OPERAND, headers={"if-none-match": form.format(bare=tag.strip('"'))}).status == 200


def test_the_tag_of_another_coding_is_200(app: FastAPI) -> None:
    plain, packed = (get(app, OPERAND, headers={"accept-encoding": coding}) for coding in ("identity", "br"))
    assert plain.headers["etag"] != packed.headers["etag"]
    assert get(app, OPERAND, headers={"accept-encoding": "br", "if-none-match": plain.headers["etag"]}).status == 200


def test_a_refusal_is_never_304(app: FastAPI) -> None:
    assert get(app, "/smem?mn=7", headers={"if-none-match": "*"}).status == 422


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("", ""), ("identity", ""), ("br", "br"), ("gzip", "gzip"), ("gzip, br", "br"), ("br;q=0, gzip", "gzip"),
        ("br;q=0.0,gzip;q=0", ""), ("gzip;q=1, br;q=0.5", "gzip"), ("*", "br"),
        ("*;q=0", ""), ("br;q=0, *", "gzip"), ("GZIP", "gzip"), ("br ; q=0", ""), ("br;q=x", ""), ("deflate", ""),
        ("br;q=0.001", "br"), (",,;", ""), ("gzip;level=1", "gzip"),
    ],
)  # fmt: skip
def test_the_coding_is_the_one_liked_best(app: FastAPI, accepted: str, coding: str) -> None:
    assert _coding(accepted) == coding
    assert get(app, OPERAND, headers={"accept-encoding": accepted}).headers.get("content-encoding", "") == coding


# under a prefix -------------------------------------------------------------------------------------------------------

LINK = re.compile(r'\s(href|src|action|data-plotly)="([^"]*)"')


@pytest.mark.parametrize("sent", ["", "/tools/lanescope"])  # whether the proxy strips the prefix or not
def test_every_link_stays_under_the_prefix(sent: str) -> None:
    app = create_app(settings=Settings(root_path="tools/lanescope/", seconds=60))  # however busy the machine is
    for path in (
        "/",
        "/instructions?q=bf16",
        PAGE,
        "/smem",
        "/descriptor/wgmma/0x4000004004000101",
        "/chain",
        "/banks",
        "/gallery",
        "/guide",
        "/guide/swizzle",
        "/gpu",
        "/docs",
        "/help",
        "/no/such",
        "/diagram",
    ):
        answer = get(app, sent + path)
        assert answer.status == (404 if path == "/no/such" else 200), path
        assert b'<html data-root="/tools/lanescope"' in answer.body
        for name, link in LINK.findall(answer.body.decode()):
            assert not link.startswith("/") or link.startswith("/tools/lanescope/"), (path, name, link)
    assert (
        get(app, sent + STATIC).status == 200
        and get(app, f"{sent}/api/v1/nothing").json()["error"]["message"] == "There is nothing at /api/v1/nothing."
    )
    assert get(app, f"{sent}/go?ptx={M16}").headers["location"] == f"/tools/lanescope/i/{M16}"
    assert get(app, f"{sent}/api/v1/instructions").headers["access-control-allow-origin"] == "*"
    assert f"http://127.0.0.1/tools/lanescope/i/{M16}.svg" in get(app, sent + "/diagram").body.decode()
    assert get(app, "/tools/lanescopex/").status == 404


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (b"/i/x", b"/tools/i/x"), (b"/tools/i/x", b"/tools/i/x"), (b"/toolsx", b"/tools/toolsx"),
        (b"//elsewhere/x", b"//elsewhere/x"), (b"https://elsewhere/x", b"https://elsewhere/x"),
    ],
)  # fmt: skip
def test_only_a_redirect_within_the_server_is_moved_below_the_prefix(given: bytes, sent: bytes) -> None:
    """What names another host, `//host` among it, stays as it is."""

    async def redirects(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 303, "headers": [(b"location", given), (b"x-at", b"/i")]})
        await send({"type": "http.response.body", "body": b""})

    answer = get(Prefix(redirects, "/tools"), "/tools/go")
    assert answer.headers["location"] == sent.decode() and answer.headers["x-at"] == "/i"


def test_scripts_ask_below_the_prefix() -> None:
    """A script's own addresses begin with `root` of static/kit/place.js: nothing turns them as the links of pages are
    turned.
    """
    for file in ROOT.glob("static/**/*.js"):
        assert not re.search(r"""(fetch\(|State\([^)]*|href = |action = )["'`]/""", file.read_text()), file.name


def test_without_a_prefix_nothing_is_changed(app: FastAPI) -> None:
    assert b"data-root" not in get(app, PAGE).body and b'href="/guide"' in get(app, PAGE).body


# settings -------------------------------------------------------------------------------------------------------------


def test_settings_come_from_the_environment() -> None:
    assert Settings.of({}) == Settings()
    told = Settings.of(
        {
            "LANESCOPE_PORT": "0x1F90",
            "LANESCOPE_SECONDS": "2.5",
            "LANESCOPE_ACCESS_LOG": "true",
            "LANESCOPE_ROOT_PATH": "x/y/",
            "LANESCOPE_HOST": "",
            "OTHER": "1",
        }
    )
    assert (told.port, told.seconds, told.access_log, told.root_path, told.host) == (
        8080,
        2.5,
        True,
        "/x/y",
        "127.0.0.1",
    )
    assert Settings.of(told.environment()) == told


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("port", "65536"), ("port", "-1"), ("workers", "0"), ("seconds", "nan"), ("seconds", "0"), ("rate", "-1"),
        ("rate", "x"), ("body_bytes", "0"), ("url_bytes", "1e9"), ("log_format", "xml"),
        ("access_log", "maybe"), ("root_path", "/a b"), ("root_path", "/../x"), ("root_path", 'x"y'),
        ("trusted_proxies", "proxy"), ("trusted_proxies", "10.0.0.1/8"), ("host", "a\nb"),
        ("frame_ancestors", "x\r\nSet-Cookie: y"), ("frame_ancestors", "'self'; script-src *"), ("cache_bytes", "-1"),
        ("threads", "65"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_refused_by_name(name: str, given: str) -> None:
    with pytest.raises(LayoutError) as wrong:
        Settings.of({variable(name): given})
    assert (wrong.value.code, wrong.value.field) == ("bad_setting", name) and wrong.value.hint


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs" / "deploy.md").read_text()
    for name, default, says in rows():
        assert (
            f"| `{variable(name)}` | `--{name.replace('_', '-')}` | {f'`{default}`' if default else 'none'} | {says} |"
            in text
        )


@pytest.mark.parametrize(("port", "asked"), [(None, "8000"), ("9000", "9000")])
def test_the_image_checks_the_port_it_listens_on(port: str | None, asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (command,) = re.findall(r"^HEALTHCHECK.*\\\n\s+CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.M)
    told: list[str] = []
    monkeypatch.setattr("urllib.request.urlopen", lambda address, timeout: told.append(address))
    monkeypatch.delenv("LANESCOPE_PORT", raising=False)
    if port:
        monkeypatch.setenv("LANESCOPE_PORT", port)
    exec(json.loads(command)[2], {})
    assert told == [f"http://127.0.0.1:{asked}/healthz"]


def test_every_setting_does_something() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "app").rglob("*.py") if path.name != "settings.py")
    assert not [row.name for row in dataclasses.fields(Settings) if f"settings.{row.name}" not in sources]


def test_a_busy_server_refuses_with_503(app: FastAPI) -> None:
    gate = threading.Event()
    small = create_app(settings=Settings(threads=1, waiting=0, seconds=0.2))
    small.get("/wait")(gate.wait)

    async def run() -> None:
        slow = asyncio.ensure_future(ask(small, "GET", "/wait"))
        while not small.state.work.held:
            await asyncio.sleep(0)
        for path in (DATA, PAGE, PICTURE):
            busy = await ask(small, "GET", path)
            assert busy.status == 503 and int(busy.headers["retry-after"]) > 0
        assert (await ask(small, "GET", "/healthz")).status == (await ask(small, "GET", "/readyz")).status == 200
        assert refused(await ask(small, "GET", DATA)) == (503, "busy")
        assert (await slow).status == 503
        gate.set()

    asgi.run(run())
    small.state.work.close()


def test_the_command_lists_every_setting() -> None:
    from typer.testing import CliRunner

    from app.cli import app as command

    text = " ".join(CliRunner().invoke(command, ["serve", "--help"], env={"COLUMNS": "400"}).output.split())
    for name, _, says in rows():
        assert f"--{name.replace('_', '-')}" in text and variable(name) in text and " ".join(says.split())[:30] in text
