"""Reserved bits that are set are one finding at the number that sets them, whichever calls get it."""

from __future__ import annotations

import dataclasses

from lanescope.app.check.facts import OpenQuestion, SourceSpan, SourceText
from lanescope.app.check.merging import merge_reports
from lanescope.app.check.notes import list_totals
from lanescope.app.check.running import check_source
from tests.cases import for_each
from tests.checked import check_text
from tests.guilty_kernels import RIGHT
from tests.transfer_kernels import TMA, plant

KERNEL = """
template <int HIGH> __device__ uint64_t make_desc(uint32_t address, uint64_t more) {
  uint64_t d = 0;
  d |= (uint64_t)((address & 0x3FFFF) >> 4);
  d |= (uint64_t)TERM << 14;
  d |= (uint64_t)64 << 32;
  d |= (uint64_t)1 << 62;
  return d;
}
__global__ void gemm() {
  __shared__ alignas(1024) __nv_bfloat16 sA[64 * 64];
  __shared__ alignas(1024) __nv_bfloat16 sB[64 * 64];
  uint64_t da = make_desc<2>(__cvta_generic_to_shared(sA), 1);
  uint64_t db = make_desc<2>(__cvta_generic_to_shared(sB), 1);
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"
    : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]) : "l"(da), "l"(db));
}
"""


def list_reserved(term: str) -> list[tuple[str, int, list[int]]]:
    """List the number, the line and the lines that follow, of each finding of reserved bits."""
    text = KERNEL.replace("TERM", term)
    return [
        (
            text[slice(*one.span)],
            text.count("\n", 0, one.span[0]) + 1,
            [text.count("\n", 0, r.span[0]) + 1 for r in one.follows],
        )
        for one in check_text(text).findings
        if one.code == "reserved_bits"
    ]


def test_a_number_of_the_helper_is_one_finding_that_all_calls_follow_from() -> None:
    assert list_reserved("3") == [("3", 5, [13, 14])]


@for_each(("term", "number"), [("more", "1"), ("HIGH", "2")])
def test_a_number_that_calls_give_is_a_finding_at_each_of_them(term: str, number: str) -> None:
    assert list_reserved(term) == [(number, 13, []), (number, 14, [])]


def test_a_term_of_zero_sets_nothing() -> None:
    assert list_reserved("0") == []


# where swizzled tiles start -------------------------------------------------------------------------------------------

ALIGNED = "__align__(1024) "


@for_each(
    ("declared", "placed", "found"),
    [
        (ALIGNED, 0, []),
        ("__align__(128) ", 0, []),  # TMA and wgmma take the XOR from the address: right wherever the tile starts
        ("__align__(16) ", 4, ["__align__(16)"]),  # TMA stores to multiples of 128 bytes
        ("", 4, []),
    ],
    sample=2,
)
def test_a_start_that_the_text_does_not_promise_is_said(declared: str, placed: int, found: list[str]) -> None:
    text = RIGHT.replace(ALIGNED, declared)
    report = check_text(text)
    assert (report.steps, report.placed) == (4, placed)
    assert [text[slice(*one.span)] for one in report.findings] == found
    assert all((one.code, one.level) == ("tile_alignment", "warning") for one in report.findings)
    assert any("multiple of 1024 bytes" in one.message for one in report.open) == bool(placed)
    totals = list(list_totals(merge_reports([check_source(SourceText("a.cu", text), 60)])))
    assert ("4 if the tiles start at multiples" in totals[0]) == bool(placed)


@for_each(
    ("rounded", "placed"),
    [
        ("auto p = raw; if ((uintptr_t)p % 1024) p += 1024 - (uintptr_t)p % 1024;", 0),
        ("auto p = (uint64_t)raw; if (p % 1024 != 0) { p += 1024 - (p % 1024); }", 0),
        ("uintptr_t n = (uintptr_t)raw; auto p = raw + (n % 1024 ? 1024 - n % 1024 : 0);", 0),
        ("uintptr_t n = (uintptr_t)raw; auto p = raw + (1024 - n % 1024) % 1024;", 0),
        ("auto n = (uint32_t)__cvta_generic_to_shared(raw); auto p = raw + ((1024u - (n & 1023u)) & 1023u);", 0),
        ("uintptr_t n = (uintptr_t)raw; auto p = raw + ((512 - (n & 511)) & 1023);", 4),
        ("auto p = raw; if (out[0] > 1) p += 1024 - (uintptr_t)p % 1024;", 4),
        ("auto p = raw; if ((uintptr_t)p % 1024) p += 512 - (uintptr_t)p % 512;", 4),
        ("auto p = raw; if ((uintptr_t)p % 1024 == 0) p += 1024 - (uintptr_t)p % 1024;", 4),
        ("uintptr_t n = (uintptr_t)raw; auto p = raw + (512 - n % 512) % 1024;", 4),
    ],
    sample=3,
)
def test_a_start_may_be_rounded_up_without_a_mask(rounded: str, placed: int) -> None:
    """By the remainder, if there is one; another condition or another step does not make it a multiple of 1024."""
    own = RIGHT[RIGHT.index("  extern __shared__") : RIGHT.index("  float acc")]
    moved = own.replace(
        f"{ALIGNED}__nv_bfloat16 smem", f"char raw[];\n  {rounded}\n  auto smem = (__nv_bfloat16*)p; //"
    )
    report = check_text(RIGHT.replace(own, moved))
    assert (report.findings, report.steps, report.placed, report.doubts) == ((), 4, placed, ())


def test_a_tile_without_a_swizzle_may_start_anywhere() -> None:
    text = RIGHT.replace(ALIGNED, "").replace("SWIZZLE_128B", "SWIZZLE_NONE").replace("d |= 1llu << 62;", "")
    assert check_text(text).placed == 0


# starts that move beyond what is loaded -------------------------------------------------------------------------------


def test_a_start_that_moves_with_what_no_copy_moves_with_is_not_verified() -> None:
    """The copies fill the tile at slot * BM * BK: where M * K elements further on begin, nothing says."""
    moved = ("make_smem_desc(sA + slot * BM * BK + k * 16)", "make_smem_desc(sA + slot * BM * BK + M * K + k * 16)")
    report, right = check_text(plant(moved, text=TMA)), check_text(TMA)
    assert (report.findings, report.steps) == ((), right.steps // 2)
    assert any("no copy into" in point.message for point in report.open)


def test_a_constant_to_which_the_start_is_added_is_no_descriptor_of_its_own() -> None:
    text = """__global__ void k(uint32_t at, uint32_t d, uint32_t i) {
  constexpr uint64_t base = (64ull << 32) | (1ull << 46) | (2ull << 61);
  const uint64_t a = base | (at >> 4), b = base | ((at + 8192) >> 4);
  asm volatile("tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, 1;" :: "r"(d), "l"(a), "l"(b), "r"(i));
}
"""
    report = check_text(text)
    assert [text[slice(*one.spans[0])].split()[0] for one in report.checked] == ["a", "b"]


@for_each("result", ["", "D of gemm"])
def test_a_result_is_open_whatever_its_note_says(result: str) -> None:
    place = SourceSpan(file="a.cu", line=1, column=1, end_line=1, end_column=2)
    question = OpenQuestion(message="D of gemm is not known to be A·B.", place=place, needs=[], result=result)
    report = merge_reports([check_source(SourceText("a.cu", RIGHT), 60)])
    totals = list(list_totals(dataclasses.replace(report, open=[question])))
    assert totals[-1].endswith("; D of gemm is open") == bool(result)
