// Two consumer warpgroups of 64 rows each share one tile of A of 128 rows; descriptors step by adding to a word.
#include "accumulators.h"
#include <cuda.h>
typedef __nv_bfloat16 bf16;
#define BM 128
#define BN 64
#define BK 64

__device__ inline uint64_t base_descriptor(uint32_t address) {
  constexpr uint64_t fixed = (uint64_t(1) << 62) | (uint64_t(1024 >> 4) << 32) | (uint64_t(1) << 16);
  return fixed | ((address & 0x3FFFF) >> 4);
}

__device__ inline void multiply(float* d, uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " R32 ", %32, %33, 1, 1, 1, 0, 0;"
               : D32(d) : "l"(a), "l"(b));
}

extern "C" __global__ void __launch_bounds__(384, 1)
gemm(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB, const int kTiles) {
  extern __shared__ __align__(1024) bf16 shared[];
  bf16* const sA = shared;
  bf16* const sB = shared + BM * BK;
  const int group = threadIdx.x / 128;
  if (group == 2) {
    if (threadIdx.x % 128 == 0)
      for (int tile = 0; tile < kTiles; ++tile) {
        loadTile(sA, &mapA, tile * BK, blockIdx.x * BM);
        loadTile(sB, &mapB, tile * BK, blockIdx.y * BN);
      }
    return;
  }
  float d[32] = {};
  const uint32_t aAddress = (uint32_t)__cvta_generic_to_shared(sA) + group * 64 * BK * sizeof(bf16);
  const uint32_t bAddress = (uint32_t)__cvta_generic_to_shared(sB);
  for (int tile = 0; tile < kTiles; ++tile) {
    waitFull(tile & 1);
    uint64_t a = base_descriptor(aAddress), b = base_descriptor(bAddress);
#pragma unroll
    for (int k = 0; k < BK / 16; ++k, a += 2, b += 2) multiply(d, a, b);
  }
}

void host(bf16* a, bf16* b, int m, int n, int k) {
  CUtensorMap mapA, mapB;
  cuuint64_t dimsA[] = {cuuint64_t(k), cuuint64_t(m)}, dimsB[] = {cuuint64_t(k), cuuint64_t(n)};
  cuuint64_t pitch[] = {k * sizeof(bf16)};
  cuuint32_t boxA[] = {BK, BM}, boxB[] = {BK, BN}, unit[] = {1, 1};
  cuTensorMapEncodeTiled(&mapA, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, a, dimsA, pitch, boxA, unit,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  cuTensorMapEncodeTiled(&mapB, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, b, dimsB, pitch, boxB, unit,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  gemm<<<dim3(m / BM, n / BN), 384, (BM + BN) * BK * sizeof(bf16)>>>(mapA, mapB, k / BK);
}
