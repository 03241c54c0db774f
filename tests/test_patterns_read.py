"""A pattern that a page prints is read back: its operand, and the layout that it is."""

from __future__ import annotations

import numpy as np
import pytest

from lanescope.cute.text import parse_layout
from lanescope.errors import LayoutError
from lanescope.names import lookup
from lanescope.ptx.pattern import Pattern
from lanescope.reader.formula.xor_formulas import recognise_xor_formulas
from lanescope.reader.patterns import recognise_patterns
from tests.cases import for_each

PRINTED = [
    ("mma.m16n8k16.row.col.f32.f16.f16.f32", "a"),
    ("mma.m16n8k16.row.col.f32.f16.f16.f32", "b"),
    ("mma.m16n8k8.row.col.f32.tf32.tf32.f32", "a"),
    ("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", "d"),
]


@for_each(("name", "letter"), PRINTED)
def test_a_printed_pattern_names_its_operand(name: str, letter: str) -> None:
    instruction = lookup.find(name)
    meanings = recognise_patterns(str(instruction.operand(letter).pattern))
    named = {
        meaning.facts["operand"]: [meaning.facts["ptx"], *meaning.facts["candidates"]]
        for meaning in meanings
        if meaning.kind == "instruction"
    }
    assert instruction.ptx in named[letter]


@for_each("text", ["(m:8 k:2 g:8 x:4) (i:2 q:4) -> (m i g) (x k q)", "(l:4) (n:8) -> (l) (n)", "(i:8) (j:4) -> (j i)"])
def test_its_layout_has_the_elements_of_its_digits(text: str) -> None:
    layout = parse_layout(recognise_patterns(text)[-1].facts["cute"])
    pattern = Pattern.parse(text)
    for element in np.ndindex(*pattern.extents):
        index = int(np.ravel_multi_index(element, pattern.extents, order="F"))
        for thread, value in pattern.owners(*element):
            assert layout(thread + pattern.thread_count * value) == index


def test_a_pattern_that_cannot_be_read_says_why() -> None:
    with pytest.raises(LayoutError, match="'z' occurs on the right but not on the left"):
        recognise_patterns("(g:8 t:4) (i:2) -> (i g) (t z)")


# formulas of a swizzle ------------------------------------------------------------------------------------------------

ROWS = {  # formula of a row and a column → layout
    "smem[row * 64 + ((col / 8) ^ (row % 8)) * 8 + col % 8]": "Sw<3,3,3> o (8,64):(64,1)",
    "int f(int r, int c) { return r * 64 + ((((c >> 3) ^ (r & 7)) << 3) | (c & 7)); }": "Sw<3,3,3> o (8,64):(64,1)",
    "const int at = i * 32 + (j ^ ((i >> 1 & 3) << 3));": "Sw<2,3,3> o (8,32):(32,1)",
    "(k * 128) + (m ^ ((k % 8) * 8))": "Sw<3,3,4> o (8,128):(128,1)",
    "row * 128 + ((chunk ^ (row & 7)) << 4)": "Sw<3,0,3> o (8,8):(8,1)",  # in units of 16
    "#define AT(r, c) \\\n  ((r) * 64 + ((((c) / 8) ^ ((r) % 8)) * 8 + (c) % 8))": "Sw<3,3,3> o (8,64):(64,1)",
    "auto at = [](int r, int c) { return r * 64 + (((c / 8) ^ (r % 8)) * 8 + c % 8); };": "Sw<3,3,3> o (8,64):(64,1)",
    "def at(r: int, c: int) -> int:\n    return r * 128 + (c ^ ((r % 8) << 4))": "Sw<3,4,3> o (8,128):(128,1)",
    "lambda r, c: r * 64 + (((c // 8) ^ (r % 8)) * 8 + c % 8)": "Sw<3,3,3> o (8,64):(64,1)",
}
INDICES = {  # formula of an index → swizzle
    "addr ^ ((addr & 0x380) >> 3)": "Swizzle<3,4,3> of addr",
    "uint32_t swizzled = byte ^ ((byte >> 3) & 0x70u);": "Swizzle<3,4,3> of byte",
    "((x & (7 << 6)) >> 3) ^ x": "Swizzle<3,3,3> of x",
    "#define SWIZZLE(off) ((off) ^ (((off) >> 3) & 0x70))": "Swizzle<3,4,3> of off",
    "swz = lambda x: x ^ ((x & 0x380) >> 3)": "Swizzle<3,4,3> of x",
    "at ^ ((at & 0xe000) >> 9)": "Swizzle<3,4,9> of at",  # bits beyond the indices that are all compared
    "i ^ (i / 16 % 2)": "Swizzle<1,0,4> of i",
}
OTHERS = (
    "row * 72 + (col ^ ((row & 7) << 3))",  # padded rows
    "row * 128 + (((col >> 3) ^ (row & 7)) << 4)",  # drops the low bits of the column
    "x ^ (x >> 1)",  # a Gray code: each bit is changed and read
    "x ^ (x << 3 & 0x70)",
    "x ^ 0x40",
    "(tid % 8) ^ (tid / 8 % 8)",
    "x ^ ((x >> 3) & 0x50)",  # bits 4 and 6, not 5
    "x ^ ((x >> 3) & 0x70) ^ (x >> 20 & 1)",
    "a ^ b",
    "a ^ b ^ c",
    "#define SWIZZLE(off) ((off) ^ (((off) >> 3) & 0x71))",
    "lambda x: x ^ (x << 3 & 0x70)",
)


@for_each("formula", ROWS)
def test_a_row_and_a_column_are_the_layout_that_they_index(formula: str) -> None:
    (meaning,) = recognise_xor_formulas(formula)
    assert meaning.facts["cute"] == ROWS[formula]
    assert meaning.facts["storage"] is None  # which of them is K is not known


@for_each("formula", INDICES)
def test_an_index_is_the_swizzle_that_it_takes(formula: str) -> None:
    (meaning,) = recognise_xor_formulas(formula)
    assert meaning.title == INDICES[formula]


@for_each("formula", OTHERS)
def test_no_other_formula_is_a_swizzle(formula: str) -> None:
    assert recognise_xor_formulas(formula) == ()


@for_each(
    ("formula", "title", "base"),
    [
        ("base + (off ^ (off >> 3 & 0x70))", "Swizzle<3,4,3> of off", "base"),
        (
            "uint32_t a = smem + stage * 16384 + (off ^ (off >> 3 & 0x70));",
            "Swizzle<3,4,3> of off",
            "smem + stage * 16384",
        ),
        ("base + row * 128 + ((chunk ^ (row & 7)) << 4)", "CuTe layout Sw<3,0,3> o (8,8):(8,1)", "base"),
        (
            "#define AT(p, r, c) ((p) + (r) * 128 + (((c) ^ ((r) & 7)) << 4))",
            "CuTe layout Sw<3,0,3> o (8,8):(8,1)",
            "(p)",
        ),
        ("let a = base + row * 128 + ((c ^ (row & 7)) << 4);  // 128B", "CuTe layout Sw<3,0,3> o (8,8):(8,1)", "base"),
        ("((row * 128 + col * 16) ^ ((row & 7) << 4)) + 4096", "CuTe layout Sw<3,0,3> o (8,8):(8,1)", "4096"),
    ],
)
def test_an_offset_from_a_base_is_the_swizzle_of_aligned_bases(formula: str, title: str, base: str) -> None:
    (meaning,) = recognise_xor_formulas(formula)
    assert meaning.title == title
    assert meaning.notices[-1].startswith(f"The offset from {base} is swizzled") and "1,024" in meaning.notices[-1]


@for_each(
    "formula", ["base + off ^ (off >> 3 & 0x70)", "off + (off ^ (off >> 3 & 0x70))", "base - (p ^ (p >> 3 & 0x70))"]
)
def test_a_base_that_is_swizzled_with_the_offset_is_no_base(formula: str) -> None:
    assert recognise_xor_formulas(formula) == ()


@for_each(
    ("statements", "title"),
    [
        ("addr ^= (addr & 0x380) >> 3;", "Swizzle<3,4,3> of addr"),
        ("int off = row * 128 + c * 16; off ^= (row & 7) << 4;", "CuTe layout Sw<3,0,3> o (8,8):(8,1)"),
        ("off = row * 128 + c * 16;\nswz = off ^ (off >> 3 & 0x70)", "CuTe layout Sw<3,0,3> o (8,8):(8,1)"),
        (
            "int col = lane / 16 * 8;\naddr = base + row * 128 + ((col * 2) ^ ((row & 7) << 4));",
            "CuTe layout Sw<3,3,3> o (8,64):(64,1)",
        ),
        (
            "int row = tid / 8, col = tid % 8 * 8;\ns[row * 64 + (col ^ ((row & 7) << 3))] = g[row * ld + col];",
            "CuTe layout Sw<3,3,3> o (8,64):(64,1)",
        ),
        ("int s = (row & 7) << 3; f(p, row * 64 + (col ^ s));", "CuTe layout Sw<3,3,3> o (8,64):(64,1)"),
        ("(base + row * 128) | ((col * 2) ^ ((row & 7) << 4))", "CuTe layout Sw<3,3,3> o (8,64):(64,1)"),
    ],
)
def test_statements_are_the_formula_of_their_last_value(statements: str, title: str) -> None:
    (meaning,) = recognise_xor_formulas(statements)
    assert meaning.title == title


def test_a_base_that_is_joined_by_or_is_a_condition() -> None:
    (meaning,) = recognise_xor_formulas("(base + row * 128) | ((col * 2) ^ ((row & 7) << 4))")
    assert meaning.notices[-1] == "The | is a + if no bit of base is in what is XORed."


def test_statements_with_different_swizzles_are_none() -> None:
    one, other = "s[row * 64 + (col ^ ((row & 7) << 3))] = 0;", "t[row * 32 + (col ^ ((row & 3) << 3))] = 0;"
    assert recognise_xor_formulas(one) and recognise_xor_formulas(other)
    assert recognise_xor_formulas(one + other) == ()


@for_each(
    ("text", "title"),
    [
        ("Swizzle<3,4,3>{}(x)", "Swizzle<3,4,3> of x"),
        ("auto at = cute::Swizzle<2, 4, 3>{}(row * 64 + c * 2);", "CuTe layout Sw<2,3,3> o (8,32):(32,1)"),
        ("Swizzle<3,3,3>::apply(row * 64 + col)", "CuTe layout Sw<3,3,3> o (8,64):(64,1)"),
        ("cute::Swizzle<3,4,3>()(329)", "Swizzle<3,4,3> of 329 is 361 (0x149 → 0x169)"),
        ("Sw<3,4,3> 336", "Swizzle<3,4,3> of 336 is 368 (0x150 → 0x170)"),
        ("Swizzle(3,4,3)(0x150)", "Swizzle<3,4,3> of 336 is 368 (0x150 → 0x170)"),
    ],
)
def test_a_call_of_cutes_swizzle_is_its_formula(text: str, title: str) -> None:
    (meaning,) = recognise_xor_formulas(text)
    assert meaning.title == title


def test_each_of_several_values_is_read_or_named() -> None:
    at = "at = row * 128 + (c ^ (row & 7)) * 16;"
    both = recognise_xor_formulas(f"{at} bt = row * 128 + (c ^ (row & 3)) * 16;")
    assert [one.title.partition(" o ")[0] for one in both] == ["CuTe layout Sw<3,0,3>", "CuTe layout Sw<2,0,3>"]
    (meaning,) = recognise_xor_formulas(f"{at} bt = row * 128 + c * 16;")
    assert meaning.notices[-1] == "No swizzle is read from bt = row * 128 + c * 16."


def test_a_number_added_to_a_swizzled_offset_is_no_base() -> None:
    (meaning,) = recognise_xor_formulas("Swizzle<3,3,3>{}(row * 64 + col) + 1")
    assert meaning.notices[-1].startswith("The code adds 1 after the XOR")


def test_a_swizzle_that_cute_does_not_have_is_not_read() -> None:
    assert recognise_xor_formulas("Swizzle<3,4,2>{}(x)") == ()


def test_statements_whose_formula_doubles_are_not_joined() -> None:
    assert recognise_xor_formulas("x = x ^ x;" * 40) == ()


def test_the_unit_in_which_it_is_a_mode_of_the_hardware_is_named() -> None:
    (meaning,) = recognise_xor_formulas("at ^ (at >> 3 & 0x30)")
    assert meaning.notices[1] == "On bytes it is the 64B swizzle of TMA and of matrix descriptors."
    (meaning,) = recognise_xor_formulas("at ^ (at >> 3 & 8)")
    assert meaning.notices[1] == "On 16-bit elements it is the 32B swizzle of TMA and of matrix descriptors."
    (meaning,) = recognise_xor_formulas("at ^ (at >> 4 & 8)")
    assert len(meaning.notices) == 1
