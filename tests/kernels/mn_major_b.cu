// B is stored (k, n), so it is MN-major: imm-trans-b is 1, its box is 64 elements of N wide and BK rows of K high.
#include "accumulators.h"
#include <cuda.h>
using T = __half;
constexpr uint32_t TILE_M = 64, TILE_N = 128, TILE_K = 32;
constexpr uint32_t PANEL = 64;  // elements of N in a row of the 128B swizzle

__device__ uint64_t descriptor_k_major(uint32_t address) {
  return uint64_t((address & 0x3FFFF) >> 4) | uint64_t(1) << 16 | uint64_t(512 >> 4) << 32 | uint64_t(2) << 62;
}

__device__ uint64_t descriptor_mn_major(uint32_t address) {
  // LBO: from one panel of N to the next; SBO: from eight rows of K to the next eight.
  constexpr uint32_t lbo = TILE_K * PANEL * sizeof(T), sbo = 8 * PANEL * sizeof(T);
  return uint64_t((address & 0x3FFFF) >> 4) | uint64_t(lbo >> 4) << 16 | uint64_t(sbo >> 4) << 32 | uint64_t(1) << 62;
}

template <int trans_b>
__device__ void wgmma(float (&d)[64], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " R64 ", %64, %65, 1, 1, 1, 0, %66;"
               : D64(d) : "l"(a), "l"(b), "n"(trans_b));
}

__global__ void kernel(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, int steps) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const uint32_t a = __cvta_generic_to_shared(smem), b = a + TILE_M * TILE_K * sizeof(T);
  float d[64] = {};
  for (int step = 0; step < steps; ++step) {
    if (threadIdx.x == 0) {
      tma_2d(a, &map_a, step * TILE_K, blockIdx.x * TILE_M);
      for (uint32_t panel = 0; panel < TILE_N / PANEL; ++panel)
        tma_2d(b + panel * TILE_K * PANEL * sizeof(T), &map_b, blockIdx.y * TILE_N + panel * PANEL, step * TILE_K);
    }
    __syncthreads();
    for (uint32_t k = 0; k < TILE_K / 16; ++k)
      wgmma<1>(d, descriptor_k_major(a + k * 32), descriptor_mn_major(b + k * 16 * PANEL * sizeof(T)));
  }
}

bool encode_maps(CUtensorMap* map_a, CUtensorMap* map_b, T* a, T* b, uint64_t m, uint64_t n, uint64_t k) {
  const uint64_t dims_a[2] = {k, m}, dims_b[2] = {n, k}, pitch_a[1] = {k * sizeof(T)}, pitch_b[1] = {n * sizeof(T)};
  const uint32_t box_a[2] = {TILE_K, TILE_M}, box_b[2] = {PANEL, TILE_K}, ones[2] = {1, 1};
  return cuTensorMapEncodeTiled(map_a, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, a, dims_a, pitch_a, box_a, ones,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS &&
         cuTensorMapEncodeTiled(map_b, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, b, dims_b, pitch_b, box_b, ones,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}
