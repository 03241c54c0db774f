"""byte-id and thread-id of block-scaled mma.sync: PTX ISA 9.1, 9.7.14.3, table 37."""

from __future__ import annotations

from lanescope.workbench.fragments.thread_tiles import check_thread_tiles
from tests.cases import for_each

SCALED = r"""__device__ void mma(int a, int b, float (&c)[4], int sa, short byte, short thread, int sb) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0"
      " {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %5}, {%0, %1, %2, %3}, {%6}, {%7, %8}, {%9}, {%7, 3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a), "r"(b), "r"(sa), "h"(byte), "h"(thread), "r"(sb));
}
__global__ void __launch_bounds__(32) gemm(int a, int b, int sa, int sb) {
  float c[4] = {};
  for (int k = 0; k < 4; k++)
    for (int m = 0; m < 4; m++)
      mma(a, b, c, sa, k, m % 2, sb);
}
"""
PAIRS = SCALED.replace("m16n8k32", "m16n8k64").replace("mxf8f6f4.block_scale", "mxf4.block_scale.scale_vec::2X")
PAIRS = PAIRS.replace("e4m3", "e2m1")


def list_findings(text: str) -> list[tuple[str, str, str]]:
    found = check_thread_tiles(text, {}).findings
    return [(one.code, one.message.partition(";")[0], text[slice(*one.span)]) for one in found]


@for_each("text", [SCALED, PAIRS.replace("k, m % 2", "k % 2 * 2, m % 2")])
def test_ids_that_the_scale_vector_has_are_right(text: str) -> None:
    assert list_findings(text) == []


@for_each(
    ("text", "old", "new", "message", "place"),
    [
        (SCALED, "m % 2", "m", "thread-id-a is 2", "mma(a, b, c, sa, k, m, sb)"),
        (SCALED, "k, m % 2", "k * 2, m % 2", "byte-id-a is 4", "k * 2"),
        (PAIRS, "k, m % 2", "k % 2, m % 2", "byte-id-a is 1", "k % 2"),
    ],
)
def test_an_id_that_it_lacks_stands_where_it_is_given(text: str, old: str, new: str, message: str, place: str) -> None:
    assert list_findings(text.replace(old, new))[0] == ("scale_selector", message, place)
    open_ = text.replace(old, new).replace("k < 4", "k < sa").replace("int k = 0", "int k = sb")
    assert "byte" not in message or list_findings(open_) == []
