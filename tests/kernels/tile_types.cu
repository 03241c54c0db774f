// A type for a tile in shared memory, a type for its descriptor; K is 128, two panels of 64.
#include "accumulators.h"
#include <cuda.h>
using bf16 = __nv_bfloat16;

template <typename T, int ROWS, int COLUMNS>
struct alignas(1024) tile_st {
  using dtype = T;
  static constexpr int rows = ROWS, columns = COLUMNS;
  static constexpr int swizzle_bytes = 128;
  static constexpr int panel_columns = swizzle_bytes / sizeof(T);
  T data[rows * columns];
};

__device__ static inline uint64_t matrix_descriptor_encode(uint64_t x) { return (x & 0x3FFFF) >> 0x4; }

template <typename ST>
struct descriptor {
  uint64_t base_desc;
  __device__ inline descriptor(const ST& tile) {
    base_desc = matrix_descriptor_encode((uint64_t)__cvta_generic_to_shared(&tile.data[0]))
              | (1llu << 62)
              | (matrix_descriptor_encode((uint64_t)16) << 16)
              | (matrix_descriptor_encode((uint64_t)1024) << 32);
  }
  __device__ inline uint64_t chunk_descriptor(int chunk) const {
    return base_desc + matrix_descriptor_encode((chunk % 4) * 32 + (chunk / 4) * ST::rows * 128);
  }
};

__device__ static inline void st_st(float (&d)[32], uint64_t a, uint64_t b) {
  asm volatile("{\nwgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " R32 ", %32, %33, 1, 1, 1, 0, 0;\n}\n"
               : D32(d) : "l"(a), "l"(b));
}

template <typename A, typename B>
__device__ inline void warpgroup_mma_ABt(float (&d)[32], const A& a, const B& b) {
  descriptor<A> a_desc(a);
  descriptor<B> b_desc(b);
#pragma unroll
  for (int k = 0; k < A::columns / 16; k++) st_st(d, a_desc.chunk_descriptor(k), b_desc.chunk_descriptor(k));
}

struct globals {
  CUtensorMap a, b;
};

__global__ void kernel(const __grid_constant__ globals g) {
  extern __shared__ __align__(1024) uint8_t memory[];
  using tile_a = tile_st<bf16, 64, 128>;
  using tile_b = tile_st<bf16, 64, 128>;
  tile_a& a_smem = *reinterpret_cast<tile_a*>(memory);
  tile_b& b_smem = *reinterpret_cast<tile_b*>(memory + sizeof(bf16) * 64 * 128);
  if (threadIdx.x == 0) {
    for (int panel = 0; panel < 2; ++panel) {
      tma_load(&a_smem.data[panel * 64 * 64], &g.a, panel * 64, 0);
      tma_load(&b_smem.data[panel * 64 * 64], &g.b, panel * 64, 0);
    }
  }
  wait_for_loads();
  float d[32] = {};
  warpgroup_mma_ABt(d, a_smem, b_smem);
}

template <int rows> void create_tensor_map(CUtensorMap* map, const bf16* src, int outer, int inner) {
  uint64_t shape[2] = {(uint64_t)inner, (uint64_t)outer}, stride[1] = {(uint64_t)inner * sizeof(bf16)};
  uint32_t box[2] = {64, rows}, ones[2] = {1, 1};
  cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void*)src, shape, stride, box, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

int main() {
  globals g;
  create_tensor_map<64>(&g.a, nullptr, 64, 128);
  create_tensor_map<64>(&g.b, nullptr, 64, 128);
  kernel<<<1, 128, 2 * 64 * 128 * 2>>>(g);
}
