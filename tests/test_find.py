"""A find field: texts that name a place, what they pin, and the sentence about what is pinned."""

from __future__ import annotations

import re

import pytest

from lanescope import find
from lanescope.app.instruction import headline, lanes, state
from lanescope.app.instruction.find import find_pins
from lanescope.app.kit.find import parse_places
from lanescope.app.kit.sought_place import SoughtPlace
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.render.figure import make_figure
from lanescope.render.view import ADDRESS
from tests.cases import for_each
from tests.client import Client
from tests.sample import take_sample

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
LDMATRIX = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
VOLTA = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
MXF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"


@for_each(
    ("text", "place"),
    [
        ("A[5][9]", SoughtPlace(matrix="a", coords=(5, 9))),
        ("a (5, 9)", SoughtPlace(matrix="a", coords=(5, 9))),
        ("D 7 3", SoughtPlace(matrix="d", coords=(7, 3))),
        ("D 70", SoughtPlace(matrix="d", index=70)),
        ("D[70]", SoughtPlace(matrix="d", index=70)),
        ("lane 20", SoughtPlace(thread=20, is_lane=True)),
        ("T13", SoughtPlace(thread=13)),
        ("warp 2, lane 5", SoughtPlace(thread=5, warp=2, is_lane=True)),
        ("R2 of lane 20", SoughtPlace(register=2, thread=20, is_lane=True)),
        ("lane 20 R2", SoughtPlace(register=2, thread=20, is_lane=True)),
        ("D R3 of T4", SoughtPlace(matrix="d", register=3, thread=4)),
        ("a5 of lane 20", SoughtPlace(matrix="a", value=5, thread=20, is_lane=True)),
        ("T20:5", SoughtPlace(value=5, thread=20)),
        ("row 7 col 3 of the accumulator", SoughtPlace(matrix="d", coords=(7, 3))),
        ("col 3, row 7 of D", SoughtPlace(matrix="d", coords=(7, 3))),
        ("element (3,5) of A", SoughtPlace(matrix="a", coords=(3, 5))),
        ("row 3 of D", SoughtPlace(matrix="d", line=("row", 3))),
        ("lane 5 of warp 2", SoughtPlace(thread=5, warp=2, is_lane=True)),
        ("register 2 of lane 20", SoughtPlace(register=2, thread=20, is_lane=True)),
        ("a[5] of lane 20", SoughtPlace(matrix="a", value=5, thread=20, is_lane=True)),
    ],
)
def test_a_place_is_read_as_people_write_it(text: str, place: SoughtPlace) -> None:
    assert parse_places(text, "abcd", "A[0][0]") == [place]


@for_each(
    "text",
    [
        "",
        "hello",
        "A",
        "A[5",
        "A[5][9",
        "A[5)",
        "A[5][9][1]",
        "lane",
        "R2",
        "a5",
        "A[-1][0]",
        "A[0.5][0]",
        "A[k][0]",
        "E[1][1]",
        "A[5,9",
        "row",
        "row 3",
        "A 5 9 1",
        "lane 3 of E",
        "z5 of lane 3",
        "9" * 5000,
        "A[" + "9" * 5000 + "][0]",
        "; ;",
    ],
)
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(LayoutError) as refused:
        parse_places(text, "abcd", "A[5][9]")
    assert refused.value.code == "bad_find" and refused.value.field == "find" and refused.value.hint


@for_each(
    ("ptx", "text", "pins"),
    [
        (MMA, "A[5][9]", {"pin": "a:5,9"}),
        (MMA, "C(8,6)", {"pin": "d:8,6"}),
        (MMA, "D 127", {"pin": "d:15,7"}),  # the last in any order
        (MMA, "R2 of lane 20", {"pin": "a:5,8"}),
        (MMA, "D R3 of lane 3", {"pin": "d:8,7"}),
        (MMA, "T20:5", {"pin": "a:5,9"}),
        (MMA, "T13", {"pin": "lane:13"}),
        (MMA, "lane 20 vs lane 21", {"pin": "lane:20", "pin2": "lane:21"}),
        (WGMMA, "warp 2 lane 5", {"pin": "thread:69"}),
        (WGMMA, "T100", {"pin": "thread:100"}),
        (LDMATRIX, "matrix 2[3][4]", {"pin": "matrix2:3,4"}),
        (VOLTA, "R1 of lane 5", {"pin": "a:1,2", "product": 1}),  # quad pair 1: lanes 4–7 and 20–23
        (VOLTA, "lane 20 vs lane 5", {"pin": "lane:20", "pin2": "lane:5", "product": 1}),
        (MMA, "row 3 of D", {"lanes": "12-15", "pin": ""}),
        (MMA, "column 5 of B", {"lanes": "20-23", "pin": ""}),
        (WGMMA, "warp 2", {"lanes": "64-95", "pin": ""}),
        (MXF4, "SFA[3][1]", {"pin": "sfa:3,1"}),
        (MXF4, "SFB[5][1]", {"pin": "sfb:1,5"}),  # column 5, block 1: blocks stand below each other
        (SPARSE, "E[3][1] and A[3][2]", {"pin": "e:3,1", "pin2": "a:3,2"}),
        (MMA, "who owns b[3][2]", {"pin": "b:3,2"}),
        (MMA, "which lane holds A[5][9]?", {"pin": "a:5,9"}),
        (MMA, "B[k=3][n=2]", {"pin": "b:3,2"}),
        (MMA, "b[n=2, k=3]", {"pin": "b:3,2"}),
        (MMA, "the lane 13", {"pin": "lane:13"}),
    ],
)
def test_a_place_becomes_a_pin(ptx: str, text: str, pins: dict[str, str]) -> None:
    assert find_pins(find(ptx), text) == pins


@for_each(
    ("ptx", "text", "legal"),
    [
        (MMA, "A[16][0]", "rows 0–15, columns 0–15"),
        (MMA, "B[0][8]", "rows 0–15, columns 0–7"),
        (MMA, "D 128", r"D\[127\]"),
        (MMA, "D 70", r"D\[8\]\[6\] counted row by row, D\[6\]\[4\] counted column by column"),  # 8 · 8 + 6, 4 · 16 + 6
        (MMA, "row 3", "row 3 of A or row 3 of B"),
        (MMA, "warp 1", "One warp executes it"),
        (WGMMA, "warp 4", "warps are 0–3"),
        (MXF4, "SFB[8][0]", "rows 0–7, columns 0–1"),
        (MMA, "row 16 of D", "rows 0–15"),
        (MMA, "A[-1][0]", "‘-1’ is not an index"),
        (MMA, "lane 32", "Lanes run from 0 to 31"),
        (MMA, "warp 1 lane 3", "lane 0–31"),
        (MMA, "R4 of lane 0", "A R0–R3, B R0–R1, D R0–R3"),
        (MMA, "b4 of lane 0", "b0–b3"),
        (WGMMA, "lane 20", "warp 0 lane 20"),
        (WGMMA, "T128", "Threads run from 0 to 127"),
        (WGMMA, "B[1][1]", "shared memory"),
        (VOLTA, "R9 of lane 5", "A R0–R1, B R0–R1, D R0–R7"),
    ],
)
def test_a_refusal_names_the_legal_range(ptx: str, text: str, legal: str) -> None:
    with pytest.raises(LayoutError, match=legal):
        find_pins(find(ptx), text)


@for_each("text", ["R1 of lane 5", "T5"])
def test_tensor_memory_has_no_registers_and_no_threads(text: str) -> None:
    with pytest.raises(LayoutError, match="no registers of threads"):
        find_pins(state.bind_descriptor(find("tcgen05.mma.cta_group::1.kind::f16"), {}), text)


def answer(ptx: str, **pins: str) -> headline.Answer:
    instruction = find(ptx)
    return headline.build_answer(instruction, make_figure(instruction), state.PageState(**pins))


def test_a_sparse_element_leaves_to_the_metadata_what_it_meets() -> None:
    for pin in ("a:1,1", "b:20,1", "d:1,1"):
        assert "metadata choose" in answer(SPARSE, pin=pin).text


def test_two_pins_say_whether_their_lane_is_one() -> None:
    assert answer(MMA, pin="a:5,9", pin2="a:5,8").text == "Both are in the same lane."
    assert answer(MMA, pin="a:5,9", pin2="b:3,4").text == "They are in different lanes."


def test_lane_and_value_follow_from_row_and_column_by_the_numeric_lines() -> None:
    """The lines are evaluated: each gives the thread and the value of the map, for every kind of operand."""
    checked = 0
    for instruction in take_sample(catalog.instructions(), 60):
        if instruction.family.issue:
            continue
        for panel in make_figure(instruction).panels:
            if panel.grid is None or panel.grid.operand.name == ADDRESS:
                continue
            row, col = panel.rows * 2 // 3, panel.cols * 3 // 4
            told = lanes.describe_element(make_figure(instruction), (panel.name, row, col))
            assert told is not None
            thread, value = int(panel.grid.thread[row, col, 0]), int(panel.grid.value[row, col, 0])
            for line, number in zip(told.lines[:2], (thread, value), strict=True):
                numbers = line.work.rsplit(" = ", 1)[-1]
                assert eval(numbers, {}) == number, (instruction.ptx, line)
            checked += 1
    assert checked > 30


BANKS = "/layouts/triton?shape=64x64&text=#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
TENSOR = (
    "/layouts/triton?shape=128x64&element_bits=32"
    "&text=#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>"
)
TILE = "/tiles/mma?atom=SM80_16x8x16_F32F16F16F32_TN&atom_layout=(2,2,1)&tile=64x64x32"


@for_each(
    ("page", "text", "legal"),
    [
        (TILE, "C(64,0)", "C is 64 × 64: rows 0–63, columns 0–63."),
        (TILE, "T128", "Threads run from 0 to 127."),
        (TILE, "lane 3", "Write warp 0 lane 3"),
        (BANKS, "lane 3", "No thread holds these cells: a bank does."),
        (TENSOR, "[128][0]", "rows 0–127"),
        ("/tiles/copy?tile=64x64", "destination[64][0]", "rows 0–63, columns 0–63."),
        ("/layouts/triton?shape=32x32", "[32][0]", "rows 0–31, columns 0–31."),
        ("/layouts/triton?shape=32x32", "T128", "Threads run from 0 to 127."),
    ],
)
def test_their_refusals_stand_beside_the_field(client: Client, page: str, text: str, legal: str) -> None:
    shown = client.get(page, params={**dict(p.split("=", 1) for p in page.split("?")[1].split("&")), "find": text})
    assert legal in re.findall(r'<output id="find-refusal">([^<]*)', shown.text)[0]


def test_an_element_of_a_tile_in_shared_memory_has_a_byte_and_a_bank(client: Client) -> None:
    """Row 5, k 9 of 128B-swizzled bf16: 5 · 128 + 18 bytes, chunk 1 ^ 5 = 4, so 640 + 64 + 2 = 0x2c2, bank 16."""
    page = client.get("/smem", params={"swizzle": "128B", "mn": "64", "k": "64", "find": "[5][9]"}).text
    assert "<code>[5][9]</code> (mn, k) is at byte <code>0x2c2</code>, 706 bytes into the tile" in page
    assert "bank <code>16</code>" in page
    page = client.get("/smem", params={"swizzle": "128B", "mn": "64", "k": "64", "find": "[5][9] and [13][9]"}).text
    assert "<code>0x2c2</code>" in page and "<code>0x6c2</code>" in page and "Both are in the same bank." in page
    page = client.get("/smem", params={"swizzle": "128B", "mn": "64", "k": "64", "find": "[64][0]"}).text
    assert "rows 0–63, columns 0–63." in re.findall(r'<output id="find-refusal">([^<]*)', page)[0]


def test_an_element_of_d_in_tensor_memory_has_a_lane_and_a_column(client: Client) -> None:
    """M 128: row r of D lies in lane r; f32, from column 0."""
    page = client.get("/tmem", params={"m": "128", "n": "256", "find": "D[70, 3]"}).text
    assert "<code>D[70][3]</code> is in <code>lane 70</code>, <code>column 3</code>" in page
    page = client.get("/tmem", params={"m": "128", "n": "256", "d_at": "64", "find": "row 70 of D"}).text
    assert "<code>D[70][0]</code> is in <code>lane 70</code>, <code>column 64</code>" in page
    page = client.get("/tmem", params={"m": "128", "n": "256", "find": "D[70][3] and row 71 of D"}).text
    assert "<code>lane 70</code>" in page and "<code>lane 71</code>" in page
    for line, cell in (("lane 70", (70, 0)), ("column 200", (0, 200))):  # the first cell of each
        page = client.get("/tmem", params={"m": "128", "n": "256", "find": line}).text
        assert f"<code>lane {cell[0]}</code>, <code>column {cell[1]}</code>" in page, line
    assert client.get("/tmem", params={"find": "lane 128"}).status_code == 422
    page = client.get("/tmem", params={"m": "128", "n": "256", "find": "D[128][0]"}).text
    assert "rows 0–127, columns 0–255." in re.findall(r'<output id="find-refusal">([^<]*)', page)[0]


@for_each("address", [f"/i/{MMA}.svg?pin=a:99,9", "/smem.svg?pin=tile:999,9", "/tiles/mma.svg?pin=z:1,1"])
def test_a_picture_refuses_a_pin_that_does_not_exist(client: Client, address: str) -> None:
    assert client.get(address).status_code == 422
