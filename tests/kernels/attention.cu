// The two products of attention: S = Q · Kᵀ, both from shared memory, and O = P · V with P in registers, V MN-major.
#include "accumulators.h"
#include <cuda.h>
using half_t = __half;
constexpr int kHeadDim = 64, kBlockM = 64, kBlockN = 64;

__device__ uint64_t desc_of(const half_t* p, uint64_t lbo, uint64_t sbo) {
  const uint64_t addr = __cvta_generic_to_shared(p);
  return ((addr & 0x3FFFF) >> 4) | ((lbo >> 4) << 16) | ((sbo >> 4) << 32) | (1ull << 62);
}

__device__ void gemm_qk(float (&s)[32], const half_t* q, const half_t* k) {
#pragma unroll
  for (int i = 0; i < kHeadDim / 16; ++i) {
    uint64_t desc_q = desc_of(q + i * 16, 16, 1024);
    uint64_t desc_k = desc_of(k + i * 16, 16, 1024);
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " R32 ", %32, %33, p, 1, 1, 0, 0; }\n"
                 : D32(s) : "l"(desc_q), "l"(desc_k), "r"(i));
  }
}

__device__ void gemm_pv(float (&o)[32], const uint32_t (&p)[16], const half_t* v) {
#pragma unroll
  for (int i = 0; i < kBlockN / 16; ++i) {
    uint64_t desc_v = desc_of(v + i * 16 * kHeadDim, 1024, 1024);
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " R32 ", {%32, %33, %34, %35}, %36, 1, 1, 1, 1;\n"
                 : D32(o) : "r"(p[i * 4]), "r"(p[i * 4 + 1]), "r"(p[i * 4 + 2]), "r"(p[i * 4 + 3]), "l"(desc_v));
  }
}

__global__ void flash_fwd(const __grid_constant__ CUtensorMap tma_q, const __grid_constant__ CUtensorMap tma_k,
                          const __grid_constant__ CUtensorMap tma_v, int n_blocks) {
  extern __shared__ __align__(1024) half_t smem[];
  half_t* sQ = smem;
  half_t* sK = sQ + kBlockM * kHeadDim;
  half_t* sV = sK + kBlockN * kHeadDim;
  if (threadIdx.x == 0) tma_load_2d(sQ, &tma_q, 0, blockIdx.x * kBlockM);
  float o[32] = {};
  for (int n = 0; n < n_blocks; ++n) {
    if (threadIdx.x == 0) {
      tma_load_2d(sK, &tma_k, 0, n * kBlockN);
      tma_load_2d(sV, &tma_v, 0, n * kBlockN);
    }
    wait_loads();
    float s[32];
    gemm_qk(s, sQ, sK);
    uint32_t p[16];
    softmax_to_half(s, p);
    gemm_pv(o, p, sV);
  }
}

void run(half_t* q, half_t* k, half_t* v, int seqlen) {
  CUtensorMap tma_q, tma_k, tma_v;
  cuuint64_t size[2] = {kHeadDim, (cuuint64_t)seqlen}, stride[1] = {kHeadDim * sizeof(half_t)};
  cuuint32_t box[2] = {kHeadDim, 64}, one[2] = {1, 1};
#define MAP(name, from)                                                                                          \
  cuTensorMapEncodeTiled(&name, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, from, size, stride, box, one,                \
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,                \
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
  MAP(tma_q, q);
  MAP(tma_k, k);
  MAP(tma_v, v);
  flash_fwd<<<seqlen / kBlockM, 128, 3 * 64 * 64 * 2>>>(tma_q, tma_k, tma_v, seqlen / kBlockN);
}
