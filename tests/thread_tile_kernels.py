"""Right kernels in which threads fill the tiles that mma.sync reads, in different styles."""

from __future__ import annotations

HELPERS = r"""#include <cuda_fp16.h>
#include <cstdint>
__device__ __forceinline__ uint32_t smem_addr(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void ldm_x4(uint32_t (&r)[4], uint32_t addr) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(addr));
}
__device__ __forceinline__ void ldm_x2(uint32_t (&r)[2], uint32_t addr) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(addr));
}
__device__ __forceinline__ void ldm_x2_trans(uint32_t (&r)[2], uint32_t addr) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(addr));
}
__device__ __forceinline__ void mma16816(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
"""
# A is M×K, B is N×K, both with K contiguous; padded rows
PADDED = (
    HELPERS
    + r"""
constexpr int BM = 64, BN = 64, BK = 32, PITCH = BK + 8;
__global__ void __launch_bounds__(128) gemm(const half* A, const half* B, float* C, int M, int N, int K) {
  __shared__ half As[BM * PITCH];
  __shared__ half Bs[BN * PITCH];
  int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  float acc[8][4] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = tid; i < BM * BK / 8; i += 128) {
      int r = i / (BK / 8), c = i % (BK / 8) * 8;
      *reinterpret_cast<uint4*>(&As[r * PITCH + c]) =
          *reinterpret_cast<const uint4*>(&A[(blockIdx.y * BM + r) * K + k0 + c]);
      *reinterpret_cast<uint4*>(&Bs[r * PITCH + c]) =
          *reinterpret_cast<const uint4*>(&B[(blockIdx.x * BN + r) * K + k0 + c]);
    }
    __syncthreads();
    for (int kk = 0; kk < BK; kk += 16) {
      uint32_t a[4];
      ldm_x4(a, smem_addr(&As[(warp * 16 + lane % 16) * PITCH + kk + lane / 16 * 8]));
      for (int n = 0; n < 8; n++) {
        uint32_t b[2];
        ldm_x2(b, smem_addr(&Bs[(n * 8 + lane % 8) * PITCH + kk + lane / 8 % 2 * 8]));
        mma16816(acc[n], a, b);
      }
    }
    __syncthreads();
  }
}
"""
)
# B is K×N with N contiguous; 128-byte rows with an XOR, filled by cp.async, two stages
SWIZZLED = (
    HELPERS
    + r"""
template <int COLS>
__device__ int swz(int row, int chunk) { return row * COLS + ((chunk ^ (row & 7)) << 3); }
__device__ void copy16(uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from));
}
template <int BM, int BN, int BK, int STAGES>
__global__ void gemm(const half* __restrict__ A, const half* __restrict__ B, float* C, int M, int N, int K) {
  extern __shared__ __align__(1024) half smem[];
  half* As = smem;
  half* Bs = smem + STAGES * BM * BK;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
  auto fill = [&](int stage, int k0) {
#pragma unroll
    for (int i = threadIdx.x; i < BM * BK / 8; i += blockDim.x) {
      int r = i / (BK / 8), c = i % (BK / 8);
      copy16(smem_addr(As + stage * BM * BK + swz<BK>(r, c)), A + (size_t)(row0 + r) * K + k0 + c * 8);
    }
#pragma unroll
    for (int i = threadIdx.x; i < BK * BN / 8; i += blockDim.x) {
      int r = i / (BN / 8), c = i % (BN / 8);
      copy16(smem_addr(Bs + stage * BK * BN + swz<BN>(r, c)), B + (size_t)(k0 + r) * N + col0 + c * 8);
    }
  };
  float acc[BN / 8][4] = {};
  fill(0, 0);
  for (int t = 0; t < K / BK; ++t) {
    if (t + 1 < K / BK) fill((t + 1) % STAGES, (t + 1) * BK);
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    const half* as = As + t % STAGES * BM * BK;
    const half* bs = Bs + t % STAGES * BK * BN;
    for (int kk = 0; kk < BK / 16; ++kk) {
      uint32_t a[4];
      int row = warp * 16 + (lane & 15);
      int chunk = kk * 2 + (lane >> 4);
      ldm_x4(a, smem_addr(as + swz<BK>(row, chunk)));
      for (int n = 0; n < BN / 8; ++n) {
        uint32_t b[2];
        ldm_x2_trans(b, smem_addr(bs + swz<BN>(kk * 16 + (lane & 15), n)));
        mma16816(acc[n], a, b);
      }
    }
    __syncthreads();
  }
}
void launch(const half* A, const half* B, float* C, int M, int N, int K) {
  dim3 grid(N / 64, M / 64);
  gemm<64, 64, 64, 2><<<grid, 128, 2 * 2 * 64 * 64 * sizeof(half)>>>(A, B, C, M, N, K);
}
"""
)
# fragments of plain loads, and a tile that is transposed while it is stored
PLAIN = (
    HELPERS
    + r"""
__global__ void gemm(const half* A, const half* B, float* C, int K, int N) {
  __shared__ half As[16][24];
  __shared__ half Bt[8][24];
  int lane = threadIdx.x;
  int g = lane >> 2, t = lane & 3;
  float d[4] = {0};
  for (int k0 = 0; k0 < K; k0 += 16) {
    for (int e = lane; e < 256; e += 32) As[e / 16][e % 16] = A[(blockIdx.x * 16 + e / 16) * K + k0 + e % 16];
    for (int e = lane; e < 128; e += 32) Bt[e % 8][e / 8] = B[(k0 + e / 8) * N + e % 8];
    __syncwarp();
    uint32_t a[4], b[2];
    a[0] = *(const uint32_t*)&As[g][2 * t];
    a[1] = *(const uint32_t*)&As[g + 8][2 * t];
    a[2] = *(const uint32_t*)&As[g][2 * t + 8];
    a[3] = *(const uint32_t*)&As[g + 8][2 * t + 8];
    b[0] = *(const uint32_t*)&Bt[g][2 * t];
    b[1] = *(const uint32_t*)&Bt[g][2 * t + 8];
    mma16816(d, a, b);
  }
}
void launch(const half* A, const half* B, float* C, int K, int N) { gemm<<<dim3(4), dim3(32, 1)>>>(A, B, C, K, N); }
"""
)
# B is K×N; one matrix for the 8 of K, so that a fragment looks right with and without .trans
NARROW = (
    HELPERS
    + r"""
__global__ void __launch_bounds__(32) gemm(const half* A, const half* B, int N, int K) {
  __shared__ half As[16 * 16], Bs[16 * 8];
  int lane = threadIdx.x;
  uint32_t c[2] = {};
  for (int k0 = 0; k0 < K; k0 += 16) {
    for (int i = lane; i < 256; i += 32) As[i] = A[(blockIdx.y * 16 + i / 16) * K + k0 + i % 16];
    for (int i = lane; i < 128; i += 32) Bs[i] = B[(k0 + i / 8) * N + blockIdx.x * 8 + i % 8];
    __syncthreads();
    for (int kk = 0; kk < 16; kk += 8) {
      uint32_t a[2], b;
      ldm_x2(a, smem_addr(&As[lane % 16 * 16 + kk]));
      asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
        : "=r"(b) : "r"(smem_addr(&Bs[(kk + lane % 8) * 8])));
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
        : "+r"(c[0]), "+r"(c[1]) : "r"(a[0]), "r"(a[1]), "r"(b));
    }
    __syncthreads();
  }
}
"""
)
# rows of vectors with an XOR, copied by a pointer to rows; B packed from single elements; a block of 32 by 4 threads
VECTORS = (
    HELPERS
    + r"""
__global__ void __launch_bounds__(128) gemm(const half* A, const half* B, float* C, int M, int N, int K) {
  __shared__ uint4 As[64][4];
  __shared__ uint4 Bs[8][4];
  uint4 (*rows)[4];
  rows = As;
  const int lane = threadIdx.x, warp = threadIdx.y;
  const int row = warp * 16 + lane % 16;
  const int right = lane / 16;
  const uint4* a_rows = reinterpret_cast<const uint4*>(A + blockIdx.y * 64 * K);
  const uint4* b_rows = reinterpret_cast<const uint4*>(B + blockIdx.x * 8 * K);
  float acc[4] = {};
  for (int k = 0; k < K / 8; k += 4) {
    for (int r = warp * 16 + lane / 4; r < warp * 16 + 16; r += 8)
      rows[r][(lane % 4) ^ (r / 2 % 4)] = a_rows[r * K / 8 + k + lane % 4];
    if (warp == 0) Bs[lane / 4][lane % 4] = b_rows[(lane / 4) * K / 8 + k + lane % 4];
    __syncthreads();
    for (int kk = 0; kk < 2; kk++) {
      uint32_t a[4], b[2];
      const int chunk = (kk * 2 + right) ^ (row / 2 % 4);
      ldm_x4(a, smem_addr(&rows[row][chunk]));
      const unsigned short* column = reinterpret_cast<const unsigned short*>(&Bs[lane / 4][kk * 2]);
      for (int i = 0; i < 2; i++) {
        uint32_t low = column[i * 8 + lane % 4 * 2];
        uint32_t high = column[i * 8 + lane % 4 * 2 + 1];
        b[i] = (high << 16) | low;
      }
      mma16816(acc, a, b);
    }
    __syncthreads();
  }
}
void launch(const half* A, const half* B, float* C, int n) { gemm<<<1, dim3(32, 4)>>>(A, B, C, n, n, n); }
"""
)
KERNEL = "__global__ void __launch_bounds__(128) gemm"  # how it begins
# three stages of 16 columns; A and B^T have K contiguous
STAGED = (
    HELPERS
    + r"""
#define COMMIT() asm volatile("cp.async.commit_group;\n" ::)
template <int N> __device__ void wait() { asm volatile("cp.async.wait_group %0;\n" ::"n"(N)); }
__device__ void copy16(uint32_t to, const void* from, bool inside) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %2, 0;\n@p cp.async.cg.shared.global [%0], [%1], 16;\n}\n"
               :: "r"(to), "l"(from), "r"((int)inside));
}
constexpr int ROWS = 64, BK = 16, PITCH = 24, STAGES = 3;
__global__ void __launch_bounds__(128) gemm(const half* A, const half* B, float* C, int M, int N, int K) {
  __shared__ half As[STAGES][ROWS * PITCH];
  __shared__ half Bs[STAGES][ROWS * PITCH];
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  auto fill = [&](int stage, int t) {
    int r = tid / 2, c = tid % 2 * 8;
    copy16(smem_addr(&As[stage][r * PITCH + c]), &A[(blockIdx.y * ROWS + r) * K + t * BK + c], t * BK < K);
    copy16(smem_addr(&Bs[stage][r * PITCH + c]), &B[(blockIdx.x * ROWS + r) * K + t * BK + c], t * BK < K);
  };
  float acc[8][4] = {};
  for (int s = 0; s < STAGES - 1; s++) {
    fill(s, s);
    COMMIT();
  }
  for (int t = 0; t < K / BK; t++) {
    wait<STAGES - 2>();
    __syncthreads();
    fill((t + STAGES - 1) % STAGES, t + STAGES - 1);
    COMMIT();  // each turn
    uint32_t a[4];
    ldm_x4(a, smem_addr(&As[t % STAGES][(warp * 16 + lane % 16) * PITCH + lane / 16 * 8]));
    for (int n = 0; n < 8; n++) {
      uint32_t b[2];
      ldm_x2(b, smem_addr(&Bs[t % STAGES][(n * 8 + lane % 8) * PITCH + lane / 8 % 2 * 8]));
      mma16816(acc[n], a, b);
    }
  }
}
"""
)
