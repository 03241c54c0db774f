"""The headers of every answer: what a page may run, who may read it, tags and codings."""

from __future__ import annotations

import re
from pathlib import Path

from fastapi import FastAPI

from lanescope.app.kit.examples import BODIES
from lanescope.app.kit.limits import SecurityHeaders
from lanescope.app.kit.settings import Settings
from lanescope.app.kit.wire import _select_coding
from lanescope.app.main import create_app
from tests.asgi import DATA, M16, OPERAND, PAGE, PICTURE, STATIC, fetch
from tests.cases import for_each

ROOT = Path(__file__).parents[1]

# headers --------------------------------------------------------------------------------------------------------------

ALWAYS = {"x-content-type-options": "nosniff", "referrer-policy": "same-origin"}


@for_each(
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
    headers = fetch(app, path).headers
    rules = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    style = rules.pop("style-src").split()
    assert style[0] == "'self'" and all(re.fullmatch(r"'sha256-[\w+/]{43}='", part) for part in style[1:])
    assert rules == {
        "default-src": "'self'",
        "img-src": "'self' data: blob:",
        "object-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'self'",
    }
    assert (
        headers.items()
        >= {
            **ALWAYS,
            "cross-origin-resource-policy": "same-origin",
            "cross-origin-opener-policy": "same-origin",
        }.items()
    )
    assert "access-control-allow-origin" not in headers


@for_each(
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
    headers = fetch(app, path).headers
    assert (
        headers.items()
        >= {
            **ALWAYS,
            "cross-origin-resource-policy": "cross-origin",
            "access-control-allow-origin": "*",
            "content-security-policy": "default-src 'none'; frame-ancestors *",
        }.items()
    )


@for_each(
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
    headers = fetch(app, path, method, BODIES["/api/v1/banks"] if method == "POST" else b"").headers
    assert (
        headers.items() >= {**ALWAYS, "cross-origin-resource-policy": "same-origin"}.items()
        and "access-control-allow-origin" not in headers
    )


def test_frames_are_a_setting() -> None:
    app = create_app(settings=Settings(frame_ancestors="https://docs.example.org"))
    assert fetch(app, PAGE).headers["content-security-policy"].endswith("; frame-ancestors https://docs.example.org")
    assert SecurityHeaders("'none'").page[2][1].endswith(b"'none'")


def test_a_304_leaves_the_headers_that_the_client_has(app: FastAPI) -> None:
    for path in (PAGE, PICTURE):
        first = fetch(app, path)
        again = fetch(app, path, headers={"if-none-match": first.headers["etag"]})
        assert (
            again.status == 304
            and "content-security-policy" not in again.headers
            and again.headers["vary"] == "Accept-Encoding"
        )


# conditional requests and codings -------------------------------------------------------------------------------------


@for_each("form", ["{tag}", "W/{tag}", '"x", {tag}', '"x" ,W/{tag}, "y"', "*", " * "])
def test_a_tag_that_the_client_has_is_304(app: FastAPI, form: str) -> None:
    tag = fetch(app, OPERAND).headers["etag"]
    for path in (OPERAND, PAGE):
        tag = fetch(app, path).headers["etag"]
        for method in ("GET", "HEAD"):
            answer = fetch(app, path, method, headers={"if-none-match": form.format(tag=tag)})
            assert answer.status == 304 and not answer.body and answer.headers["etag"] == tag


@for_each("form", ['"x"', "{bare}", '"{bare}x"', '"x{bare}"', "", '"*"'])
def test_another_tag_is_200(app: FastAPI, form: str) -> None:
    tag = fetch(app, OPERAND).headers["etag"]
    assert fetch(app, OPERAND, headers={"if-none-match": form.format(bare=tag.strip('"'))}).status == 200


def test_the_tag_of_another_coding_is_200(app: FastAPI) -> None:
    plain, packed = (fetch(app, OPERAND, headers={"accept-encoding": coding}) for coding in ("identity", "br"))
    assert plain.headers["etag"] != packed.headers["etag"]
    assert fetch(app, OPERAND, headers={"accept-encoding": "br", "if-none-match": plain.headers["etag"]}).status == 200


def test_a_refusal_is_never_304(app: FastAPI) -> None:
    assert fetch(app, "/smem?mn=7", headers={"if-none-match": "*"}).status == 422


@for_each(
    ("accepted", "coding"),
    [
        ("", ""),
        ("identity", ""),
        ("br", "br"),
        ("gzip", "gzip"),
        ("gzip, br", "br"),
        ("br;q=0, gzip", "gzip"),
        ("br;q=0.0,gzip;q=0", ""),
        ("gzip;q=1, br;q=0.5", "gzip"),
        ("*", "br"),
        ("*;q=0", ""),
        ("br;q=0, *", "gzip"),
        ("GZIP", "gzip"),
        ("br ; q=0", ""),
        ("br;q=x", ""),
        ("deflate", ""),
        ("br;q=0.001", "br"),
        (",,;", ""),
        ("gzip;level=1", "gzip"),
    ],
)
def test_the_coding_is_the_one_liked_best(app: FastAPI, accepted: str, coding: str) -> None:
    assert _select_coding(accepted) == coding
    assert fetch(app, OPERAND, headers={"accept-encoding": accepted}).headers.get("content-encoding", "") == coding


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
