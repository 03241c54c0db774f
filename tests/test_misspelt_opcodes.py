"""Misspelt words of PTX opcodes, in asm statements and PTX modules."""

from __future__ import annotations

from pathlib import Path

from lanescope.ptx.table.opcodes import FIRST_WORDS, SECOND_WORDS, UNDOCUMENTED
from lanescope.reader.instructions.misspelt_opcodes import correct_opcode, explain_misspelling
from lanescope.workbench.repair.repairs import apply_edits
from tests.cases import for_each
from tests.checked import check_text

OPCODES = [
    opcode
    for line in (Path(__file__).parent / "golden" / "ptx_opcodes.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
    for opcode in line.split()
]


def test_every_opcode_of_the_document_passes() -> None:
    assert len(OPCODES) > 800 and not [opcode for opcode in OPCODES if explain_misspelling(opcode)]


def test_a_first_word_without_its_second_letter_is_corrected() -> None:
    long = [opcode for opcode in OPCODES if len(opcode.partition(".")[0]) > 4]
    assert len(long) > 150
    wrong = {opcode: explain_misspelling(opcode[0] + opcode[2:]) for opcode in long}
    assert not [opcode for opcode, message in wrong.items() if not message.endswith(f"Nearest: {opcode}.")]


def test_the_words_of_a_family_are_corrected() -> None:
    for family, words in SECOND_WORDS.items():
        for word in (word for word in words if len(word) > 4):
            opcode = f"{family}.{word[:-2]}{word[-1]}{word[-2]}.b32"
            message = explain_misspelling(opcode)
            assert f"PTX has no '{family}." in message and message.endswith(f"Nearest: {family}.{word}.b32."), opcode


@for_each("opcode", ["v.x", "b.eq", "fence.i", "fadd.s", "sc.w", "foo.bar", "tcgen05.transform.b32", "mov"])
def test_what_is_like_no_word_of_ptx_is_not_judged(opcode: str) -> None:
    assert explain_misspelling(opcode) == ""


def test_another_number_is_no_misspelling() -> None:
    """Newer PTX may have it."""
    assert explain_misspelling("ld.global.L2::512B.u32") == ""
    assert explain_misspelling("tcgen05.mma.cta_group::1.kind::f17").endswith("cta_group::1.kind::f16.")
    assert explain_misspelling("tcgen05.mma.cta_gruop::1.kind::f16").endswith(
        "Nearest: tcgen05.mma.cta_group::1.kind::f16."
    )


def list_lines(text: str) -> list[int]:
    """Return the lines with a finding that ptxas refuses."""
    refused = (one for one in check_text(text).findings if one.code == "ptxas_refuses")
    return [text.count("\n", 0, one.span[0]) + 1 for one in refused]


@for_each(
    "code",
    [
        'asm volatile("wgmma.comit_group.sync.aligned;\\n" ::: "memory");',
        'asm volatile("mmma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1}, {%2};" :: "r"(a));',
        'asm("{\\n\\t.reg .pred p;\\n\\t" "LAB_WAIT:\\n\\t" "mbarrier.try_wiat.b64 p, [%0], %1; }" :: "r"(a));',
        'asm volatile("fence.proxi.async;");',
        '__asm__ __volatile__("@p cp.asnc.bulk.commit_group;");',
        'asm volatile(R"({ ldmatix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1]; })" : "=r"(r) : "r"(a));',
        'asm volatile("DONE: mbarier.init.shared::cta.b64 [%0], 1;" :: "r"(a));',
        'asm volatile("setmaxnreg.incr.sync.aligned.u32 %0;" :: "n"(R));',
    ],
)
def test_a_misspelt_opcode_of_an_asm_statement_is_found_at_its_line(code: str) -> None:
    assert list_lines(f"__device__ void f(int a, int r) {{\n  {code}\n}}\n") == [2]


@for_each(
    "code",
    [
        'asm volatile("// mmma.sync.aligned;\\n");',
        'asm volatile(".reg .b32 mbarier; mov.b32 mbarier, 0;");',
        'asm volatile("mbarier: bra mbarier;");',
        'asm volatile(PREFIX "arrier.init.shared::cta.b64 [%0], 1;" :: "r"(a));',
        'asm volatile("mb" KIND "er.init.shared::cta.b64 [%0], 1;" :: "r"(a));',
        'asm volatile("tcgen05.mma.cta_group::%2.kind::f16 [%0], %1;" :: "r"(a), "l"(d), "n"(2));',
        'asm volatile("call (_), fenc, (a.x);");',
        'asm volatile("pause; mfence; rep; nop");',
        'asm volatile("fadd.s fa0, fa1, fa2\\n fence.i");',
        'printf("mmma.sync.aligned;");',
        "// wgmma.comit_group.sync.aligned;",
    ],
)
def test_what_is_no_opcode_of_ptx_has_no_finding(code: str) -> None:
    assert list_lines(f"__device__ void f(int a) {{\n  {code}\n}}\n") == []


def test_the_repair_of_a_misspelt_opcode_is_its_nearest_form() -> None:
    text = '__device__ void f() {\n  asm volatile("fence.proxi.async;" ::: "memory");\n}\n'
    (finding,) = check_text(text).findings
    assert apply_edits(text, finding.edits) == text.replace("proxi", "proxy")


def test_an_opcode_in_two_literals_has_no_repair() -> None:
    (finding,) = check_text('__device__ void f() { asm volatile("wgmma." "comit_group.sync.aligned;"); }').findings
    assert not finding.edits


def test_a_misspelt_opcode_of_a_module_is_found_at_its_line() -> None:
    module = (
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n"
        "\t.reg .b32 %r<3>;\n\tmov.u32 \t%r1, 0;\n"
        "$L__BB0_1:\n\t@%p1 bra \t$L__BB0_1;\n\tmbarier.inval.shared.b64 [%r1];\n\tret;\n}\n"
    )
    assert list_lines(module) == [10]


def test_a_family_with_words_of_its_own_begins_an_opcode() -> None:
    assert SECOND_WORDS.keys() <= FIRST_WORDS


def test_words_that_only_ptxas_knows_are_not_judged() -> None:
    assert UNDOCUMENTED <= FIRST_WORDS and correct_opcode("cctl.ivall.globl") == ""
