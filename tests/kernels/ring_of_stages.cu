// A producer warpgroup fills a ring of stages, a consumer warpgroup reads it; the kernel's struct holds the ring.
#include "accumulators.h"
#include <cuda.h>
using bf16 = __nv_bfloat16;

template <int BM, int BN, int BK, int STAGES>
struct SharedStorage {
  alignas(1024) bf16 A[BM * BK * STAGES];
  alignas(1024) bf16 B[BN * BK * STAGES];
  uint64_t full[STAGES], empty[STAGES];
};

__device__ __forceinline__ uint32_t smem_u32(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void wait_barrier(uint64_t* bar, int phase) {
  asm volatile(
      "{\n.reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
      "@P1 bra.uni DONE;\nbra.uni LAB_WAIT;\nDONE:\n}\n" ::"r"(smem_u32(bar)), "r"(phase));
}

__device__ __forceinline__ void load_box(void* to, const CUtensorMap* map, uint64_t* bar, int inner, int outer) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
               :: "r"(smem_u32(to)), "l"((uint64_t)map), "r"(smem_u32(bar)), "r"(inner), "r"(outer) : "memory");
}

__device__ uint64_t make_desc(const bf16* tile) {
  uint64_t desc = 0;
  desc |= (uint64_t)((smem_u32(tile) & 0x3FFFF) >> 4);
  desc |= (uint64_t)1 << 16;
  desc |= (uint64_t)(1024 >> 4) << 32;
  desc |= (uint64_t)1 << 62;
  return desc;
}

__device__ void wgmma_n128(float (&d)[64], uint64_t desc_a, uint64_t desc_b) {
  asm volatile("{\nwgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " R64 ", %64, %65, 1, 1, 1, 0, 0;\n}\n"
               : D64(d) : "l"(desc_a), "l"(desc_b));
}

template <int BM, int BN, int BK, int STAGES>
__global__ void __launch_bounds__(256) gemm(const __grid_constant__ CUtensorMap map_a,
                                            const __grid_constant__ CUtensorMap map_b, int K) {
  extern __shared__ __align__(1024) uint8_t raw[];
  auto& s = *reinterpret_cast<SharedStorage<BM, BN, BK, STAGES>*>(raw);
  const int blocks = K / BK;
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(smem_u32(&s.full[i])));
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(smem_u32(&s.empty[i])));
    }
  }
  __syncthreads();
  if (threadIdx.x / 128 == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;\n");
    if (threadIdx.x == 0) {
      int stage = 0, phase = 1;
      for (int block = 0; block < blocks; ++block) {
        wait_barrier(&s.empty[stage], phase);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     :: "r"(smem_u32(&s.full[stage])), "r"((BM + BN) * BK * 2) : "memory");
        load_box(&s.A[stage * BM * BK], &map_a, &s.full[stage], block * BK, blockIdx.y * BM);
        load_box(&s.B[stage * BN * BK], &map_b, &s.full[stage], block * BK, blockIdx.x * BN);
        if (++stage == STAGES) { stage = 0; phase ^= 1; }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;\n");
    float d[64] = {};
    int stage = 0, phase = 0;
    for (int block = 0; block < blocks; ++block) {
      wait_barrier(&s.full[stage], phase);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int k = 0; k < BK / 16; ++k) {
        wgmma_n128(d, make_desc(&s.A[stage * BM * BK + k * 16]), make_desc(&s.B[stage * BN * BK + k * 16]));
      }
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      if (threadIdx.x % 128 == 0) {
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(smem_u32(&s.empty[stage])) : "memory");
      }
      if (++stage == STAGES) { stage = 0; phase ^= 1; }
    }
  }
}

static CUtensorMap make_map(PFN_cuTensorMapEncodeTiled encode, void* base, uint64_t rows, uint64_t k, uint32_t box_rows) {
  CUtensorMap map{};
  uint64_t dims[2] = {k, rows}, strides[1] = {k * sizeof(bf16)};
  uint32_t box[2] = {64, box_rows}, ones[2] = {1, 1};
  encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, base, dims, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
         CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

void launch(PFN_cuTensorMapEncodeTiled encode, void* a, void* b, int M, int N, int K) {
  constexpr int BM = 64, BN = 128, BK = 64, STAGES = 4;
  CUtensorMap map_a = make_map(encode, a, M, K, BM);
  CUtensorMap map_b = make_map(encode, b, N, K, BN);
  auto kernel = gemm<BM, BN, BK, STAGES>;
  int bytes = sizeof(SharedStorage<BM, BN, BK, STAGES>);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  kernel<<<dim3(N / BN, M / BM), 256, bytes>>>(map_a, map_b, K);
}
