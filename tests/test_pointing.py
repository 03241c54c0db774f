"""What pictures say of the cell under the pointer, and the pictures of an epilogue and of metadata in memory."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import numpy as np
import pytest

from lanescope.app.main import create_app
from lanescope.app.metadata.order_figure import draw_order
from lanescope.app.read.draw import find_whole_layout
from lanescope.app.read.page import group_forms
from lanescope.app.runs.facts import count_family_runs
from lanescope.app.tmem.epilogue_figure import draw_load
from lanescope.blackwell import idesc, tmem
from lanescope.blackwell.epilogue import Epilogue
from lanescope.blackwell.tmem import TmemMma
from lanescope.ptx import catalog, compressed_metadata
from lanescope.render.svg import render_svg
from lanescope.render.view import make_operand_figure
from tests.client import Client
from tests.oracle import ptx
from tests.oracle import tensor as figures

M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
MMA_V2 = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>"


def list_panels(svg: str) -> list[dict[str, Any]]:
    return [json.loads(unescape(text)) for text in re.findall(r' data-cells="([^"]*)"', svg)]


def test_a_cell_says_the_lane_and_value_that_ptx_gives_it() -> None:
    """Of every element of A, whatever its label is; a picture for documents carries none of it."""
    a = catalog.find(M16).operand("a")
    svg = render_svg(make_operand_figure(a), title="A", palette=None, label="none", pointed=True)
    (panel,) = list_panels(svg)
    for lane in range(32):
        for value in range(8):
            row, col = ptx.m16n8k16_half_a(lane, value)
            assert panel["texts"][row][col] == f"T{lane}:{value}"
    assert panel["said"] == "A[{row}][{col}] is in lane {holder}, value a{value}"
    assert "data-cells" not in render_svg(make_operand_figure(a), title="A")


@pytest.mark.parametrize(
    "path", ["/chain", f"/reuse?from={M16}&to={M16}", "/guide/lanes-and-fragments", "/guide/swizzle"]
)
def test_a_page_whose_pictures_answer_the_pointer_has_the_script_for_it(path: str) -> None:
    page = Client(create_app()).get(path)
    assert list_panels(page.text) and "kit/point" in page.text


def test_the_picture_of_a_load_shows_the_registers_that_ptx_draws() -> None:
    """tcgen05.ld.16x256b: lane and register of each row and column of D by PTX's figure, D of M = 128 row by lane."""
    made = Epilogue(
        TmemMma(idesc.get_kind("f16"), "cta_group::1", False, 128, 64), tmem.parse_access("tcgen05.ld.16x256b.x4")
    )
    (panel,) = list_panels(draw_load(made, warp=2, thread=5))
    thread, value = np.arange(32)[:, None], np.arange(16)[None]
    lane, column = np.broadcast_arrays(*figures.moved("16x256b", thread, value, 0))
    assert panel["down"] == [str(64 + n) for n in range(16)] and panel["across"] == [str(n) for n in range(32)]
    for (t, v), row in np.ndenumerate(lane):
        assert panel["texts"][row][column[t, v]] == f"T{t}:r{v}"


def test_the_picture_of_an_order_shows_the_word_and_bits_of_every_index() -> None:
    """Against locate_index, which answers for one; the shown part follows the row and group."""
    one = compressed_metadata.make_metadata_order("tcgen05.mma.sp", "f16", 256, 256)
    (panel,) = list_panels(draw_order(one, 133, 40))
    assert panel["down"][0] == "128" and panel["across"][0] == "32"
    for r, line in enumerate(panel["texts"]):
        for c, text in enumerate(line):
            word, bit = one.locate_index(128 + r, 32 + c)
            assert text == f"w{word}:{bit}"


@pytest.mark.parametrize(
    ("warps", "size"), [("[4, 1]", (64, 32)), ("[2, 2]", (32, 32)), ("[1, 4]", (32, 32)), ("[8, 1]", (128, 32))]
)
def test_a_triton_layout_is_drawn_over_a_tensor_in_which_every_warp_holds_its_own(
    warps: str, size: tuple[int, int]
) -> None:
    layout = find_whole_layout(MMA_V2.replace("[4, 1]", warps), 16)
    assert tuple(layout.shape) == size
    threads = layout.rows.shape[0]
    places = [set(zip(layout.rows[t].tolist(), layout.cols[t].tolist(), strict=True)) for t in range(threads)]
    assert len(set.union(*places)) == sum(map(len, places)), "no two threads hold an element"


def test_instructions_that_fit_are_grouped_by_shape() -> None:
    page = " ".join(Client(create_app()).get("/read", params={"text": MMA_V2}).text.split())
    assert "Instructions that fit: 48" in page
    texts = re.findall(r'class="pill" href="/i/(mma[^"?]*)', page)
    groups = group_forms(texts)
    assert len(texts) == 48 and len({name for name, _ in groups}) == len(groups) == 7
    assert all(f".{name.split('.')[1]}." in ptx_text for name, forms in groups for _, ptx_text in forms)


def test_the_bars_of_what_ran_count_what_the_home_page_counts() -> None:
    rows = {row.family: row for row in count_family_runs()}
    assert sum(row.forms for row in rows.values()) == len(catalog.instructions())
    assert (rows["wgmma"].ran, rows["wgmma"].forms) == (546, 546) and rows["tcgen05_mma"].ran == 0
    assert f"{sum(row.ran for row in rows.values()):,} of" in Client(create_app()).get("/").text
