"""What a page says elsewhere: its card, what "Share" copies, its picture as a file, and the frame for other sites."""

from __future__ import annotations

import asyncio
import html
import json
import re
from xml.etree import ElementTree

from fastapi import FastAPI

from lanescope.app.cli import build_cli
from lanescope.app.kit.settings import Settings
from lanescope.app.kit.share import read_card
from lanescope.app.main import create_app
from lanescope.app.share.draw import draw_alone, list_colours
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


@for_each(
    ("address", "status"),
    [("/nothing", 404), ("/banks?pad=x", 422), ("/openapi.json", 404), ("/api/v1/gpu", 404), ("/embed/banks", 404)],
)
def test_what_is_no_page_is_not_shared(client: Client, address: str, status: int) -> None:
    answer = client.get("/api/v1/share", params={"address": address})
    assert answer.status_code == status and answer.json()["error"]["code"] in ("not_found", "no_page")


def test_the_command_prints_what_the_menu_shows() -> None:
    run = CliRunner().invoke(build_cli(), ["share", "https://h.example/banks?row_bytes=128"])
    assert run.exit_code == 0 and run.output.splitlines()[2] == "**8-way bank conflicts**"
    assert "(https://h.example/picture/banks.png?row_bytes=128)" in run.output
    said = CliRunner().invoke(build_cli(), ["share", "/tmem", "--json"]).output
    assert json.loads(said)["embed"].startswith('<iframe src="http://127.0.0.1:8000/embed/tmem"')


def test_the_command_answers_under_a_running_event_loop() -> None:
    async def share_in_a_loop() -> int:
        return CliRunner().invoke(build_cli(), ["share", "/banks?row_bytes=128"]).exit_code

    assert asyncio.run(share_in_a_loop()) == 0


# pictures and frames --------------------------------------------------------------------------------------------------


@for_each("page", PICTURED)
def test_a_frame_shows_the_page_s_picture_and_verdict_in_both_themes(client: Client, page: str) -> None:
    path, _, query = page.partition("?")
    card, text = read_card(client.get(page).text), client.get(f"/embed{page}").text
    dark, light = (
        html.unescape(re.findall(pattern, text)[0]) for pattern in (r'srcset="([^"]+)', r'<img src="([^"]+)')
    )
    assert html.escape(card.verdict or card.title) in text and f'href="{html.escape(page)}" target="_blank"' in text
    assert not re.search(r"<script|<form|<nav|<header", text)
    for theme, address in (("light", light), ("dark", dark)):
        answer = client.get(address)
        assert answer.headers["content-type"] == "image/svg+xml"
        root = ElementTree.fromstring(answer.text)
        assert "var(" not in answer.text and list_colours(theme)["--cell-line"] in answer.text
        if card.svg:  # the very picture of the page: its words, in its order
            drawn = ElementTree.fromstring(draw_alone(card.svg, theme, ""))
            assert list(root.itertext()) == list(drawn.itertext())
    chosen = client.get(f"/embed{path}?{query}&theme=dark").text
    assert 'data-theme="dark"' in chosen and "srcset" not in chosen


def test_a_picture_with_an_address_of_its_own_keeps_it(client: Client) -> None:
    answer = client.get("/picture/smem.svg?swizzle=64B&theme=dark", follow_redirects=False)
    assert answer.status_code == 307 and re.match(
        r"/smem\.svg\?.*swizzle=64B.*&theme=dark$", answer.headers["location"]
    )


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


def test_below_a_root_path_every_address_begins_with_it() -> None:
    app = create_app(settings=Settings(root_path="/tools/lanes"))
    text = fetch(app, "/tools/lanes/tmem", headers={"host": "h.example"}).body.decode()
    base = "http://h.example/tools/lanes"
    assert get_property(text, "og:image") == f"{base}/card/tmem.png" and f"({base}/tmem)" in text
    frame = fetch(app, "/tools/lanes/embed/tmem").body.decode()
    addresses = re.findall(r'(?:src|href|srcset)="([^"]+)"', frame)
    assert len(addresses) > 5 and all(address.startswith("/tools/lanes/") for address in addresses)
    assert fetch(app, "/tools/lanes/picture/tmem.svg").status == 200
