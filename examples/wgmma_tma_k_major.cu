// D = A · B with wgmma: both operands K-major, loaded by TMA with the 128B swizzle.
//
// bf16; A is (m, k) = 64×128, B is stored (n, k) = 128×128. An atom of the 128B swizzle is 64 elements of K wide, so
// each tile is two panels of K, one TMA box each: 64 rows × 128 bytes of A, 128 rows × 128 bytes of B.
#include "hopper.cuh"

constexpr int M = 64, N = 128, K = 128, PANEL_K = 64, STEP_K = 16;
constexpr unsigned A_PANEL = M * 128, B_PANEL = N * 128;  // bytes
constexpr unsigned A_BYTES = A_PANEL * (K / PANEL_K), B_BYTES = B_PANEL * (K / PANEL_K);
constexpr unsigned SHARED_BYTES = A_BYTES + B_BYTES + 16;

extern "C" __global__ void __launch_bounds__(128)
example(float* out, const void* map_a, const void* map_b, void* capture) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const unsigned a = shared_address(shared), b = a + A_BYTES, barrier = b + B_BYTES;
  barrier_init(barrier);
  if (threadIdx.x == 0) {
    barrier_expect(barrier, A_BYTES + B_BYTES);
    for (int panel = 0; panel < K / PANEL_K; ++panel) {
      tma_load(a + panel * A_PANEL, map_a, panel * PANEL_K, 0, barrier);
      tma_load(b + panel * B_PANEL, map_b, panel * PANEL_K, 0, barrier);
    }
  }
  barrier_wait(barrier, 0);

  const unsigned lbo = mistake == LBO_SBO_EXCHANGED ? 1024 : 16, sbo = mistake == LBO_SBO_EXCHANGED ? 16 : 1024;
  const unsigned swizzle = mistake == SWIZZLE_CODE ? 3 : 1;  // 3 is the tensor map's code of 128B
  constexpr int trans_b = mistake == TRANSPOSE_FLAG;
  float d[N / 2] = {};
  wgmma_fence();
#pragma unroll
  for (int step = 0; step < K / STEP_K; ++step) {
    const unsigned panel = step * STEP_K / PANEL_K, inside = step * STEP_K % PANEL_K * 2;
    // A step inside the atom moves the start by 32 bytes, the step to the next panel by the whole panel.
    const unsigned to_a = mistake == K_STEP_PAST_ATOM ? step * 32 : panel * A_PANEL + inside;
    const unsigned to_b = mistake == K_STEP_PAST_ATOM ? step * 32
        : panel * (mistake == PANEL_STRIDE ? A_PANEL : B_PANEL) + inside;
    const unsigned long long desc_a = descriptor(a + to_a, lbo, sbo, swizzle);
    const unsigned long long desc_b = descriptor(b + to_b, lbo, sbo, swizzle);
    LANESCOPE_WGMMA(capture, "AB", desc_a, desc_b, "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16", 1, 1, 0,
                    trans_b);
    wgmma_m64n128k16_bf16<1, 1, 0, trans_b>(d, desc_a, desc_b, 1);
  }
  wgmma_finish();
  LANESCOPE_FRAGMENT(capture, "D", "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16", d);
  store_d<N>(out, d);
}

#if !defined(__CUDACC_RTC__)
#include "host.h"
int main(int count, char** arguments) {
  Matrix a(M, K, Type::bf16, 'a'), b(N, K, Type::bf16, 'b');
  return run(count, arguments, example, SHARED_BYTES, 128, M * N, a, b, a.map(PANEL_K, M, CU_TENSOR_MAP_SWIZZLE_128B),
             b.map(PANEL_K, N, CU_TENSOR_MAP_SWIZZLE_128B));
}
#endif
