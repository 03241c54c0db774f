"""Questions in the box about places: who holds an element, and what a lane holds."""

from __future__ import annotations

import random
import re
from urllib.parse import parse_qs, urlsplit

import numpy as np

from lanescope.app.instruction.state import parse_state
from lanescope.app.read import certain_links
from lanescope.app.read.text_meanings import read_text
from lanescope.ptx import catalog
from lanescope.tiles.tiled_mma import tiled_mma
from tests.cases import for_each
from tests.client import Client

BF16 = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"


@for_each(
    "text",
    [
        "A[5][9] of mma.m16n8k16 bf16",
        "a[5,9] of mma m16n8k16 bf16",
        "which lane holds A(5, 9) in mma.m16n8k16 f32 += bf16 × bf16",
        "element (5,9) of A of mma.m16n8k16 bf16",
        "mma.m16n8k16 bf16 A[5][9]",
        "who owns row 5, column 9 of A of mma.m16n8k16 bf16?",
        f"A[5][9] of {BF16}",
        "A[5][9] of SM80_16x8x16_F32BF16BF16F32_TN",
    ],
)
def test_an_element_is_pinned_on_the_page_that_opens(client: Client, text: str) -> None:
    """By hand, PTX ISA 9.7.14.5.8: row 5 is group 5, column 9 = 8 + 2·0 + 1: lane 5·4 + 0, a5, the upper half of R2."""
    reading = client.post("/api/v1/read", json={"text": text}).json()
    assert reading["link"] == f"/i/{BF16}?pin=a:5,9" and reading["facts"]["ptx"] == BF16
    (holder,) = reading["facts"]["holders"]
    assert (holder["thread"], holder["value"], holder["register"], holder["bit"]) == (20, 5, 2, 16)
    assert reading["notices"][0] == "A[5][9] is in lane 20, register R2, bits 31:16."
    opened = client.get("/read", params={"text": text}, follow_redirects=False)
    assert opened.headers["location"] == reading["link"]
    assert "is not used" not in client.get(reading["link"]).text


def test_the_answer_is_where_the_maps_put_the_element() -> None:
    """The engine's forward map finds the element again, and the pin is one that the page takes."""
    draw = random.Random(5)
    held = [i for i in catalog.instructions() if {"a", "d"} <= set(i.operands) and len(i.operands["a"].axes) == 2]
    for form in draw.sample(held, 60):
        op = form.operands[draw.choice("ad")]
        thread, value = draw.randrange(op.threads), draw.randrange(op.values)
        row, col = int(op.coords["row"][thread, value]), int(op.coords["col"][thread, value])
        reading = read_text(f"{op.name.upper()}[{row}][{col}] of {form.ptx}")
        assert reading.kind == "instruction", form.ptx
        holders = [(one["thread"], one["value"]) for one in reading.facts["holders"]]
        places = np.argwhere((op.coords["row"] == row) & (op.coords["col"] == col))
        assert sorted(holders) == sorted((int(t), int(v)) for t, v in places) and (thread, value) in holders
        query = {name: values[0] for name, values in parse_qs(urlsplit(reading.link).query).items()}
        state, notices = parse_state(form, query)
        assert state.pinned() == (op.name, row, col) and not notices


@for_each(
    ("text", "limit"),
    [
        ("A[5][16] of mma.m16n8k16 bf16", "columns from 0 to 15"),
        ("D[16][0] of mma.m16n8k16 bf16", "rows go from 0 to 15"),
        ("lane 32 of mma.m16n8k16 bf16", "from 0 to 31"),
        ("lane 32 of wgmma.m64n64k16 f16", "from 0 to 31"),  # of one of its warps; threads go to 127
        ("row 16 of D of mma.m16n8k16 bf16", "Row 16 is outside 0–15 of D"),
        ("A[-1][9] of mma.m16n8k16 bf16", "Row -1 is outside 0–15 of A"),
        ("A[99][99] of mma.m16n8k16 bf16", "Row 99 is outside 0–15 and column 99 is outside 0–15 of A"),
        ("A[256] of mma.m16n8k16 bf16", "256 elements, A[0] to A[255]"),
        ("warp 4 of wgmma.m64n64k16 f16", "warps are 0–3"),
        ("warp 1 of mma.m16n8k16 bf16", "One warp executes it"),
        ("column 8 of D of mma.m16n8k16 bf16", "Column 8 is outside 0–7 of D"),
        ("R9 of lane 3 of mma.m16n8k16 bf16", "R0 to R3."),
        ("a8 of lane 3 of mma.m16n8k16 bf16", "a0 to a7."),
        ("B[3][5] of wgmma.m64n64k16 bf16", "shared memory"),
        ("A[0][0] of ldmatrix x4", "It has data"),
    ],
)
def test_what_does_not_exist_is_an_error_that_names_the_range(text: str, limit: str) -> None:
    reading = read_text(text)
    assert reading.kind == "unknown" and limit in reading.notices[0], reading.notices
    assert certain_links.find_certain_link(text) == ""
    assert certain_links.find_nearest(text) == ()  # the instruction exists


def test_what_only_one_matrix_has_is_certain() -> None:
    assert certain_links.find_certain_link("(3,12) of mma.m16n8k16 bf16").endswith("?pin=a:3,12")
    assert certain_links.find_certain_link("A[0] of mma.m16n8k16 bf16").endswith("?pin=a:0,0")


def test_what_is_assumed_is_said() -> None:
    assert any(
        "does not name a matrix: this is D" in notice
        for notice in read_text("who holds (3,5) in mma.m16n8k16 bf16").notices
    )
    assert any("stored compressed" in notice for notice in read_text("A[0][3] of mma.sp.m16n8k32 f16").notices)
    assert any(
        "usual instruction descriptor" in notice for notice in read_text("D[70][3] of tcgen05.mma.kind::f16").notices
    )
    assert "Counted row by row, D[70] is D[8][6]." in read_text("D 70 of mma.m16n8k16 bf16").notices  # 8 · 8 + 6
    assert any(
        "sm_90" in notice and "unknown" in notice for notice in read_text("A[3][3] of wmma.m16n16k16 f16").notices
    )
    assert any("in registers; a descriptor" in one for one in read_text("A[0][0] of wgmma.m64n8k16 f16").notices)
    assert any("first warp" in one for one in read_text("lane 5 of wgmma.m64n64k16 f16").notices)
    assert read_text("A[5][9]").title == read_text("lane 13").title == "Of which instruction?"


def test_a_lane_and_a_register() -> None:
    lane = read_text("lane 13 of mma.m16n8k16 bf16")
    assert "lanes=13" in lane.link and "D: R0 D[3][2], R1 D[3][3], R2 D[11][2], R3 D[11][3]." in lane.notices
    register = read_text("R2 of lane 20 of A of mma.m16n8k16 bf16")
    assert [(one["row"], one["col"]) for one in register.facts["holders"]] == [(5, 8), (5, 9)]
    assert register.link.endswith("?lanes=20&pin=a:5,8")


@for_each(
    ("text", "link", "notice"),
    [
        # PTX ISA 9.7.14.5.8: a5 is the upper half of R2; c2 of lane 13 is row 13 / 4 + 8, column 2 · (13 % 4).
        ("a5 of lane 20 mma.m16n8k16 bf16", f"/i/{BF16}?lanes=20&pin=a:5,9", "A: R2 A[5][9]."),
        ("c[2] of thread 13 of mma.m16n8k16 bf16", f"/i/{BF16}?lanes=13&pin=d:11,2", "C: R2 C[11][2]."),
        ("D 70 of mma.m16n8k16 bf16", f"/i/{BF16}?pin=d:8,6", "D[8][6] is in lane 3, register R2."),
        ("accumulator element 3,5 of mma.m16n8k16 bf16", f"/i/{BF16}?pin=d:3,5", "D[3][5] is in lane 14, register R1."),
        ("element [5][9] of mma.m16n8k16 bf16 A", f"/i/{BF16}?pin=a:5,9", "bits 31:16"),
        ("A 5 9 mma.m16n8k16 bf16", f"/i/{BF16}?pin=a:5,9", "bits 31:16"),
        ("who holds A5,9 of mma.m16n8k16 bf16?", f"/i/{BF16}?pin=a:5,9", "bits 31:16"),
        ("row 3 of D of mma.m16n8k16 bf16", f"/i/{BF16}?lanes=12-15", "Row 3 of D is in lanes 12–15."),
        ("which lanes hold column 5 of B in mma.m16n8k16 bf16", f"/i/{BF16}?lanes=20-23", "is in lanes 20–23."),
        ("T13 of mma.m16n8k16 bf16", f"/i/{BF16}?lanes=13&pin=a:3,2", "R3 D[11][3]."),
    ],
)
def test_a_place_is_asked_for_as_the_find_fields_take_it(text: str, link: str, notice: str) -> None:
    reading = read_text(text)
    assert reading.link == link and any(notice in one for one in reading.notices), reading.notices


def test_a_load_names_the_matrix_of_an_element(client: Client) -> None:
    reading = read_text("matrix 2[3][4] of ldmatrix.x4")
    assert reading.link.endswith("?pin=matrix2:3,4") and "is not used" not in client.get(reading.link).text
    assert reading.notices[0] == "matrix 2[3][4] is in lane 14, register R2, bits 15:0."
    assert "R1 matrix 1[3][2] matrix 1[3][3]" in read_text("lane 13 of ldmatrix.x4").notices[0]
    assert read_text("lane 5 register 3 of tcgen05.ld.32x32b.x4").notices[0] == "data: R3 lane 5 column 3."


def test_the_address_of_a_row_is_supplied_by_one_lane_of_each_matrix(client: Client) -> None:
    """PTX ISA, ldmatrix: threads 0–7 supply the rows of matrix 0, 8–15 of matrix 1, 16–23 of 2, 24–31 of 3."""
    reading = read_text("which lane of ldmatrix x4 supplies the address of row 3 of matrix 2")
    assert reading.notices[0] == "Lane 19 supplies the address of row 3 of matrix 2."
    assert reading.link.endswith("?pin=address2:3,0")
    told = re.sub(r"</?code>", "", client.get(reading.link).text)
    assert "lane 19 points at row 3 of matrix 2" in told
    every = read_text("address of row 5 of ldmatrix.x4")
    assert [one["thread"] for one in every.facts["holders"]] == [5, 13, 21, 29]
    assert read_text("which lane supplies row 3 of matrix 2 of ldmatrix x4").notices[0].startswith("Lane 19 supplies")
    assert "matrices 0–3" in read_text("which lane supplies row 3 of matrix 4 of ldmatrix x4").notices[0]
    assert "no matrix 4" in read_text("row 3 of matrix 4 of ldmatrix x4").notices[0]
    other = read_text("what does lane 19 of ldmatrix x2 point at")
    assert "ldmatrix.m8n8.x2 b16 uses no address of lane 19." in other.notices
    assert "matrices 0–1" in read_text("ldmatrix x2 which lane gives the address of row 3 of matrix 3").notices[0]


@for_each(
    ("text", "index"),
    [
        ("(5,9) of (8,64):(64,1)", 5 * 64 + 9),
        ("(329) of (8,64):(64,1)", 329 % 8 * 64 + 329 // 8),
        ("((3)) of 8:1", 3),
        ("(8,64):(64,1) at 329", 329 % 8 * 64 + 329 // 8),
        ("(8,64):(64,1) row 5 column 9", 5 * 64 + 9),
        ("Layout<Shape<_8,_64>,Stride<_64,_1>>{}(5,9)", 5 * 64 + 9),
        # 329 is 2 · 128 + 4 · 16 + 9: Sw<3,4,3> XORs bits 7–9 into bits 4–6, 4 ^ 2 = 6.
        ("address of element (5, 9) in Sw<3,4,3> o (8,64):(64,1)", 2 * 128 + 6 * 16 + 9),
        ("crd2idx(((1,3),2), ((2,4),8):((1,16),2))", 1 + 3 * 16 + 2 * 2),
        ("(3,1) of Layout<Shape<_4,_8>,Stride<_8,_1>>{}", 3 * 8 + 1),
    ],
)
def test_a_coordinate_of_a_layout_has_its_index(text: str, index: int) -> None:
    assert read_text(text).title.endswith(f"is at index {index}")


def test_a_coordinate_outside_a_layout_names_the_range() -> None:
    assert "(0–7, 0–63)" in read_text("where is (8,9) in (8,64):(64,1)?").notices[0]


def test_a_lane_counts_in_its_warp() -> None:
    reading = read_text("warp 2 lane 5 of wgmma.m64n64k16 f16")
    assert "lanes=69" in reading.link and "D: R0 D[33][2]" in "".join(reading.notices)  # row 32 + 5 / 4, column 2·1
    assert "warp 0 to 3" in read_text("warp 4 lane 5 of wgmma.m64n64k16 f16").notices[0]


def test_a_thread_is_in_one_warp() -> None:
    assert "lanes=40" in read_text("warp 1 thread 40 of wgmma.m64n64k16 f16").link
    assert "lanes=127" in read_text("warp 3 thread 127 of wgmma.m64n64k16 f16").link
    assert "It is lane 8 of warp 1" in read_text("warp 0 thread 40 of wgmma.m64n64k16 f16").notices[0]


@for_each(
    ("text", "answer"),
    [
        # Row 5, k 9 of 128B-swizzled bf16: 5 · 128 + 18 bytes, chunk 1 ^ 5 = 4, so 640 + 64 + 2.
        ("byte address of A[5][9] with the 128B swizzle", "706 bytes into the tile"),
        ("smem offset of (5,9) with SW128 K-major bf16", "706 bytes into the tile"),
        ("bank of [5][9] with 128B swizzle", "bank <code>16</code>"),
        ("row 70 of D in tensor memory", "<code>lane 70</code>"),
        ("which lane of tensor memory holds D[70][3]", "<code>column 3</code>"),
        ("tmem lane 70 column 5", "D[70][5]"),
        ("tmem lane 35 column 7 D m64n64", "row 19 of D"),
        (
            "which element is in column 7 of lane 35 of tensor memory, M = 64, N = 64",
            "row 19 of D",
        ),  # M = 64: rows 16 to 31 are in the lanes 32 to 47
        ("which element is at byte 0x150 in 128B swizzle", "[2][56]"),  # row 2, chunk 5 ^ 2 = 7 of 8 elements
        ("where does byte 0x150 go in 128B swizzle", "[2][40]"),  # to 0x170, chunk 7 ^ 2 = 5
    ],
)
def test_an_element_in_memory_opens_the_page_that_finds_it(client: Client, text: str, answer: str) -> None:
    opened = client.get("/read", params={"text": text}, follow_redirects=False)
    assert opened.status_code == 303 and answer in client.get(opened.headers["location"]).text


def test_an_element_of_a_whole_tile(client: Client) -> None:
    text_of_tile = "make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2>>{}, Tile<_64,_64,_16>{})"
    made = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)", "(64,64,16)")
    for text in (f"{text_of_tile} C(37,50)", f"C[37][50] of {text_of_tile}"):
        reading = read_text(text)
        held = [(one["thread"], one["value"]) for one in reading.facts["holders"]]
        assert held == made.operand("c").owner(37, 50) and reading.link.endswith("&pin=c:37,50")
        assert "is not used" not in client.get(reading.link).text
        assert certain_links.find_certain_link(text) == reading.link
    assert "rows go from 0 to 63" in read_text(f"C(64,0) of {text_of_tile}").notices[0]


@for_each(
    ("text", "pins"),
    [
        ("lane 3 and lane 4 of mma.m16n8k16 bf16", "pin=lane:3&pin2=lane:4"),
        ("A[5][9] and A[5][10] of mma.m16n8k16 bf16", "pin=a:5,9&pin2=a:5,10"),
        ("R2 of lane 20 vs B(3,4) in mma.m16n8k16 bf16", "pin=a:5,8&pin2=b:3,4"),
    ],
)
def test_two_places_open_the_page_with_both_pins(client: Client, text: str, pins: str) -> None:
    """By hand: A[5][9] is in lane 5 · 4 + 0 and A[5][10] in the next; R2 of lane 20 begins at row 5, column 8."""
    link = certain_links.find_certain_link(text)
    assert link == f"/i/{BF16}?{pins}" and client.get(link).status_code == 200


def test_an_answer_about_two_places_has_both_and_refuses_either() -> None:
    reading = read_text("A[5][9] and A[5][10] of mma.m16n8k16 bf16")
    assert [holder["thread"] for holder in reading.facts["holders"]] == [20, 21]
    assert not any("B:" in notice for notice in read_text("lanes 3 and 4 of A of mma.m16n8k16 bf16").notices)
    assert "Lane 4: D: R0 D[1][0]" in "".join(read_text("lane 3 and lane 4 of mma.m16n8k16 bf16").notices)
    assert "Row 50 is outside" in read_text("A[5][9] and A[50][10] of mma.m16n8k16 bf16").notices[0]
    assert "Write warp 0 lane 3" in read_text("lane 3 and lane 4 of wgmma m64n64k16 f16").notices[0]


# several parts of one place ------------------------------------------------------------------------------------------
