"""Weights of 4 and 8 bits that threads unpack and scale before a product takes them."""

from __future__ import annotations

from lanescope.workbench.fragments.thread_gaps import STEP_OPEN, UNKNOWN
from lanescope.workbench.fragments.thread_tiles import check_thread_tiles
from tests.cases import for_each
from tests.transfer_kernels import plant

# one warp: 16 rows, 8 columns; W has two weights of 4 bits in a byte, the low one first, and scales for 128 of K
WEIGHTS = r"""#include <cuda_fp16.h>
#include <cstdint>
__global__ void __launch_bounds__(32) gemm(const half* A, const uint8_t* W, const half* scale, float* C, int N, int K) {
  __shared__ half Bs[8][24];
  const int lane = threadIdx.x, r = lane / 4, q = lane % 4;
  float d[4] = {};
  for (int k = 0; k < K; k += 16) {
    const uint16_t raw = *(const uint16_t*)&W[(blockIdx.x * 8 + r) * (K / 2) + k / 2 + q * 2];
    const half s = scale[(blockIdx.x * 8 + r) * (K / 128) + k / 128];
    for (int i = 0; i < 4; ++i) Bs[r][q * 4 + i] = __hmul(__int2half_rn(((raw >> (4 * i)) & 15) - 8), s);
    __syncthreads();
    unsigned a[4], b[2];
    for (int i = 0; i < 4; ++i) a[i] = *(const unsigned*)&A[(r + i % 2 * 8) * K + k + q * 2 + i / 2 * 8];
    for (int i = 0; i < 2; ++i) b[i] = *(const unsigned*)&Bs[r][q * 2 + i * 8];
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    __syncthreads();
  }
  for (int e = 0; e < 4; ++e) C[(r + e / 2 * 8) * N + blockIdx.x * 8 + q * 2 + e % 2] = d[e];
}
"""
UNPACK = "for (int i = 0; i < 4; ++i) Bs[r][q * 4 + i] = __hmul(__int2half_rn(((raw >> (4 * i)) & 15) - 8), s);"
BY_LOP3 = r"""for (int i = 0; i < 4; ++i) {
      unsigned word;
      asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(word) : "r"((unsigned)(raw >> (4 * i))), "n"(0xf), "n"(0x6400));
      Bs[r][q * 4 + i] = __hsub(__ushort_as_half(word), __float2half(1032.f)) * s;
    }"""


def check(*edits: tuple[str, str]) -> tuple[list[str], str]:
    report = check_thread_tiles(plant(*edits, text=WEIGHTS), {})
    return [found.code for found in report.findings], report.kernels[0].gap


@for_each(
    ("old", "new"),
    [
        (UNPACK, UNPACK),
        (UNPACK, BY_LOP3),
        (UNPACK, UNPACK.replace(", s)", ", __float2half(0.5f))")),
        (UNPACK, UNPACK.replace("__int2half_rn(", "(half)(float)(")),
    ],
)
def test_unpacked_weights_in_the_order_of_k_are_verified(old: str, new: str) -> None:
    assert check((old, new)) == ([], "")


def test_weights_of_a_byte_keep_their_place() -> None:
    wide = (
        ("(K / 2) + k / 2 + q * 2", "K + k + q * 4"),
        ("const uint16_t raw = *(const uint16_t*)", "uint32_t raw = *(uint32_t*)"),
    )
    bytes_ = (UNPACK, "for (int i = 0; i < 4; ++i) Bs[r][q * 4 + i] = __hmul(__int2half_rn(((int8_t*)&raw)[i]), s);")
    assert check(*wide, bytes_) == ([], "")
    assert check(*wide, (bytes_[0], bytes_[1].replace("&raw)[i]", "&raw)[i / 2]"))) == ([], STEP_OPEN)


@for_each(
    ("old", "new", "gap"),
    [
        ("raw >> (4 * i)", "raw >> (4 * (i ^ 1))", STEP_OPEN),  # W may have the high one first
        ("- 8), s)", "- 8), factor(s))", UNKNOWN),  # of a header that is not found
    ],
)
def test_weights_in_another_order_or_of_unknown_values_stay_open(old: str, new: str, gap: str) -> None:
    assert check((old, new)) == ([], gap)
