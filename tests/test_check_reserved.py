"""Reserved bits that are set are one finding at the number that sets them, whichever calls get it."""

from __future__ import annotations

from tests.cases import for_each
from tests.checked import check_text

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
