// BK = 128 of bf16: each tile is two boxes of 64, and the step to the second one moves by a whole box.
#include "accumulators.h"
#include <cuda.h>
using bf16 = __nv_bfloat16;

template <int kRows, int kDepth>
struct Tile {
  static constexpr int kPanels = kDepth / 64;
  static constexpr int kPanelBytes = kRows * 128;
  static constexpr int kBytes = kPanels * kPanelBytes;
  static __device__ uint32_t at(uint32_t base, int k) { return base + k / 64 * kPanelBytes + k % 64 * 2; }
};

__device__ uint64_t desc(uint32_t address) {
  const uint64_t lo = (address & 0x3FFFF) >> 4 | 1 << 16;
  const uint64_t hi = 1024 / 16 | 1u << 30;
  return hi << 32 | lo;
}

__device__ void mma(float (&d)[64], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " R64 ", %64, %65, 1, 1, 1, 0, 0;"
               : D64(d) : "l"(a), "l"(b));
}

template <int BM, int BN, int BK, int Stages>
__global__ void matmul(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, int blocks) {
  using TileA = Tile<BM, BK>;
  using TileB = Tile<BN, BK>;
  extern __shared__ uint8_t unaligned[];
  const uint32_t smem = (static_cast<uint32_t>(__cvta_generic_to_shared(unaligned)) + 1023) & ~1023u;
  const uint32_t smem_a = smem, smem_b = smem + Stages * TileA::kBytes;
  float d[64] = {};
  for (int block = 0; block < blocks; ++block) {
    const int stage = block % Stages;
    const uint32_t a = smem_a + stage * TileA::kBytes, b = smem_b + stage * TileB::kBytes;
    if (threadIdx.x == 0) {
      for (int panel = 0; panel < TileA::kPanels; ++panel) {
        tma_load(a + panel * TileA::kPanelBytes, &map_a, block * BK + panel * 64, blockIdx.y * BM);
        tma_load(b + panel * TileB::kPanelBytes, &map_b, block * BK + panel * 64, blockIdx.x * BN);
      }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; k += 16) mma(d, desc(TileA::at(a, k)), desc(TileB::at(b, k)));
  }
}

void run(bf16* a, bf16* b, int m, int n, int k) {
  constexpr int BM = 64, BN = 128, BK = 128, Stages = 2;
  CUtensorMap map_a, map_b;
  uint64_t dims_a[2] = {(uint64_t)k, (uint64_t)m}, dims_b[2] = {(uint64_t)k, (uint64_t)n}, pitch[1] = {k * sizeof(bf16)};
  uint32_t box_a[2] = {64, BM}, box_b[2] = {64, BN}, ones[2] = {1, 1};
  const auto swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  cuTensorMapEncodeTiled(&map_a, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, a, dims_a, pitch, box_a, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  cuTensorMapEncodeTiled(&map_b, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, b, dims_b, pitch, box_b, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  cudaFuncSetAttribute(matmul<BM, BN, BK, Stages>, cudaFuncAttributeMaxDynamicSharedMemorySize,
      1024 + Stages * (BM + BN) * BK * 2);
  matmul<BM, BN, BK, Stages><<<dim3(n / BN, m / BM), 128, 1024 + Stages * (BM + BN) * BK * 2>>>(map_a, map_b, k / BK);
}
