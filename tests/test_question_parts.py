"""Every part of a question about places in the box: read, or named as not read."""

from __future__ import annotations

import random

from lanescope.app.read import certain_links, element_texts
from lanescope.app.read.text_meanings import read_text
from lanescope.ptx import catalog
from tests.cases import for_each

BF16 = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"


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
    assert read_text(text).title.startswith(title)


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
    told = read_text(text)
    assert told.kind == "unknown" and reason in told.notices[0]


def test_an_address_in_hexadecimal_is_no_size() -> None:
    reading = read_text("row 3 col 5 in 128B swizzle fp16 at smem address 0x400")
    assert reading.title == "Element [3][5] of a tile with the 128B swizzle"


@for_each("text", ["ldmatrix x4 lane 13 register 2 f16", "row 3 col 5 in 128B swizzle at smem address 1024"])
def test_a_place_that_the_page_does_not_show_is_named(text: str) -> None:
    reading = read_text(text)
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
    assert read_text(text).link == f"/i/{BF16}?{link}"


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
    reading = read_text(text)
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
    reading = read_text(text)
    assert reading.kind == "unknown" and reason in reading.notices[0], reading
    assert not certain_links.find_certain_link(text)


def test_the_parts_of_a_place_select_what_the_maps_select() -> None:
    draw = random.Random(9)
    held = [i for i in catalog.instructions() if {"a", "d"} <= set(i.operands) and not i.family.elsewhere]
    for form in draw.sample([i for i in held if len(i.operands["d"].axes) == 2 and not i.family.issue], 30):
        op = form.operands["d"]
        thread, value = draw.randrange(op.threads), draw.randrange(op.values)
        row, register = int(op.coords["row"][thread, value]), op.register_of(value)[0]
        parts = draw.sample([f"row {row}", f"thread {thread}", f"register {register}"], 3)
        reading = read_text(f"{' '.join(parts)} of D of {form.ptx}")
        holders = [(one["thread"], one["value"]) for one in reading.facts["holders"]]
        alike = [v for v in range(op.values) if op.register_of(v)[0] == register and op.coords["row"][thread, v] == row]
        assert sorted(holders) == [(thread, v) for v in alike], form.ptx


@for_each("text", ["C(5,5) and C(6,5) of a tile of 32 × 16 × 16", "C(5,5) of the tile"])
def test_an_element_of_a_tile_asks_for_its_tiled_mma(text: str) -> None:
    told = read_text(text)
    assert told.title == "Of which TiledMMA?" and "C[5][5]" in told.notices[0]
