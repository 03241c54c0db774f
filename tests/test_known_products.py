"""Kernels of mma whose D is A·B for different M, N and K, and the same with a step or a pitch of another size.

A mistake of a whole matrix leaves every fragment right: only numbers for M, N and K show it.
"""

from __future__ import annotations

from lanescope.workbench.products.known_products import find_open_products
from tests.cases import for_each
from tests.checked import check_text
from tests.transfer_kernels import plant

MMA = """#include <cstdint>
__device__ void multiply(int (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
"""
KERNEL = (
    MMA
    + """__global__ void __launch_bounds__(64) gemm(const int8_t* A, const int8_t* B, float* C, const float* sa,
    const float* sb, int M, int N, int K) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, row = blockIdx.y * 32 + threadIdx.x / 32 * 16 + g;
  const int col = blockIdx.x * 8;
  const int8_t* a = A + blockIdx.z * M * K + row * K + t * 4;
  const int8_t* b = B + blockIdx.z * N * K + (col + g) * K + t * 4;
  int d[4] = {};
  for (int k = 0; k < K / 32; ++k) {
    uint32_t x[4];
    for (int i = 0; i < 4; ++i) x[i] = *reinterpret_cast<const uint32_t*>(a + i % 2 * 8 * K + k * 32 + i / 2 * 16);
    multiply(d, x, *reinterpret_cast<const uint32_t*>(b + k * 32), *reinterpret_cast<const uint32_t*>(b + k * 32 + 16));
  }
  float* c = C + blockIdx.z * M * N;
  for (int i = 0; i < 4; ++i) {
    const int r = row + i / 2 * 8, n = col + t * 2 + i % 2;
    c[r * N + n] = sa[r] * sb[n] * d[i];
  }
}
"""
)
LAUNCH = """
void run(const int8_t* A, const int8_t* B, float* C, const float* sa, const float* sb, int M, int N, int K) {
  gemm<<<dim3(N / 8, M / 32), 64>>>(A, B, C, sa, sb, M, N, K);
}
"""

RIGHT: dict[str, tuple[tuple[str, str], ...]] = {
    "as it is": (),
    "column by column": (("c[r * N + n]", "c[n * M + r]"),),
    "leading dimensions": (("int K)", "int K, int ldb)"), ("(col + g) * K", "(col + g) * ldb")),
    "a stride of a batch": (("int K)", "int K, int stride_a)"), ("blockIdx.z * M * K", "blockIdx.z * stride_a")),
    "a bias": (("sa[r] * sb[n] * d[i]", "d[i] + sb[n]"),),
    "scales of 128 rows": (("sa[r]", "sa[r / 128]"),),
    "exchanged blocks": (("blockIdx.y * 32", "blockIdx.x * 32"), ("blockIdx.x * 8", "blockIdx.y * 8")),
    "K split over blocks": (
        ("blockIdx.z * M * K", "blockIdx.z * (K / 2)"),
        ("blockIdx.z * N * K", "blockIdx.z * (K / 2)"),
        ("k < K / 32", "k < K / 2 / 32"),
        (" + blockIdx.z * M * N", ""),
        ("c[r * N + n] = sa[r] * sb[n] * d[i]", "atomicAdd(&c[r * N + n], float(d[i]))"),
    ),
}
OPEN = {
    "half of K": (("k < K / 32", "k < K / 64"), "sum over each"),
    "a number for a pitch": (("c[r * N + n]", "c[r * 4096 + n]"), "row and column"),
    "the batch of another matrix": (("blockIdx.z * M * K", "blockIdx.z * M * N"), ""),
    "A of the first batch only": (("blockIdx.z * M * K + ", ""), "of one matrix of a batch"),
    "A times A": (("b = B +", "b = A +"), "one array"),
    "the scale of another row": (("sa[r]", "sa[row]"), "elements of sa"),
    "the scale of the next column": (("sb[n]", "sb[n + 1]"), "elements of sb"),
    "rows that are not stored": (("i < 4; ++i) {\n    const", "i < 2; ++i) {\n    const"), "stored"),
}


def list_reasons(*changes: tuple[str, str]) -> list[str]:
    """List why D of the kernel with these changes is not known to be A·B."""
    return [why for why, _ in find_open_products(plant(*changes, text=KERNEL), {}, (), ["gemm"])]


@for_each("changes", list(RIGHT.values()), ids=list(RIGHT))
def test_a_product_that_is_right_is_not_open(changes: tuple[tuple[str, str], ...]) -> None:
    assert list_reasons(*changes) == []


@for_each(("change", "why"), list(OPEN.values()), ids=list(OPEN))
def test_what_is_not_the_product_is_open(change: tuple[str, str], why: str) -> None:
    assert why in list_reasons(change)[0]


def test_the_grid_of_the_launch_covers_d() -> None:
    assert not check_text(KERNEL + LAUNCH).open
    short = check_text(KERNEL + LAUNCH.replace("N / 8, M / 32", "N / 16, M / 32"))
    assert "all of its tiles" in short.open[0].message
