"""The whole site below a prefix of a proxy."""

from __future__ import annotations

import re
from functools import cache
from html import unescape

from fastapi import FastAPI

from lanescope.app.kit.asgi import Receive, Scope, Send
from lanescope.app.kit.prefix import PrefixMiddleware
from lanescope.app.kit.settings import Settings
from lanescope.app.main import create_app
from tests.asgi import M16, PAGE, STATIC, fetch
from tests.cases import for_each

LOADED = re.compile(r'<(?:script|link|img)\b[^>]*?\s(?:href|src)="([^"]*)"')
LINK = re.compile(r'\s(href|src|action|data-plotly)="([^"]*)"')


PAGES = (
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
)


@for_each("sent", ["", "/tools/lanescope"], sample=1)  # whether the proxy strips the prefix or not
def test_every_link_stays_under_the_prefix(sent: str) -> None:
    app = create_app(settings=Settings(root_path="tools/lanescope/", seconds=60))  # however busy the machine is
    loaded: set[str] = set()
    for path in PAGES if not sent else PAGES[::5]:
        answer = fetch(app, sent + path)
        assert answer.status == (404 if path == "/no/such" else 200), path
        assert b'<html data-root="/tools/lanescope"' in answer.body
        for name, link in LINK.findall(answer.body.decode()):
            assert not link.startswith("/") or link.startswith("/tools/lanescope/"), (path, name, link)
        loaded |= {unescape(link).partition("#")[0] for link in LOADED.findall(answer.body.decode())}
    drawn = {link for link in loaded if link.endswith(".png")}  # one of them has its SVG at an address of its own
    own = {link for link in drawn if "/descriptor/" in link}
    assert own or sent
    for link in sorted(link for link in loaded - drawn | (set() if sent else own) if link.startswith("/")):
        assert fetch(app, link).status == 200, link
    assert (
        fetch(app, sent + STATIC).status == 200
        and fetch(app, f"{sent}/api/v1/nothing").json()["error"]["message"] == "There is nothing at /api/v1/nothing."
    )
    assert fetch(app, f"{sent}/go?ptx={M16}").headers["location"] == f"/tools/lanescope/i/{M16}"
    assert fetch(app, f"{sent}/api/v1/instructions").headers["access-control-allow-origin"] == "*"
    assert f"http://127.0.0.1/tools/lanescope/i/{M16}.svg" in fetch(app, sent + "/diagram").body.decode()
    assert fetch(app, "/tools/lanescopex/").status == 404


@for_each(
    ("given", "sent"),
    [
        (b"/i/x", b"/tools/i/x"),
        (b"/tools/i/x", b"/tools/i/x"),
        (b"/toolsx", b"/tools/toolsx"),
        (b"//elsewhere/x", b"//elsewhere/x"),
        (b"https://elsewhere/x", b"https://elsewhere/x"),
    ],
)
def test_only_a_redirect_within_the_server_is_moved_below_the_prefix(given: bytes, sent: bytes) -> None:
    """What names another host, `//host` among it, stays as it is."""

    async def redirects(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 303, "headers": [(b"location", given), (b"x-at", b"/i")]})
        await send({"type": "http.response.body", "body": b""})

    answer = fetch(PrefixMiddleware(redirects, "/tools"), "/tools/go")
    assert answer.headers["location"] == sent.decode() and answer.headers["x-at"] == "/i"


@cache
def make_app(root: str) -> FastAPI:
    return create_app(settings=Settings(root_path=root))


@for_each("root", ["", "/tools/lanescope"])
@for_each("sent", ["", "/tools/lanescope"])
@for_each(
    ("path", "to"),
    [
        ("/smem/", "/smem"),
        ("/smem//", "/smem"),
        ("/smem/?mn=64&k=%2F", "/smem?mn=64&k=%2F"),
        ("/static", "/static/"),
        ("/api/v1/instructions/", "/api/v1/instructions"),
        ("/guide/swizzle/?//evil.example", "/guide/swizzle?//evil.example"),
    ],
)
def test_a_redirect_of_a_slash_names_a_path_and_no_host(root: str, sent: str, path: str, to: str) -> None:
    app = make_app(root)
    prefix = sent if root else ""
    for host in ("evil.example", "evil.example/x?", "evil.example#"):
        for method in ("GET", "HEAD", "POST"):
            answer = fetch(app, prefix + path, method, headers={"host": host, "x-forwarded-host": host})
            assert (answer.status, answer.headers["location"]) == (307, root + to)


def test_without_a_prefix_nothing_is_changed(app: FastAPI) -> None:
    assert b"data-root" not in fetch(app, PAGE).body and b'href="/guide"' in fetch(app, PAGE).body


@for_each("path", ["//evil.example", "//evil.example/", "/%5Cevil.example/", "///evil.example/", "//smem/"])
def test_an_address_that_begins_with_two_slashes_redirects_to_no_host(app: FastAPI, path: str) -> None:
    app = create_app()
    app.get("//evil.example")(lambda: None)
    app.get("//evil.example/x/{rest:path}")(lambda: None)
    app.get("/\\evil.example")(lambda: None)
    for asked in (path, path.rstrip("/") + "/x"):
        location = fetch(app, asked).headers.get("location", "/")
        assert location.startswith("/") and not location.startswith(("//", "/\\", "/%5C"))
