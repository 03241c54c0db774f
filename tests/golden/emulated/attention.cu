// Two products in a row in one warpgroup: S = Q · K^T by wgmma, its accumulators as A of the second product from
// registers, O = S · V with V MN-major; integers small enough that everything is exact in f16.
#include "hopper_async.cuh"
constexpr int TILE = 64 * 128;

__device__ inline void scores(float (&d)[32], uint64_t a, uint64_t b, int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, -1, 0, 0; }"
      : D8(d, 0), D8(d, 8), D8(d, 16), D8(d, 24) : "l"(a), "l"(b), "r"(accumulate));
}
extern "C" __global__ void __launch_bounds__(128)
attention(float* out, const __grid_constant__ TensorMap map_q, const __grid_constant__ TensorMap map_k,
          const __grid_constant__ TensorMap map_v, int blocks) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ __align__(8) uint64_t arrived;
  const uint32_t q = shared_address(shared), k = q + TILE, v = k + TILE, barrier = shared_address(&arrived);
  const int thread = threadIdx.x;
  if (thread == 0) init(barrier, 1);
  fence_async();
  __syncthreads();
  float o[32] = {};
  for (int block = 0; block < blocks; ++block) {
    if (thread == 0) {
      expect(barrier, block ? 2 * TILE : 3 * TILE);
      if (!block) load(q, &map_q, barrier, 0, blockIdx.x * 64);
      load(k, &map_k, barrier, 0, block * 64);
      load(v, &map_v, barrier, 0, block * 64);
    }
    wait(barrier, block & 1);
    float s[32];
    wgmma_begin();
    for (int step = 0; step < 4; ++step) scores(s, describe(q + step * 32), describe(k + step * 32), step);
    wgmma_commit();
    wgmma_wait<0>();
    uint32_t p[4][4];
    for (int step = 0; step < 4; ++step)
      for (int r = 0; r < 4; ++r) {
        const half2 pair = __floats2half2_rn(fmaxf(s[step * 8 + r * 2], 0.f), fmaxf(s[step * 8 + r * 2 + 1], 0.f));
        p[step][MISTAKE == 1 ? (r == 1 ? 2 : r == 2 ? 1 : r) : r] = *reinterpret_cast<const uint32_t*>(&pair);
      }
    wgmma_begin();
    for (int step = 0; step < 4; ++step) multiply_from_registers(o, p[step], describe(v + step * 16 * 128), 1);
    wgmma_commit();
    wgmma_wait<0>();
    __syncthreads();
  }
  for (int i = 0; i < 32; ++i) out[(blockIdx.x * 64 + row_of(thread, i)) * 64 + column_of(thread, i)] = o[i];
}
