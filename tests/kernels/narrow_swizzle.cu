// The 64B swizzle: a row of BK = 32 half elements; a ptx namespace of helpers and a struct of a descriptor's fields.
#include "accumulators.h"
#include <cuda.h>

namespace ptx {
enum class Swizzle : uint64_t { None = 0, B128 = 1, B64 = 2, B32 = 3 };

struct MatrixDescriptor {
  uint64_t start_address : 14;
  uint64_t : 2;
  uint64_t leading_byte_offset : 14;
  uint64_t : 2;
  uint64_t stride_byte_offset : 14;
  uint64_t : 3;
  uint64_t base_offset : 3;
  uint64_t : 10;
  uint64_t swizzle : 2;
};

__device__ inline uint32_t to_shared(const void* p) {
  uint32_t address;
  asm("{\n.reg .u64 wide;\ncvta.to.shared.u64 wide, %1;\ncvt.u32.u64 %0, wide;\n}\n" : "=r"(address) : "l"(p));
  return address;
}

__device__ inline uint64_t describe(const void* tile, uint32_t stride, Swizzle swizzle) {
  MatrixDescriptor d{};
  d.start_address = (to_shared(tile) & 0x3FFFF) >> 4;
  d.leading_byte_offset = 1;
  d.stride_byte_offset = stride >> 4;
  d.swizzle = static_cast<uint64_t>(swizzle);
  return *reinterpret_cast<uint64_t*>(&d);
}

__device__ inline bool elect() {
  uint32_t is_leader;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xFFFFFFFF;\nselp.u32 %0, 1, 0, p;\n}\n" : "=r"(is_leader));
  return is_leader;
}

__device__ inline void mma_m64n64k16(float (&d)[32], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " R32 ", %32, %33, 1, 1, 1, 0, 0;\n"
               : D32(d) : "l"(a), "l"(b));
}
}  // namespace ptx

constexpr int BM = 64, BN = 64, BK = 32;

__global__ void gemm(const __grid_constant__ CUtensorMap map_A, const __grid_constant__ CUtensorMap map_B, int k_tiles) {
  __shared__ alignas(512) half As[BM][BK];
  __shared__ alignas(512) half Bs[BN][BK];
  __shared__ uint64_t ready;
  const int warp = __shfl_sync(0xFFFFFFFF, threadIdx.x / 32, 0);
  float acc[32] = {};
  for (int tile = 0; tile < k_tiles; ++tile) {
    if (warp == 0) {
      if (ptx::elect()) {
        ptx::load_2d(As, &map_A, &ready, tile * BK, blockIdx.y * BM);
        ptx::load_2d(Bs, &map_B, &ready, tile * BK, blockIdx.x * BN);
      }
    }
    ptx::wait(&ready, tile & 1);
    for (int k = 0; k < BK; k += 16) {
      ptx::mma_m64n64k16(acc, ptx::describe(&As[0][k], 8 * BK * sizeof(half), ptx::Swizzle::B64),
                         ptx::describe(&Bs[0][k], 8 * BK * sizeof(half), ptx::Swizzle::B64));
    }
  }
}

void run(half* A, half* B, uint64_t M, uint64_t N, uint64_t K) {
  auto map = [&](half* from, uint64_t rows, uint32_t box_rows) {
    CUtensorMap made;
    uint64_t dims[] = {K, rows}, strides[] = {K * sizeof(half)};
    uint32_t box[] = {BK, box_rows}, ones[] = {1, 1};
    CHECK(cuTensorMapEncodeTiled(&made, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, from, dims, strides, box, ones,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return made;
  };
  const CUtensorMap map_A = map(A, M, BM), map_B = map(B, N, BN);
  gemm<<<dim3(N / BN, M / BM), 128>>>(map_A, map_B, K / BK);
}
