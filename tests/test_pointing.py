"""What pictures say of the cell under the pointer, and the pictures of an epilogue and of metadata in memory."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import numpy as np

from lanescope.app.idesc.draw import draw_idesc
from lanescope.app.read.draw import find_whole_layout
from lanescope.app.scales.feature import SCALE_FACTORS
from lanescope.app.tmem.epilogue import draw_load
from lanescope.blackwell import idesc, tmem
from lanescope.blackwell.epilogue import Epilogue
from lanescope.blackwell.tmem import TmemMma
from lanescope.descriptor.matrix import Descriptor
from lanescope.ptx import catalog
from lanescope.render.descriptor_bits import render_descriptor_bits
from lanescope.render.figure import make_operand_figure
from lanescope.render.palette import LIGHT
from lanescope.render.svg import render_svg
from tests.cases import for_each
from tests.oracle import ptx, tensor as figures

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


def test_a_bit_says_its_field_and_lights_all_of_it() -> None:
    """0x4000004000010100 of wgmma: start 0x1000, LBO 16 B, SBO 1024 B, 128B swizzle in bits 63 and 62."""
    high, low = list_panels(render_descriptor_bits(Descriptor(0x4000004000010100), None))
    (said,), (groups,) = high["texts"], high["groups"]
    assert said[0].startswith("bit 63 is 0: ") and said[1].startswith("bit 62 is 1: ") and said[1].endswith("→ 128B")
    assert groups[0] == groups[1] != "" and groups[2] == "" and said[2] == "bit 61 is 0: reserved"
    assert high["texts"][0][31 - 6].endswith("bits 45–32 = 0x40 → 1024 B") and len(low["texts"][0]) == 32
    assert low["texts"][0][31 - 8].startswith("bit 8 is 1: ") and low["texts"][0][31].endswith("= 0x100 → 4096 B")
    assert "data-cells" not in render_descriptor_bits(Descriptor(0), LIGHT)


def find_cells(panel: dict[str, Any], name: str, number: int) -> list[tuple[int, int]]:
    """The cells whose number of the first layer is this, as static/kit/layers.js finds them."""
    (layer,) = panel["layers"]
    packed, cols = layer["numbers"][name], layer["cols"]
    cells = packed.get("cells") or [down + across for down in packed["down"] for across in packed["across"]]
    return [divmod(n, cols) for n, each in enumerate(cells) if each == number]


def test_a_scale_factor_lights_in_all_three_memories() -> None:
    """SFA[37][5] of a tile with K = 256: 8 factors a row, byte 37·8 + 5. Its atom has line 37 mod 32, byte 4·(37 div
    32) + 5 mod 4; tensor memory has it in lane 5 of each quarter, byte 1 of the second column of the second group.
    """
    rows, atom, tensor = list_panels(SCALE_FACTORS.draw_query({"row": "37", "factor": "5"}))
    assert {panel["group"] for panel in (rows, atom, tensor)} == {"place"}
    place = 37 * 8 + 5
    assert find_cells(rows, "place", place) == [(37, 5)]
    assert find_cells(atom, "place", place) == [(5, 4 * 1 + 1)]
    assert find_cells(tensor, "place", place) == [(5 + 32 * quarter, 4 * 5 + 1) for quarter in range(4)]


def test_an_instruction_descriptor_says_what_its_bits_mean() -> None:
    """0x08400490 of kind::f16: M = 128 in bits 28–24, N = 256 in bits 22–17, by PTX's table."""
    (panel,) = list_panels(draw_idesc(idesc.IdescWord(0x08400490, idesc.get_kind("f16"))))
    (said,), (groups,) = panel["texts"], panel["groups"]
    assert [said[31 - bit] for bit in (27, 22)] == ["bit 27 is 1: M 128", "bit 22 is 1: N 256"]
    assert {31 - n for n, name in enumerate(groups) if name == "n"} == set(range(17, 23))
    assert {31 - n for n, name in enumerate(groups) if name == "m"} == set(range(24, 29))


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


@for_each(("warps", "size"), [("[4, 1]", (64, 32)), ("[2, 2]", (32, 32)), ("[1, 4]", (32, 32)), ("[8, 1]", (128, 32))])
def test_a_triton_layout_is_drawn_over_a_tensor_in_which_every_warp_holds_its_own(
    warps: str, size: tuple[int, int]
) -> None:
    layout = find_whole_layout(MMA_V2.replace("[4, 1]", warps), 16)
    assert tuple(layout.shape) == size
    threads = layout.rows.shape[0]
    places = [set(zip(layout.rows[t].tolist(), layout.cols[t].tolist(), strict=True)) for t in range(threads)]
    assert len(set.union(*places)) == sum(map(len, places)), "no two threads hold an element"
