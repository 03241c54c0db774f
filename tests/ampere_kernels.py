"""Right GEMM kernels for Ampere in four styles, in our own words, and mistakes of one place in them."""

from __future__ import annotations

# macros, a ring of three stages, padded rows; A is M×K and B is N×K
MACROS = r"""#include <cuda_fp16.h>
#define LDMATRIX_X4(R0, R1, R2, R3, addr)                                                       \
  asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];\n"             \
               : "=r"(R0), "=r"(R1), "=r"(R2), "=r"(R3) : "r"(addr))
#define HMMA16816(D, A, B0, B1)                                                                 \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "                             \
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"                        \
               : "+f"(D[0]), "+f"(D[1]), "+f"(D[2]), "+f"(D[3])                                 \
               : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B0), "r"(B1))
#define CP_ASYNC_CG(dst, src, bytes) \
  asm volatile("cp.async.cg.shared.global [%0], [%1], %2;\n" ::"r"(dst), "l"(src), "n"(bytes))
#define CP_ASYNC_COMMIT_GROUP() asm volatile("cp.async.commit_group;\n" ::)
#define CP_ASYNC_WAIT_GROUP(n) asm volatile("cp.async.wait_group %0;\n" ::"n"(n))
const int BM = 128, BN = 64, BK = 32, STAGES = 3, PAD = 8, LDS = BK + PAD;

__global__ void __launch_bounds__(256) macro_gemm(const half *A, const half *B, float *C, int M, int N, int K) {
  extern __shared__ half smem[];
  half *s_a = smem;
  half *s_b = smem + STAGES * BM * LDS;
  const int a_stage = BM * LDS, b_stage = BN * LDS;
  const int tid = threadIdx.x, warp_id = tid / 32, lane_id = tid % 32;
  const int warp_m = warp_id % 4, warp_n = warp_id / 4;
  int load_m = tid / 2, load_k = (tid % 2) * 16;
  int load_n = tid / 4, load_kb = (tid % 4) * 8;
  const half *a_from = A + (blockIdx.y * BM + load_m) * K + load_k;
  const half *b_from = B + (blockIdx.x * BN + load_n) * K + load_kb;
  uint32_t a_base = __cvta_generic_to_shared(s_a), b_base = __cvta_generic_to_shared(s_b);
  float acc[2][4][4] = {};

#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    uint32_t a_to = a_base + (s * a_stage + load_m * LDS + load_k) * sizeof(half);
    CP_ASYNC_CG(a_to, a_from + s * BK, 16);
    CP_ASYNC_CG(a_to + 16, a_from + s * BK + 8, 16);
    uint32_t b_to = b_base + (s * b_stage + load_n * LDS + load_kb) * sizeof(half);
    CP_ASYNC_CG(b_to, b_from + s * BK, 16);
    CP_ASYNC_COMMIT_GROUP();
  }
  for (int t = 0; t < K / BK; ++t) {
    CP_ASYNC_WAIT_GROUP(STAGES - 2);
    __syncthreads();
    int next = t + STAGES - 1, write = next % STAGES, read = t % STAGES;
    if (next < K / BK) {
      uint32_t a_to = a_base + (write * a_stage + load_m * LDS + load_k) * sizeof(half);
      CP_ASYNC_CG(a_to, a_from + next * BK, 16);
      CP_ASYNC_CG(a_to + 16, a_from + next * BK + 8, 16);
      uint32_t b_to = b_base + (write * b_stage + load_n * LDS + load_kb) * sizeof(half);
      CP_ASYNC_CG(b_to, b_from + next * BK, 16);
    }
    CP_ASYNC_COMMIT_GROUP();
#pragma unroll
    for (int kk = 0; kk < BK / 16; ++kk) {
      uint32_t RA[2][4], RB[4][2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        int row = warp_m * 32 + i * 16 + lane_id % 16;
        uint32_t addr = a_base + (read * a_stage + row * LDS + kk * 16 + lane_id / 16 * 8) * sizeof(half);
        LDMATRIX_X4(RA[i][0], RA[i][1], RA[i][2], RA[i][3], addr);
      }
#pragma unroll
      for (int j = 0; j < 4; j += 2) {
        int col = warp_n * 32 + j * 8 + lane_id / 16 * 8 + lane_id % 8;
        uint32_t addr = b_base + (read * b_stage + col * LDS + kk * 16 + lane_id / 8 % 2 * 8) * sizeof(half);
        LDMATRIX_X4(RB[j][0], RB[j][1], RB[j + 1][0], RB[j + 1][1], addr);
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) HMMA16816(acc[i][j], RA[i], RB[j][0], RB[j][1]);
    }
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j) {
      int row = blockIdx.y * BM + warp_m * 32 + i * 16 + lane_id / 4;
      int col = blockIdx.x * BN + warp_n * 32 + j * 8 + lane_id % 4 * 2;
      C[row * N + col] = acc[i][j][0];
      C[row * N + col + 1] = acc[i][j][1];
      C[(row + 8) * N + col] = acc[i][j][2];
      C[(row + 8) * N + col + 1] = acc[i][j][3];
    }
}
"""
# helpers and templates, an XOR of 16-byte chunks, fragments in two sets of registers; B is K×N
TEMPLATES = r"""#include <cuda_bf16.h>
#include <cstdint>
using bf16 = __nv_bfloat16;
__device__ __forceinline__ void cp_async16(uint32_t dst, const void* src) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(dst), "l"(src));
}
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;"); }
template <int N> __device__ __forceinline__ void cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N)); }
__device__ __forceinline__ void ldsm_x4(uint32_t* r, uint32_t addr) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(addr));
}
__device__ __forceinline__ void ldsm_x4_t(uint32_t* r, uint32_t addr) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(addr));
}
__device__ __forceinline__ void mma_bf16(float* c, const uint32_t* a, const uint32_t* b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <int kRowChunks>
__device__ __forceinline__ uint32_t swizzle(int row, int chunk) {
  return (row * kRowChunks + (chunk ^ (row % 8))) * 16;
}
template <int BM, int BN, int BK, int kStages>
__global__ void template_gemm(const bf16* __restrict__ A, const bf16* __restrict__ B, bf16* C, int M, int N, int K) {
  extern __shared__ __align__(128) unsigned char raw[];
  constexpr int kSizeA = BM * BK * 2, kSizeB = BK * BN * 2, kStageBytes = kSizeA + kSizeB;
  const uint32_t base = static_cast<uint32_t>(__cvta_generic_to_shared(raw));
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int wm = (warp >> 1) * (BM / 2), wn = (warp & 1) * (BN / 2);
  auto load_tile = [&](int slot, int tile) {
    const uint32_t to_a = base + slot * kStageBytes, to_b = to_a + kSizeA;
    const bf16* from_a = A + (size_t)blockIdx.y * BM * K + tile * BK;
    const bf16* from_b = B + (size_t)tile * BK * N + blockIdx.x * BN;
    for (int c = threadIdx.x; c < BM * BK / 8; c += 128) {
      int row = c / (BK / 8), chunk = c % (BK / 8);
      cp_async16(to_a + swizzle<BK / 8>(row, chunk), from_a + (size_t)row * K + chunk * 8);
    }
    for (int c = threadIdx.x; c < BK * BN / 8; c += 128) {
      int row = c / (BN / 8), chunk = c % (BN / 8);
      cp_async16(to_b + swizzle<BN / 8>(row, chunk), from_b + (size_t)row * N + chunk * 8);
    }
  };
  uint32_t fa[2][2][4], fb[2][2][4];
  auto load_fragments = [&](int set, int slot, int k) {
    const uint32_t from_a = base + slot * kStageBytes, from_b = from_a + kSizeA;
    for (int i = 0; i < 2; ++i)
      ldsm_x4(fa[set][i], from_a + swizzle<BK / 8>(wm + i * 16 + (lane & 15), k * 2 + (lane >> 4)));
    for (int j = 0; j < 2; ++j)
      ldsm_x4_t(fb[set][j], from_b + swizzle<BN / 8>(k * 16 + (lane & 15), (wn + j * 16) / 8 + (lane >> 4)));
  };
  float acc[2][4][4] = {};
  for (int s = 0; s < kStages - 1; ++s) {
    load_tile(s, s);
    cp_async_commit();
  }
  const int tiles = K / BK;
  int slot = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    cp_async_wait<kStages - 2>();
    __syncthreads();
    if (tile + kStages - 1 < tiles) load_tile((slot + kStages - 1) % kStages, tile + kStages - 1);
    cp_async_commit();
    load_fragments(0, slot, 0);
#pragma unroll
    for (int k = 0; k < BK / 16; ++k) {
      if (k + 1 < BK / 16) load_fragments((k + 1) & 1, slot, k + 1);
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) mma_bf16(acc[i][j], fa[k & 1][i], &fb[k & 1][j / 2][(j & 1) * 2]);
    }
    slot = slot + 1 == kStages ? 0 : slot + 1;
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j) {
      const int row = blockIdx.y * BM + wm + i * 16 + lane / 4, col = blockIdx.x * BN + wn + j * 8 + lane % 4 * 2;
      bf16* out = C + (size_t)row * N + col;
      *reinterpret_cast<__nv_bfloat162*>(out) = __floats2bfloat162_rn(acc[i][j][0], acc[i][j][1]);
      *reinterpret_cast<__nv_bfloat162*>(out + 8 * N) = __floats2bfloat162_rn(acc[i][j][2], acc[i][j][3]);
    }
}
void start(const bf16* A, const bf16* B, bf16* C, int M, int N, int K) {
  constexpr int bytes = 4 * (64 * 64 + 64 * 64) * 2;
  cudaFuncSetAttribute(template_gemm<64, 64, 64, 4>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  template_gemm<64, 64, 64, 4><<<dim3(N / 64, M / 64), 128, bytes>>>(A, B, C, M, N, K);
}
"""
# fragments of plain loads; the next tile waits in registers while this one is multiplied
REGISTERS = r"""#include <cuda_fp16.h>
#include <cstdint>
#define TM 64
#define TN 64
#define TK 32
__device__ __forceinline__ void hmma(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                                     uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
__global__ __launch_bounds__(128) void register_gemm(const half* __restrict__ A, const half* __restrict__ B, float* C,
                                                     int M, int N, int K) {
  __shared__ half As[2][TM][TK + 8];
  __shared__ half Bs[2][TN][TK + 8];
  int tid = threadIdx.x, warp = tid / 32, lane = tid % 32, group = lane / 4, quad = lane % 4;
  int r = tid / 4, c = tid % 4 * 8;
  const half* pa = A + (size_t)(blockIdx.y * TM + r) * K + c;
  const half* pb = B + (size_t)(blockIdx.x * TN + r) * K + c;
  uint4 a_next[2], b_next[2];
  for (int i = 0; i < 2; i++) {
    a_next[i] = *reinterpret_cast<const uint4*>(pa + i * 32 * K);
    b_next[i] = *reinterpret_cast<const uint4*>(pb + i * 32 * K);
  }
  float acc[8][4];
  for (int j = 0; j < 8; j++)
    for (int e = 0; e < 4; e++) acc[j][e] = 0.f;
  for (int k0 = 0, buf = 0; k0 < K; k0 += TK, buf ^= 1) {
    for (int i = 0; i < 2; i++) {
      *reinterpret_cast<uint4*>(&As[buf][r + i * 32][c]) = a_next[i];
      *reinterpret_cast<uint4*>(&Bs[buf][r + i * 32][c]) = b_next[i];
    }
    __syncthreads();
    if (k0 + TK < K) {
      for (int i = 0; i < 2; i++) {
        a_next[i] = *reinterpret_cast<const uint4*>(pa + i * 32 * K + k0 + TK);
        b_next[i] = *reinterpret_cast<const uint4*>(pb + i * 32 * K + k0 + TK);
      }
    }
    for (int k = 0; k < TK; k += 16) {
      int row = warp * 16 + group;
      uint32_t a0 = *(uint32_t*)&As[buf][row][k + quad * 2];
      uint32_t a1 = *(uint32_t*)&As[buf][row + 8][k + quad * 2];
      uint32_t a2 = *(uint32_t*)&As[buf][row][k + quad * 2 + 8];
      uint32_t a3 = *(uint32_t*)&As[buf][row + 8][k + quad * 2 + 8];
      for (int j = 0; j < 8; j++) {
        uint32_t b0 = *(uint32_t*)&Bs[buf][j * 8 + group][k + quad * 2];
        uint32_t b1 = *(uint32_t*)&Bs[buf][j * 8 + group][k + quad * 2 + 8];
        hmma(acc[j], a0, a1, a2, a3, b0, b1);
      }
    }
  }
  for (int j = 0; j < 8; j++) {
    int row = blockIdx.y * TM + warp * 16 + group, col = blockIdx.x * TN + j * 8 + quad * 2;
    *reinterpret_cast<float2*>(&C[row * N + col]) = make_float2(acc[j][0], acc[j][1]);
    *reinterpret_cast<float2*>(&C[(row + 8) * N + col]) = make_float2(acc[j][2], acc[j][3]);
  }
}
"""
# bytes, two stages of __pipeline_memcpy_async; ldmatrix moves pairs of bytes
BYTES = r"""#include <cuda_pipeline.h>
#include <cstdint>
struct Tile { int8_t a[64][80]; int8_t b[32][80]; };
__device__ inline unsigned to_shared(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__global__ void __launch_bounds__(128, 2) byte_gemm(const int8_t* A, const int8_t* B, int* C, int N, int K) {
  __shared__ alignas(16) Tile tiles[2];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int8_t* a_rows = A + blockIdx.y * 64 * K;
  const int8_t* b_rows = B + blockIdx.x * 32 * K;
  auto fetch = [&](Tile& tile, int k0) {
    for (int i = threadIdx.x; i < 64 * 4; i += blockDim.x)
      __pipeline_memcpy_async(&tile.a[i / 4][i % 4 * 16], a_rows + i / 4 * K + k0 + i % 4 * 16, 16);
    __pipeline_memcpy_async(&tile.b[threadIdx.x / 4][threadIdx.x % 4 * 16],
                            b_rows + threadIdx.x / 4 * K + k0 + threadIdx.x % 4 * 16, 16);
    __pipeline_commit();
  };
  int sum[4][4] = {{0}};
  fetch(tiles[0], 0);
  for (int k0 = 0, now = 0; k0 < K; k0 += 64, now = 1 - now) {
    if (k0 + 64 < K) {
      fetch(tiles[1 - now], k0 + 64);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
    const Tile& tile = tiles[now];
    for (int k = 0; k < 64; k += 32) {
      unsigned a[4], b[2];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                   : "r"(to_shared(&tile.a[warp * 16 + lane % 16][k + lane / 16 * 16])));
      for (int n = 0; n < 4; ++n) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(b[0]), "=r"(b[1])
                     : "r"(to_shared(&tile.b[n * 8 + lane % 8][k + lane / 8 % 2 * 16])));
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                     "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+r"(sum[n][0]), "+r"(sum[n][1]), "+r"(sum[n][2]), "+r"(sum[n][3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
      }
    }
    __syncthreads();
  }
  for (int n = 0; n < 4; ++n) {
    int* out = C + (blockIdx.y * 64 + warp * 16 + lane / 4) * N + blockIdx.x * 32 + n * 8 + lane % 4 * 2;
    *(int2*)out = make_int2(sum[n][0], sum[n][1]);
    *(int2*)(out + 8 * N) = make_int2(sum[n][2], sum[n][3]);
  }
}
"""
KERNELS = {"macros": (MACROS, 2), "templates": (TEMPLATES, 4), "registers": (REGISTERS, 2), "bytes": (BYTES, 2)}
