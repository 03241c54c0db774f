"""What a page says elsewhere: its card, what "Share" copies, its picture as a file, and the frame for other sites."""

from __future__ import annotations

import html
import json
import re

from fastapi import FastAPI

from lanescope.app.cli import build_cli
from tests.asgi import fetch
from tests.cases import for_each
from tests.client import Client
from tests.command import CliRunner
from tests.sample import take_sample
from tests.test_work import PAGES

M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
PICTURED = (
    "/banks?row_bytes=128",
    "/chain",
    "/tmem",
    "/tiles/mma",
    "/tiles/mma/chain",
    "/guide/swizzle",
    "/dump?example=swizzle",
    f"/i/{M16}?pin=a:5,9",
    "/smem?swizzle=64B",
    "/idesc/0x08400490?kind=f16",
    "/zero-column-mask/0x0003028000000000?m=64&n=128",
)
BASE = "http://testserver"


def get_property(text: str, name: str) -> str:
    found = re.findall(rf'<meta (?:property|name)="{name}" content="([^"]*)">', text)
    assert len(found) == 1, (name, found)
    return html.unescape(found[0])


# cards ----------------------------------------------------------------------------------------------------------------


@for_each(
    ("page", "title"),
    [
        ("/banks?row_bytes=128", "Bank conflicts of one access: 8-way bank conflicts"),
        ("/banks?row_bytes=128&pad=16", "Bank conflicts of one access: No bank conflicts"),
        (
            f"/i/{M16}?pin=a:5,9",
            "m16n8k16 mma, f32 += f16 × f16: A[5][9] is in lane 20, register R2, bits 31:16",
        ),
        (f"/i/{M16}", "m16n8k16 mma, f32 += f16 × f16"),
    ],
)
def test_a_card_says_the_verdict_of_its_page(client: Client, page: str, title: str) -> None:
    assert get_property(client.get(page).text, "og:title") == title


def test_a_card_names_the_host_that_was_asked(app: FastAPI) -> None:
    for host in ("one.example", "two.example", "one.example"):
        text = fetch(app, "/tmem", headers={"host": host}).body.decode()
        assert get_property(text, "og:image") == f"http://{host}/card/tmem.png"
        assert get_property(text, "og:url") == f"http://{host}/tmem"


def test_what_is_wrong_or_uploaded_has_no_card(client: Client) -> None:
    for text in (client.get("/banks?pad=x").text, client.get("/nothing").text):
        assert "og:image" not in text and "data-share=" not in text and "<!--" not in text


# what is copied -------------------------------------------------------------------------------------------------------


@for_each("page", PICTURED)
def test_the_menu_shows_what_the_api_answers(client: Client, page: str) -> None:
    text = client.get(page).text
    told = client.get("/api/v1/share", params={"address": page}).json()
    shown = dict(re.findall(r'<pre data-copy data-share-text="(\w+)">(.*?)</pre>', text, re.S))
    assert list(shown) == ["link", "markdown", "latex", "embed"]
    assert {name: html.unescape(said) for name, said in shown.items()} == {name: told[name] for name in shown}
    links = dict(re.findall(r'<a href="([^"]+)" data-share-link="(\w+)">', text))
    assert {form: BASE + html.unescape(link) for link, form in links.items()} == {
        f: told[f] for f in ("svg", "png", "pdf")
    }


def test_the_command_prints_what_the_menu_shows() -> None:
    run = CliRunner().invoke(build_cli(), ["share", "https://h.example/banks?row_bytes=128"])
    assert run.exit_code == 0 and run.output.splitlines()[2] == "**8-way bank conflicts**"
    assert "(https://h.example/picture/banks.png?row_bytes=128)" in run.output
    said = CliRunner().invoke(build_cli(), ["share", "/tmem", "--json"]).output
    assert json.loads(said)["embed"].startswith('<iframe src="http://127.0.0.1:8000/embed/tmem"')


# pictures and frames --------------------------------------------------------------------------------------------------


def test_only_frames_for_others_may_be_framed_by_others(app: FastAPI) -> None:
    """Of pages: pictures and data run nothing and are for everybody (tests/test_headers.py)."""
    for page in (*take_sample(PAGES, 12), "/embed/banks", "/embed/nothing", "/embed"):
        headers = fetch(app, page).headers
        assert "x-frame-options" not in headers
        if headers.get("content-type", "").startswith("text/html"):
            framed = headers["content-security-policy"].endswith("frame-ancestors *")
            assert framed == page.startswith("/embed/"), page
    policy = fetch(app, "/embed/banks").headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ") and "script" not in policy and "form-action 'none'" in policy
