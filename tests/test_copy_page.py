"""The benches of a TiledCopy and of a main loop: what their pages, scripts and pictures say."""

from __future__ import annotations

from html import unescape

import numpy as np

from lanescope.app.kit.maps import script_data
from lanescope.app.kit.maps.bench import HolderMap
from lanescope.app.tiles import tiled_copy_facts, tiled_copy_page
from lanescope.app.tiles.tiled_copy_maps import build_copy_bench
from lanescope.tiles.bulk import is_tma
from lanescope.tiles.shades import TileShade
from tests.cases import for_each
from tests.client import Client

# TiledCopy ------------------------------------------------------------------------------------------------------------


BULK = [name for name, fields in tiled_copy_page.PRESETS.items() if is_tma(fields["atom"])]


@for_each("name", [name for name in tiled_copy_page.PRESETS if name not in BULK])
def test_the_script_of_a_copy_gets_its_maps(name: str) -> None:
    given = tiled_copy_page.build_body(tiled_copy_page.PRESETS[name])
    made = tiled_copy_facts.parse_tiled_copy(given)
    bench_ = build_copy_bench(made, tiled_copy_facts.build_cost_sides(made, given)[0])
    for one in bench_.maps:
        told, held = script_data.build_tile_data(one), getattr(made, one.name)
        cells = np.add.outer(np.array(told.first), np.array(told.steps))
        assert told.cells is None and (cells == held.rows * made.tile[1] + held.cols).all()
        assert np.bincount(cells.reshape(-1)).max() == told.copies


def test_maps_that_do_not_add_up_are_sent_whole_and_pictured_the_same() -> None:
    """A value that one holder lacks: the cells themselves are sent, and the colour of nobody's cell is none."""
    cell = np.array([[0, 3], [1, -1], [2, 5]])
    one = HolderMap(
        "x",
        "X",
        "",
        rows=2,
        cols=3,
        cell=cell,
        element_bits=16,
        shades={"warp": TileShade("thread", 1, 3)},
        group=(0, 1),
    )
    told, held = script_data.build_tile_data(one), one.find_first_holders()
    assert told.cells == [0, 3, 1, -1, 2, 5] and told.first == []
    assert held.thread.tolist() == [[0, 1, 2], [0, -1, 2]] and held.value.tolist() == [[0, 0, 0], [1, -1, 1]]
    assert one.colour_numbers("warp", held)[0].tolist() == [[0, 1, 2], [0, -1, 2]]
    assert one.list_registers(1, "V") == [("V0", "(0,1)")]


def test_a_tiled_copy_is_shown_from_its_print(client: Client) -> None:
    """layout_tv over tiler_mn, as print shows a TiledCopy: the same page as of the TiledMMA's operand."""
    tv = "((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))"
    given = {"atom": tiled_copy_page.LDSM, "tile": "64x64", "layout_tv": tv, "tiler_mn": "(32,16)"}
    made = tiled_copy_facts.parse_tiled_copy(tiled_copy_page.build_body({**tiled_copy_page.EMPTY, **given}))
    other = tiled_copy_facts.parse_tiled_copy(
        tiled_copy_page.build_body({**tiled_copy_page.PRESETS["ldmatrix.x4 of A, 128B swizzle"], "stored": "none"})
    )
    assert np.array_equal(made.source.rows, other.source.rows)
    page = unescape(client.get("/tiles/copy", params=given).text)
    assert "make_tiled_copy_impl" in page and f'value="{tv}"' in page
    wrong = client.get("/tiles/copy", params={**given, "tiler_mn": "(8,8)"})
    assert wrong.status_code == 422 and "layout_tv" in unescape(wrong.text)


@for_each(
    ("query", "said"),
    [
        ("atom=SM90_TMA_LOAD&tile=64x60", "k = 60 is not a multiple of the atom's 64."),
        ("atom=SM90_TMA_LOAD&tile=64x64&stored=none", "TMA needs to know how the tile is stored."),
        ("atom=SM90_TMA_LOAD&tile=64x64&stored=canonical&multicast=2", "multicast"),
        ("atom=universal&thr_layout=(3,2)&tile=64x64", "64 rows are not a multiple of the 3"),
        ("atom=ldmatrix&tile=64x64", "No instruction 'ldmatrix'"),
        ("atom=cp.async&bits=48&thr_layout=(32,1)&tile=32x8", "cp.async cannot move 48 bits at once."),
        ("atom=universal&thr_layout=(32,1)&tile=32x8&stored=cute&layout=(4,4)", "Shared memory, (row, column) to"),
        ("atom=universal&mma=no&tile=32x8", "'no' does not name an MMA atom."),
    ],
)
def test_a_copy_that_does_not_fit_is_refused_beside_its_field(client: Client, query: str, said: str) -> None:
    answer = client.get(f"/tiles/copy?{query}")
    assert answer.status_code == 422 and said in unescape(answer.text), unescape(answer.text)[-2000:]


# pictures of copies and main loops ------------------------------------------------------------------------------------
