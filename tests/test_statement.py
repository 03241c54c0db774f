"""A PTX line against what its instruction takes: what is said of it is what ptxas says, family by family."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanescope import find
from lanescope.app import cli
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.slots import OperandSlot, list_slots
from lanescope.ptx.statement import find_statement_faults
from lanescope.reader.instructions.statements import find_refused_lines
from tests.cases import for_each
from tests.checked import check_text
from tests.client import Client
from tests.command import CliRunner
from tests.ptxas import assembler
from tests.ptxas.assembler import Line
from tests.ptxas.sweep import NEWEST
from tests.sample import take_sample

LETTERS = {"b32": "r", "f32": "f", "f64": "d", "b64": "q", "u64": "q", "u32": "r", "pred": "p", "b16": "h"}

DECLARED = {"r": 600, "f": 300, "d": 40, "q": 8, "h": 8, "p": 0}  # by the assembler's test program


def choose_samples() -> list[Instruction]:
    """One variant of some rows of the tables, the same in every run, that some target assembles."""
    pick = random.Random(30)
    out = []
    for row in take_sample(catalog.families(), 40):
        variants = [i for i in row.generate_instructions() if catalog.get_target_support(i).targets]
        if variants:
            out.append(pick.choice(variants))
    return out


def write_operands(form: list[OperandSlot]) -> list[str]:
    """Registers of their own for every operand."""
    at = dict.fromkeys("rfdqhp", 0)
    out = []
    for slot in form:
        letter = LETTERS.get(slot.type, "r")
        if slot.kind == "immediate":
            out.append(slot.value)
        elif slot.kind == "predicate":
            out.append("p")
        else:
            first, at[letter] = at[letter], at[letter] + slot.registers
            names = [f"{letter}{n}" for n in range(first, first + slot.registers)]
            out.append({"vector": "{" + ", ".join(names) + "}", "address": f"[{names[0]}]"}.get(slot.kind, names[0]))
    return out


def write_wrong(found: Instruction, form: list[OperandSlot]) -> Iterator[tuple[str, list[str]]]:
    """(opcode, operands) of lines that differ from the right one in one thing."""
    right = write_operands(form)
    for word in (".sync", ".aligned"):
        if word in found.ptx:
            yield found.ptx.replace(word, "", 1), right
    for n, slot in enumerate(form):
        if slot.kind == "vector":
            inside = right[n][1:-1].split(", ")
            spare = {"r": "r599", "f": "f299", "d": "d39"}[inside[0][0]]
            # one register may be wgmma's descriptor of A, and ptxas takes it for A of some sparse products
            if slot.name != "a" or not (found.family.sparsity or len(found.family.forms) > 1):
                yield found.ptx, [*right[:n], inside[0], *right[n + 1 :]]
            for other in (inside[:-1], [*inside, spare]):
                if other:
                    yield found.ptx, [*right[:n], "{" + ", ".join(other) + "}", *right[n + 1 :]]
    if len(right) > 1:
        yield found.ptx, right[:-1]
    # tcgen05.mma takes one more: lanes of D that are left out, or a mask
    yield found.ptx, [*right, "r598", "r599"] if found.family.issue else [*right, "r598"]


def judge(lines: list[tuple[Instruction, str, list[str]]]) -> list[bool]:
    """Whether ptxas takes each line on a target that has its instruction."""
    by_target: dict[str, list[int]] = {}
    for n, (found, _, _) in enumerate(lines):
        by_target.setdefault(catalog.get_target_support(found).targets[-1], []).append(n)
    taken = set()
    for target, numbers in by_target.items():
        asked = [Line(lines[n][1], ", ".join(lines[n][2])) for n in numbers]
        taken |= {numbers[n] for n in assembler.find_accepted(asked, target, NEWEST)}
    return [n in taken for n in range(len(lines))]


@pytest.mark.skipif(assembler.find_ptxas() is None, reason="no ptxas: it comes with nvidia-cuda-nvcc")
def test_what_is_said_of_a_line_is_what_ptxas_says() -> None:
    lines = []
    for found in choose_samples():
        for form in (list_slots(found, name) for name in found.family.forms):
            lines += [(found, found.ptx, write_operands(form))]
            lines += [(found, opcode, operands) for opcode, operands in write_wrong(found, form)]
    for (found, opcode, operands), taken in zip(lines, judge(lines), strict=True):
        said = find_statement_faults(found, opcode, tuple(operands), declared=DECLARED)
        assert bool(said) is not taken, (opcode, operands, said)


@for_each(
    ("text", "said"),
    [
        # both from PTX's chapter on wmma: without .aligned, and two declared registers where four are used
        ("wmma.store.d.sync.m16n16k16.row.f32\n  [ptr], {d0, d1, d2, d3, d4, d5, d6, d7};", "`.aligned` is missing"),
        (
            ".reg .b32 a<2>, b<4>, c<8>, d<8>;\nwmma.mma.sync.aligned.m16n16k8.row.col.f32.tf32.tf32.f32"
            " {d0,d1,d2,d3,d4,d5,d6,d7}, {a0,a1,a2,a3}, {b0,b1,b2,b3}, {c0,c1,c2,c3,c4,c5,c6,c7};",
            "`a<2>` declares a0 to a1, not a2 and a3",
        ),
        (
            'asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "\n'
            '  "{%0, %1, %2, %3}, " // D\n "{%4, %5, %6, %7}, {%8}, {%9, %10, %11, %12};\\n" : "=f"(d[0]));',
            "operand 3 (B, 4 × bf16 per thread) has 1 register, not 2 (.b32)",
        ),
        ('asm("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1}, [%2];")', "has 2 registers, not 4 (.b32)"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 %0, [%1];", "operand 1 (DATA, 2 × b16 per thread) is not a vector"),
        ("mma.sync.m8n8k16.row.col.s32.s8.s8.s32", "`.aligned` is missing"),
        ("ldmatrix.sync.aligned.m8n8.x4 {%0, %1, %2, %3}, [%4];", "`.b16` is missing"),
    ],
)
def test_a_line_that_ptxas_refuses_says_why(text: str, said: str) -> None:
    (one,) = find_refused_lines(text)
    assert said in one.message
    assert find(text[slice(*one.span)]) == one.instruction


@for_each(
    "text",
    [
        "mma.m16n8k16.row.col.f32.f16.f16.f32",  # a short name
        "ldmatrix.m8n8.x4",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c;",  # vectors of a .reg .v4
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};",  # names of a format string
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%s}, {%s}, {%s}, {%s};",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{0}}}, {{{1}}}, {{{2}}}, {{{3}}};",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, ..., %3}, ...;",
        'asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {" REGISTERS "}, {%4};")',
        "// mma.sync.m16n8k16.row.col.f32.f16.f16.f32 {%0};",
        'asm("ldmatrix.sync.aligned.m8n8.x4%5.shared.b16 {%0, %1, %2, %3}, [%4];" ::"C"(trans));',  # .trans, or nothing
        'f"ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{$0, $1, $2, $3}}, [$4];"',
        'asm("/* mma.sync.m16n8k16.row.col.f32.f16.f16.f32 {%0}; */ nop;")',
        "wgmma.mma_async.sync.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;",  # ptxas takes it
        ".reg .v2 .b32 b;\nmma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {f0,f1,f2,f3}, b, {r0}, {f4,f5,f6,f7};",
    ],
)
def test_what_a_text_leaves_open_is_not_refused(text: str) -> None:
    assert not list(find_refused_lines(text))


def test_long_lists_are_often_shortened_and_left_open() -> None:
    line = "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{{}}}, %64, %65, 1, 1, 1, 0, 0;"
    assert not list(find_refused_lines(line.format("%0, %1")))
    (one,) = find_refused_lines(line.format(", ".join(f"%{n}" for n in range(32))))  # as many as N = 64 has
    assert not list(find_refused_lines("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, ...};"))
    assert "operand 1 (D, 64 × f32 per thread) has 32 registers, not 64 (.f32)" in one.message


ASM = """__device__ void f(float *d, unsigned *a, unsigned *b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8}, {%0, %1, %2, %3};\\n" : "+f"(d[0]) : "r"(a[0]), "r"(b[0]));
}
"""


def test_check_finds_the_line() -> None:
    (one,) = check_text(ASM).findings
    assert (one.code, one.level) == ("ptxas_refuses", "error") and "operand 3 (B, 4 × bf16" in one.message
    assert ASM[slice(*one.span)] == "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
    assert not check_text(ASM.replace("{%8}", "{%8, %9}")).findings


def test_read_says_it_and_fails(client: Client, tmp_path: Path) -> None:
    (tmp_path / "f.cu").write_text(ASM)
    done = CliRunner().invoke(cli.build_cli(), ["read", str(tmp_path / "f.cu")])
    assert done.exit_code == 1 and "! ptxas refuses this line: operand 3" in done.output
    told = client.post("/api/v1/read", json={"text": ASM}).json()
    assert "operand 3 (B" in told["facts"]["refused"][0] and told["notices"] == told["facts"]["refused"]
    page = client.get("/read", params={"text": ASM})
    assert "ptxas refuses this line: operand 3" in page.text and not page.history


def test_the_page_of_an_instruction_says_it(client: Client) -> None:
    """An address may leave both qualifiers out; with one of them it spells the line."""
    name = "wmma.load.a{}.row.m16n16k8.tf32"
    assert "ptxas refuses this line: `.aligned` is missing." in client.get(f"/i/{name.format('.sync')}").text
    for said in ("", ".sync.aligned"):
        assert "ptxas refuses" not in client.get(f"/i/{name.format(said)}").text
    line = name.format(".sync.aligned") + " {a0, a1}, [p];"
    assert "has 2 registers, not 4 (.b32)" in client.get(f"/i/{line}").text
