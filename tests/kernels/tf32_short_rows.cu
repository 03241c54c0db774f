// tf32: 32 elements fill a row of the 128B swizzle, an instruction takes 8 of K, so a step is 32 bytes.
#include "accumulators.h"
#include <cuda.h>

template <int kSwizzleBytes> struct SwizzleCode;
template <> struct SwizzleCode<128> { static constexpr uint64_t value = 1; };
template <> struct SwizzleCode<64> { static constexpr uint64_t value = 2; };
template <> struct SwizzleCode<32> { static constexpr uint64_t value = 3; };

template <int kSwizzleBytes>
__device__ uint64_t k_major_descriptor(const float* tile) {
  uint64_t desc = SwizzleCode<kSwizzleBytes>::value << 62;
  desc |= static_cast<uint64_t>(8 * kSwizzleBytes / 16) << 32;
  desc |= 1ull << 16;
  desc |= (__cvta_generic_to_shared(tile) & 0x3FFFF) >> 4;
  return desc;
}

__device__ void wgmma_tf32(float (&d)[32], uint64_t a, uint64_t b, int accumulate) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 " R32 ", %32, %33, p, 1, 1;\n}\n"
               : D32(d) : "l"(a), "l"(b), "r"(accumulate));
}

struct Params {
  CUtensorMap a, b;
  int k_tiles;
};

template <int kTileK>
__global__ void sgemm(const __grid_constant__ Params params) {
  extern __shared__ __align__(1024) char buffer[];
  float* a_tile = reinterpret_cast<float*>(buffer);
  float* b_tile = reinterpret_cast<float*>(buffer + 64 * kTileK * sizeof(float));
  float d[32];
  for (int tile = 0; tile < params.k_tiles; ++tile) {
    if (threadIdx.x == 0) {
      copy_tile(a_tile, &params.a, tile * kTileK, blockIdx.x * 64);
      copy_tile(b_tile, &params.b, tile * kTileK, blockIdx.y * 64);
    }
    __syncthreads();
    for (int k = 0; k < kTileK; k += 8)
      wgmma_tf32(d, k_major_descriptor<128>(a_tile + k), k_major_descriptor<128>(b_tile + k), tile || k);
  }
}

void run(float* a, float* b, uint64_t m, uint64_t n, uint64_t k) {
  Params params;
  uint64_t dims_a[2] = {k, m}, dims_b[2] = {k, n}, pitch[1] = {k * sizeof(float)};
  uint32_t box[2] = {32, 64}, ones[2] = {1, 1};
  cuTensorMapEncodeTiled(&params.a, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, a, dims_a, pitch, box, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  cuTensorMapEncodeTiled(&params.b, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, b, dims_b, pitch, box, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  params.k_tiles = k / 32;
  sgemm<32><<<dim3(m / 64, n / 64), 128, 2 * 64 * 32 * sizeof(float)>>>(params);
}
