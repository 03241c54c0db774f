"""A tile as a grid: every cell's element, number and place, in both orientations and units; the strides against what
hardware reads; the figures.
"""

from __future__ import annotations

import re
from html import unescape
from itertools import product

import numpy as np
import pytest

from lanescope.app.diagram import forms as pictures
from lanescope.app.memory import atoms as atom_views, tile_figure as tile_views
from lanescope.app.memory.choices import LABELS
from lanescope.descriptor.matrix import View, reads
from lanescope.errors import LayoutError
from lanescope.shared.swizzle import MODES, Mode, get_mode
from lanescope.shared.tile_map import DOWN, UNITS, TileMap, list_tile_strides
from lanescope.shared.tiling import ELEMENT_BITS, Tile
from tests.cases import for_each
from tests.client import Client
from tests.command import run_lanescope

KINDS = [(bits, major, m) for bits, major, m in product(ELEMENT_BITS, ("K", "MN"), MODES) if major == "K" or bits == 16]


def build_tile(
    bits: int, major: str, m: Mode, *, across: int = 3, along: int = 2, base: int = 0x1000, order: str = ""
) -> Tile:
    wide = m.width_bytes * 8 // bits
    mn, k = (8, wide) if major == "K" else (wide, 8)
    return Tile(bits, major, m, mn * across, k * along, order=order, base=base)


@for_each("kind", KINDS, ids=str)
def test_every_cell_is_where_its_element_is(kind: tuple[int, str, Mode]) -> None:
    for down, unit, base, order in product(("", *DOWN), UNITS, (0x1000, 0x1010), ("mn", "k")):
        tile = build_tile(*kind, base=base, order=order)
        if unit == "element" and tile.element_bits < 8:
            continue
        cells = TileMap(tile, down, unit)
        assert cells.rows_are_mn == (down == "mn" or (not down and tile.major == "K"))
        assert cells.rows * cells.cols * cells.span == tile.mn * tile.k == cells.logical.size * cells.span
        for plain, where in (
            (False, tile.address(cells.mn, cells.k) - tile.base),
            (True, tile.compute_offset_before(cells.mn, cells.k)),
        ):
            place = cells.list_cell_offsets(plain)
            assert np.array_equal(place * cells.bits // 8, where) and len(np.unique(place)) == place.size
        assert np.array_equal(np.sort(cells.logical, axis=None), np.arange(cells.logical.size))
        along = cells.k if tile.major == "K" else cells.mn
        ordered = along.ravel()[np.argsort(cells.logical, axis=None)]
        count = (tile.k if tile.major == "K" else tile.mn) // cells.span
        assert np.array_equal(ordered[:count], np.arange(count) * cells.span)
        for row, col in ((0, 0), (cells.rows - 1, cells.cols - 1), (cells.rows // 2, cells.cols // 3)):
            assert cells.find_cell(int(cells.mn[row, col]), int(cells.k[row, col])) == (row, col)
        assert np.array_equal(cells.chunk, along // tile.per)


@for_each("kind", KINDS, ids=str)
def test_strides_join_the_places_that_the_hardware_reads(kind: tuple[int, str, Mode]) -> None:
    """Each leads from element (0, 0) to its element; a change of its field moves what an instruction reads exactly
    where it is told to be read.
    """
    for across, along, order in product((1, 2, 8), (1, 2, 4), ("mn", "k")):
        tile = build_tile(*kind, across=across, along=along, order=order)
        word, bits, major = tile.descriptor(), tile.element_bits, tile.major
        for rows in {8, min(tile.mn, 256)}:
            found = {stride.name: stride for stride in list_tile_strides(tile, rows)}
            for stride in found.values():
                field = "lbo" if stride.name == "LBO" else "sbo"
                assert (
                    tile.compute_offset_before(stride.mn, stride.k) == stride.bytes == getattr(word, f"{field}_bytes")
                )
                view = View(rows, tile.step(), bits, major)
                changed = not np.array_equal(
                    reads(word, view), reads(word.replace(**{f"{field}_encoded": 0x155}), view)
                )
                assert stride.read == changed, (stride, rows)
            swizzled_k = major == "K" and tile.mode.chunks > 1
            assert ("LBO" in found) == (
                not swizzled_k and (tile.atoms[1] > 1 if tile.mode.chunks == 1 else tile.atoms[0] > 1)
            )
            assert ("SBO" in found) == (
                tile.atoms[0] > 1 if major == "K" or tile.mode.chunks == 1 else tile.atoms[1] > 1
            )


def find_brackets(svg: str) -> dict[str, list[str]]:
    """The strides drawn, by name, with how their lines look."""
    out: dict[str, list[str]] = {}
    for name, body in re.findall(r'<g [^>]*data-stride="(\w+)">(.*?)</g>', svg):
        out.setdefault(name, []).append("dashed" if "dasharray" in body else "solid")
    return out


def test_the_strides_are_drawn_in_the_tile_and_in_memory() -> None:
    """128×16 M-major with the 128-byte swizzle has two atoms along M: LBO leads to the second, though 64 rows do not
    read it.
    """
    tile = Tile(16, "MN", get_mode("128B"), 128, 16)
    assert find_brackets(tile_views.draw_tile(tile, None, 64).extra) == {"lbo": ["dashed"] * 2, "sbo": ["solid"] * 2}
    assert find_brackets(tile_views.draw_tile(tile, None, 128).extra) == {"lbo": ["solid"] * 2, "sbo": ["solid"] * 2}
    four = {
        ("K", "none"): {"lbo", "sbo"},
        ("K", "64B"): {"sbo"},
        ("MN", "none"): {"lbo", "sbo"},
        ("MN", "64B"): {"lbo", "sbo"},
    }
    for (major, name), drawn in four.items():
        for down in DOWN:
            extra = tile_views.draw_tile(Tile(16, major, get_mode(name), 128, 64), tile_views.TileLook(down=down)).extra
            assert find_brackets(extra).keys() == drawn, (major, name, down)


def test_a_bracket_ends_at_the_cell_that_its_stride_leads_to() -> None:
    for major, name, down in product(("K", "MN"), ("none", "64B"), DOWN):
        tile = Tile(16, major, get_mode(name), 64, 64)
        drawing = tile_views.draw_tile(tile, tile_views.TileLook(down=down, show="tile"))
        (panel,) = drawing.figure.panels
        for stride in list_tile_strides(tile, 64):
            row, col = drawing.map.find_cell(stride.mn, stride.k)
            path = re.search(rf'data-stride="{stride.name.lower()}"><path d="([^"]+)"', drawing.extra)
            assert path
            (end,) = re.findall(r"[VH]([\d.]+)", path[1])
            where = panel.y + (row + 0.5) * panel.cell_height if row else panel.x + (col + 0.5) * panel.cell_width
            assert float(end) == pytest.approx(where, abs=0.06) and (row == 0) != (col == 0)


def test_cells_carry_the_number_that_was_asked_for() -> None:
    tile = Tile(16, "K", get_mode("128B"), 16, 64, base=0x1010)
    for number, shown in (("logical", "logical"), ("memory", "memory")):
        drawing = tile_views.draw_tile(tile, tile_views.TileLook(number=number))
        here, memory = drawing.figure.panels
        wanted = drawing.map.logical if shown == "logical" else drawing.map.list_cell_offsets()
        assert here.texts == [[str(n) for n in row] for row in wanted.tolist()]
        assert memory.texts is not None and memory.category is not None
        flat = [text for row in memory.texts for text in row]
        for place, text in zip(drawing.place.ravel().tolist(), wanted.ravel().tolist(), strict=True):
            assert flat[place] == str(text)
        empty = [n for n, text in enumerate(flat) if not text]
        assert len(empty) == len(flat) - drawing.place.size and (memory.category.ravel()[empty] == -1).all()
    assert all(
        panel.texts is None for panel in tile_views.draw_tile(tile, tile_views.TileLook(number="none")).figure.panels
    )


@for_each(
    ("query", "field"),
    [
        ("down=x", "down"),
        ("unit=word", "unit"),
        ("number=1", "number"),
        ("show=x", "show"),
        ("plain=2", "plain"),
        ("unit=element&mn=1024&k=64", "unit"),
        ("unit=element&element_bits=1&mn=64&k=1024", "unit"),
    ],
)
def test_wrong_options_are_named_and_the_picture_stays(client: Client, query: str, field: str) -> None:
    page = client.get(f"/smem?{query}")
    label = LABELS[field]
    assert page.status_code == 422 and re.search(rf'role="alert">{label}(: | is )', page.text)
    assert "drawn in the usual way" in page.text and 'data-drawing="whole"' in page.text
    if "mn=1024" in query:
        assert 'value="1024"' in page.text and "1024×64 elements of" in page.text
    refused = client.get(f"/smem.svg?{query}", headers={"accept": "application/json"})
    assert refused.status_code == 422


def test_a_wrong_option_of_the_atoms_leaves_them_drawn(client: Client) -> None:
    page = client.get("/smem/atoms?element_bits=4")
    assert (
        page.status_code == 422
        and f"{LABELS['element_bits']} is 4" in page.text
        and page.text.count("<figure class") >= 8
    )


def test_the_state_of_the_picture_is_in_its_address(client: Client) -> None:
    query = "major=MN&swizzle=64B&mn=64&k=16&down=mn&unit=element&number=memory&show=tile&plain=1"
    page = client.get(f"/smem?{query}").text
    links = [unescape(link) for link in re.findall(r'href="(/smem\.\w+\?[^"]+)"', page)]
    assert len(links) == 8 and all(set(query.split("&")) <= set(link.partition("?")[2].split("&")) for link in links)
    svg = client.get(links[0])
    assert (
        svg.status_code == 200
        and "1 cell = one 16-bit element" in svg.text
        and "memory" not in re.sub(r"<desc>.*?</desc>", "", svg.text)
    )
    chosen = re.findall(r'aria-current="true">([^<]+)</a>', page)
    assert chosen[-5:] == ["M or N", "element", "memory index", "tile", "before the swizzle"]
    text = client.get(f"/smem.txt?{query}").text.splitlines()
    assert text[2].split()[:3] == ["mn", "k", "0"] and len(text) == 3 + 64


def test_the_command_line_draws_the_same(client: Client) -> None:
    query = {"major": "MN", "swizzle": "128B", "mn": "128", "k": "16", "down": "mn", "number": "memory", "show": "tile"}
    words = [word for name, value in query.items() for word in (f"--{name}", value)]
    done = run_lanescope("smem", *words, "-o", "-")
    assert (
        done.returncode == 0
        and done.stdout == client.get("/smem.svg", params=query).text == pictures.render_tile("svg", query)[0].decode()
    )
    assert run_lanescope("smem", "--unit", "word", "-o", "-").returncode == 2


# the page of the atoms ------------------------------------------------------------------------------------------------

# Seed of the worked examples: the atoms in 16-byte chunks, and the four tiles' LBO and SBO in units of 16 bytes, atoms
# laid M or N first.
ATOMS = {
    ("none", "K"): "Sw<0,0,3> o (8,1):(1,1)",
    ("none", "MN"): "Sw<0,0,3> o (1,8):(1,1)",
    ("32B", "K"): "Sw<1,0,3> o (8,2):(2,1)",
    ("32B", "MN"): "Sw<1,0,3> o (2,8):(1,2)",
    ("64B", "K"): "Sw<2,0,3> o (8,4):(4,1)",
    ("64B", "MN"): "Sw<2,0,3> o (4,8):(1,4)",
    ("128B", "K"): "Sw<3,0,3> o (8,8):(8,1)",
    ("128B", "MN"): "Sw<3,0,3> o (8,8):(1,8)",
}
TILES = {
    "16×64, K-major, no swizzle": {"LBO": 16, "SBO": 8},
    "16×64, K-major, 32B swizzle": {"SBO": 16},
    "128×16, MN-major, no swizzle": {"LBO": 128, "SBO": 8},
    "128×16, MN-major, 128B swizzle": {"LBO": 64, "SBO": 128},
}


def test_all_eight_atoms_and_both_orders_stand_side_by_side() -> None:
    made = atom_views.build_context({})
    atoms = {tuple(a["title"].removesuffix("-major").split(", ")): a for _, row in made["atoms"] for a in row}
    assert {key: a["chunks"] for key, a in atoms.items()} == ATOMS
    assert atoms["128B", "K"]["elements"] == "Sw<3,3,3> o (8,64):(64,1)"
    for (name, major), a in atoms.items():
        drawn = re.findall(r">(\d+)</tspan>", a["svg"])
        tile = build_tile(16, major, get_mode(name), across=1, along=1, base=0)
        assert [int(n) for n in drawn] == TileMap(tile, "mn").list_cell_offsets().ravel().tolist(), (name, major)
    assert {c["title"]: {s["name"]: s["chunks"] for s in c["sides"][0]["strides"]} for c in made["cases"]} == TILES
    for c in made["cases"]:
        assert [side["order"] for side in c["sides"]] == ["M or N first", "K first"]
        for side in c["sides"]:
            assert find_brackets(side["svg"]).keys() == {s["name"].lower() for s in side["strides"]}
        assert [side["usual"] for side in c["sides"]] == ([True, False] if "K-major" in c["title"] else [False, True])


def test_the_page_of_the_atoms_opens_from_the_guide_and_takes_its_options(client: Client) -> None:
    for slug in ("one-tile", "swizzle"):
        assert 'href="/smem/atoms"' in client.get(f"/guide/{slug}").text, slug
    for query in ("", "?down=k&unit=element&number=logical", "?element_bits=8", "?element_bits=32&number=none"):
        page = client.get("/smem/atoms" + query)
        assert page.status_code == 200 and page.text.count("<figure class") == (16 if "bits" not in query else 8), query
        for link in set(re.findall(r'href="(/smem\?[^"]+)"', page.text)):
            assert client.get(unescape(link)).status_code == 200
    with pytest.raises(LayoutError):
        TileMap(Tile(16, "K", get_mode("none"), 8, 8), "x")
