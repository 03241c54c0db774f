"""Kernels of our own in styles that people write, right ones, and mistakes of one number planted in them.

Descriptors by macros, constexpr functions, bit fields, halves of a word, classes; tiles by TMA and by threads; wgmma,
tcgen05.mma and mma.sync (tests/recall_thread_kernels.py). tests/test_check_recall.py checks them.
"""

from __future__ import annotations

import re

from tests.recall_thread_kernels import THREAD_KERNELS


def list_registers(count: int) -> str:
    return "{" + ", ".join(f"%{i}" for i in range(count)) + "}"


def list_outputs(count: int) -> str:
    return ", ".join(f'"+f"(d[{i}])' for i in range(count))


TMA_HELPERS = r"""
__device__ __forceinline__ void fill(uint32_t to, const CUtensorMap* map, uint32_t bar, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, "
      "%4}], [%2];"
      ::"r"(to), "l"(reinterpret_cast<uint64_t>(map)), "r"(bar), "r"(x), "r"(y) : "memory");
}
__device__ __forceinline__ void expect(uint32_t bar, uint32_t n) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(n) : "memory");
}
__device__ __forceinline__ void wait(uint32_t bar, uint32_t phase) {
  asm volatile("{\n.reg .pred p;\nL: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra L;\n}"
      ::"r"(bar), "r"(phase));
}
#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT0 asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory")
"""

LAUNCH = r"""void launch(void* a, void* b, float* c, uint64_t M, uint64_t N, uint64_t K) {
  CUtensorMap mapA{}, mapB{};
  uint64_t da[2] = {K, M}, db[2] = {K, N}, pitch[1] = {K * \2};
  uint32_t ba[2] = {\4, \5}, bb[2] = {\4, \6}, es[2] = {1, 1};
  cuTensorMapEncodeTiled(&mapA, CU_TENSOR_MAP_DATA_TYPE_\1, 2, a, da, pitch, ba, es, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_\3, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  cuTensorMapEncodeTiled(&mapB, CU_TENSOR_MAP_DATA_TYPE_\1, 2, b, db, pitch, bb, es, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_\3, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
"""  # of a type with so many bytes, a swizzle, the box's elements along K, its rows of A and its rows of B


def _fill(text: str) -> str:
    """Put the helpers, the host's code and the registers of an instruction in."""
    text = text.replace("TMA_HELPERS\n", TMA_HELPERS)
    text = re.sub(r"LAUNCH (\w+) (\d) (\w+) (\d+) (\d+) (\d+)\n", LAUNCH, text)
    for count in (64, 32, 16):
        text = text.replace(f"REGISTERS_{count}", list_registers(count)).replace(
            f"OUTPUTS_{count}", list_outputs(count)
        )
    return text


KERNELS = {
    name: _fill(text)
    for name, text in {
        **THREAD_KERNELS,
        "macro_panels": r"""#include <cuda.h>
#include <cuda_bf16.h>
TMA_HELPERS

#define TILE_M 64
#define TILE_N 64
#define TILE_K 128
#define PANEL_BYTES(rows) ((rows) * 128)
#define FIELD(bytes) ((uint64_t)(((bytes) & 0x3FFFF) >> 4))
#define DESCRIPTOR(address, lbo, sbo, mode) \
  (FIELD(address) | FIELD(lbo) << 16 | FIELD(sbo) << 32 | (uint64_t)(mode) << 62)
#define ELEMENT(base, rows, k) ((base) + (k) / 64 * PANEL_BYTES(rows) + (k) % 64 * 2)
__global__ void __launch_bounds__(128) gemm(const __grid_constant__ CUtensorMap ta,
    const __grid_constant__ CUtensorMap tb, float* c, int K) {
  extern __shared__ __align__(1024) uint8_t pool[];
  __shared__ __align__(8) uint64_t bar;
  const uint32_t a = (uint32_t)__cvta_generic_to_shared(pool), b = a + TILE_M * TILE_K * 2;
  const uint32_t mbar = (uint32_t)__cvta_generic_to_shared(&bar);
  float d[32] = {};
  for (int t = 0; t < K / TILE_K; ++t) {
    if (threadIdx.x == 0) {
      expect(mbar, (TILE_M + TILE_N) * TILE_K * 2);
      for (int p = 0; p < TILE_K / 64; ++p) {
        fill(a + p * PANEL_BYTES(TILE_M), &ta, mbar, t * TILE_K + p * 64, blockIdx.y * TILE_M);
        fill(b + p * PANEL_BYTES(TILE_N), &tb, mbar, t * TILE_K + p * 64, blockIdx.x * TILE_N);
      }
    }
    wait(mbar, t & 1);
    FENCE;
#pragma unroll
    for (int k = 0; k < TILE_K; k += 16) {
      uint64_t da = DESCRIPTOR(ELEMENT(a, TILE_M, k), 16, 1024, 1), db = DESCRIPTOR(ELEMENT(b, TILE_N, k), 16,
          1024, 1);
      asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 REGISTERS_32, %32, %33, 1, 1, 1, 0, "
          "0;" : OUTPUTS_32 : "l"(da), "l"(db));
    }
    COMMIT;
    WAIT0;
    __syncthreads();
  }
  for (int i = 0; i < 32; ++i) c[threadIdx.x * 32 + i] = d[i];
}

LAUNCH BFLOAT16 2 128B 64 64 64
  gemm<<<dim3(N / 64, M / 64), 128, 64 * 128 * 2 * 2>>>(mapA, mapB, c, K);
}
""",
        "constexpr_high": r"""#include <cuda.h>
#include <cuda_bf16.h>
TMA_HELPERS

enum class Swizzle : uint64_t { none = 0, b128 = 1, b64 = 2, b32 = 3 };
constexpr uint64_t encode(uint64_t bytes) { return (bytes & 0x3FFFF) >> 4; }
template <Swizzle S, int Stride>
constexpr uint64_t high_bits() {
  static_assert(Stride % 16 == 0);
  return encode(Stride) << 32 | static_cast<uint64_t>(S) << 62 | encode(16) << 16;
}
template <int BM, int BN, int BK, int STAGES>
struct Pool {
  alignas(1024) __nv_bfloat16 a[STAGES][BM * BK];
  alignas(1024) __nv_bfloat16 b[STAGES][BN * BK];
  alignas(8) uint64_t full[STAGES];
};
__device__ __forceinline__ uint32_t u32(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ __forceinline__ void mma(float (&d)[64], uint64_t a, uint64_t b, int accumulate) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, "
      "0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 REGISTERS_64, %64, %65, p, 1, 1, 0, "
      "0;\n}" : OUTPUTS_64 : "l"(a), "l"(b), "r"(accumulate));
}
template <int BM, int BN, int BK, int STAGES>
__global__ void __launch_bounds__(128) gemm(const __grid_constant__ CUtensorMap ta,
    const __grid_constant__ CUtensorMap tb, float* c, int K) {
  extern __shared__ __align__(1024) uint8_t raw[];
  auto* pool = reinterpret_cast<Pool<BM, BN, BK, STAGES>*>(raw);
  constexpr uint64_t high = high_bits<Swizzle::b128, 8 * BK * sizeof(__nv_bfloat16)>();
  float d[64];
  const int tiles = K / BK;
  for (int t = 0; t < tiles; ++t) {
    const int s = t % STAGES;
    if (threadIdx.x == 0) {
      expect(u32(&pool->full[s]), sizeof(pool->a[0]) + sizeof(pool->b[0]));
      fill(u32(pool->a[s]), &ta, u32(&pool->full[s]), t * BK, blockIdx.y * BM);
      fill(u32(pool->b[s]), &tb, u32(&pool->full[s]), t * BK, blockIdx.x * BN);
    }
    wait(u32(&pool->full[s]), (t / STAGES) & 1);
    const uint64_t da = high | encode(u32(pool->a[s])), db = high | encode(u32(pool->b[s]));
    FENCE;
    for (int k = 0; k < BK / 16; ++k) mma(d, da + ((k * 32) >> 4), db + ((k * 32) >> 4), t + k);
    COMMIT;
    WAIT0;
    __syncthreads();
  }
  for (int i = 0; i < 64; ++i) c[threadIdx.x * 64 + i] = d[i];
}

LAUNCH BFLOAT16 2 128B 64 64 128
  auto most = cudaFuncAttributeMaxDynamicSharedMemorySize;
  cudaFuncSetAttribute(gemm<64, 128, 64, 4>, most, sizeof(Pool<64, 128, 64, 4>));
  gemm<64, 128, 64, 4><<<dim3(N / 128, M / 64), 128, sizeof(Pool<64, 128, 64, 4>)>>>(mapA, mapB, c, K);
}
""",
        "bit_fields": r"""#include <cuda.h>
#include <cuda_fp16.h>
TMA_HELPERS

union GmmaWord {
  uint64_t word;
  struct {
    uint64_t start : 14, : 2, leading : 14, : 2, stride : 14, : 2, : 1, offset : 3, : 10, mode : 2;
  };
  __device__ operator uint64_t() const { return word; }
};
__device__ __forceinline__ GmmaWord word_of(const half* tile) {
  GmmaWord w;
  w.word = 0;
  w.start = static_cast<uint32_t>(__cvta_generic_to_shared(tile)) >> 4;
  w.leading = 1;
  w.stride = 512 >> 4;
  w.mode = 2;
  return w;
}
__global__ void __launch_bounds__(128) gemm(const __grid_constant__ CUtensorMap ta,
    const __grid_constant__ CUtensorMap tb, float* c, int K) {
  __shared__ __align__(1024) half sA[64 * 32];
  __shared__ __align__(1024) half sB[32 * 32];
  __shared__ __align__(8) uint64_t bar;
  const uint32_t mbar = (uint32_t)__cvta_generic_to_shared(&bar);
  float d[16] = {};
  for (int t = 0; t < K / 32; ++t) {
    if (threadIdx.x == 0) {
      expect(mbar, sizeof(sA) + sizeof(sB));
      fill((uint32_t)__cvta_generic_to_shared(sA), &ta, mbar, t * 32, blockIdx.y * 64);
      fill((uint32_t)__cvta_generic_to_shared(sB), &tb, mbar, t * 32, blockIdx.x * 32);
    }
    wait(mbar, t & 1);
    FENCE;
    auto step = [&]<int k>() {
      asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 REGISTERS_16, %16, %17, 1, 1, 1, 0, 0;"
          : OUTPUTS_16 : "l"(uint64_t(word_of(sA + k * 16))), "l"(uint64_t(word_of(sB + k * 16))));
    };
    step.template operator()<0>();
    step.template operator()<1>();
    COMMIT;
    WAIT0;
    __syncthreads();
  }
  for (int i = 0; i < 16; ++i) c[threadIdx.x * 16 + i] = d[i];
}

LAUNCH FLOAT16 2 64B 32 64 32
  gemm<<<dim3(N / 32, M / 64), 128, 0>>>(mapA, mapB, c, K);
}
""",
        "halves_fp8": r"""#include <cuda.h>
#include <cuda_fp8.h>
TMA_HELPERS

struct __align__(8) Halves { uint32_t low, high; };
union Packed { Halves half; uint64_t whole; };
__device__ __forceinline__ Packed pack(uint32_t address, uint32_t stride) {
  Packed p;
  p.half.low = ((address & 0x3FFFF) >> 4) | 1u << 16;
  p.half.high = (stride >> 4) | 1u << 30;
  return p;
}
__global__ void __launch_bounds__(256) gemm(const __grid_constant__ CUtensorMap ta,
    const __grid_constant__ CUtensorMap tb, float* c, int K) {
  extern __shared__ __align__(1024) unsigned char memory[];
  unsigned char* tileA = memory;
  unsigned char* tileB = memory + 128 * 128;
  __shared__ __align__(8) uint64_t bar;
  const uint32_t mbar = (uint32_t)__cvta_generic_to_shared(&bar);
  const int group = threadIdx.x / 128;
  float d[32] = {};
  for (int t = 0; t < K / 128; ++t) {
    if (threadIdx.x == 0) {
      expect(mbar, 128 * 128 + 64 * 128);
      fill((uint32_t)__cvta_generic_to_shared(tileA), &ta, mbar, t * 128, blockIdx.y * 128);
      fill((uint32_t)__cvta_generic_to_shared(tileB), &tb, mbar, t * 128, blockIdx.x * 64);
    }
    wait(mbar, t & 1);
    Packed a = pack((uint32_t)__cvta_generic_to_shared(tileA) + group * 64 * 128, 1024),
        b = pack((uint32_t)__cvta_generic_to_shared(tileB), 1024);
    FENCE;
    for (int k = 0; k < 4; ++k) {
      asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 REGISTERS_32, %32, %33, 1, 1, 1;"
          : OUTPUTS_32 : "l"(a.whole), "l"(b.whole));
      a.half.low += 2;
      b.half.low += 2;
    }
    COMMIT;
    WAIT0;
    __syncthreads();
  }
  for (int i = 0; i < 32; ++i) c[threadIdx.x * 32 + i] = d[i];
}

LAUNCH UINT8 1 128B 128 128 64
  gemm<<<dim3(N / 64, M / 128), 256, 128 * 128 + 64 * 128>>>(mapA, mapB, c, K);
}
""",
        "ptxns": r"""#include <cuda.h>
#include <cuda/ptx>
#include <cuda_bf16.h>
namespace ptx = cuda::ptx;
constexpr int TM = 128, TN = 64, TK = 64;

__device__ inline uint64_t smem_word(uint32_t where, uint32_t lead, uint32_t stride, uint32_t mode) {
  uint64_t w = 0;
  w |= (uint64_t)((where >> 4) & 0x3FFF);
  w |= (uint64_t)((lead >> 4) & 0x3FFF) << 16;
  w |= (uint64_t)((stride >> 4) & 0x3FFF) << 32;
  w |= (uint64_t)1 << 46;
  w |= (uint64_t)mode << 61;
  return w;
}
__device__ inline uint32_t instruction_word(uint8_t d, uint8_t a, uint8_t b, uint8_t n, uint8_t m) {
  uint32_t w = 0;
  w |= d << 4;
  w |= a << 7;
  w |= b << 10;
  w |= (n >> 3) << 17;
  w |= (m >> 4) << 24;
  return w;
}
__device__ inline void wait_for(uint64_t* bar, uint32_t phase) {
  uint32_t done = 0;
  while (!done)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.b32 %0, 1, 0, "
        "p;\n}" : "=r"(done) : "l"(bar), "r"(phase));
}
__device__ inline bool one_thread() {
  uint32_t chosen;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xFFFFFFFF;\nselp.b32 %0, 1, 0, p;\n}\n" : "=r"(chosen));
  return threadIdx.x >> 5 == 0 && chosen;
}
__global__ void product(float* out, int M, int N, int K, const __grid_constant__ CUtensorMap mapA,
    const __grid_constant__ CUtensorMap mapB) {
  extern __shared__ uint8_t raw[];
  uint8_t* base = (uint8_t*)(((uintptr_t)raw + 1023) & ~(uintptr_t)1023);
  uint8_t* sA = base;
  uint8_t* sB = base + TM * TK * 2;
  __shared__ __align__(8) uint64_t full, empty;
  __shared__ uint32_t columns;
  auto fullAddress = (uint64_t*)__cvta_generic_to_shared(&full);
  auto emptyAddress = (uint64_t*)__cvta_generic_to_shared(&empty);
  auto rowM = blockIdx.x * TM;
  auto rowN = blockIdx.y * TN;
  auto phase = 0;
  for (int it = 0; it < K / TK; it++) {
    if (one_thread()) {
      int32_t atA[2] = {it * TK, (int32_t)rowM};
      int32_t atB[2] = {it * TK, (int32_t)rowN};
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full,
          (TM + TN) * TK * sizeof(__nv_bfloat16));
      ptx::cp_async_bulk_tensor(ptx::space_shared, ptx::space_global, sA, &mapA, atA, &full);
      ptx::cp_async_bulk_tensor(ptx::space_shared, ptx::space_global, sB, &mapB, atB, &full);
    }
    __syncthreads();
    wait_for(fullAddress, phase);
    auto a0 = __cvta_generic_to_shared(sA);
    auto b0 = __cvta_generic_to_shared(sB);
    if (one_thread()) {
      asm volatile("tcgen05.fence::after_thread_sync;");
      for (int k = 0; k < TK; k += 16) {
        auto da = smem_word(a0 + k * 2, 1, 1024, 2);
        auto db = smem_word(b0 + k * 2, 1, 1024, 2);
        auto id = instruction_word(1, 1, 1, TN, TM);
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\ntcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, "
            "%3, p;\n}\n" ::"r"(columns), "l"(da), "l"(db), "r"(id), "r"(k + it));
      }
      asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
          ::"l"(emptyAddress) : "memory");
    }
    wait_for(emptyAddress, phase);
    phase ^= 1;
  }
}
int main() {
  int M = 4096, N = 4096, K = 4096;
  __nv_bfloat16 *dA, *dB;
  float* dD;
  CUtensorMap mapA = {}, mapB = {};
  uint64_t dimsA[2] = {(uint64_t)K, (uint64_t)M}, stridesA[1] = {(uint64_t)K * sizeof(__nv_bfloat16)};
  uint32_t boxA[2] = {TK, TM}, ones[2] = {1, 1};
  CU_CHECK(cuTensorMapEncodeTiled(&mapA, CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, dA, dimsA,
      stridesA, boxA, ones,
      CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE, CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
      CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
          CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  uint64_t dimsB[2] = {(uint64_t)K, (uint64_t)N}, stridesB[1] = {(uint64_t)K * sizeof(__nv_bfloat16)};
  uint32_t boxB[2] = {TK, TN};
  CU_CHECK(cuTensorMapEncodeTiled(&mapB, CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, dB, dimsB,
      stridesB, boxB, ones,
      CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE, CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
      CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
          CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  dim3 grid(M / TM, N / TN);
  size_t bytes = (size_t)(TM + TN) * TK * 2 + 1024;
  cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  auto launch = [&] { product<<<grid, 128, bytes>>>(dD, M, N, K, mapA, mapB); };
  launch();
}
""",
    }.items()
}

MISTAKES = [  # kernel, what stands there, what is written instead
    ("macro_panels", "fill(b + p * PANEL_BYTES(TILE_N)", "fill(b + p * PANEL_BYTES(32)"),
    ("macro_panels", "(k) / 64 * PANEL_BYTES(rows)", "(k) / 64 * PANEL_BYTES(32)"),
    ("macro_panels", "(k) % 64 * 2", "(k) % 64 * 4"),
    ("macro_panels", "k < TILE_K; k", "k < TILE_K / 2; k"),
    ("constexpr_high", "b128 = 1, b64 = 2", "b128 = 2, b64 = 1"),
    ("constexpr_high", "8 * BK * sizeof", "4 * BK * sizeof"),
    ("constexpr_high", "db + ((k * 32) >> 4)", "db + ((k * 64) >> 4)"),
    ("constexpr_high", "sizeof(pool->a[0]) + sizeof(pool->b[0])", "sizeof(pool->a) + sizeof(pool->b[0])"),
    ("bit_fields", "w.stride = 512 >> 4", "w.stride = 1024 >> 4"),
    ("bit_fields", "sA + k * 16", "sA + k * 32"),
    ("bit_fields", "w.mode = 2", "w.mode = 1"),
    ("halves_fp8", "| 1u << 30", "| 1u << 29"),
    ("halves_fp8", "b.half.low += 2", "b.half.low += 4"),
    ("halves_fp8", "memory + 128 * 128;", "memory + 64 * 128;"),
    ("core_cp_async", "sbo = 128;", "sbo = 256;"),
    ("core_cp_async", "lbo = rows_ * 16,", "lbo = rows_ * 8,"),
    ("mma_trans", "x2.trans.shared", "x2.shared"),
    ("mma_trans", "k / 8 + lane / 16", "k / 8 + lane / 8"),
    ("ptxns", "(n >> 3) << 17", "(n >> 4) << 17"),
    ("ptxns", "base + TM * TK * 2;", "base + TN * TK * 2;"),
    ("ptxns", "b0 + k * 2, 1, 1024, 2", "b0 + k * 2, 1, 1024, 4"),
    ("ptxns", "a0 + k * 2, 1", "a0 + k, 1"),  # of a variable that the kernel's own asm takes
    ("ptxns", "(TM + TN) * TK * sizeof", "TM * TK * sizeof"),
    ("tcgen_threads", "uint64_t(128 >> 4) << 16", "uint64_t(256 >> 4) << 16"),
]
