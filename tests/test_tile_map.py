"""A tile as a grid: every cell's element, number and place, in both orientations and units; the strides against what
hardware reads; the figures.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from lanescope.app.diagram import forms as pictures
from lanescope.app.memory import tile_figure as tile_views
from lanescope.descriptor.matrix import View, reads
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


def test_the_command_line_draws_the_same(client: Client) -> None:
    query = {"major": "MN", "swizzle": "128B", "mn": "128", "k": "16", "down": "mn", "number": "memory", "show": "tile"}
    words = [word for name, value in query.items() for word in (f"--{name}", value)]
    done = run_lanescope("smem", *words, "-o", "-")
    assert done.returncode == 0 and done.stdout == client.get("/smem.svg", params=query).text == pictures.render_tile(
        "svg", query
    )
    assert run_lanescope("smem", "--unit", "word", "-o", "-").returncode == 2


# the page of the atoms ------------------------------------------------------------------------------------------------
