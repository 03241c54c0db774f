"""Descriptor words beside an instruction, as programs and debuggers print them."""

from __future__ import annotations

from lanescope.workbench import build_bench
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
        made = build_bench(text)
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
    made = build_bench(f"SM90_64x128x16_F32F16F16_SS\n{line}")
    assert not any(piece.kind == "descriptor" for piece in made.pieces)
