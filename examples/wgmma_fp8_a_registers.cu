// D = A · B with wgmma in FP8: A from registers, B K-major by TMA with the 128B swizzle.
//
// e4m3; A is (m, k) = 64×256 in global memory, B is stored (n, k) = 64×256. An atom of the 128B swizzle is 128 elements
// of K wide: two panels, one TMA box of 64 rows × 128 bytes each. Run it twice, with the two fills of 8-bit types.
#include "hopper.cuh"

constexpr int M = 64, N = 64, K = 256, PANEL_K = 128, STEP_K = 32;
constexpr unsigned B_PANEL = N * 128, B_BYTES = B_PANEL * (K / PANEL_K), SHARED_BYTES = B_BYTES + 16;

extern "C" __global__ void __launch_bounds__(128)
example(float* out, const void* a_global, const void* map_b, void* capture) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const unsigned b = shared_address(shared), barrier = b + B_BYTES;
  barrier_init(barrier);
  if (threadIdx.x == 0) {
    barrier_expect(barrier, B_BYTES);
    for (int panel = 0; panel < K / PANEL_K; ++panel) tma_load(b + panel * B_PANEL, map_b, panel * PANEL_K, 0, barrier);
  }
  barrier_wait(barrier, 0);

  const unsigned lbo = mistake == LBO_SBO_EXCHANGED ? 1024 : 16, sbo = mistake == LBO_SBO_EXCHANGED ? 16 : 1024;
  const unsigned swizzle = mistake == SWIZZLE_CODE ? 3 : 1;  // 3 is the tensor map's code of 128B
  const unsigned char* const a_bytes = static_cast<const unsigned char*>(a_global);
  const unsigned row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 4;
  float d[N / 2] = {};
#pragma unroll
  for (int step = 0; step < K / STEP_K; ++step) {
    // Register r: four bytes of row + r % 2 * 8, from column + r / 2 * 16 on. FP8 has no transpose flag; what is planted
    // in its place exchanges the rows and the columns of the registers.
    unsigned a[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const unsigned down = mistake == TRANSPOSE_FLAG ? r / 2 : r % 2, along = mistake == TRANSPOSE_FLAG ? r % 2 : r / 2;
      a[r] = *reinterpret_cast<const unsigned*>(a_bytes + (row + down * 8) * K + step * STEP_K + column + along * 16);
    }
    const unsigned panel = step * STEP_K / PANEL_K, inside = step * STEP_K % PANEL_K;
    const unsigned to_b = mistake == K_STEP_PAST_ATOM ? step * 32
        : panel * (mistake == PANEL_STRIDE ? B_PANEL / 2 : B_PANEL) + inside;
    const unsigned long long desc_b = descriptor(b + to_b, lbo, sbo, swizzle);
    LANESCOPE_FRAGMENT(capture, "A", "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3", a);
    LANESCOPE_WGMMA(capture, "B", 0, desc_b, "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3", 1, 1);
    wgmma_fence();  // A's registers were written since the last one
    wgmma_m64n64k32_e4m3<1, 1>(d, a, desc_b, 1);
    wgmma_finish();
  }
  LANESCOPE_FRAGMENT(capture, "D", "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3", d);
  store_d<N>(out, d);
}

#if !defined(__CUDACC_RTC__)
#include "host.h"
int main(int count, char** arguments) {
  Matrix a(M, K, Type::e4m3, 'a'), b(N, K, Type::e4m3, 'b');
  return run(count, arguments, example, SHARED_BYTES, 128, M * N, a, b, a.device,
             b.map(PANEL_K, N, CU_TENSOR_MAP_SWIZZLE_128B));
}
#endif
