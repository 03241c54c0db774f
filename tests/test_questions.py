"""Questions in the box about places: who holds an element, and what a lane holds."""

from __future__ import annotations

import random
import re
from urllib.parse import parse_qs, urlsplit

import numpy as np

from lanescope.app.instruction.state import parse_state
from lanescope.app.read import element_texts, text_meanings
from lanescope.app.read.facts import Reading
from lanescope.ptx import catalog
from lanescope.tiles.tiled_mma import tiled_mma
from tests.cases import for_each
from tests.client import Client

BF16 = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"


def read(text: str) -> Reading:
    return text_meanings.read_text(text)


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
        reading = read(f"{op.name.upper()}[{row}][{col}] of {form.ptx}")
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
    reading = read(text)
    assert reading.kind == "unknown" and limit in reading.notices[0], reading.notices
    assert text_meanings.find_certain_link(text) == ""
    assert text_meanings.find_nearest(text) == ()  # the instruction exists


def test_what_only_one_matrix_has_is_certain() -> None:
    assert text_meanings.find_certain_link("(3,12) of mma.m16n8k16 bf16").endswith("?pin=a:3,12")
    assert text_meanings.find_certain_link("A[0] of mma.m16n8k16 bf16").endswith("?pin=a:0,0")


def test_what_is_assumed_is_said() -> None:
    assert any(
        "does not name a matrix: this is D" in notice for notice in read("who holds (3,5) in mma.m16n8k16 bf16").notices
    )
    assert any("stored compressed" in notice for notice in read("A[0][3] of mma.sp.m16n8k32 f16").notices)
    assert any("usual instruction descriptor" in notice for notice in read("D[70][3] of tcgen05.mma.kind::f16").notices)
    assert "Counted row by row, D[70] is D[8][6]." in read("D 70 of mma.m16n8k16 bf16").notices  # 8 · 8 + 6
    assert any("sm_90" in notice and "unknown" in notice for notice in read("A[3][3] of wmma.m16n16k16 f16").notices)
    assert any("in registers; a descriptor" in one for one in read("A[0][0] of wgmma.m64n8k16 f16").notices)
    assert any("first warp" in one for one in read("lane 5 of wgmma.m64n64k16 f16").notices)
    assert read("A[5][9]").title == read("lane 13").title == "Of which instruction?"


def test_a_lane_and_a_register() -> None:
    lane = read("lane 13 of mma.m16n8k16 bf16")
    assert "lanes=13" in lane.link and "D: R0 D[3][2], R1 D[3][3], R2 D[11][2], R3 D[11][3]." in lane.notices
    register = read("R2 of lane 20 of A of mma.m16n8k16 bf16")
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
    reading = read(text)
    assert reading.link == link and any(notice in one for one in reading.notices), reading.notices


def test_a_load_names_the_matrix_of_an_element(client: Client) -> None:
    reading = read("matrix 2[3][4] of ldmatrix.x4")
    assert reading.link.endswith("?pin=matrix2:3,4") and "is not used" not in client.get(reading.link).text
    assert reading.notices[0] == "matrix 2[3][4] is in lane 14, register R2, bits 15:0."
    assert "R1 matrix 1[3][2] matrix 1[3][3]" in read("lane 13 of ldmatrix.x4").notices[0]
    assert read("lane 5 register 3 of tcgen05.ld.32x32b.x4").notices[0] == "data: R3 lane 5 column 3."


def test_the_address_of_a_row_is_supplied_by_one_lane_of_each_matrix(client: Client) -> None:
    """PTX ISA, ldmatrix: threads 0–7 supply the rows of matrix 0, 8–15 of matrix 1, 16–23 of 2, 24–31 of 3."""
    reading = read("which lane of ldmatrix x4 supplies the address of row 3 of matrix 2")
    assert reading.notices[0] == "Lane 19 supplies the address of row 3 of matrix 2."
    assert reading.link.endswith("?pin=address2:3,0")
    told = re.sub(r"</?code>", "", client.get(reading.link).text)
    assert "lane 19 points at row 3 of matrix 2" in told
    every = read("address of row 5 of ldmatrix.x4")
    assert [one["thread"] for one in every.facts["holders"]] == [5, 13, 21, 29]
    assert read("which lane supplies row 3 of matrix 2 of ldmatrix x4").notices[0].startswith("Lane 19 supplies")
    assert "matrices 0–3" in read("which lane supplies row 3 of matrix 4 of ldmatrix x4").notices[0]
    assert "no matrix 4" in read("row 3 of matrix 4 of ldmatrix x4").notices[0]
    other = read("what does lane 19 of ldmatrix x2 point at")
    assert "ldmatrix.m8n8.x2 b16 uses no address of lane 19." in other.notices
    assert "matrices 0–1" in read("ldmatrix x2 which lane gives the address of row 3 of matrix 3").notices[0]


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
    assert read(text).title.endswith(f"is at index {index}")


def test_a_coordinate_outside_a_layout_names_the_range() -> None:
    assert "(0–7, 0–63)" in read("where is (8,9) in (8,64):(64,1)?").notices[0]


def test_a_lane_counts_in_its_warp() -> None:
    reading = read("warp 2 lane 5 of wgmma.m64n64k16 f16")
    assert "lanes=69" in reading.link and "D: R0 D[33][2]" in "".join(reading.notices)  # row 32 + 5 / 4, column 2·1
    assert "warp 0 to 3" in read("warp 4 lane 5 of wgmma.m64n64k16 f16").notices[0]


def test_a_thread_is_in_one_warp() -> None:
    assert "lanes=40" in read("warp 1 thread 40 of wgmma.m64n64k16 f16").link
    assert "lanes=127" in read("warp 3 thread 127 of wgmma.m64n64k16 f16").link
    assert "It is lane 8 of warp 1" in read("warp 0 thread 40 of wgmma.m64n64k16 f16").notices[0]


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
        reading = read(text)
        held = [(one["thread"], one["value"]) for one in reading.facts["holders"]]
        assert held == made.operand("c").owner(37, 50) and reading.link.endswith("&pin=c:37,50")
        assert "is not used" not in client.get(reading.link).text
        assert text_meanings.find_certain_link(text) == reading.link
    assert "rows go from 0 to 63" in read(f"C(64,0) of {text_of_tile}").notices[0]


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
    link = text_meanings.find_certain_link(text)
    assert link == f"/i/{BF16}?{pins}" and client.get(link).status_code == 200


def test_an_answer_about_two_places_has_both_and_refuses_either() -> None:
    reading = read("A[5][9] and A[5][10] of mma.m16n8k16 bf16")
    assert [holder["thread"] for holder in reading.facts["holders"]] == [20, 21]
    assert not any("B:" in notice for notice in read("lanes 3 and 4 of A of mma.m16n8k16 bf16").notices)
    assert "Lane 4: D: R0 D[1][0]" in "".join(read("lane 3 and lane 4 of mma.m16n8k16 bf16").notices)
    assert "Row 50 is outside" in read("A[5][9] and A[50][10] of mma.m16n8k16 bf16").notices[0]
    assert "Write warp 0 lane 3" in read("lane 3 and lane 4 of wgmma m64n64k16 f16").notices[0]


@for_each(
    ("text", "title"),
    [
        ("second register of lane 3 of A of mma.m16n8k16 bf16", "A R1 of lane 3 of mma.m16n8k16 f32 += bf16 × bf16"),
        ("the 3rd value of A of lane 3 of mma.m16n8k16 bf16", "a2 of lane 3 of mma.m16n8k16 f32 += bf16 × bf16"),
        ("R25 of lane 5 of HMMA.16816.F32 R24, R4, R8, R24", "D R1 of lane 5 of mma.m16n8k16 f32 += f16 × f16"),
        ("HMMA.16816.F32.BF16 R24, R4, R8, R24: R6, lane 5", "A R2 of lane 5 of mma.m16n8k16 f32 += bf16 × bf16"),
        ("twenty-first register of lane 3 of D of wgmma m64n128k16 bf16", "D R20 of lane 3 of wgmma.m64n128k16"),
        ("R28 of lane 9 in HMMA.16816.F32 R24, R4, R8, R28 ;", "C R0 of lane 9 of mma.m16n8k16 f32 += f16 × f16"),
        ("acc[3] of lane 10 of mma.m16n8k16 bf16", "d3 of lane 10 of mma.m16n8k16 f32 += bf16 × bf16"),
        ("tCrA(2) of thread 17 SM80_16x8x16_F32F16F16F32_TN", "a2 of thread 17 of mma.m16n8k16 f32 += f16 × f16"),
        ("T5V3 of D of mma.m16n8k16 bf16", "d3 of thread 5 of mma.m16n8k16 f32 += bf16 × bf16"),
        ("threadIdx.x = 37 of wgmma m64n64k16 f16", "thread 37 of wgmma.m64n64k16"),
        ("element 6 of the A fragment, lane 3, mma.m16n8k16 bf16", "a6 of lane 3 of mma.m16n8k16 f32 += bf16"),
        ("R1 of B of lane 3 of hmma 16816 f32 bf16", "B R1 of lane 3 of mma.m16n8k16 f32 += bf16"),
        ("A[3][5] of hmma 16816", "A[3][5] of mma.m16n8k16 f16 += f16 × f16"),
        ("R14 of lane 8 in DMMA.884 R12, R4, R8, R12", "D R1 of lane 8 of mma.m8n8k4 f64 += f64 × f64"),
        (
            "R30 of thread 5 of HGMMA.64x64x16.F32 R24, gdesc[UR4], R24",
            "D R6 of thread 5 of wgmma.m64n64k16 f32 += f16",
        ),
        (
            "R9 of lane 4 in QMMA.SF.16832.F32.E4M3.E4M3.E8 R4, R8, R12, R4, R16, R17, URZ",
            "A R1 of lane 4 of mma.m16n8k32",
        ),
        ("lane 5 of HGMMA.64x64x16.F32 R24, gdesc[UR4], R24", "D of lane 5 of wgmma.m64n64k16"),  # A is not held
        ("D[3][5] of HGMMA.64x64x16.F32 R24, gdesc[UR4], R24", "D[3][5] of wgmma.m64n64k16 f32 += f16"),
        ("row 3 of D of HMMA.16816.F32 R24, R4, R8, R24", "row 3 of D of mma.m16n8k16 f32 += f16"),
        ("tCrA[3] of thread 5 of mma.m16n8k16 bf16", "a3 of thread 5 of mma.m16n8k16 f32 += bf16"),
        ("HMMA.16816.F32 R24-R27, R4-R7, R12-R13, R24-R27, lane 5", "lane 5 of mma.m16n8k16 f32 += f16 × f16"),
        ("R8 of lane 3 of IMMA.16816.S8.S8 R8, R4.ROW, R6.COL, R8", "D R0 of lane 3 of mma.m16n8k16 s32 += s8 × s8"),
        (
            "x[5] of lane 9 of wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>",
            "value 5 of lane 9 of wmma.load.a.m16n16k16 f16 row",
        ),
    ],
)
def test_ordinals_registers_of_sass_and_fragments_of_cpp_are_places(text: str, title: str) -> None:
    """A question counts from 1 with ordinals; a register of SASS counts from the first one of its operand, and an f64
    takes two.
    """
    assert read(text).title.startswith(title)


@for_each(
    ("text", "reason"),
    [
        (
            "R24-R27 of lane 3 of HMMA.16816.F32 R24, R4, R12, R24",
            "Ask for one of them: R24 of lane 3 of HMMA.16816.F32",
        ),
        ("R24-R27 of HMMA.16816.F32 R24, R4, R12, R24", "R24-R27 of this line of SASS is R0 to R3 of D in every lane."),
        (
            "R5:R12 of HMMA.16816.F32 R24, R4, R12, R24",
            "R5:R12 of this line of SASS is R1 of A to R0 of B in every lane.",
        ),
        ("R25 of HMMA.16816.F32 R24, R4, R12, R24", "ask for D R1 of lane 20 of mma.m16n8k16"),
        (
            "R16 of lane 4 in QMMA.SF.16832.F32.E4M3.E4M3.E8 R4, R8, R12, R4, R16, R17, URZ",
            "R16 of this line of SASS holds",
        ),
        ("R24-R31 of HMMA.16816.F32 R24, R4, R12, R24", "R31 of this line of SASS is not of D, A or B."),
        ("R28 of HMMA.16816.F32 R24, R4, R12, R24", "R28 of this line of SASS is not of D, A or B."),
        ("R26 of HMMA.16816.F16 R24, R4, R12, R24", "R26 of this line of SASS is not of D, A or B."),  # D: two
        ("R56 of lane 3 of HGMMA.64x64x16.F32 R24, gdesc[UR4], R24", "R56 of this line of SASS is not of D."),
        ("A[3][5] of HGMMA.64x64x16.F32 R24, gdesc[UR4], R24", "This line of SASS reads A by gdesc"),
        ("R4 lane 2 of HMMA.884.F32.F32.STEP1 R4, R8, R12, R4", "is a part of D of mma.m8n8k4"),
    ],
)
def test_registers_of_sass_that_are_no_place_are_named_by_their_operand(text: str, reason: str) -> None:
    told = read(text)
    assert told.kind == "unknown" and reason in told.notices[0]


def test_an_address_in_hexadecimal_is_no_size() -> None:
    reading = read("row 3 col 5 in 128B swizzle fp16 at smem address 0x400")
    assert reading.title == "Element [3][5] of a tile with the 128B swizzle"


@for_each("text", ["ldmatrix x4 lane 13 register 2 f16", "row 3 col 5 in 128B swizzle at smem address 1024"])
def test_a_place_that_the_page_does_not_show_is_named(text: str) -> None:
    reading = read(text)
    assert reading.kind == "topic" and "is not shown" in reading.notices[-1]


@for_each(
    "code",
    [
        f'float c[2][4]; asm volatile("{BF16} {{%0}};");',
        f"c[0][1] = 3\n{BF16}",
        "Layout<Shape<_2,_2>> a(1,2)",
        "for lane in range(32): a[0, 1] = lane",
    ],
)
def test_code_is_no_question(code: str) -> None:
    assert element_texts.parse_question(code) is None


@for_each(
    ("text", "link"),
    [
        ("A(m=3,k=5) of mma.m16n8k16 bf16", "pin=a:3,5"),
        ("B(n=5,k=3) of mma.m16n8k16 bf16", "pin=b:3,5"),  # B is K × N
        ("D (row 3, col 5) of mma.m16n8k16 bf16", "pin=d:3,5"),
        ("does lane 3 hold A[5][9] of mma.m16n8k16 bf16", "pin=a:5,9"),
    ],
)
def test_dimensions_and_lanes_beside_a_place(text: str, link: str) -> None:
    assert read(text).link == f"/i/{BF16}?{link}"


# several parts of one place ------------------------------------------------------------------------------------------


@for_each(
    ("text", "answer"),
    [
        # PTX ISA 9.7.14.5.8: lane 10 is group 2, column 2 · 2 + i of rows 2 and 10; lane 20 has a5 = A[5][9].
        ("lane 10 column 4 of D of mma.m16n8k16 bf16", "D[2][4] is in lane 10, register R0; D[10][4] is in lane 10,"),
        ("D row 10 thread 10 register 3 of mma.m16n8k16 bf16", "D[10][5] is in lane 10, register R3."),
        ("bit 16 of R1 of lane 3 of A of mma.m16n8k16 bf16", "A[8][7] is in lane 3, register R1, bits 31:16."),
        ("does lane 20 hold A[5][9] of mma.m16n8k16 bf16", "A[5][9] is in lane 20, register R2, bits 31:16."),
        ("does lane 3 hold A[5][9] of mma.m16n8k16 bf16", "Nothing of A[5][9] is in lane 3."),
        ("lane=20 row=5 col=9 of A of mma.m16n8k16 bf16", "A[5][9] is in lane 20, register R2, bits 31:16."),
        # wgmma's D: row 20 is row 4 of warp 1, so group 4; column 3 is the second of lane 4 · 4 + 1.
        ("D[20][3] lane 17 of wgmma m64n64k16 f16", "D[20][3] is in warp 1, lane 17 (thread 49), register R1."),
        (
            "thread 49 lane 17 D[20][3] of wgmma m64n64k16 f16",
            "D[20][3] is in warp 1, lane 17 (thread 49), register R1",
        ),
        ("row 20 lane 16 of D of wgmma m64n64k16 f16", "D[20][0] is in warp 1, lane 16 (thread 48), register R0"),
        ("thread 40 lane 8 of D of wgmma m64n64k16 f16", "D[18][0] is in warp 1, lane 8 (thread 40), register R0"),
        ("thread 40 lane 9 of wgmma m64n64k16 f16", "Nothing of thread 40 is in lane 9."),
        # mma.m16n8k128 of b1: 32 columns to a lane of the group, so column 70 is bit 6 of lane 3 · 4 + 2.
        ("A[3][70] of mma.m16n8k128 b1", "A[3][70] is in lane 14, register R0, bit 6."),
        ("A[3][70] of mma.m16n8k128 s32 += b1 × b1", "A[3][70] is in lane 14, register R0, bit 6."),
        ("b1 of lane 3 of mma.m16n8k128 b1", "B: R0 B[97][0]."),
        ("lane 0x0A R3 of D of mma.m16n8k16 bf16", "D: R3 D[10][5]."),
        ("T3 V1 of D of mma.m16n8k16 bf16", "D: R1 D[0][7]."),
        ("column 3 and row 6 of D of mma.m16n8k16 bf16", "D[6][3] is in lane 25, register R1."),
        ("lane 10 column 3 of D of tcgen05.mma m64n64k16", "D[10][3] is in half 0: lane 10, column 3."),
        ("matrix 1 of lane 10 of ldmatrix.x4", "data: R1 matrix 1[2][4] matrix 1[2][5]."),
        ("SFA[5][0] lane 3 of mma.m16n8k64 mxf4", "Nothing of SFA[5][0] is in lane 3."),
        ("D[100][7] of tcgen05.mma cta_group::2 m256n64k16 f16", "D[100][7] is in tensor memory: lane 100, column 7."),
        ("tcgen05 desc 0x4000404000010100", "this is a tcgen05 descriptor of Blackwell"),
        ("D[70][3] of tcgen05.mma.cta_group::1.kind::f16 m128n64k16", "tensor memory: lane 70, column 3."),
        ("B[5][9] with the 128B swizzle", "B is K × N: the page writes its element [n][k]."),
    ],
)
def test_every_part_of_a_place_narrows_the_answer(text: str, answer: str) -> None:
    reading = read(text)
    assert reading.kind != "unknown" and any(answer in notice for notice in reading.notices), reading


@for_each(
    ("text", "reason"),
    [
        ("rows 0-7 of D of mma.m16n8k16 bf16", "‘rows 0-7’ is not read"),
        ("element 7 of lane 10 of mma.m16n8k16 bf16", "‘element 7’ is not read"),
        ("lane 3 stage 2 of wgmma m64n64k16 f16", "‘stage 2’ is not read"),
        ("mma.m16n8k16 bf16 (5,9)", "‘(5,9)’ is not read"),
        ("A[5][9] of k block 2 of mma.m16n8k16 bf16", "‘block 2’ is not read"),
        ("A[6][3] of D of mma.m16n8k16 bf16", "names A and D"),
        ("lanes 3 and 4 row 5 of A of mma.m16n8k16 bf16", "more places than a page compares"),
        ("lane 10 column 3 of tcgen05.ld.16x64b.x2", "may be of tensor memory"),
        ("lane 10 bits 63:48 of mma.m16n8k16 bf16", "no bit 63"),
        ("b3 lane 3 register 0 of mma.m16n8k16 bf16", "b3 is in R1"),
        ("byte 4 of lane 3 of A of mma.m16n8k16 bf16", "no bit 39 in a register"),
        ("A[5][20] of mma.sync.m16n8k32 bf16", "No instruction without sp has all of mma, m16n8k32 and bf16."),
        ("lane 10 register 3 of D of mma.sync m16n16k16 f16", "No instruction without wmma"),
        ("D[3][5] of tcgen05.mma.kind::f8f6f4 m128n64k64", "No tcgen05.mma has m128n64k64."),
        ("row 70 column 9 of a 64x64 bf16 tile with 128B swizzle", "A tile of 64 × 64 has no"),
        ("tmem lane 128 column 5", "Its lanes go from 0 to 127"),
        ("tmem lane 35 column 7 ws", "‘ws’ is not read beside a lane and a column"),
        ("tmem lane 35 column 7 D m64n12", "No tcgen05.mma has M 64 and N 12."),
        ("R4 lane 9 in HMMA.16816.F32 R4, R4, R8, R4", "R4 of this line of SASS is of D and A."),
        ("R25, R26 of lane 5 in HMMA.16816.F32 R24, R4, R8, R24", "The question has several registers of SASS."),
        ("row 300 of D in tensor memory", "rows go from 0 to 255"),
        ("A[5][9] of mma.m16n8k16 bf16 row row", "has the layouts row.row"),
        ("lane 40 column 3 of D of mma.m16n8k16 bf16", "no lane 40"),
        ("row 70 of D of tcgen05.mma m64n64k16 in tensor memory", "D of 64 × 64 has no row 70 of D."),
        ("D[5][70] in tmem m64n64", "Its rows go from 0 to 63 and its columns from 0 to 63."),
        ("lane 3 C(7,5) of TiledMMA SM80_16x8x16_F32F16F16F32_TN 2x2x1", "C[7][5], lane 3 are several places"),
    ],
)
def test_a_part_that_is_not_read_is_named(text: str, reason: str) -> None:
    reading = read(text)
    assert reading.kind == "unknown" and reason in reading.notices[0], reading
    assert not text_meanings.find_certain_link(text)


def test_the_parts_of_a_place_select_what_the_maps_select() -> None:
    draw = random.Random(9)
    held = [i for i in catalog.instructions() if {"a", "d"} <= set(i.operands) and not i.family.elsewhere]
    for form in draw.sample([i for i in held if len(i.operands["d"].axes) == 2 and not i.family.issue], 30):
        op = form.operands["d"]
        thread, value = draw.randrange(op.threads), draw.randrange(op.values)
        row, register = int(op.coords["row"][thread, value]), op.register_of(value)[0]
        parts = draw.sample([f"row {row}", f"thread {thread}", f"register {register}"], 3)
        reading = read(f"{' '.join(parts)} of D of {form.ptx}")
        holders = [(one["thread"], one["value"]) for one in reading.facts["holders"]]
        alike = [v for v in range(op.values) if op.register_of(v)[0] == register and op.coords["row"][thread, v] == row]
        assert sorted(holders) == [(thread, v) for v in alike], form.ptx
