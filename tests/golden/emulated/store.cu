// A product of fp8, its result to shared memory as swizzled rows of bf16, from there by TMA: stored once, and added to
// a second matrix by a reduction. Boxes reach past the end of the matrices.
#include "hopper_async.cuh"
constexpr int A_BYTES = 64 * 128, B_BYTES = 64 * 128;

extern "C" __global__ void __launch_bounds__(128)
tma_store(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
          const __grid_constant__ TensorMap map_c, const __grid_constant__ TensorMap map_sum, float factor) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ __align__(8) uint64_t arrived;
  const uint32_t a = shared_address(shared), b = a + A_BYTES, out = b + B_BYTES, barrier = shared_address(&arrived);
  const int thread = threadIdx.x, row = blockIdx.x * 64, column = blockIdx.y * 64;
  if (thread == 0) init(barrier, 1);
  fence_async();
  __syncthreads();
  if (thread == 0) {
    expect(barrier, A_BYTES + B_BYTES);
    load(a, &map_a, barrier, 0, row);
    load(b, &map_b, barrier, 0, column);
  }
  wait(barrier, 0);
  float d[32] = {};
  wgmma_begin();
  for (int step = 0; step < 4; ++step) multiply_e4m3(d, describe(a + step * 32), describe(b + step * 32), 1);
  wgmma_commit();
  wgmma_wait<0>();
  for (int i = 0; i < 32; i += 2) {
    const int r = row_of(thread, i), q = column_of(thread, i);
    const uint32_t at = r * 128 + (((q / 8) ^ (MISTAKE == 1 ? 0 : r % 8)) * 16) + q % 8 * 2;
    *reinterpret_cast<__nv_bfloat162*>(shared + A_BYTES + B_BYTES + at) = __floats2bfloat162_rn(d[i] * factor, d[i + 1] * factor);
  }
  fence_async();
  __syncthreads();
  if (thread == 0) {
    store(&map_c, out, column, row);
    store_add(&map_sum, out, column, row);
    stores_done();
  }
}
