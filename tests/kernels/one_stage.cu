// One stage, both operands K-major bf16: maps are made once and kept.
#include "accumulators.h"
#include <cuda.h>
#include <cuda/barrier>
using bf16 = __nv_bfloat16;
using barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;

__device__ static inline uint64_t encode(uint64_t x) { return (x & 0x3FFFF) >> 4; }

__device__ uint64_t shared_descriptor(bf16* p) {
  uint32_t addr = static_cast<uint32_t>(__cvta_generic_to_shared(p));
  uint64_t desc = 0;
  desc |= encode(addr);
  desc |= encode((uint64_t)16) << 16;
  desc |= encode((uint64_t)1024) << 32;
  desc |= 1llu << 62;
  return desc;
}

template <int ScaleD, int TransA, int TransB>
__device__ void wgmma_n64(float (&d)[32], bf16* a, bf16* b) {
  uint64_t desc_a = shared_descriptor(a), desc_b = shared_descriptor(b);
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " R32 ", %32, %33, %34, 1, 1, %35, %36;\n"
               : D32(d) : "l"(desc_a), "l"(desc_b), "n"(ScaleD), "n"(TransA), "n"(TransB));
}

template <int BM, int BN, int BK>
__global__ void __launch_bounds__(128) gemm(int K, bf16* C, const CUtensorMap* map_a, const CUtensorMap* map_b) {
  __shared__ alignas(1024) bf16 sA[BM * BK];
  __shared__ alignas(1024) bf16 sB[BN * BK];
  __shared__ barrier full;
  float d[32] = {};
  if (threadIdx.x == 0) {
    init(&full, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  barrier::arrival_token token;
  for (int block = 0; block < K / BK; ++block) {
    if (threadIdx.x == 0) {
      cde::cp_async_bulk_tensor_2d_global_to_shared(&sA[0], map_a, block * BK, blockIdx.y * BM, full);
      cde::cp_async_bulk_tensor_2d_global_to_shared(&sB[0], map_b, block * BK, blockIdx.x * BN, full);
      token = cuda::device::barrier_arrive_tx(full, 1, sizeof(sA) + sizeof(sB));
    } else {
      token = full.arrive();
    }
    full.wait(std::move(token));
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
    wgmma_n64<1, 0, 0>(d, &sA[0], &sB[0]);
    wgmma_n64<1, 0, 0>(d, &sA[16], &sB[16]);
    wgmma_n64<1, 0, 0>(d, &sA[2 * 16], &sB[2 * 16]);
    wgmma_n64<1, 0, 0>(d, &sA[3 * 16], &sB[3 * 16]);
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n" ::: "memory");
  }
}

template <int Rows, int Columns>
CUtensorMap* create_map(bf16* src, int rows, int columns) {
  CUtensorMap map, *on_device;
  uint64_t shape[5] = {(uint64_t)columns, (uint64_t)rows, 1, 1, 1};
  uint64_t stride[5] = {sizeof(bf16), sizeof(bf16) * columns, 0, 0, 0};
  uint32_t box[5] = {uint32_t(Columns), uint32_t(Rows), 1, 1, 1}, steps[5] = {1, 1, 1, 1, 1};
  CUresult result = cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, src, shape, stride + 1, box, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  assert(result == CUDA_SUCCESS);
  cudaMalloc(&on_device, sizeof(CUtensorMap));
  cudaMemcpy(on_device, &map, sizeof(CUtensorMap), cudaMemcpyHostToDevice);
  return on_device;
}

CUtensorMap *map_a = nullptr, *map_b = nullptr;
int last_m = 0;

void run(int M, int N, int K, bf16* A, bf16* B, bf16* C) {
  constexpr int BM = 64, BN = 64, BK = 64;
  if (!map_a || last_m != M) {
    map_a = create_map<BM, BK>(A, M, K);
    map_b = create_map<BN, BK>(B, N, K);
    last_m = M;
  }
  gemm<BM, BN, BK><<<dim3(N / BN, M / BM), 128>>>(K, C, map_a, map_b);
}
