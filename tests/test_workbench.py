"""The workbench: whole texts, and what is said of every step."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from lanescope.descriptor import causes
from lanescope.errors import LayoutError
from lanescope.reader.instructions import ptx
from lanescope.workbench import build_workbench
from lanescope.workbench.messages import _PAST as PHRASES
from tests.cases import for_each
from tests.checked import check_text
from tests.found_in_code import find_builders
from tests.sample import choose_count, is_chosen
from tests.workbench_cases import CASES, MAPS, SIGNS, WorkbenchCase, format_verdicts


@for_each("case", [case for case in CASES if is_chosen(case.title, 4)], ids=str, sample=10)
def test_every_step_of_a_text(case: WorkbenchCase) -> None:
    """A quarter of the texts, all of them in a full run."""
    made = build_workbench(case.text)
    assert (format_verdicts(made, "a"), format_verdicts(made, "b")) == (case.head.get("a", ""), case.head.get("b", ""))
    assert made.verdict == case.head["verdict"]
    if "k" in case.head:
        assert made.operands[0].steps[0].k == int(case.head["k"])
    if "headline" in case.head:
        assert made.headline == case.head["headline"]
    first = [step.causes[0].code for one in made.operands if (step := one.first_wrong) and step.causes]
    if "cause" in case.head:
        assert first[0] == case.head["cause"]
        phrased = {code for code, _ in PHRASES}  # headlines that say what is read instead
        assert case.head["cause"] in phrased or causes.get_cause_title(first[0])[4:] in made.headline
    if made.verdict == "mismatch" and any(one.wrong for one in made.operands):
        assert first and made.detail
    said = (made.headline, made.detail, *(a.why for a in made.assumed), *(n for o in made.operands for n in o.notices))
    assert case.head.get("says", "") in " ".join(said)
    assert case.head.get("doubt", "") in " ".join(doubt for piece in made.pieces for doubt in piece.doubts)
    if "missing" in case.head:
        assert any(case.head["missing"] in said for said in made.missing), made.missing
    for piece in made.pieces:
        assert piece.spans and all(0 <= a < b <= len(case.text) for a, b in piece.spans)


def test_a_builder_that_returns_32_bits_is_named_by_its_call() -> None:
    """A function that returns 32 bits builds no descriptor: the piece is what the instruction is given."""
    text = next(case.text for case in CASES if case.title == "static arrays, 256-byte aligned")
    made = build_workbench(text.replace("uint64_t", "uint32_t"))
    assert made.verdict == "mismatch" and "32-bit value is shifted by 32 bits" in made.headline
    assert [(p.title, p.operands) for p in made.pieces if p.kind == "descriptor"] == [
        ("mk(sA + kk * 16)", ("a",)),
        ("mk(sB + kk * 16)", ("b",)),
    ]


def test_a_wrong_wgmma_is_refused_by_its_own_name() -> None:
    with pytest.raises(LayoutError, match=r"wgmma\.mma_async\.sync\.aligned\.m64n64k18") as refused:
        ptx.recognise_ptx("wgmma.mma_async.sync.aligned.m64n64k18.f32.f16.f16")
    assert "mma_async.mma_async" not in refused.value.message + refused.value.hint
    assert ptx.parse_instruction("wgmma.m64n64k16.f32.f16.f16").ptx.startswith("wgmma.mma_async.sync")


def test_an_undeclared_name_given_for_a_pointer_counts_elements() -> None:
    """g++ refuses an integer or another pointer there, so the name is a pointer to the parameter's type."""
    code = """uint64_t make(%s p) {
  return (((uint64_t)__cvta_generic_to_shared(p) & 0x3FFFF) >> 4) | 64ull << 32 | 1ull << 62;
}
void use() { for (int k = 0; k < 2; ++k) mma(make(sA + k * 16)); }"""
    for kind, step in (("half*", 32), ("const uint8_t*", 16), ("float*", 64), ("uint32_t", 16)):
        (made,) = find_builders(code % kind)
        assert made.start == f"sA + {step}·k", kind
    for kind in ("void*", "const void*", "auto*", "auto"):
        (made,) = find_builders(code % kind)
        assert made.start == "sA + 16·k·sizeof(*sA)", kind


def test_a_layout_too_small_for_its_operand_is_said_to_be() -> None:
    """N of 128 and a layout of 64 rows: no verdict, and why."""
    made = build_workbench(
        "desc_b: 0x4000004000010040\nSM90_64x128x16_F32BF16BF16_SS\n"
        "sB: Sw<3,4,3> o smem_ptr[16b](0x400) o ((_8,_8),(_64,_1)):((_64,_512),(_1,_0))"
    )
    assert format_verdicts(made, "b") == "?" and made.verdict == "unknown"
    assert any(
        said.startswith("The steps of B take 128 × 16 elements (n × k); ") and said.endswith(" has 64 × 64.")
        for said in made.missing
    )


@settings(max_examples=choose_count(60, 20), deadline=None)
@given(st.sampled_from(CASES), st.sampled_from(CASES), st.integers(0, 2500), st.integers(0, 2500), st.booleans())
def test_cut_up_texts_are_read_and_nothing_is_made_up(
    one: WorkbenchCase, two: WorkbenchCase, past: int, first: int, lines: bool
) -> None:
    text = one.text[:past] + two.text[first:]
    if lines:
        text = "\n".join(reversed(text.split("\n")))
    made = build_workbench(text)
    assert made.headline and made.verdict in SIGNS
    assert all(0 <= a < b <= len(text) for piece in made.pieces for a, b in piece.spans)
    for own in made.operands:
        judged = {step.verdict for step in own.steps}
        assert judged <= ({"unknown"} if own.stored is None else set(SIGNS))
        assert own.stored is not None or own.missing


def test_an_asm_statement_without_its_operands_is_none_of_a_descriptors() -> None:
    """%33 of one operand, or of none: nothing is taken for A or B."""
    for operands in (': "+f"(d[0])', ': "+f"(d[0]) : "l"(db)', ""):
        made = build_workbench(
            'asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %31}, %32, %33, 1, 1, 1, 0, 0;"'
            f" {operands});"
        )
        assert made.verdict == "unknown"


@for_each(
    "before",
    [
        "uint64_t desc_a = 0x4000004000010100, desc_b = 0x4000004000010200;",
        "uint64_t desc_a, desc_b; desc_a = 4611686293305360640ull; desc_b = 4611686293305360896ull;",
        "uint64_t desc_a = 0x4000004000010100; uint64_t desc_b = (smem & 0x3FFFF) >> 4 | 64ull << 32 | 1ull << 62;"
        " uint64_t desc_c = 0x4000008000010100;",
        "",
    ],
)
def test_descriptors_that_the_code_spells_out_are_pieces(before: str) -> None:
    """A literal is its own descriptor, and no builder's of the same text."""
    given = ("desc_a", "desc_b") if before else ("0x4000004000010100ull", "0x4000004000010200ull")
    text = (
        f"__global__ void f(uint32_t smem) {{ {before}\n"
        'asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0}, %1, %2, 1, 1, 1, 0, 0;"'
        f' :: "l"({given[0]}), "l"({given[1]}));\n}}'
    )
    made = build_workbench(text)
    first = made.pieces[next(one.descriptor for one in made.operands if one.name == "a")]
    assert first.facts["words"] == ["0x4000004000010100"]
    assert len({one.descriptor for one in made.operands}) == len(made.operands) == 2
    assert check_text(text).descriptors >= 2


def test_every_piece_that_steps_are_made_of_belongs_to_its_operand() -> None:
    """The word before the loop, and what the loop makes of it."""
    code = (
        MAPS
        + """uint64_t desc_of(bf16* p) { return (((uint64_t)__cvta_generic_to_shared(p) & 0x3FFFF) >> 4) | 1ull << 16
  | 64ull << 32 | 1ull << 62; }
__global__ void f() { extern __shared__ __align__(1024) bf16 smem[]; bf16 *sA = smem, *sB = smem + 4096;
  uint64_t desc_a = desc_of(sA), desc_b = desc_of(sB);
  for (int k = 0; k < 4; ++k) { uint64_t da = desc_a + 2 * k, db = desc_b + 2 * k;
    asm("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0}, %1, %2, 1, 1, 1, 0, 0;" : "+f"(d)
      : "l"(da), "l"(db)); } }"""
    )
    made = build_workbench(code)
    assert made.verdict == "match"
    assert all(piece.operands for piece in made.pieces if piece.kind == "descriptor")
    assert not check_text(code).open
