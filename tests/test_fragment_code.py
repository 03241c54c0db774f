"""Pasted formulas and loops, compared with every operand: what agrees is named, what is open stays open, and nothing is
called wrong.
"""

from __future__ import annotations

import numpy as np
import pytest

from lanescope.app.read.text_meanings import read_text
from lanescope.errors import LayoutError
from lanescope.ptx.fragment_maps import FragmentMap, list_fragment_maps
from lanescope.reader.formula.fragment_answer import list_operands, recognise_fragment_code
from lanescope.reader.formula.fragment_code import compare_code
from tests.cases import for_each
from tests.client import Client

A_OF_16816 = "int row = lane / 4 + 8 * (i / 2 % 2); int col = lane % 4 * 2 + i % 2 + 8 * (i / 4);"
PTX_A_OF_16816 = """\
groupID           = %laneid >> 2
threadID_in_group = %laneid % 4
row =      groupID            for ai where  0 <= i < 2 || 4 <= i < 6
           groupID + 8        Otherwise
col = (threadID_in_group * 2) + (i & 0x1)        for ai where i <  4
      (threadID_in_group * 2) + (i & 0x1) + 8    for ai where i >= 4"""
EPILOGUE = """\
int r = lane_id / 4 + warp_id * 16, c = lane_id % 4 * 2;
for (int i = 0; i < 4; i++) {
  C[r * N + c + 8 * i] = d[i * 4];
  C[r * N + c + 8 * i + 1] = d[i * 4 + 1];
  C[(r + 8) * N + c + 8 * i] = d[i * 4 + 2];
  C[(r + 8) * N + c + 8 * i + 1] = d[i * 4 + 3];
}"""


def list_agreeing(text: str) -> dict[str, int]:
    """The operands that agree, in words, and how many fragments the text has of each."""
    (meaning,) = recognise_fragment_code(text)
    assert meaning.kind == "fragment"
    return {part["name"]: row["times"] for row in meaning.facts["agree"] for part in row["operands"]}


def get_open_reason(text: str) -> str:
    with pytest.raises(LayoutError) as refused:
        recognise_fragment_code(text)
    assert refused.value.code == "open_formula"
    return refused.value.message


@for_each("one", list_fragment_maps, ids=lambda one: str(one.operand.pattern))
def test_the_formula_that_the_engine_prints_is_its_operand(one: FragmentMap) -> None:
    """Every map of the catalogue, from the text that its page shows."""
    forward = one.operand.formula()["forward"]
    if not {"row", "col"} <= forward.keys():
        return
    text = "\n".join(f"{name} = {value}" for name, value in forward.items())
    if "thread" in text and one.threads == 128:
        text = text.replace("%tid", "tid")
    answer = compare_code(text)
    assert any(match.map is one and not match.swapped for match in answer.matches), text


@for_each(
    ("text", "first"),
    [
        (PTX_A_OF_16816, "A of mma.m16n8k16 f16, bf16"),
        (A_OF_16816, "A of mma.m16n8k16 f16, bf16"),
        ("row = lane // 4, col = lane % 4 * 8 + i for ai where i = {0,..,7}", "A of mma.m8n8k32 s4, u4"),
        ("row = lane // 4\ncol = lane % 4 * 8 + i   for ai where i = {0,..,7}", "A of mma.m8n8k32 s4, u4"),
        ("row = (threadID_in_group * 8) + i for bi where i = {0,..,7}\ncol = groupID", "B of mma.m8n8k32 s4, u4"),
        (
            "int row = (lane & 3) * 2 + (i & 1) + 8 * (i >> 1); int col = lane >> 2;",
            "B of mma.m16n8k16 f16, bf16",
        ),
        (EPILOGUE, "D of wgmma.m64n32k16 f16"),
    ],
)
def test_a_formula_by_hand_is_named(text: str, first: str) -> None:
    assert next(iter(list_agreeing(text))) == first


def test_an_epilogue_is_every_operand_that_it_may_be() -> None:
    """64×32 of a warpgroup: D of one wgmma, or four of m16n8 one after the other, or eight of 8×8."""
    found = list_agreeing(EPILOGUE)
    assert found["D of wgmma.m64n32k16 f32"] == 1 and found["C and D of mma.m16n8k16 f32, s32"] == 4
    assert found["C and D of mma.m8n8k4 f64"] == 8
    (meaning,) = recognise_fragment_code(EPILOGUE)
    assert meaning.facts["assumed"] == ["N"] and "Assumed to be the same in all threads: N." in meaning.notices
    column_major = "for (int i = 0; i < 4; i++) C[(lane / 4 + 8 * (i / 2)) + (lane % 4 * 2 + i % 2) * ldc] = d[i];"
    row = recognise_fragment_code(column_major)[0].facts["agree"][0]
    assert (row["order"], row["times"]) == ("column-major", 1)
    assert row["operands"][0]["name"].startswith("C and D of mma.m16n8k8")


def test_other_ways_to_write_a_store_are_the_same() -> None:
    """Two dimensions, make_float2 through a cast pointer, a guard at the edge, several tiles, a load by hand."""
    tiles = """
for (int mi = 0; mi < 2; ++mi)
  for (int ni = 0; ni < 4; ++ni) {
    int row = warp * 32 + mi * 16 + groupID, col = ni * 8 + threadID_in_group * 2;
    if (row < M && col < N) {
      *reinterpret_cast<float2*>(&C[row * ldc + col]) = make_float2(acc[mi][ni][0], acc[mi][ni][1]);
      *reinterpret_cast<float2*>(&C[(row + 8) * ldc + col]) = make_float2(acc[mi][ni][2], acc[mi][ni][3]);
    }
  }"""
    assert list_agreeing(tiles)["C and D of mma.m16n8k16 f32, s32"] == 8
    rows = "for (int i = 0; i < 4; ++i) C[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2] = __float2half(d[i]);"
    assert list_agreeing(rows)["C and D of mma.m16n8k16 f16"] == 1
    load = "for (int i = 0; i < 8; ++i) a[i] = A[(lane / 4 + 8 * (i / 2 % 2)) * 16 + lane % 4 * 2 + i % 2 + i / 4 * 8];"
    assert next(iter(list_agreeing(load))) == "A of mma.m16n8k16 f16, bf16"


PTX_C_OF_1688 = """\
groupID           = %laneid >> 2
threadID_in_group = %laneid % 4
row =      groupID                               for c0 and c1
         groupID + 8                             for c2 and c3
col =  (threadID_in_group * 2) + (i & 0x1)       for ci   where i = {0,..,3}"""
PTX_A_OF_1688_TF32 = """\
row =      groupID            for a0 and a2
         groupID + 8          for a1 and a3
col =  threadID_in_group       for a0 and a1
       threadID_in_group + 4   for a2 and a3"""


@for_each(
    ("text", "first"),
    [
        (PTX_C_OF_1688, "C and D of mma.m16n8k8 f16"),
        (PTX_C_OF_1688.replace("c1\n", "c1,\n"), "C and D of mma.m16n8k8 f16"),
        (" ".join(PTX_C_OF_1688.split()), "C and D of mma.m16n8k8 f16"),
        (PTX_C_OF_1688.replace("c0 and c1\n        ", "c0, c1,"), "C and D of mma.m16n8k8 f16"),
        (PTX_A_OF_1688_TF32, "A of mma.m16n8k8 tf32"),
        ("row = groupID for a0\n groupID + 8 for a1\ncol = threadID_in_group", "A of mma.m16n8k4 tf32"),
        ("row = threadID_in_group for b0\n threadID_in_group + 4 for b1\ncol = groupID", "B of mma.m16n8k8 tf32"),
        (
            "row = groupID for ci where i < 2, groupID + 8 for ci where i >= 2, "
            "col = (threadID_in_group * 2) + (i & 0x1) for ci where i = {0,..,3}",
            "C and D of mma.m16n8k8 f16",
        ),
    ],
)
def test_values_by_their_names_in_ptx_are_known(text: str, first: str) -> None:
    """The formulas of PTX's pages, with the line ends that a box of one line loses."""
    (meaning,) = recognise_fragment_code(text)
    assert next(iter(list_agreeing(text))) == first and meaning.title.startswith(first)
    assert "A of" not in meaning.title if first.startswith("C") else "C and D" not in meaning.title
    assert not any("does not say where i ends" in notice for notice in meaning.notices)


def list_held_values(text: str) -> dict[str, list[int]]:
    """Which values of each operand lie where a text says, in words."""
    (meaning,) = recognise_fragment_code(text)
    return {part["name"]: row["held"] for row in meaning.facts["part"] for part in row["operands"]}


@for_each(
    ("text", "held"),
    [
        (
            "row = lane/4, col = (lane%4)*2",
            {"C and D of mma.m16n8k16 f32, s32": [0], "A of mma.m16n8k16 f16, bf16": [0]},
        ),
        ("row = lane/4 + 8, col = (lane%4)*2 + 1", {"C and D of mma.m16n8k16 f32, s32": [3]}),
        ("int row = lane / 4; int col = lane % 4 * 2 + 8;", {"A of mma.m16n8k16 f16, bf16": [4]}),
        ("int row = lane / 4 + 16 * warp; int col = lane % 4 * 2;", {"D of wgmma.m64n8k16 f32": [0]}),
        (
            "row = groupID + 8 for c2 and c3\ncol = threadID_in_group * 2 + (i & 1) for c2 and c3",
            {"C and D of mma.m16n8k16 f32, s32": [2, 3]},
        ),
    ],
)
def test_a_formula_of_one_value_names_the_values_that_lie_there(text: str, held: dict[str, list[int]]) -> None:
    found = list_held_values(text)
    assert found.items() >= held.items()


def test_every_operand_is_compared_with_a_formula_of_one_value() -> None:
    """PTX's c0 and a0: lane / 4 is its row, twice lane % 4 its column, in each thread of an operand."""
    found, lane = list_held_values("row = lane/4, col = (lane%4)*2"), np.arange(32)
    for one in list_fragment_maps():
        rows, cols = one.rows[:, 0], one.cols[:, 0]
        begins = one.threads == 32 and bool((rows == lane // 4).all() and (cols == lane % 4 * 2).all())
        names = {part["name"] for part in list_operands(one, "")}
        assert (names <= found.keys()) == begins, names


def test_a_value_that_no_operand_has_is_no_agreement(client: Client) -> None:
    """The column of the lane's second value with a row of the fourth: some operand may have it, none of m16n8."""
    assert "C and D of mma.m16n8k16 f32, s32" not in list_held_values("row = lane/4 + 3, col = (lane%4)*2")
    (meaning,) = recognise_fragment_code("row = lane/5, col = (lane%5)*2")
    assert meaning.facts["part"] == [] and meaning.title == "No operand has the map of this formula"
    (meaning,) = recognise_fragment_code("row = groupID + 9 for c2 and c3\ncol = threadID_in_group * 2 + (i & 1)")
    assert meaning.facts["part"] == [] and meaning.title == "No operand has its values 2 and 3 there"
    page = client.get("/read", params={"text": "row = lane/4, col = (lane%4)*2"}).text
    assert "Agrees with some of the values" in page and "one value of each lane" in page


def test_cases_for_different_values_are_not_one_formula() -> None:
    text = "row = groupID for c0 and c1\ncol = threadID_in_group for ci where i = {0,..,3}"
    assert "gives row for 2 values and col for 4 values" in get_open_reason(text)


def test_a_row_and_column_named_after_an_operand_name_it() -> None:
    text = "int c_row = lane / 4 + 8 * (i / 2 % 2); int c_col = lane % 4 * 2 + i % 2;"
    assert recognise_fragment_code(text)[0].title.startswith("C and D of mma.m16n8k8 f16 (and")
    both = recognise_fragment_code(text.replace("c_", ""))[0].title
    assert both.startswith("C and D of mma.m16n8k8 f16 and A of mma.m16n8k8 f16, bf16 (and"), "both fit"


def test_row_addresses_of_ldmatrix_are_known() -> None:
    (meaning,) = recognise_fragment_code("int row = lane % 16; int col = lane / 16 * 8;")
    names = [row["name"] for row in meaning.facts["addresses"]]
    assert names[0] == "Row addresses of ldmatrix.m8n8.x4 for A of m16n8k16, 16-bit, K-major"
    assert "Row addresses of ldmatrix.m8n8.x2.trans for B of m16n8k16, 16-bit, N-major" in names  # lanes 0 to 15
    assert not any("for A" in name and "M-major" in name for name in names)


@for_each(
    ("text", "name"),
    [
        ("int row = lane & 7; int col = ((lane >> 3) & 1) * 8;", "ldmatrix.m8n8.x2 for B of m16n8k16"),  # N × K
        (
            "int row = (lane & 7) + 8 * (lane >> 4); int col = ((lane >> 3) & 1) * 8;",
            "ldmatrix.m8n8.x4 for two neighbouring B of m16n8k16",
        ),
    ],
)
def test_row_addresses_of_b_are_those_of_its_stored_rows(text: str, name: str) -> None:
    (meaning,) = recognise_fragment_code(text)
    assert meaning.title == f"Row addresses of {name}, 16-bit, K-major" and not meaning.notices


def test_lanes_whose_addresses_are_not_used_are_said() -> None:
    (meaning,) = recognise_fragment_code("int row = lane; int col = 0;")
    assert "Lanes 0–15 have these addresses" in meaning.notices[0]


def test_a_swizzled_address_beside_row_and_column_is_read_too() -> None:
    text = "int row = lane % 16; int col = lane / 16 * 8; at = row * 128 + ((col * 2) ^ ((row & 7) << 4));"
    assert [meaning.kind for meaning in recognise_fragment_code(text)] == ["fragment", "layout"]


@for_each("text", ["swz_col = (lane % 8) ^ (lane / 8)", "row = tid / 8; at = row * 128 + ((tid % 8 ^ row % 8) * 16);"])
def test_a_swizzled_place_is_no_half_of_a_formula(text: str) -> None:
    assert recognise_fragment_code(text) == ()


def test_exchanged_digits_are_nobodys_and_say_what_is_near() -> None:
    """The two 8s of A exchanged: no operand with 8 values has this map, and the text is not called wrong."""
    text = "int row = lane / 4 + 8 * (i / 4); int col = lane % 4 * 2 + i % 2 + 8 * (i / 2 % 2);"
    (meaning,) = recognise_fragment_code(text)
    assert not any(row["values"] >= 8 for row in meaning.facts["agree"])
    nearest = meaning.facts["nearest"]
    assert nearest["values"] == 8 and nearest["agree"] == 128 and nearest["total"] == 256
    assert nearest["first_difference"] == {"thread": 0, "value": 2, "formula": [0, 8], "operand": [8, 0]}
    said = " ".join((meaning.title, *meaning.notices)).lower()
    assert "wrong" not in said and "the formula distinguishes 8 values" in said
    swapped = recognise_fragment_code(EPILOGUE.replace("lane_id / 4 +", "lane_id % 4 +").replace("N", "32"))[0]
    assert swapped.facts["agree"] == [] and swapped.title == "No operand has the map of this loop"


@for_each(
    ("index", "least", "clash"),
    [
        ("i % 3", 3, "At i = 2 it gives lane 0 row 0, column 2, which lane 1 has at i = 0."),
        ("i % 4", 4, "At i = 2 it gives lane 0 row 0, column 2, which lane 1 has at i = 0."),
        ("(i & 3)", 4, "At i = 2 it gives lane 0 row 0, column 2, which lane 1 has at i = 0."),
        ("i * i", 3, "At i = 2 it gives lane 0 row 0, column 4, which lane 2 has at i = 0."),
    ],
)
def test_a_formula_that_is_odd_past_the_operands_values_gets_no_check_mark(
    client: Client, index: str, least: int, clash: str
) -> None:
    """Two values agree with D of m8n8k4; the next one is where another lane's first is."""
    text = f"int row = lane / 4; int col = lane % 4 * 2 + {index};"
    (meaning,) = recognise_fragment_code(text)
    assert meaning.facts["agree"] == [] and meaning.facts["begin"][0]["values"] == 2
    assert meaning.title.startswith("The first 2 values are C and D of mma.m8n8k4")
    assert clash in meaning.notices and f"The formula distinguishes {least} values" in " ".join(meaning.notices)
    assert "✓" not in client.get("/read", params={"text": text}).text.partition("</article>")[0]


@for_each("index", ["i % 2", "i", "(i & 1)"])
def test_values_that_the_text_leaves_open_are_said(index: str) -> None:
    (meaning,) = recognise_fragment_code(f"int row = lane / 4; int col = lane % 4 * 2 + {index};")
    assert meaning.facts["agree"][0]["values"] == 2 and meaning.facts["begin"] == []
    assert "does not limit i. Compared: i = 0 to 1" in meaning.notices[0]
    assert recognise_fragment_code(PTX_A_OF_16816)[0].facts["agree"][0]["values"] == 8


@for_each(
    ("text", "why"),
    [
        ("int row = find_row(lane); int col = lane % 4;", "'row' cannot be evaluated"),
        ("C[row * N + lane % 4] = d[0];", "does not define 'row'"),
        ("for (int i = 0; i < n; ++i) C[lane / 4 * 8 + i] = d[i];", "end is open"),
        ("int row = lane / 4 + k * lane; int col = lane % 4 * 2 + i;", "no operand agrees if k is the same"),
        ("if (lane < 16) C[lane * 8] = d[0];", "only some lanes"),
        ("row = lane // width\ncol = i", "a division or a comment"),
        ("int row = (lane - 4) / 4; int col = lane % 4 * 2 + i;", "depends on its type"),
        ("int row = lane / (lane % 4); int col = i;", "'row' divides by 0"),
        ("row = lane / 0", "'row' divides by 0"),
        ("row = lane / 4; col = lane % 0;", "'col' divides by 0"),
        ("C[lane * 8 + 1] = d[0]; C[lane * 8] = d[0];", "moved twice"),
        ("C[lane / 4 * 8 + lane % 4 * 2 + i] = d[i];", "which array is in registers"),
        ("int row0 = lane / 4, row1 = lane / 4 + 8; int col = lane % 4;", "2 names are a row"),
    ],
)
def test_what_is_open_stays_open(text: str, why: str) -> None:
    assert why in get_open_reason(text)


def test_a_name_that_differs_by_thread_is_never_taken_as_constant() -> None:
    """A pitch may be any number, but a formula agrees only if it does for each of them."""
    with_offset = EPILOGUE.replace("r * N", "(r + tile_row) * N").replace("(r + 8)", "(r + 8 + tile_row)")
    assert list_agreeing(with_offset)["D of wgmma.m64n32k16 f32"] == 1
    unknown_pitch = list_agreeing(EPILOGUE.replace("warp_id * 16", "warp_id * rows_of_warp"))
    assert not any("wgmma" in name for name in unknown_pitch) and "C and D of mma.m16n8k16 f32, s32" in unknown_pitch


def test_it_does_not_take_what_another_recogniser_reads() -> None:
    asm = 'asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0}, {%1}, {%2}, {%3};");'
    for text in (
        A_OF_16816 + asm,
        "int color = lane / 4;",
        "int arrow = lane % 4;",
        "lane 5 of mma.m16n8k16 bf16",
        "groupID",
        "thread and warp",
    ):
        assert read_text(text).kind != "fragment", text


def test_an_address_that_is_no_swizzle_is_named() -> None:
    (meaning,) = recognise_fragment_code(
        "row = lane % 16; col = lane / 16 * 8; at = row * 64 + ((col * 2) ^ ((row & 7) << 4));"
    )
    assert meaning.notices[-1] == "No swizzle is read from at = row * 64 + ((col * 2) ^ ((row & 7) << 4))."


def test_a_row_that_is_the_same_in_all_lanes_is_compared() -> None:
    """A misspelled lane is a name that the text leaves open: no operand has such rows."""
    assert "is the same in all threads" in get_open_reason("row = lain / 4; col = lane % 4 * 2")
