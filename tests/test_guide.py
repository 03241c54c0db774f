"""The guide: every page renders, every link opens, every figure is drawn, and what it says in numbers is what the engine computes."""

from __future__ import annotations

import re
from html import unescape

import pytest
from starlette.testclient import TestClient

from app import guide_pages
from app.main import create_app
from layouts import chain, find
from layouts.errors import LayoutError
from layouts.swizzle import mode
from layouts.tiling import Tile


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(create_app())


@pytest.mark.parametrize("slug", guide_pages.slugs())
def test_pages_render_and_their_links_open(client: TestClient, slug: str) -> None:
    page = client.get(f"/guide/{slug}")
    assert page.status_code == 200 and "@figure" not in page.text and "FIGURE-" not in page.text
    main = page.text[page.text.index('<main id="main">') :]
    if slug in guide_pages.ORDER:
        assert main.count("<svg") >= 1
    links = set(re.findall(r'href="(/[^"]*)"', main))
    assert links
    for link in links:
        assert client.get(unescape(link)).status_code == 200, link


def test_every_source_is_in_the_order_and_has_a_title() -> None:
    assert {path.stem for path in guide_pages.GUIDE.glob("*.md")} == set(guide_pages.ORDER)
    assert all(guide_pages.title_of(slug) for slug in guide_pages.ORDER)


def test_a_figure_that_draws_nothing_is_refused() -> None:
    with pytest.raises(LayoutError, match="draws nothing"):
        guide_pages.figure_html("/nothing", "x")


def test_the_ldmatrix_table_is_what_chain_computes() -> None:
    text = guide_pages.source("ldmatrix")
    rows = re.findall(r"^\| ([AB]) 16×(?:16|8) f16 \| (\w+).*? \| (x\d(?:\.trans)?) \| line (.*?), byte (.*?) \|$", text, re.M)
    assert len(rows) == 4
    for letter, contiguous, load, line, byte in rows:
        op = find("mma.m16n8k16.row.col.f32.f16.f16.f32").operand(letter.lower())
        best = chain.advise(op, "K" if contiguous == "K" else "MN")[0]
        assert f".{load}." in best.load.instruction.ptx.replace("m8n8.", ".") or best.load.instruction.ptx.endswith(f"{load}.shared.b16")
        assert chain.lane_formula(best) == {"line": line.replace("·", "*"), "byte": byte.replace("·", "*")}


def test_the_cute_string_and_strides_of_the_tile_page() -> None:
    text = guide_pages.source("tile-to-shape")
    tile = Tile(16, "K", mode("64B"), 64, 64)
    assert tile.cute()["elements"] in text
    assert tile.strides == (512, 4096) and "next 8 rows are 512 bytes away and the next 32 columns 4096" in text
    other = Tile(16, "K", mode("64B"), 64, 64, order="k")
    assert (other.strides[0], other.strides[1]) == (1024, 512) and "in the second, 1024 and 512" in text


def test_the_swizzle_table_is_the_modes() -> None:
    text = guide_pages.source("swizzle")
    for name in ("none", "32B", "64B", "128B"):
        row = mode(name)
        assert re.search(rf"^\| {name} \| {row.width_bytes} B \|.*Swizzle<{row.bits},4,3> \|$", text, re.M)


def test_lanes_page_answers_are_right() -> None:
    op = find("mma.m16n8k16.row.col.f32.f16.f16.f32").operand("a")
    assert op.owner(11, 2) == [(13, 2)]
    assert sorted({int(r) for r in op.rows[13]}) == [3, 11] and sorted({int(c) for c in op.cols[13]}) == [2, 3, 10, 11]
    assert op.register_of(5)[0] == op.register_of(4)[0] == 2


def test_m8n8k4_formula() -> None:
    op = find("mma.m8n8k4.row.col.f32.f16.f16.f32").operand("d")
    for lane in range(32):
        for i in range(8):
            h = lane // 16
            assert int(op.rows[lane, i]) == (lane & 1) + (i & 2) + 4 * h and int(op.cols[lane, i]) == (i & 4) + (lane & 2) + (i & 1)
