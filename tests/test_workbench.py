"""The workbench: whole texts, right ones and ones with a planted mistake, and what is said of every step.

tests/golden/benches holds the texts with what must come of them: per operand a sign a step, . right, x wrong, ? without
a verdict.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layouts import causes
from layouts.check import check
from layouts.errors import LayoutError
from layouts.reader import ptx
from layouts.reader.code.builders import builders
from layouts.workbench import Bench, bench
from layouts.workbench.said import _PAST as PHRASES

GOLDEN = Path(__file__).parent / "golden" / "benches"
SIGNS = {"match": ".", "mismatch": "x", "unknown": "?"}


@dataclass(frozen=True)
class Case:
    title: str
    head: dict[str, str]
    text: str

    def __str__(self) -> str:
        return self.title


def cases() -> list[Case]:
    out = []
    for path in sorted(GOLDEN.glob("*.txt")):
        for section in re.split(r"^=== ", path.read_text(), flags=re.M)[1:]:
            head, _, text = section.partition("\n---\n")
            title, *lines = head.split("\n")
            out.append(Case(title, {k: v.strip() for k, _, v in (line.partition(":") for line in lines)}, text))
    return out


CASES = cases()


def signs(made: Bench, name: str) -> str:
    return "".join(SIGNS[step.verdict] for one in made.operands if one.name == name for step in one.steps)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_step_of_a_text(case: Case) -> None:
    made = bench(case.text)
    assert (signs(made, "a"), signs(made, "b")) == (case.head.get("a", ""), case.head.get("b", ""))
    assert made.verdict == case.head["verdict"]
    if "k" in case.head:
        assert made.operands[0].steps[0].k == int(case.head["k"])
    if "headline" in case.head:
        assert made.headline == case.head["headline"]
    first = [step.causes[0].code for one in made.operands if (step := one.first_wrong) and step.causes]
    if "cause" in case.head:
        assert first[0] == case.head["cause"]
        phrased = {code for code, _ in PHRASES}  # headlines that say what is read instead
        assert case.head["cause"] in phrased or causes.title(first[0])[4:] in made.headline
    if made.verdict == "mismatch" and any(one.wrong for one in made.operands):
        assert first and made.detail
    said = (made.headline, made.detail, *(a.why for a in made.assumed), *(n for o in made.operands for n in o.notices))
    assert case.head.get("says", "") in " ".join(said)
    assert case.head.get("doubt", "") in " ".join(doubt for piece in made.pieces for doubt in piece.doubts)
    if "missing" in case.head:
        assert any(case.head["missing"] in said for said in made.missing), made.missing
    for piece in made.pieces:
        assert piece.spans and all(0 <= a < b <= len(case.text) for a, b in piece.spans)


def test_there_are_enough_texts_of_both_kinds() -> None:
    verdicts = [case.head["verdict"] for case in CASES]
    assert len(CASES) >= 35 and verdicts.count("mismatch") >= 18 and verdicts.count("match") >= 10


def test_a_wrong_wgmma_is_refused_by_its_own_name() -> None:
    with pytest.raises(LayoutError, match=r"wgmma\.mma_async\.sync\.aligned\.m64n64k18") as refused:
        ptx.read("wgmma.mma_async.sync.aligned.m64n64k18.f32.f16.f16")
    assert "mma_async.mma_async" not in refused.value.message + refused.value.hint
    assert ptx.instruction("wgmma.m64n64k16.f32.f16.f16").ptx.startswith("wgmma.mma_async.sync")


def test_an_undeclared_name_given_for_a_pointer_counts_elements() -> None:
    """g++ refuses an integer or another pointer there, so the name is a pointer to the parameter's type."""
    code = """uint64_t make(%s p) {
  return (((uint64_t)__cvta_generic_to_shared(p) & 0x3FFFF) >> 4) | 64ull << 32 | 1ull << 62;
}
void use() { for (int k = 0; k < 2; ++k) mma(make(sA + k * 16)); }"""
    for kind, step in (("half*", 32), ("const uint8_t*", 16), ("float*", 64), ("uint32_t", 16)):
        (made,) = builders(code % kind)
        assert made.start == f"sA + {step}·k", kind
    for kind in ("void*", "const void*", "auto*", "auto"):
        (made,) = builders(code % kind)
        assert made.start == "sA + 16·k·sizeof(*sA)", kind


def test_a_layout_too_small_for_its_operand_is_said_to_be() -> None:
    """N of 128 and a layout of 64 rows: no verdict, and why."""
    made = bench(
        "desc_b: 0x4000004000010040\nSM90_64x128x16_F32BF16BF16_SS\n"
        "sB: Sw<3,4,3> o smem_ptr[16b](0x400) o ((_8,_8),(_64,_1)):((_64,_512),(_1,_0))"
    )
    assert signs(made, "b") == "?" and made.verdict == "unknown"
    assert any(said.startswith("The steps of B take 128 × 16 elements (n × k); ") and said.endswith(" has 64 × 64.")
               for said in made.missing)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(CASES), st.sampled_from(CASES), st.integers(0, 2500), st.integers(0, 2500), st.booleans())
def test_cut_up_texts_are_read_and_nothing_is_made_up(one: Case, two: Case, past: int, first: int, lines: bool) -> None:
    text = one.text[:past] + two.text[first:]
    if lines:
        text = "\n".join(reversed(text.split("\n")))
    made = bench(text)
    assert made.headline and made.verdict in SIGNS
    assert all(0 <= a < b <= len(text) for piece in made.pieces for a, b in piece.spans)
    for own in made.operands:
        judged = {step.verdict for step in own.steps}
        assert judged <= ({"unknown"} if own.stored is None else set(SIGNS))
        assert own.stored is not None or own.missing


def test_an_asm_statement_without_its_operands_is_none_of_a_descriptors() -> None:
    """%33 of one operand, or of none: nothing is taken for A or B."""
    for operands in (': "+f"(d[0])', ': "+f"(d[0]) : "l"(db)', ""):
        made = bench(
            'asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %31}, %32, %33, 1, 1, 1, 0, 0;"'
            f" {operands});"
        )
        assert made.verdict == "unknown"


MAKE = """template <typename T>
__device__ uint64_t make_desc(T smem_ptr) {
  uint32_t at = (uint32_t)__cvta_generic_to_shared(smem_ptr);
  return (uint64_t)((at & 0x3FFFF) >> 4) | (uint64_t)64 << 32 | 1ull << 62;
}
cuTensorMapEncodeTiled(&map_a, CU_TENSOR_MAP_DATA_TYPE_%s, 2, A, {K, M}, strides, (uint32_t[]){%d, 64}, ones,
    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
for (int k = 0; k < 4; ++k) wgmma(acc, make_desc(%s));
// wgmma.mma_async.sync.aligned.m64n64k%d.f32.%s
"""


@pytest.mark.parametrize(
    ("given", "right"),
    [("smem_a + k * 16", True), ("&smem_a[k * 16]", True), ("smem_a[s] + k * WGMMA::K", True),
     ("(void*)(smem_a + k * 16)", True), ("smem_a + k * 32", False), ("(half*)(smem_a + k * 32)", True),
     ("reinterpret_cast<half*>(smem_a) + k * 16", True), ("smem_a + k * 8", False)],
)  # fmt: skip
def test_the_size_of_an_undeclared_pointers_elements_is_assumed(given: str, right: bool) -> None:
    """A template's parameter says nothing of what it points to: the instruction's type does, and it is said."""
    made = bench(MAKE % ("FLOAT16", 64, given, 16, "f16.f16"))
    assert signs(made, "a") in (("....", "...") if right else (".xxx",)) and "major.a" in {a.key for a in made.assumed}
    sizes = [one for one in made.assumed if one.key.startswith("size.")]
    if "reinterpret" in given:
        assert not sizes
        return
    (size,) = sizes
    assert size.value == ("1" if "(half*)" in given else "2") and size.choices and "is not declared" in size.why
    assert size.said in made.detail and (right or not check(made_text(given)).findings)
    other = bench(MAKE % ("FLOAT16", 64, given, 16, "f16.f16"), {size.key: "1" if size.value == "2" else "2"})
    assert (signs(other, "a") in ("....", "...")) == (given == "smem_a + k * 32")


def made_text(given: str) -> str:
    return MAKE % ("FLOAT16", 64, given, 16, "f16.f16")


def test_the_size_is_that_of_the_instructions_type() -> None:
    for kind, box, step, types in (("UINT8", 128, 32, "e4m3.e4m3"), ("TFLOAT32", 32, 8, "tf32.tf32")):
        made = bench(MAKE % (kind, box, f"smem_a + k * {step}", step, types))
        assert made.verdict == "match" and "elements of" in made.detail
    alone = bench(MAKE.replace("// wgmma", "// hgmma") % ("FLOAT16", 64, "smem_a + k * 16", 16, "f16.f16"))
    assert alone.verdict == "unknown" and not any(one.key.startswith("size.") for one in alone.assumed)
    with pytest.raises(LayoutError):
        bench(made_text("smem_a + k * 16"), {"size.smem_a": "x"})


def test_steps_whose_descriptor_is_open_keep_a_verdict_back() -> None:
    """Of four steps only the first is known: the operand is not right, it is open."""
    text = MAKE % ("FLOAT16", 64, "smem_a + k * STEP", 16, "f16.f16")
    assert bench(text).verdict == "unknown" and bench(text).operands[0].left == 3
    assert bench(text, {"at.STEP": "16"}).verdict == "match" and bench(text, {"at.STEP": "24"}).verdict == "mismatch"


BOTH = """uint32_t box[2] = {64, 64};
cuTensorMapEncodeTiled(&map_a, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, A, dims, strides, box, ones,
    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
cuTensorMapEncodeTiled(&map_b, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, B, dims, strides, box, ones,
    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
__device__ uint64_t make(uint32_t p) {
  return (uint64_t)((p & 0x3FFFF) >> 4) | (uint64_t)1 << 16 | (uint64_t)64 << 32 | (uint64_t)1 << 62;
}
for (int k = 0; k < 4; ++k) {
  uint64_t da = make(sA + k * 32), db = make(sB + k * 32);
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %31}, %32, %33, 1, 1, 1, 0, 0;"
      : "+f"(d[0]) : "l"(da), "l"(db));
}
"""


def with_(*pairs: tuple[str, str], text: str = BOTH) -> str:
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def test_a_wrong_transpose_immediate_is_the_suspect_where_it_alone_explains_the_reads() -> None:
    """Also where nothing but the immediate says which dimension of the map is inner."""
    assert bench(BOTH).verdict == "match"
    mn = ("make(sB + k * 32)", "make(sB + k * 2048)")  # an N-major B
    assert bench(with_(mn, ("1, 0, 0;", "1, 0, 1;"))).verdict == "match"
    for text, flag in ((with_(("1, 0, 0;", "1, 0, 1;")), 0), (with_(mn), 1)):
        made = bench(text)
        (a, b) = made.operands
        assert (a.verdict, b.verdict) == ("match", "mismatch") and b.first_wrong
        assert b.first_wrong.causes[0].code == "wrong_transpose" and "transpose bit" in made.headline
        assert f"transpose immediate must be {flag}" in made.detail
        assert [one.code for one in check(text).findings] == ["wrong_transpose"]


def test_a_tensor_map_that_the_driver_refuses_leads() -> None:
    """Before what its descriptors read: nothing is loaded at all."""
    made = bench(with_(("{64, 64}", "{128, 64}"), ("make(sA + k * 32)", "make(sA)")))
    assert made.verdict == "mismatch" and made.headline == "The tensor map of A and B breaks a rule of TMA"
    assert made.detail.startswith("The inner box is 256 bytes wide")


@pytest.mark.parametrize(
    ("step", "says"),
    [("k * 16", ("may be a count of elements (16)", "elements of 1 byte")), ("k * 64", ("elements of 4 bytes", "may"))],
)
def test_a_step_that_several_mistakes_explain_is_not_put_down_to_one(step: str, says: tuple[str, ...]) -> None:
    detail = bench(with_(("sA + k * 32", f"sA + {step}"))).detail
    assert all(one in detail for one in says) and "was counted" not in detail


def test_what_is_said_of_a_step_and_of_fields_holds() -> None:
    """No edge of 128 bytes is passed by 64, and LBO is asked of no mode that does not read it."""
    narrow = with_(("box[2] = {64, 64}", "box[2] = {32, 64}"))
    made = bench(narrow)
    assert made.verdict == "mismatch" and "past the edge of a row of 64 bytes" in made.detail
    assert "past the end of a row" in made.headline
    swapped = bench(with_(("(uint64_t)1 << 16 | (uint64_t)64 << 32", "(uint64_t)64 << 16 | (uint64_t)1 << 32")))
    assert "SBO must be 1024 bytes; LBO is not read here" in swapped.detail
    tma = bench(with_(("(uint64_t)1 << 62", "(uint64_t)3 << 62")))
    assert "The field [63:62] holds 3" in tma.detail


def test_a_stated_alignment_is_used_and_doubted() -> None:
    """128 bytes are enough for what TMA stores, by the XOR of the address, and are said not to be for all else."""
    said = {128: ("taken 128 bytes past", "repeats every 1024 bytes"), 1024: ("is declared 1024-byte aligned", ""),
            64: ("64-byte aligned only", "TMA stores to multiples of 128 bytes")}  # fmt: skip
    for form in ("alignas(%d)", "__align__(%d)", "__attribute__((aligned(%d)))"):
        for amount, (why, notice) in said.items():
            head = f"__shared__ {form % amount} half tileA[4096];\nauto sA = (uint32_t)__cvta_generic_to_shared(tileA);"
            made = bench(with_(("for (int k", head + "\nfor (int k")))
            (a, b) = made.operands
            at = next(one for one in made.assumed if one.key == "at.tileA")
            assert (
                made.verdict == "match" and why in at.why and int(at.value, 0) % 1024 == (128 if amount == 128 else 0)
            )
            assert [notice in one for one in a.notices] == [True] * bool(notice) and not b.notices
    struct = "constexpr int kAlign = 256;\nstruct S { alignas(kAlign) half A[4096]; };\n"
    named = with_(("for (int k", struct + "for (int k"),
                  ("make(sA +", "make((uint32_t)__cvta_generic_to_shared(s.A) +"))  # fmt: skip
    assert any("A is declared 256-byte aligned" in one for one in bench(named).operands[0].notices)


@pytest.mark.parametrize(("stride", "verdict", "doubt"), [
    (8192, "match", False), (8192 + 64, "mismatch", False), (8192 + 16, "mismatch", False), (8192 + 512, "match", True),
])  # fmt: skip
def test_stages_begin_where_tma_may_store_and_the_swizzle_repeats(stride: int, verdict: str, doubt: bool) -> None:
    stages = ("for (int k", "for (int s = 0; s < 3; ++s) for (int k")
    text = with_(stages, ("make(sA +", f"make(sA + s * {stride} +"))
    made = bench(text)
    assert made.verdict == verdict and bool(made.operands[0].notices) == doubt and not made.operands[1].notices
    if verdict == "mismatch":
        wrong = made.operands[0].first_wrong
        assert wrong and wrong.stage == 1 and wrong.causes[0].code == "tma_destination"
        assert "reads a tile that begins where TMA cannot store it" in made.headline
        (found,) = check(text).findings
        assert found.code == "tma_destination" and "of 1,024 elements" not in found.message
    aside = bench(with_(("make(sB + k", "make(smem + 8192 + 32 + k"), ("make(sA + k", "make(smem + k")))
    assert [one.verdict for one in aside.operands] == ["match", "mismatch"]


def test_exchanged_operands_are_followed_to_their_buffers() -> None:
    """By the address, by the descriptor's variable where the address names none, in asm and in a call."""
    call = ('  asm volatile("wgmma', '  wgmma(acc, db, da); // asm volatile("wgmma')
    asm = ('"l"(da), "l"(db)', '"l"(db), "l"(da)')
    smem = (("sA + k", "smem + k"), ("sB + k", "smem + 8192 + k"), ("da =", "desc_a ="), ("db =", "desc_b ="))
    for text in (
        with_(asm), with_(call), with_(*smem, ('"l"(da), "l"(db)', '"l"(desc_b), "l"(desc_a)')),
        with_(("make(sA + k", "make(sB + k")),
    ):  # fmt: skip
        made = bench(text)
        wrong = made.operands[0].first_wrong
        assert made.verdict == "mismatch" and "reads the other operand’s buffer" in made.headline
        assert wrong and wrong.causes[0].code == "operands_exchanged" and not check(text).findings and check(text).open
    for text in (BOTH, with_(*smem, ('"l"(da), "l"(db)', '"l"(desc_a), "l"(desc_b)'))):
        assert bench(text).verdict == "match"


def test_a_transposed_product_is_no_mistake() -> None:
    """Boxes that fit only the exchanged operands say that the exchange is meant."""
    box = "&map_a, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, A, dims, strides, box"
    swapped = with_(("m64n64k16", "m64n128k16"), ('"l"(da), "l"(db)', '"l"(db), "l"(da)'),
                    (box, box.removesuffix("box") + "(uint32_t[]){64, 128}"))  # fmt: skip
    made = bench(swapped)
    assert made.verdict == "match" and all("transposed product" in one.notices[0] for one in made.operands)


def test_a_box_shorter_than_the_operand_is_said_to_be() -> None:
    made = bench(with_(("m64n64k16", "m64n128k16")))
    (boxes,) = [one for one in made.assumed if one.key == "boxes.b"]
    assert made.verdict == "match" and boxes.value == "2" and boxes.said in made.detail
    assert "the box has 64 of N and one instruction takes 128" in boxes.why
    alone = bench(with_(("m64n64k16", "m64n128k16")), {"boxes.b": "1"})
    assert alone.verdict == "unknown" and any("where the rest lies" in one for one in alone.missing)
    assert not any(one.key.startswith("boxes.") for one in bench(BOTH).assumed)


LONE = """uint64_t desc = 0;
desc |= (uint64_t)((smem & 0x3FFFF) >> 4);
desc |= (uint64_t)(16 >> 4) << 16;    // LBO
desc |= (uint64_t)(1024 >> 4) << 32;  // SBO, 1024 bytes
desc |= 1llu << 62;                   // 128B swizzle
"""


@pytest.mark.parametrize(("old", "new", "says"), [
    ("", "", ()), ("16 >> 4) << 16", "0 >> 4) << 16", ()), ("(smem & 0x3FFFF) >> 4", "(smem >> 4) & 0x3FFF", ()),
    ("128B swizzle", "swizzle", ()), ("(1024 >> 4) << 32;  // SBO, 1024 bytes", "(2048 >> 4) << 32;", ()),
    ("(16 >> 4) << 16;    // LBO\ndesc |= (uint64_t)(1024 >> 4) << 32;  // SBO, 1024 bytes",
     "(1024 >> 4) << 16;\ndesc |= (uint64_t)(16 >> 4) << 32;", ("SBO is 16 B and LBO 1024 B", "look exchanged")),
    ("(1024 >> 4) << 32;  // SBO, 1024 bytes", "(512 >> 4) << 32;", ("SBO is 512 B, as under the 64B swizzle",)),
    ("(16 >> 4) << 16", "(1024 >> 4) << 16", ("LBO is 1024 B", "does not read it")),
    ("(16 >> 4) << 16", "(64 >> 4) << 16", ("LBO is 64 B", "a multiple of 1024")),
    ("0x3FFFF) >> 4", "0x3FFF) >> 4", ("leaves 14 bits of the address", "0x4000")),
    ("(smem & 0x3FFFF) >> 4", "(smem >> 4) & 0x3FFFF", ("after the shift",)),
    ("1llu << 62", "2llu << 62", ("The text says 128B here, and the code gives the 64B swizzle: 128B is 1, 64B is 2",)),
    ("1llu << 62", "(uint64_t)CU_TENSOR_MAP_SWIZZLE_128B << 62", ("code gives the 32B swizzle",)),
    ("1llu << 62;                   // 128B swizzle", "0llu << 62; // 128B", ("the code gives no swizzle", "overlap")),
    ("1024 >> 4) << 32", "2048 >> 4) << 32", ("The comment says 1024 bytes, and the code gives SBO 2048 B",)),
    ("// LBO", "// stride byte offset", ("calls this SBO, and the code puts it into LBO",)),
])  # fmt: skip
def test_a_lone_builder_is_doubted_and_never_failed(old: str, new: str, says: tuple[str, ...]) -> None:
    text = LONE.replace(old, new, 1) if old else LONE
    assert old in LONE
    (one,) = builders(text)
    told = " ".join(doubt.message for doubt in one.doubts)
    assert bool(told) == bool(says) and all(part in told for part in says), told
    made, checked = bench(text), check(text)
    assert made.verdict == "unknown" and not checked.findings and bool(checked.doubts) == bool(says)
    assert {one.level for one in checked.doubts} <= {"note"}
    assert any(told in " ".join(piece.doubts) for piece in made.pieces)


def test_what_reads_prove_is_not_doubted() -> None:
    """An MN-major operand's LBO is verified; a comment that lies is still said to."""
    mn = with_(("make(sB + k * 32)", "make(sB + k * 2048)"), ("1, 0, 0;", "1, 0, 1;"),
               ("(uint64_t)1 << 16", "(uint64_t)64 << 16"))  # fmt: skip
    assert bench(mn).verdict == "match" and not any(piece.doubts for piece in bench(mn).pieces)
    lies = with_(("(uint64_t)1 << 62;", "\n    (uint64_t)1 << 62;  // 64B swizzle"))
    made = bench(lies)
    assert made.verdict == "match" and any("The text says 64B" in one for piece in made.pieces for one in piece.doubts)


MAPS = "".join(
    f"cuuint32_t box_{n}[2] = {{64, {rows}}}; cuTensorMapEncodeTiled(&map_{n}, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, g,"
    f" dims, strides, box_{n}, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,"
    " CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);\n"
    for n, rows in (("A", 64), ("B", 128))
)
LOOP = """for (int k = 0; k < 4; ++k) {
  uint64_t desc_a = (((uint64_t)%s & 0x3FFFF) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
  uint64_t desc_b = (((uint64_t)__cvta_generic_to_shared(sB + 16 * k) & 0x3FFFF) >> 4) | 1ull << 16 | 64ull << 32
    | 1ull << 62;
  %s(acc, desc_a, desc_b);
}"""


@pytest.mark.parametrize(
    ("name", "ptx"),
    [
        ("wgmma_m64n128k16", "m64n128k16.f32.bf16.bf16"),
        ("wgmma_m64n128k16_f32_f16_f16", "m64n128k16.f32.f16.f16"),
        ("warpgroup_mma_64x128x16_F16F16F16_SS", "m64n128k16.f16.f16.f16"),
        ("mma_bf16_m64n128k16", "m64n128k16.f32.bf16.bf16"),
    ],
)
def test_a_call_by_its_name_alone_is_an_assumption(name: str, ptx: str) -> None:
    code = MAPS + LOOP % ("__cvta_generic_to_shared(sA + 16 * k)", name)
    made = bench(code)
    (taken,) = [one for one in made.assumed if one.key == "instruction"]
    assert taken.value.endswith(ptx) and taken.value in taken.choices and name in taken.why
    assert made.verdict == "match" and f"{name} is taken as {taken.value}" in made.detail
    assert "This takes sA and sB to count" in made.detail
    other = bench(code, {"instruction": "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"})
    assert other.operands[0].instruction.endswith("m64n64k16.f32.bf16.bf16")
    assert [one.choices for one in other.assumed if one.key == "instruction"] == [taken.choices]
    assert bench(MAPS + LOOP % ("sA", "launch_n128_64x3")).verdict == "unknown"


def test_a_cast_sum_of_an_undeclared_name_is_an_assumption_that_can_be_changed() -> None:
    for name, size in (("pA", "2"), ("smem_A", "2"), ("q", "1")):
        code = MAPS + LOOP % (f"({name} + 16 * k)", "wgmma_m64n128k16")
        made = bench(code)
        (taken,) = [one for one in made.assumed if one.key == f"size.{name}"]
        assert taken.value == size and "not declared" in taken.why
        assert (made.verdict, signs(made, "a")) == (("match", "....") if size == "2" else ("mismatch", ".xxx"))
        turned = bench(code, {f"size.{name}": "1" if size == "2" else "2"})
        assert turned.verdict != made.verdict
        assert not check(code).findings  # it rests on what the name is
    sure = bench(MAPS + LOOP % ("(addr_a + 32 * k)", "wgmma_m64n128k16"))
    assert sure.verdict == "match" and not [one for one in sure.assumed if one.key == "size.addr_a"]
    static = bench(MAPS + LOOP.replace("(uint64_t)%s", "static_cast<uint64_t>(%s)") % ("pA + 32 * k", "mma_64x128x16"))
    assert static.verdict == "match" and not [one for one in static.assumed if one.key == "size.pA"]


def test_a_printed_word_that_is_there_twice_is_a_step_only_where_its_place_says_so() -> None:
    layout = "sA: Sw<3,4,3> o smem_ptr[16b](0x400) o ((_8,_8),(_64,_1)):((_64,_512),(_1,_0))\n"

    def read(*starts: int) -> str:
        words = "".join(f"desc_a: {0x4000004000010000 | at:#x}\n" for at in starts)
        return signs(bench(words + layout + "SM90_64x64x16_F32BF16BF16_SS"), "a")

    assert read(0x40, 0x42, 0x44, 0x46) == "...."
    assert read(0x40, 0x42, 0x42, 0x46) == "..x."
    words = "".join(f"desc_a: {0x4000004000010000 | at:#x}\n" for at in (0x40, 0x42, 0x42, 0x46))
    wrong = bench(words + layout + "SM90_64x64x16_F32BF16BF16_SS")
    assert "K step 1 stands here again" in wrong.detail
    assert read(0x40, 0x40, 0x42, 0x42, 0x44, 0x44, 0x46, 0x46) == "...."  # two threads print
    assert read(0x40, 0x42, 0x44, 0x46, 0x40, 0x42, 0x44, 0x46) == "...."  # the loop's next turn


def test_stages_that_overlap_are_said_to() -> None:
    text = "sB: Sw<3,4,3> o smem_ptr[16b](0x400) o ((_8,_8),(_64,_1),_4):((_64,_512),(_1,_0),_{})"
    (apart,) = bench(text.format(4096)).pieces
    (over,) = bench(text.format(2048)).pieces
    assert not apart.notices and over.notices == (
        "The stages overlap: each holds 4,096 elements and begins 2,048 after the one before.",
    )


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
    made = bench(code)
    assert made.verdict == "match"
    assert all(piece.operands for piece in made.pieces if piece.kind == "descriptor")
    assert not check(code).open
