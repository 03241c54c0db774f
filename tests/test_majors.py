"""How wgmma's multiplicands lie in shared memory is a state of the page: its picture and its links follow it."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import Tile
from tests.cases import for_each
from tests.client import Client

WGMMA = "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"
FP8 = "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3"


def find_link(page: str, text: str) -> str:
    found = re.search(rf'href="([^"]+)">{text}', page)
    assert found, text
    return unescape(found[1])


@for_each("major", ["K", "MN"])
@for_each("name", ["a", "b"])
def test_the_major_of_an_operand_reaches_its_descriptor(client: Client, name: str, major: str) -> None:
    page = client.get(f"/i/{WGMMA}?{name}_major={major}").text
    there = find_link(page, f"{name.upper()}(?:'|&#39;)s descriptor")
    assert parse_qs(urlsplit(there).query)["major"] == [major]
    assert "data-verdict=match" in client.get(there).text
    other = find_link(page, f"{'ba'['ab'.index(name)].upper()}(?:'|&#39;)s descriptor")
    assert parse_qs(urlsplit(other).query)["major"] == ["K"]


@for_each(("major", "k"), [("K", 64), ("MN", 16)])
def test_b_shows_its_bytes_and_its_tile(client: Client, major: str, k: int) -> None:
    """A number for each 16 bytes: of every eighth k in K-major, of every eighth n in MN-major."""
    page = client.get(f"/i/{WGMMA}?b_major={major}").text
    picture = page[page.index('<figure class="mat" data-panel="b">') :]
    picture = picture[: picture.index("</figure>")]
    rows = re.findall(r"<text[^>]*dy[^>]*>((?:<tspan[^>]*>\d+</tspan>)+)</text>", picture)
    numbers = [[int(n) for n in re.findall(r">(\d+)<", row)] for row in rows]
    tile = Tile(16, major, get_mode("128B"), 128, k)
    if major == "K":
        assert len(numbers) == 2 and numbers[1][:8] == [int(tile.address(n, 8)) for n in range(8)]
    else:
        assert len(numbers) == 16 and numbers[3][:4] == [int(tile.address(8 * n, 3)) for n in range(4)]
    asked = parse_qs(urlsplit(find_link(page, "B(?:'|&#39;)s tile")).query)
    assert asked["major"] == [major] and asked["k"] == [str(k)]
    assert re.search(rf'data-state="b_major={major}" aria-current="true">{major}-major</a>', page)


def test_only_16_bit_elements_of_shared_memory_have_a_choice(client: Client) -> None:
    page = client.get(f"/i/{FP8}?b_major=MN").text
    assert "data-state" not in page and "b_major is &#39;MN&#39;. Allowed: K." in page
    page = client.get("/i/mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").text
    assert "data-state" not in page
    picture = client.get(f"/i/{WGMMA}/d.svg?b_major=MN", headers={"accept": "application/json"})
    assert picture.status_code == 422  # a picture of registers has no such option


def test_a_pasted_major_opens_the_page_in_it(client: Client) -> None:
    text = "SM90::GMMA::MMA_64x128x16_F32BF16BF16_SS<GMMA::Major::K, GMMA::Major::MN>"
    answer = client.post("/api/v1/read", json={"text": text}).json()
    assert answer["link"].endswith("?b_major=MN")
