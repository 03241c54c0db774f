"""The tile explorer as a person uses it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from lanescope.app.memory import facts as memory
from lanescope.shared.tile_map import TileMap
from tests.sample import take_sample

pytestmark = pytest.mark.browser


def read_drawing(page: Page, name: str) -> Any:
    """What the tile page's script knows of one drawing."""
    data = page.evaluate("JSON.parse(document.getElementById('data').textContent)")
    return next(one for one in data["drawings"] if one["name"] == name)


def point_at(page: Page, drawing: str, panel: Any, row: int, col: int) -> None:
    """Move the pointer to a cell of a tile's picture."""
    picture = page.locator(f"[data-drawing={drawing}] [data-panel={panel['name']}] > svg")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box
    page.mouse.move(
        box["x"] + panel["x"] + (col + 0.5) * panel["cell_width"],
        box["y"] + panel["y"] + (row + 0.5) * panel["cell_height"],
    )


@pytest.mark.parametrize("plain", ["0", "1"])
def test_tile_explorer_links_both_pictures(open_page: Any, plain: str) -> None:
    page = open_page(f"/smem?plain={plain}", wait=False)
    tile, _ = memory.parse_tile({})
    cells = TileMap(tile)
    views = {name: cells.list_cell_offsets(name == "before").ravel() for name in ("before", "after")}
    panels = {p["name"]: p for p in read_drawing(page, "whole")["panels"]}
    row, col = 11, 4
    chunk = row * cells.cols + col
    m = panels["memory"]
    point_at(page, "whole", panels["logical"], row, col)
    place = int((views["before"] if plain == "1" else views["after"])[chunk])
    mark = page.locator("[data-drawing=whole] [data-panel=memory] .pointed")
    expect(page.locator("html")).to_have_attribute("data-chunk", str(chunk))
    assert float(mark.get_attribute("x")) == pytest.approx(m["x"] + place % 8 * m["cell_width"])
    assert float(mark.get_attribute("y")) == pytest.approx(m["y"] + place // 8 * m["cell_height"])
    expect(page.locator("#chunk")).to_contain_text("row 11, k 32 to 39")
    expect(page.locator("#chunk")).to_contain_text(f" = {int(views['after'][chunk]) * 16}\n")
    point_at(page, "whole", m, 0, 0)
    first = list(views["before" if plain == "1" else "after"]).index(0)
    expect(page.locator("html")).to_have_attribute("data-chunk", str(first))
    point_at(page, "whole", m, place // 8, place % 8)
    expect(page.locator("html")).to_have_attribute("data-chunk", str(chunk))


SPOKEN = ("swizzle=64B&major=MN&mn=128&k=32&base=2048", "", "swizzle=none&unit=element&mn=16&k=32&element_bits=8")


@pytest.mark.parametrize("query", take_sample(SPOKEN, 2))
def test_a_cell_says_its_place_its_xor_and_its_banks(open_page: Any, query: str) -> None:
    """By pointer in silence, by keyboard aloud; the address bits are those of the engine, changed as its swizzle
    changes them.
    """
    page = open_page(f"/smem?{query}", wait=False)
    tile, _ = memory.parse_tile(dict(pair.split("=") for pair in query.split("&") if pair and "unit" not in pair))
    cells = TileMap(tile, unit="element" if "unit" in query else "chunk")
    size, swizzle = cells.bits // 8, tile.mode.swizzle()
    row, col = min(5, cells.rows - 1), min(6, cells.cols - 1)
    page.focus("[data-drawing=whole] [data-panel] svg >> nth=0")
    for key, count in (("ArrowDown", row + 1), ("ArrowUp", 1), ("ArrowRight", col)):
        for _ in range(count):
            page.keyboard.press(key)
    expect(page.locator("html")).to_have_attribute("data-chunk", str(row * cells.cols + col))
    mn, k = int(cells.mn[row, col]), int(cells.k[row, col])
    before, after = (tile.base + int(cells.list_cell_offsets(plain)[row, col]) * size for plain in (True, False))
    assert after == swizzle(before)
    first, *rest = page.inner_text("#chunk").split("\n")
    place, banks = first.split(" · ")
    along = f"{k if tile.major == 'K' else mn}" + (
        f" to {(k if tile.major == 'K' else mn) + cells.span - 1}" if cells.span > 1 else ""
    )
    assert place == f"{cells.unit}: " + (f"row {mn}, k {along}" if tile.major == "K" else f"k {k}, mn {along}")
    for text, name, address in zip(rest, ("before", "after"), (before, after), strict=False):
        said, bits, *numbers = re.split(r" = |(?<=[a-z]) +", text)
        high, *groups = bits.split(" ")
        assert said == name and numbers == [f"{address:#x}", str(address)]
        assert int(bits.replace(" ", ""), 2) == address and [len(group) for group in groups] == [3, 3, 4]
        assert len(high) >= 2
    terms = [tuple(map(int, pair)) for pair in re.findall(r"bit (\d+) \^= bit (\d+)", rest[2])]
    assert len(terms) == swizzle.bits and sum((before >> other & 1) << bit for bit, other in terms) == before ^ after
    assert rest[2] == "no swizzle: the address is not changed" or terms
    touched = sorted({(after + byte) // 4 % 32 for byte in range(size)})
    assert banks == (f"bank {touched[0]}" if len(touched) == 1 else f"banks {touched[0]} to {touched[-1]}")
    spoken = page.inner_text("#spoken")
    assert spoken == f"{place.replace(': ', ' ', 1)}: address {after}, {banks}"
    page.hover("[data-drawing=whole] [data-panel] svg >> nth=0")
    expect(page.locator("html")).not_to_have_attribute("data-chunk", str(row * cells.cols + col))
    assert page.inner_text("#spoken") == spoken
