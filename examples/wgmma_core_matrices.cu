// D = A · B with wgmma from core matrices that the kernel stores itself, without a swizzle.
//
// f16; A is (m, k) = 64×64, B is stored (n, k) = 64×64, both K-major. A core matrix is 8 rows of 16 bytes in one piece
// of 128 bytes. They lie M (N) first: 128 bytes to the next 8 rows (SBO), 1024 bytes to the next 8 of K (LBO).
#include "hopper.cuh"

constexpr int M = 64, N = 64, K = 64, STEP_K = 16;
constexpr unsigned A_BYTES = M * K * 2, B_BYTES = N * K * 2, CORE = 128, SHARED_BYTES = A_BYTES + B_BYTES;

// Every thread copies chunks of 16 bytes: eight elements of one row.
__device__ inline void store_core_matrices(unsigned char* to, const uint4* from, unsigned rows) {
  for (unsigned chunk = threadIdx.x; chunk < rows * (K / 8); chunk += blockDim.x) {
    const unsigned row = chunk / (K / 8), column = chunk % (K / 8);
    *reinterpret_cast<uint4*>(to + column * (rows / 8 * CORE) + row / 8 * CORE + row % 8 * 16) = from[chunk];
  }
}

extern "C" __global__ void __launch_bounds__(128)
example(float* out, const void* a_global, const void* b_global, void* capture) {
  extern __shared__ __align__(1024) unsigned char shared[];
  store_core_matrices(shared, static_cast<const uint4*>(a_global), M);
  store_core_matrices(shared + A_BYTES, static_cast<const uint4*>(b_global), N);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // the stores, before wgmma reads them
  __syncthreads();

  const unsigned a = shared_address(shared), b = a + A_BYTES;
  const unsigned across = mistake == PANEL_STRIDE ? 128 / 8 * CORE : M / 8 * CORE;  // 128: of a tile with 128 rows
  const unsigned lbo_a = mistake == LBO_SBO_EXCHANGED ? CORE : across, sbo_a = mistake == LBO_SBO_EXCHANGED ? across : CORE;
  const unsigned swizzle_a = mistake == SWIZZLE_CODE ? 1 : 0;  // 128B; nothing is swizzled here
  constexpr int trans_b = mistake == TRANSPOSE_FLAG;
  const unsigned step_a = mistake == K_STEP_PAST_ATOM ? 32 : 2 * (M / 8 * CORE);  // 32 is the step inside a swizzle atom
  float d[N / 2] = {};
  wgmma_fence();
#pragma unroll
  for (int step = 0; step < K / STEP_K; ++step) {
    const unsigned long long desc_a = descriptor(a + step * step_a, lbo_a, sbo_a, swizzle_a);
    const unsigned long long desc_b = descriptor(b + step * 2 * (N / 8 * CORE), N / 8 * CORE, CORE, 0);
    LANESCOPE_WGMMA(capture, "AB", desc_a, desc_b, "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", 1, 1, 0,
                    trans_b);
    wgmma_m64n64k16_f16<1, 1, 0, trans_b>(d, desc_a, desc_b, 1);
  }
  wgmma_finish();
  LANESCOPE_FRAGMENT(capture, "D", "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", d);
  store_d<N>(out, d);
}

#if !defined(__CUDACC_RTC__)
#include "host.h"
int main(int count, char** arguments) {
  Matrix a(M, K, Type::f16, 'a'), b(N, K, Type::f16, 'b');
  return run(count, arguments, example, SHARED_BYTES, 128, M * N, a, b, a.device, b.device);
}
#endif
