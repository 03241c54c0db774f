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
START = "0x4000004000010100"


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


LINKED = (
    "show=memory&mn=16&k=64",
    "unit=element&mn=16&k=64",
    "base=0x1010&mn=16&k=64",
    "major=MN&swizzle=64B&mn=64&k=16&down=mn",
)


@pytest.mark.parametrize("query", take_sample(LINKED, 2))
def test_cells_of_every_kind_are_linked_to_memory(open_page: Any, query: str) -> None:
    """A cell under the pointer names its element and address, as the engine has it; the same element is marked in
    memory.
    """
    page = open_page(f"/smem?{query}", wait=False)
    given = dict(part.split("=") for part in query.split("&"))
    tile, _ = memory.parse_tile(given)
    cells = TileMap(tile, given.get("down", ""), given.get("unit", "chunk"))
    panels = {p["name"]: p for p in read_drawing(page, "whole")["panels"]}
    row, col = 5, 3
    first = tile.base // 128 * 128
    at = int(cells.list_cell_offsets()[row, col]) * cells.bits // 8 + tile.base
    place = (at - first) * 8 // cells.bits
    panel, cell = (panels["logical"], row * cells.cols + col) if "logical" in panels else (panels["memory"], place)
    point_at(page, "whole", panel, cell // panel["cols"], cell % panel["cols"])
    expect(page.locator("#chunk")).to_contain_text(f" = {at}\n")
    mn, k = int(cells.mn[row, col]), int(cells.k[row, col])
    expect(page.locator("#chunk")).to_contain_text(f"row {mn}, k {k}" if tile.major == "K" else f"k {k}, mn {mn}")
    m = panels["memory"]
    assert float(page.locator("[data-drawing=whole] [data-panel=memory] .pointed").get_attribute("x")) == pytest.approx(
        m["x"] + place % m["cols"] * m["cell_width"], abs=0.01
    )
    assert float(page.locator("[data-drawing=whole] [data-panel=memory] .pointed").get_attribute("y")) == pytest.approx(
        m["y"] + place // m["cols"] * m["cell_height"], abs=0.01
    )


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


def test_a_dense_tile_has_its_atom_close_up(open_page: Any) -> None:
    """The atom's cells are as large as their numbers need, and answer like those of the whole."""
    page = open_page("/smem?mn=256&k=64", wait=False)
    atom, whole = (read_drawing(page, name)["panels"][0] for name in ("atom", "whole"))
    assert (atom["rows"], atom["cols"]) == (8, 8) and atom["cell_height"] >= 14 > whole["cell_height"]
    point_at(page, "atom", atom, 3, 2)
    expect(page.locator("#chunk")).to_contain_text("row 3, k 16 to 23")
    expect(page.locator("[data-drawing=atom] [data-panel=memory] .pointed")).to_have_count(1)
    expect(page.locator("[data-drawing=whole] [data-panel=memory] .pointed")).to_have_count(1)
    assert page.locator("[data-drawing=atom]").bounding_box()["y"] < 700
    page.hover(".card[data-stride=sbo]")
    expect(page.locator("[data-stride=sbo].lit")).to_have_count(page.locator("[data-stride=sbo]").count())
    assert page.locator("g[data-stride=sbo]").count() and not page.locator("[data-stride=lbo].lit").count()
    page.goto(page.url.replace("mn=256&k=64", "mn=8&k=64"))
    assert page.locator("[data-drawing]").count() == 1  # one atom is the whole


def test_a_tile_is_chosen_by_clicks(open_page: Any) -> None:
    """A preset, a major and a swizzle are one click each; sizes grow to whole atoms and nothing else changes."""
    page = open_page("/smem?mn=64&k=64&number=memory", wait=False)
    page.click(".preset >> text=128×32")
    expect(page.locator(".preset[aria-current]")).to_have_text(re.compile("^f16, K-major, 64B"))
    page.click(".segments a:text-is('128B')")
    expect(page).to_have_url(re.compile("k=64"))
    assert "k=64" in page.url and "mn=128" in page.url and "number=memory" in page.url
    page.click(".segments a:text-is('MN-major')")
    expect(page.locator(".smem .verdict")).to_contain_text("MN-major")
    blocked = page.locator(".segments > span", has_text="8-bit elements are read K-major only")
    expect(blocked).to_have_count(1)
    page.fill("[name=k]", "32")
    page.press("[name=k]", "Enter")
    expect(page.locator(".smem .verdict")).to_contain_text("128×32 elements of 16 bits, MN-major")
