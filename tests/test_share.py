"""What a page says elsewhere: its card, what "Share" copies, its picture as a file, and the frame for other sites."""

from __future__ import annotations

import asyncio
import html
import json
import re
import struct
from xml.etree import ElementTree

import pytest
from fastapi import FastAPI

from lanescope.app.cli import build_cli
from lanescope.app.kit import picture
from lanescope.app.kit.settings import Settings
from lanescope.app.kit.share import PageCard, build_share, read_card
from lanescope.app.main import create_app
from lanescope.app.share.card import draw_card
from lanescope.app.share.draw import draw_alone, list_colours
from tests.asgi import fetch
from tests.cases import for_each
from tests.client import Client
from tests.command import CliRunner
from tests.sample import take_sample
from tests.test_work import PAGES

DRAWS = pytest.mark.skipif(bool(picture.explain_missing_renderer()), reason="PNG cannot be made here")
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


def list_pages(client: Client) -> dict[str, str]:
    """Every page of PAGES by its address, with its text; files and redirects left out."""
    answers = {page: client.get(page) for page in PAGES}
    return {
        page: answer.text
        for page, answer in answers.items()
        if answer.headers["content-type"].startswith("text/html")
        and "<html" in answer.text
        and not page.startswith("/embed/")
    }


def get_property(text: str, name: str) -> str:
    found = re.findall(rf'<meta (?:property|name)="{name}" content="([^"]*)">', text)
    assert len(found) == 1, (name, found)
    return html.unescape(found[0])


def measure_png(content: bytes) -> tuple[int, ...]:
    """Width and height, from the header."""
    assert content.startswith(b"\x89PNG\r\n\x1a\n") and content[12:16] == b"IHDR"
    return struct.unpack(">II", content[16:24])


def list_texts(svg: str) -> list[str]:
    return [text for text in ElementTree.fromstring(svg).itertext() if text.strip()]


# cards ----------------------------------------------------------------------------------------------------------------


@DRAWS
def test_every_page_has_a_card_of_1200_by_630_pixels(client: Client) -> None:
    pages = list_pages(client)
    assert len(pages) > 40
    images = {}
    for page, text in pages.items():
        title = re.findall(r"<title>(.*?)</title>", text, re.S)[0]
        name = re.sub(r" · Lanescope( guide)?$", "", " ".join(html.unescape(title).split()))
        assert get_property(text, "og:title").startswith(name), page
        assert [get_property(text, f"og:image:{side}") for side in ("width", "height")] == ["1200", "630"]
        assert get_property(text, "og:description") and get_property(text, "twitter:card") == "summary_large_image"
        images[get_property(text, "og:image")] = page
    for image, page in take_sample(list(images.items()), 3):  # another process draws them
        assert image.startswith(BASE + "/"), page
        answer = client.get(image.removeprefix(BASE))
        assert answer.status_code == 200 and answer.headers["content-type"] == "image/png", (page, image)
        assert measure_png(answer.content) == (1200, 630), page


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


def test_a_verdict_that_is_the_title_is_said_once() -> None:
    card = read_card(
        '<title>A wrong word · Lanescope</title><section class="verdict bad"><h2>A wrong word.</h2></section>'
    )
    assert (card.headline, card.look) == ("A wrong word", "bad")


@for_each(("look", "mark"), [("ok", "✓ "), ("bad", "✗ "), ("warn", "! "), ("plain", "")])
def test_a_card_is_titled_with_its_verdict_and_the_sign_of_it(look: str, mark: str) -> None:
    card = PageCard("Banks", "", verdict="8-way bank conflicts", look=look, svg="<svg>")
    assert list_texts(draw_card(card, ""))[1:3] == ["Banks", f"{mark}8-way bank conflicts"]


def test_a_card_without_a_picture_says_what_the_page_is_about() -> None:
    card = PageCard("HTTP API", "Every route " * 40)
    title, headline, *lines, site, _ = list_texts(draw_card(card, ""))
    assert (title, headline, site) == ("HTTP API", "HTTP API", "Lanescope")
    assert len(lines) == 5 and all(len(line) <= 65 for line in lines) and lines[-1].endswith(" …")


@for_each(
    ("size", "shown"),
    [
        ((400, 200), (400, 200)),  # whole, enlarged
        ((2000, 400), (2000, 400)),  # whole at 0.55
        ((8000, 300), (1100 / 0.7, 300)),  # would be 0.14 of its size: its left part at 0.7
    ],
)
def test_a_card_shows_a_picture_whole_unless_nothing_could_be_read(
    size: tuple[int, int], shown: tuple[float, float]
) -> None:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}"'
    drawn = ElementTree.fromstring(draw_card(PageCard("Wide", ""), f'{svg} height="{size[1]}"><rect/></svg>'))
    placed = next(one for one in drawn.iter("{http://www.w3.org/2000/svg}svg") if one is not drawn)
    assert [float(n) for n in placed.attrib["viewBox"].split()] == pytest.approx([0, 0, *shown], abs=0.1)
    x, y, wide, high = (float(placed.attrib[name]) for name in ("x", "y", "width", "height"))
    assert x >= 50 and x + wide <= 1150.1 and y >= 56 and y + high <= 586, "inside the card, above its foot"
    assert wide / high == pytest.approx(shown[0] / shown[1], rel=0.01)


@for_each(("ring", "left"), [(10, 0), (4000, 4000 - 550 / 0.7), (7990, 8000 - 1100 / 0.7)])
def test_a_card_shows_the_part_of_a_large_picture_that_has_the_pin(ring: float, left: float) -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8000 300" width="8000" height="300">'
    svg += f'<rect class="ringed" x="{ring - 5}" y="9" width="10" height="8"/></svg>'
    drawn = ElementTree.fromstring(draw_card(PageCard("Wide", ""), svg))
    placed = next(one for one in drawn.iter("{http://www.w3.org/2000/svg}svg") if one is not drawn)
    assert float(placed.attrib["viewBox"].split()[0]) == pytest.approx(left, abs=1)


@for_each(
    "page",
    [
        f"/i/{M16}?pin=a:5,9",
        "/smem?pin=tile:5,9",
        "/tmem?pin=cta0:70,3",
        "/tiles/mma?pin=a:5,9",
        "/tiles/mma/chain?pin=c:5,9",
        "/tiles/copy?pin=source:5,9",
        "/tiles/loop?pin=a:5,9",
        "/layouts/tv?pin=tile:5,9",
        "/tiles/mma?atom=SM100_MMA_F16BF16_SS<half_t,half_t,float,128,128,UMMA::Major::K,UMMA::Major::K>&pin=d:9,5",
    ],
)
def test_what_is_shared_of_a_pinned_page_rings_the_pin(client: Client, page: str) -> None:
    """The picture of the share menu, from which the card is drawn."""
    picture = client.get("/api/v1/share", params={"address": page}).json()["svg"].removeprefix(BASE)
    assert 'class="ringed"' in client.get(picture).text, picture
    without = client.get("/api/v1/share", params={"address": re.sub("[?&]pin=.*", "", page)}).json()["svg"]
    assert 'class="ringed"' not in client.get(without.removeprefix(BASE)).text


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


@DRAWS
@for_each("page", take_sample(PICTURED, 4))
def test_the_links_of_the_markdown_answer(client: Client, page: str) -> None:
    markdown = client.get("/api/v1/share", params={"address": page}).json()["markdown"]
    image, link = re.findall(r"\]\(([^()\s]+)\)", markdown)
    assert client.get(image.removeprefix(BASE)).headers["content-type"] == "image/png"
    answer = client.get(link.removeprefix(BASE))
    assert answer.status_code == 200 and f"<title>{html.escape(read_card(answer.text).title)}" in answer.text


def test_an_issue_has_picture_verdict_and_link() -> None:
    card = PageCard("Banks *and* [rows]", "", verdict="8-way", look="bad", svg="<svg>")
    assert build_share(card, "/banks?address=(0 16)", "https://h/root").markdown.split("\n\n") == [
        r"![Banks \*and\* \[rows\]](https://h/root/picture/banks.png?address=%280%2016%29)",
        "**8-way**",
        r"[Banks \*and\* \[rows\]](https://h/root/banks?address=%280%2016%29)",
    ]


def test_a_page_without_a_picture_gives_link_and_markdown(client: Client) -> None:
    told = client.get("/api/v1/share?address=/docs").json()
    assert {"svg", "png", "pdf", "latex", "embed"}.isdisjoint(told) and told["look"] == "plain"
    assert told["markdown"] == "[HTTP API](http://testserver/docs)"


def test_an_instruction_descriptor_is_shared_with_its_picture(client: Client) -> None:
    told = client.get("/api/v1/share?address=/idesc").json()
    assert told["look"] == "ok" and told["svg"] == f"{BASE}/picture/idesc.svg"
    assert "\n\n**f32 += bf16 × bf16, M 128 × N 256 × K 16**\n\n[0x08400490" in told["markdown"]


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


def test_a_frame_of_a_page_without_a_picture_says_so(client: Client) -> None:
    answer = client.get("/embed/docs")
    assert answer.status_code == 422 and "/docs has no picture" in answer.text
    assert client.get("/embed/banks?theme=pink").status_code == 422
    assert client.get("/embed/nothing").status_code == client.get("/embed/embed/banks").status_code == 404


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
