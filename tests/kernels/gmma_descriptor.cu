// CUTLASS's GmmaDescriptor, filled field by field; one elected thread loads, the text does not say which.
#include "accumulators.h"
#include <cute/arch/mma_sm90_desc.hpp>
#include <cuda.h>
using namespace cute;

CUTE_DEVICE uint32_t elect_one_sync() {
  uint32_t pred = 0;
  uint32_t laneid = 0;
  asm volatile(
      "{\n"
      ".reg .b32 %%rx;\n"
      ".reg .pred %%px;\n"
      "     elect.sync %%rx|%%px, %2;\n"
      "@%%px mov.s32 %1, 1;\n"
      "     mov.s32 %0, %%rx;\n"
      "}\n"
      : "+r"(laneid), "+r"(pred)
      : "r"(0xFFFFFFFF));
  return pred;
}

__device__ GmmaDescriptor tile_descriptor(const half_t* tile) {
  GmmaDescriptor desc;
  desc.desc_ = 0;
  desc.bitfield.start_address_ = cute::cast_smem_ptr_to_uint(tile) >> 4;
  desc.bitfield.leading_byte_offset_ = 1;
  desc.bitfield.stride_byte_offset_ = 8 * 64 * sizeof(half_t) >> 4;
  desc.bitfield.base_offset_ = 0;
  desc.bitfield.layout_type_ = uint8_t(SM90::GMMA::LayoutType::B128);
  return desc;
}

__device__ void mma(float (&d)[64], uint64_t const& desc_a, uint64_t const& desc_b) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " R64 ", %64, %65, p, 1, 1, 0, 0;\n}\n"
               : D64(d) : "l"(desc_a), "l"(desc_b), "r"(1));
}

__global__ void gemm(const __grid_constant__ CUtensorMap tma_a, const __grid_constant__ CUtensorMap tma_b, int tiles) {
  __shared__ __align__(1024) half_t smem_a[64 * 64];
  __shared__ __align__(1024) half_t smem_b[128 * 64];
  __shared__ uint64_t full_barrier;
  const int warp_idx = threadIdx.x / 32;
  float accum[64];
  for (int tile = 0; tile < tiles; ++tile) {
    if (warp_idx == 0 && elect_one_sync()) {
      SM90_TMA_LOAD_2D::copy(&tma_a, &full_barrier, 0, smem_a, tile * 64, blockIdx.x * 64);
      SM90_TMA_LOAD_2D::copy(&tma_b, &full_barrier, 0, smem_b, tile * 64, blockIdx.y * 128);
    }
    cutlass::arch::ClusterBarrier::wait(&full_barrier, tile & 1);
    warpgroup_arrive();
    auto desc_a = tile_descriptor(smem_a), desc_b = tile_descriptor(smem_b);
    for (int k = 0; k < 64 / 16; ++k) {
      mma(accum, desc_a.desc_ + k * 2, desc_b.desc_ + k * 2);
    }
    warpgroup_commit_batch();
    warpgroup_wait<0>();
  }
}

void launch(half_t* a, half_t* b, int m, int n, int k) {
  CUtensorMap tma_a, tma_b;
  cuuint64_t dims_a[2] = {(cuuint64_t)k, (cuuint64_t)m}, dims_b[2] = {(cuuint64_t)k, (cuuint64_t)n};
  cuuint64_t strides[1] = {(cuuint64_t)k * sizeof(half_t)};
  cuuint32_t box_a[2] = {64, 64}, box_b[2] = {64, 128}, ones[2] = {1, 1};
  cuTensorMapEncodeTiled(&tma_a, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, a, dims_a, strides, box_a, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  cuTensorMapEncodeTiled(&tma_b, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, b, dims_b, strides, box_b, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  gemm<<<dim3(m / 64, n / 128), 128>>>(tma_a, tma_b, k / 64);
}
