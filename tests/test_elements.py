"""Answers about elements, lanes and registers: what is said is what the page with the pin says, and what lies in no
register is in none.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from lanescope.app.instruction import headline
from lanescope.app.instruction.state import bind_descriptor, parse_state
from lanescope.app.read import elements
from lanescope.app.read.certain_links import find_certain_link
from lanescope.app.read.text_meanings import read_text
from lanescope.ptx import catalog
from lanescope.render.figure import make_figure
from tests.cases import for_each
from tests.sample import take_sample

TILE = "TiledMMA<MMA_Atom<SM90_64x64x16_F32F16F16_{}>, Layout<Shape<_2,_1,_1>>>"
F16_INTO_F32 = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16"
SS, RS = "SM90_64x128x16_F32BF16BF16_SS", "SM90_64x128x16_F32BF16BF16_RS"


def show_pinned(link: str) -> tuple[str, ...]:
    """The first sentences of the page that a link opens, about what it has pinned."""
    address = urlsplit(link)
    instruction = bind_descriptor(catalog.find(address.path.removeprefix("/i/")), {})
    query = {name: values[0] for name, values in parse_qs(address.query).items()}
    page_state, notices = parse_state(instruction, query)
    assert not notices
    figure = make_figure(instruction, page_state.product)
    answer = headline.build_answer(instruction, figure, page_state)
    return tuple(line.replace("`", "") for line in answer.lines) if answer.pinned else ()


def test_an_answer_says_what_the_page_says_of_its_pin() -> None:
    """Of every operand: the same holder, register and bits; a C whose map is not D's is pinned nowhere."""
    compared = 0
    for form in take_sample(catalog.instructions(), 120):
        bound = bind_descriptor(form, {})
        for op in bound.operands.values():
            if op.name not in "abcd" or op.plane != ("row", "col"):
                continue
            row, col = op.row_count * 2 // 3, op.col_count * 3 // 4
            answers = elements.answer_question(f"{op.name.upper()}[{row}][{col}] of {form.ptx}")
            assert answers is not None and answers.meanings, form.ptx
            meaning = answers.meanings[0]
            for line in show_pinned(meaning.link):
                place = line.split(" is in ")[1]
                for part in place.split(", "):
                    assert part in meaning.notices[0], (form.ptx, op.name, line, meaning.notices)
                compared += 1
    assert compared > 60


@for_each(
    "text",
    [
        f"A(70,3) of {TILE.format('SS')}",
        f"B(3,3) of {TILE.format('SS')}",
        f"B(3,3) of {TILE.format('RS')}",
        f"A[5][9] of {SS}",
        f"row 5 of A of {SS}",
        f"a3 of lane 5 of {SS}",
        f"B[5][9] of {RS}",
        "R1 of lane 5 of tcgen05.mma kind::f16",
        "thread 5 of tcgen05.mma kind::f16",
    ],
)
def test_what_lies_in_no_register_is_in_none(text: str) -> None:
    reading = read_text(text)
    assert (reading.kind, reading.title) == ("unknown", "Not in registers")
    assert not find_certain_link(text)


@for_each(
    ("text", "notice"),
    [
        # PTX ISA, fragments of m16n8k16: a1 of A lies in the upper half of R0, lane 4 · (6 % 8) + (3 % 8) / 2 = 25.
        (f"A(70,3) of {TILE.format('RS')}", "thread 153 (warp 4, lane 25), value 1, register R0, bits 31:16."),
        (f"A[5][9] of {RS}", "warp 0, lane 20 (thread 20), register R2, bits 31:16."),
        # Types of 4 bits lie in bits 5:2 of their byte (PTX ISA, kind::f8f6f4): byte 1 of R0.
        ("A[0][1] of mma.m16n8k32 f32 += e2m1 × e2m1", "lane 0, register R0, bits 13:10."),
        (f"C[3][5] of {F16_INTO_F32}", "The page shows D, which has another layout."),
        ("A[5][9] of tcgen05.mma kind::f16", "A[5][9] is in tensor memory: lane 5, column 4, bits 31:16."),
        ("D[70][203] of tcgen05.mma m128n256k16", "D[70][203] is in tensor memory: lane 70, column 203."),
        ("D[70][203] of tcgen05.mma m128n256k16", "those of the instruction descriptor 0x08400010."),
        ("D[70][3] of tcgen05.mma m128n128k16", "those of the usual instruction descriptor."),
        ("D[70][256] of tcgen05.mma m128n256k16", "its columns from 0 to 255."),
        ("lane 5 of tcgen05.mma kind::f16", "D: column 0 D[5][0], column 1 D[5][1]"),
        ("lane 5 of mma.m8n8k4 f16", "A of product 1: R0 A[1][0] A[1][1], R1 A[1][2] A[1][3]."),
        ("lane 5 of ldmatrix x4", "R1 matrix 1[1][2] matrix 1[1][3]"),
        ("lane 5 of tcgen05.ld 32x32b.x2", "data: R0 lane 5 column 0, R1 lane 5 column 1."),
    ],
    sample=3,
)
def test_a_place_is_said_with_its_bits_and_its_part(text: str, notice: str) -> None:
    reading = read_text(text)
    assert any(notice in one for one in reading.notices), reading.notices


@for_each(
    ("text", "unused"),
    [
        ("C(12,3) of TiledMMA with SM80_16x8x16_F32F16F16F32_TN, few warps", "TiledMMA, few and warps"),
        ("A[5][9] of kernel with HMMA.16816.F32.BF16", "kernel"),
    ],
)
def test_a_word_that_is_not_used_makes_an_answer_uncertain(text: str, unused: str) -> None:
    assert f"Not used: {unused}." in read_text(text).notices
    assert not find_certain_link(text)
    name = next(word for word in re.split(r"[ ,]+", text) if "16" in word)
    assert find_certain_link(f"{text.split()[0]} of {name}")


@for_each("text", ["scale A[3][1] of mma.m16n8k64 nvfp4", "metadata of A[3][1] of mma.sp.m16n8k32 f16"])
def test_scales_and_metadata_are_not_taken_for_the_data(text: str) -> None:
    reading = read_text(text)
    assert reading.title == "Not answered" and reading.also and not find_certain_link(text)
    name = "mma.m16n8k64 f32 += e2m1 × e2m1, scale ue4m3"
    assert "A[3][1] is in lane 12" in read_text(f"A[3][1] of {name}").notices[0]


@for_each(
    ("text", "notice"),
    [
        # PTX ISA, block scaling: with thread-id 0, lanes 4g and 4g + 1 supply rows g and g + 8; 4X has a byte a block.
        ("SFA[3][1] of mma.m16n8k64 mxf4", "row 3, K block 1 (k 32–63), is in lane 12, bits 15:8 of its scale_a data"),
        ("SFA[11][0] of mma.m16n8k64 mxf4", "row 11, K block 0 (k 0–31), is in lane 13, bits 7:0 of its scale_a data"),
        ("SFB[1][3] of mma.m16n8k64 nvfp4", "column 1, K block 3 (k 48–63), is in lane 4, bits 31:24"),
        # Metadata of m16n8k32, f16: lanes 4g and 4g + 1 supply rows g and g + 8 with selector 0, four bits a group.
        ("E[3][1] of mma.sp.m16n8k32 f16", "row 3, columns 4–7 of A, is in lane 12, bits 7:4 of its e"),
        ("metadata of lane 3 of mma.sp.m16n8k32 f16", "With sparsity selector 1 lane 3 supplies E[0][4], E[8][4]"),
    ],
)
def test_scale_factors_and_metadata_are_operands(text: str, notice: str) -> None:
    reading = read_text(text)
    assert notice in reading.notices[0] and reading.kind == "instruction", reading.notices


@for_each(
    ("text", "reason"),
    [
        ("SFA[16][0] of mma.m16n8k64 mxf4", "row 0 to 15, K block 0 to 1"),
        ("SFA[3][1] of mma.m16n8k16 bf16", "has no scale factors"),
        ("E[3][1] of mma.m16n8k8 f16", "has no metadata"),
        ("SFA[3][1] of tcgen05.mma mxf4", "are in tensor memory"),
        ("A[5.5][9] of mma.m16n8k16 bf16", "‘5.5’ is not an index"),
        ("B[-1][3] of mma.m16n8k16 bf16", "Row -1 is outside 0–15"),
        ("A[5][9][1] of mma.m16n8k16 bf16", "‘[1]’ is not an index"),
        ("A[k][9] of mma.m16n8k16 bf16", "‘k’ is not an index"),
        ("A[99999999999][3] of mma.m16n8k16 bf16", "Row 99999999999 is outside 0–15"),
        ("lane 5.5 of mma.m16n8k16 bf16", "‘5.5’ is not an index"),
        ("lane 40 of ldmatrix x4", "no lane 40"),
        ("address of lane 17 of ldmatrix.m8n8.x2", "Lanes 0 to 15 supply"),
        ("A[0][0] and A[0][1] and A[0][2] of mma.m16n8k16 bf16", "a page compares two"),
        ("SFA[3][1]", "Say of which instruction: SFA[3][1] of mma.m16n8k64"),
    ],
)
def test_what_is_refused_has_its_own_reason(text: str, reason: str) -> None:
    reading = read_text(text)
    assert reading.kind == "unknown" and reason in reading.notices[0], reading.notices
    assert not find_certain_link(text)


@for_each(
    ("text", "link"),
    [
        ("lanes 3 and 4 of mma.m16n8k16 bf16", "pin=lane:3&pin2=lane:4"),
        ("which lanes hold (3,5) and (3,6) of A in mma.m16n8k16 bf16", "pin=a:3,5&pin2=a:3,6"),
        ("A[5][9] and [5][10] of mma.m16n8k16 bf16", "pin=a:5,9&pin2=a:5,10"),
        ("row 3 and row 5 of D of mma.m16n8k16 bf16", "lanes=12-15,20-23&pin="),
        ("row 3 and column 5 of D of mma.m16n8k16 bf16", "pin=d:3,5"),  # one element
        ("col 5, row 3 of the accumulator of mma.m16n8k16 bf16", "pin=d:3,5"),
        ("lane 5 of warp 2 of wgmma.m64n64k16 f16", "lanes=69&pin=a:33,2"),
        ("element 70 of D of mma.m16n8k16 bf16", "pin=d:8,6"),
        ("c[2] and c[3] of lane 5 of mma.m16n8k16 bf16", "pin=d:9,2&pin2=d:9,3"),
        ("D[70][203] of tcgen05.mma m128n256k16 bf16", "idesc=0x08400490&pin=d:70,203"),
        ("D[3][3] and D[70][3] of tcgen05.mma 128x64x16", "idesc=0x08100010&pin=d:3,3&pin2=d:70,3"),
        ("D[3][3] and D[70][3] of tcgen05.mma kind::f16", "pin=d:3,3&pin2=d:70,3"),  # the usual descriptor
        ("lane 5 of mma.m16n8k16 bf16 on A100", "lanes=5&pin=a:1,2"),  # A100 is no value, and no lane
    ],
    sample=4,
)
def test_a_place_is_read_alike_in_every_spelling(text: str, link: str) -> None:
    assert urlsplit(read_text(text).link).query == link


@for_each(
    "text",
    [
        "D[3][5] lane 14 of mma.m16n8k16 f16.f16.f16.f16",
        "D[3][5] of mma.m16n8k16 with f16 accumulation",
        "D[3][5] of mma.m16n8k16 f16 accumulators",
        "D[3][5] of mma.m16n8k16 f16, accumulate in f16",
        "D[3][5] of mma.m16n8k16 f16 accumulator",
    ],
)
def test_the_type_of_the_accumulator_selects_the_form(text: str) -> None:
    """PTX ISA, mma.m16n8k16: of f16 D is two registers, with c0 and c1 in the first."""
    assert read_text(text).notices[0] == "D[3][5] is in lane 14, register R0, bits 31:16."


def test_another_place_selects_no_other_types() -> None:
    reading = read_text("D[3][5] lane 14 R1 of mma.m16n8k16 f16.f16.f16.f16")
    assert reading.notices[0] == "Nothing of D[3][5] is in R1 of lane 14."
    assert read_text("acc[3][5] of mma.m16n8k16 f16").notices[0] == "D[3][5] is in lane 14, register R1."
    assert read_text("D[3][5] of mma.m16n8k16 bf16 with f16 accumulation").kind == "unknown"


def test_the_address_that_a_lane_supplies_is_not_what_it_receives() -> None:
    """PTX ISA, ldmatrix: lanes 8i to 8i + 7 point at the rows of matrix i."""
    for text in (
        "what is the address of lane 17 in ldmatrix.x4",
        "which row address does lane 17 supply to ldmatrix x4",
    ):
        assert read_text(text).notices == ("Lane 17 supplies the address of row 1 of matrix 2.",)


def test_a_shape_with_several_types_names_no_single_form() -> None:
    assert read_text("mma.m8n8k4").facts["ptx"] is None and not find_certain_link("C[3][5] of mma.m8n8k4")
