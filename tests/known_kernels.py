"""Right kernels whose D is A·B with every M, N and K, for tests that plant mistakes."""

from __future__ import annotations

from lanescope.workbench.products.result_judge import judge_results
from tests.test_thread_descriptors import RIGHT as DESCRIBED
from tests.thread_tile_kernels import PADDED
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

TILED = plant(
    (
        "    __syncthreads();\n  }\n}",
        """    __syncthreads();
  }
  float* c = C + (blockIdx.y * BM + warp * 16 + lane / 4) * N + blockIdx.x * BN + lane % 4 * 2;
  for (int n = 0; n < 8; n++)
    for (int e = 0; e < 4; e++) c[e / 2 * 8 * N + n * 8 + e % 2] = acc[n][e];
}""",
    ),
    text=PADDED,
)
GROUPS = plant(
    ("float* C, int K", "float* C, int M, int N, int K"),
    (
        "    __syncthreads();\n  }\n}",
        """    __syncthreads();
  }
  float* c = C + (blockIdx.x * 64 + threadIdx.x / 4) * N + blockIdx.y * 64 + threadIdx.x % 4 * 2;
  c += (threadIdx.x / 32 * 8) * N;
  for (int n = 0; n < 32; n++) c[n / 2 % 2 * 8 * N + n / 4 * 8 + n % 2] = d[n];
}""",
    ),
    text=DESCRIBED,
)


def list_wrong(text: str) -> list[tuple[str, str]]:
    """List (code, its place) of the mistakes of a kernel."""
    return [(one.code, text[slice(*one.span)]) for one in judge_results(text, {}, (), {"gemm"})[0]]
