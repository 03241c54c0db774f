// fp8, a class for the instruction and a template for the descriptor; K has two blocks a stage.
#include "accumulators.h"
#include <cuda.h>

struct FP8MMA64x64x32 {
  static constexpr int M = 64, N = 64, K = 32;
  static constexpr int kNumAccum = M * N / 128;
  __device__ static void wgmma(uint64_t const& desc_a, uint64_t const& desc_b, float (&d)[32], bool scale_d) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 " R32 ", %32, %33, p, 1, 1;\n}\n"
                 : D32(d) : "l"(desc_a), "l"(desc_b), "r"(int32_t(scale_d)));
  }
};

template <class PointerType>
__device__ GmmaDescriptor make_smem_desc(PointerType smem_ptr, int layout_type, int leading_byte_offset = 0,
                                         int stride_byte_offset = 1024) {
  GmmaDescriptor desc;
  auto uint_ptr = static_cast<uint32_t>(__cvta_generic_to_shared(smem_ptr));
  desc.bitfield.start_address_ = uint_ptr >> 4;
  desc.bitfield.layout_type_ = layout_type;
  desc.bitfield.leading_byte_offset_ = leading_byte_offset >> 4;
  desc.bitfield.stride_byte_offset_ = stride_byte_offset >> 4;
  desc.bitfield.base_offset_ = 0;
  return desc;
}

template <uint32_t BLOCK_M, uint32_t BLOCK_N, uint32_t BLOCK_K, uint32_t kNumStages>
__global__ void __launch_bounds__(256, 1)
fp8_gemm_kernel(uint32_t num_iterations, const __grid_constant__ CUtensorMap tensor_map_a,
                const __grid_constant__ CUtensorMap tensor_map_b) {
  using WGMMA = FP8MMA64x64x32;
  extern __shared__ __align__(1024) uint8_t smem_buffer[];
  static constexpr uint32_t SMEM_A_SIZE_PER_STAGE = BLOCK_M * BLOCK_K * sizeof(__nv_fp8_e4m3);
  static constexpr uint32_t SMEM_B_SIZE_PER_STAGE = BLOCK_N * BLOCK_K * sizeof(__nv_fp8_e4m3);
  __nv_fp8_e4m3* smem_a[kNumStages];
  __nv_fp8_e4m3* smem_b[kNumStages];
#pragma unroll
  for (int i = 0; i < kNumStages; ++i) {
    smem_a[i] = reinterpret_cast<__nv_fp8_e4m3*>(smem_buffer + i * SMEM_A_SIZE_PER_STAGE);
    smem_b[i] = reinterpret_cast<__nv_fp8_e4m3*>(smem_buffer + kNumStages * SMEM_A_SIZE_PER_STAGE +
                                                 i * SMEM_B_SIZE_PER_STAGE);
  }
  float accum[WGMMA::kNumAccum] = {0};
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
      for (uint32_t it = 0; it < num_iterations; ++it)
        for (int s = 0; s < kNumStages; ++s) {
          tma_copy(&tensor_map_a, smem_a[s], (it * kNumStages + s) * BLOCK_K, blockIdx.x * BLOCK_M);
          tma_copy(&tensor_map_b, smem_b[s], (it * kNumStages + s) * BLOCK_K, blockIdx.y * BLOCK_N);
        }
    }
  } else {
    for (uint32_t it = 0; it < num_iterations; ++it) {
#pragma unroll
      for (int s = 0; s < kNumStages; ++s) {
        warpgroup_arrive();
#pragma unroll
        for (int k = 0; k < BLOCK_K / WGMMA::K; ++k) {
          auto desc_a = make_smem_desc(smem_a[s] + k * WGMMA::K, 1);
          auto desc_b = make_smem_desc(smem_b[s] + k * WGMMA::K, 1);
          WGMMA::wgmma(desc_a, desc_b, accum, k > 0);
        }
        warpgroup_commit_batch();
        warpgroup_wait<0>();
      }
    }
  }
}

template <typename T>
CUtensorMap make_2d_tma_desc(T* base, uint64_t inner, uint64_t outer, uint32_t box_inner, uint32_t box_outer) {
  CUtensorMap map = {};
  constexpr uint32_t rank = 2;
  uint64_t shape[rank] = {inner, outer}, stride[rank - 1] = {inner * sizeof(T)};
  uint32_t box[rank] = {box_inner, box_outer}, step[rank] = {1, 1};
  auto encode = get_encode_tiled();
  encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, rank, base, shape, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
         CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

void run(__nv_fp8_e4m3* a, __nv_fp8_e4m3* b, int shape_m, int shape_n, int shape_k) {
  constexpr int BLOCK_M = 64, BLOCK_N = 64, BLOCK_K = 128, kNumStages = 2;
  auto tensor_map_a = make_2d_tma_desc(a, shape_k, shape_m, BLOCK_K, BLOCK_M);
  auto tensor_map_b = make_2d_tma_desc(b, shape_k, shape_n, BLOCK_K, BLOCK_N);
  fp8_gemm_kernel<BLOCK_M, BLOCK_N, BLOCK_K, kNumStages>
      <<<dim3(shape_m / BLOCK_M, shape_n / BLOCK_N), 256, kNumStages * (BLOCK_M + BLOCK_N) * BLOCK_K>>>(
          shape_k / BLOCK_K / kNumStages, tensor_map_a, tensor_map_b);
}
