"""Where swizzled tiles start: what a verified read rests on, and declarations that promise too little."""

from __future__ import annotations

import pytest

from lanescope.app.check.facts import SourceText
from lanescope.app.check.notes import list_totals
from lanescope.app.check.running import check_source, merge_reports
from lanescope.workbench.check import check_text
from tests.guilty_kernels import RIGHT
from tests.transfer_kernels import TMA, plant

ALIGNED = "__align__(1024) "


@pytest.mark.parametrize(
    ("declared", "placed", "found"),
    [
        (ALIGNED, 0, []),
        ("__align__(128) ", 0, []),  # TMA and wgmma take the XOR from the address: right wherever the tile starts
        ("__align__(16) ", 4, ["__align__(16)"]),  # TMA stores to multiples of 128 bytes
        ("", 4, []),
    ],
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


def test_a_tile_without_a_swizzle_may_start_anywhere() -> None:
    text = RIGHT.replace(ALIGNED, "").replace("SWIZZLE_128B", "SWIZZLE_NONE").replace("d |= 1llu << 62;", "")
    assert check_text(text).placed == 0


# starts that move beyond what is loaded -------------------------------------------------------------------------------


@pytest.mark.parametrize("term", ["M * K", "64 * M", "blockIdx.x * BM * BK"])
def test_a_start_that_moves_with_what_no_copy_moves_with_is_not_verified(term: str) -> None:
    """The copies fill the tile at slot * BM * BK: where M * K elements further on begin, nothing says."""
    moved = ("make_smem_desc(sA + slot * BM * BK + k * 16)", f"make_smem_desc(sA + slot * BM * BK + {term} + k * 16)")
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
