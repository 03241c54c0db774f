"""Descriptor words beside an instruction, as programs and debuggers print them."""

from __future__ import annotations

import pytest

from lanescope.errors import LayoutError
from lanescope.reader.code.naming.named_constants import read_constants
from lanescope.reader.words import word_spellings
from lanescope.reader.words.descriptor_word import recognise_word
from lanescope.workbench import build_workbench
from tests import reader_corpus
from tests.cases import for_each

A0, A1, B0, B1 = "0x4000004000010100", "0x4000004000010102", "0x4000004000010400", "0x4000004000010402"
PRINTED = {  # how programs and debuggers print the words of two operands beside their instruction
    "a word a line": f"{A0}\n{B0}",
    "labels without a colon": f"desc_a {A0}\ndesc_b {B0}",
    "operands alone": f"A {A0}\nB {B0}",
    "a label with a blank": f"thread 0: desc A {A0} desc B {B0}",
    "an assignment of two": f"desc_a, desc_b = {A0}, {B0}",
    "two in parentheses": f"(desc_a, desc_b): ({A0}, {B0})",
    "with a slash": f"desc_a/desc_b: {A0}/{B0}",
    "a table": f"k   desc_a              desc_b\n0   {A0}  {B0}\n1   {A1}  {B1}",
    "a table of single blanks": f"k desc_a desc_b\n0 {A0} {B0}\n1 {A1} {B1}",
    "a table of Markdown": f"| k | desc A | desc B |\n|---|---|---|\n| 0 | {A0} | {B0} |",
    "a table of CSV": f"iter,desc_a,desc_b\n0,{int(A0, 0)},{int(B0, 0)}\n",
    "a table of tabs": f"sA\tsB\n{A0}\t{B0}",
    "halves in columns": "k  desc_a.lo  desc_a.hi  desc_b.lo desc_b.hi\n0 00010100 40000040 00010400 40000040",
    "JSON": f'{{"desc_a": "{A0}", "desc_b": ["{B0}", "{B1}"]}}',
    "a heading each": f"desc_a:\n  {A0}\n  {A1}\ndesc_b:\n  {B0}\n  {B1}",
    "a label for several": f"desc_a: {A0} {A1}\ndesc_b: {B0} {B1}",
    "a debugger": f"(cuda-gdb) p/x desc_a\n$1 = {A0}\n(cuda-gdb) p/x desc_b\n$2 = {B0}",
    "memory": f"0x7ffe9000 <desc>: {A0} {B0}",
    "hex without 0x": f"desc_a {A0[2:]} desc_b {B0[2:]}",
}


@for_each("name", PRINTED)
def test_printed_words_in_every_arrangement(name: str) -> None:
    """Both operands get their words and every step of them, before the instruction and behind it."""
    atom = "SM90_64x128x16_F32F16F16_SS"
    for text in (f"{atom}\n{PRINTED[name]}", f"{PRINTED[name]}\n\n{atom}"):
        made = build_workbench(text)
        read = {one.name: [step.descriptor for step in one.steps] for one in made.operands}
        assert read["a"] == [A0, A1][: len(read["a"])] and read["b"] == [B0, B1][: len(read["b"])]
        assert all(f"{len(found)}" for found in read.values())
        several = A1 in text or A1[2:] in text
        assert len(read["a"]) == 1 + several
        spans = {text[a:b] for piece in made.pieces if piece.kind == "descriptor" for a, b in piece.spans}
        assert spans


@for_each(
    "line",
    [
        "size_t pool = 0x4000004000010100;",
        "mov.b64 %rd1, 0x4000004000010100;",
        "f(0x4000004000010100);",
        "checksum 0x7f21a0d1e5a0",
        "0x00007f21a0d1e5a0",
        "hash 9fceb02d0ae598e9",
        "IADD3 R4, 0x4000004000010100, R5",
        "#define POOL 0x4000004000010100",
    ],
)
def test_numbers_of_code_and_addresses_are_no_printed_words(line: str) -> None:
    made = build_workbench(f"SM90_64x128x16_F32F16F16_SS\n{line}")
    assert not any(piece.kind == "descriptor" for piece in made.pieces)


# constants of c++ by name ---------------------------------------------------------------------------------------------

SOURCE = """
#include <cuda.h>
#define BK 64
#define TWICE(x) ((x) * 2)
#ifndef WIDE
#define WIDE 8
#endif
constexpr int BM = 128;
int variable = 4;
#if USE_BIG
constexpr int DEPTH = 5;
#else
constexpr int DEPTH = 6;
#endif
namespace cfg { static constexpr unsigned kN = BM * 2; enum { A = 3, B }; }
enum class Mode : int { X = 7 };
template <int BN = 256, int S = BN / 64> struct Traits { static constexpr int bytes = BN * S; };
template <int W = 4, class E = half_t, int V = sizeof(E)> __global__ void gemm(float* p, int n) {
  constexpr int local = W * 32;
  const int q = local + 1, r = n * 2;
  { constexpr int twice = 1; }
  { constexpr int twice = 2; }
}
template <int W = 5> __device__ void other() {}
const int unknown = f();
constexpr float real = 1.5f;
constexpr int square(int x) { return x * x; }
constexpr auto squared = square(5);
"""


def test_values() -> None:
    expected = {
        "BK": 64, "TWICE(3)": 6, "WIDE": 8, "BM": 128, "cfg::kN": 256, "cfg::B": 4, "Mode::X": 7,
        "Traits<>::bytes": 1024,
        "Traits<128>::bytes": 256, "squared": 25, "Traits::BN": 256, "S": 4, "local": 128, "gemm::local": 128,
        "gemm::W": 4, "other::W": 5, "V": 2, "q": 129,
    }  # fmt: skip
    assert read_constants(SOURCE, list(expected)) == expected


def test_macros_that_are_given() -> None:
    assert read_constants(SOURCE, ["WIDE", "DEPTH"], {"WIDE": "16", "USE_BIG": "1"}) == {"WIDE": 16, "DEPTH": 5}


@for_each(
    ("name", "code"),
    [
        ("unknown", "open_constant"),
        ("real", "open_constant"),
        ("variable", "open_constant"),
        ("DEPTH", "open_constant"),  # an #if that the text leaves open
        ("W", "open_constant"),  # of two functions
        ("twice", "open_constant"),  # of two blocks
        ("r", "open_constant"),  # of an argument
        ("BMM", "unknown_constant"),
        ("p", "unknown_constant"),
        ("x; int y", "bad_name"),
        ("", "bad_name"),
    ],
)
def test_what_is_not_known_is_an_error(name: str, code: str) -> None:
    with pytest.raises(LayoutError) as caught:
        read_constants(SOURCE, [name])
    assert caught.value.code == code


@for_each(
    ("beside", "says"),
    [
        (" 32B swizzle", ["swizzle 32B, but the word has swizzle 128B."]),
        (" (SBO 512)", ["SBO 512, but the word has SBO 1,024."]),
        (", expected start address 0x400", ["start address 0x400, but the word has start address 0x0."]),
        (" 128B swizzle, SBO = 64, LBO 16", []),
    ],
)
def test_a_field_that_the_text_states_otherwise_is_named(beside: str, says: list[str]) -> None:
    (meaning,) = recognise_word(f"wgmma descriptor 0x4000004000010000{beside}")
    assert [notice.removeprefix("The text says ") for notice in meaning.notices] == says


def test_a_type_may_call_its_fields_lbo_and_sbo() -> None:
    fields = "uint16_t start:14, :2; uint16_t lbo:14, :2; uint16_t sbo:14, :2; uint8_t :6, layout_type:2;"
    (told,) = recognise_word(f"union Desc {{ uint64_t desc; struct {{ {fields} }} bits; }};")
    assert told.title == "The bit-fields of a wgmma matrix descriptor"


def test_the_marks_of_a_spelling_are_in_every_text_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A spelling is only looked for in texts with one of its marks."""
    texts = [entry.text for entry in reader_corpus.load_entries()]
    found = [list(word_spellings.find_words(text)) for text in texts]
    monkeypatch.setattr(word_spellings, "_SPELLINGS", dict.fromkeys(word_spellings._SPELLINGS, ()))
    assert found == [list(word_spellings.find_words(text)) for text in texts]
    assert sum(map(len, found)) > 20
