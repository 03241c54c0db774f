"""Slices of K that no product takes are found, unless other warps, blocks or products take them."""

from __future__ import annotations

from tests.cases import for_each
from tests.checked import check_text, list_codes
from tests.transfer_kernels import plant

# fragments of bytes from global memory: A is M×K, B is N×K
BYTES = r"""#include <cstdint>
__global__ void __launch_bounds__(64) bytes(const int8_t* A, const int8_t* B, int* C, int N, int K) {
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const int8_t* a = A + (blockIdx.y * 32 + warp * 16 + g) * K + t * 4;
  const int8_t* b = B + (blockIdx.x * 8 + g) * K + t * 4;
  int d[4] = {};
  for (int k = 0; k < K; k += 32) {
    uint32_t a0 = *(const uint32_t*)(a + k), a1 = *(const uint32_t*)(a + 8 * K + k);
    uint32_t a2 = *(const uint32_t*)(a + k + 16), a3 = *(const uint32_t*)(a + 8 * K + k + 16);
    uint32_t b0 = *(const uint32_t*)(b + k), b1 = *(const uint32_t*)(b + k + 16);
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
  for (int e = 0; e < 4; ++e)
    C[(blockIdx.y * 32 + warp * 16 + g + e / 2 * 8) * N + blockIdx.x * 8 + t * 2 + e % 2] = d[e];
}
"""
SKIPPING = "k += 64"
A_START, B_START = "warp * 16 + g) * K + t * 4", "(blockIdx.x * 8 + g) * K + t * 4"
SHARED = [  # two warps, or two blocks, take the slices of K in turns
    plant(
        ("k += 32", SKIPPING), (A_START, "g) * K + t * 4 + warp * 32"), (B_START, f"{B_START} + warp * 32"), text=BYTES
    ),
    plant(
        ("k += 32", SKIPPING),
        (A_START, f"{A_START} + blockIdx.z * 32"),
        (B_START, f"{B_START} + blockIdx.z * 32"),
        text=BYTES,
    ),
    plant(  # another launch adds the other slices
        ("k += 32", SKIPPING),
        ("    C[(blockIdx.y", "    atomicAdd(&C[(blockIdx.y"),
        ("t * 2 + e % 2] = d[e];", "t * 2 + e % 2], d[e]);"),
        text=BYTES,
    ),
]


def test_a_right_kernel_is_verified() -> None:
    report = check_text(BYTES)
    assert (report.steps, report.findings) == (2, ())


@for_each(("right", "wrong", "place"), [("k += 32", SKIPPING, SKIPPING), ("K; k += 32", "K; k += 128", "k += 128")])
def test_a_step_that_leaves_out_slices_of_both_is_found(right: str, wrong: str, place: str) -> None:
    text = plant((right, wrong), text=BYTES)
    (found,) = check_text(text).findings
    assert (found.code, text[slice(*found.span)]) == ("k_slice_skipped", place)


@for_each("text", SHARED)
def test_slices_that_other_threads_may_take_are_not_left_out(text: str) -> None:
    assert "k_slice_skipped" not in list_codes(text)


def test_one_operand_alone_may_skip_memory() -> None:
    two = "for (int s = 0; s < K; s += 64)\n  for (int k = s; k < s + 64; k += 32) {"
    text = plant(("for (int k = 0; k < K; k += 32) {", two), text=BYTES)
    assert check_text(text).steps == 2
    report = check_text(text.replace("(a + ", "(a + s + "))
    assert (report.findings, report.steps) == ((), 0)  # right only if A's memory has an order of its own
