// D = A · B with wgmma: A K-major, B as row-major GEMM has it, (k, n) with N contiguous: MN-major, transposed by the
// instruction.
//
// bf16; A is (m, k) = 64×64, B is stored (k, n) = 64×128. An MN-major atom of the 128B swizzle is 64 elements of N wide
// and 8 values of K high. B is two panels along N, one TMA box each: 64 values of K × 128 bytes.
#include "hopper.cuh"

constexpr int M = 64, N = 128, K = 64, PANEL_N = 64, STEP_K = 16;
constexpr unsigned A_BYTES = M * 128, B_PANEL = K * 128, B_BYTES = B_PANEL * (N / PANEL_N);
// Two of the mistakes read far past B: wgmma ends the kernel where it reads past the block's own shared memory, so for
// these the block has 72 KiB.
constexpr unsigned USED_BYTES = A_BYTES + B_BYTES + 16;
constexpr unsigned SHARED_BYTES = mistake == SWIZZLE_CODE || mistake == TRANSPOSE_FLAG ? 72 << 10 : USED_BYTES;

extern "C" __global__ void __launch_bounds__(128)
example(float* out, const void* map_a, const void* map_b, void* capture) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const unsigned a = shared_address(shared), b = a + A_BYTES, barrier = b + B_BYTES;
  for (unsigned at = USED_BYTES + 4 * threadIdx.x; at < SHARED_BYTES; at += 4 * blockDim.x)
    *reinterpret_cast<unsigned*>(shared + at) = 0;
  barrier_init(barrier);
  if (threadIdx.x == 0) {
    barrier_expect(barrier, A_BYTES + B_BYTES);
    tma_load(a, map_a, 0, 0, barrier);
    for (int panel = 0; panel < N / PANEL_N; ++panel) tma_load(b + panel * B_PANEL, map_b, panel * PANEL_N, 0, barrier);
  }
  barrier_wait(barrier, 0);

  // LBO leads from one panel of N to the next, SBO from 8 values of K to the next 8.
  const unsigned panel = mistake == PANEL_STRIDE ? STEP_K * 128 : B_PANEL;
  const unsigned lbo = mistake == LBO_SBO_EXCHANGED ? 1024 : panel, sbo = mistake == LBO_SBO_EXCHANGED ? panel : 1024;
  const unsigned swizzle = mistake == SWIZZLE_CODE ? 3 : 1;  // 3 is the tensor map's code of 128B
  constexpr int trans_b = mistake != TRANSPOSE_FLAG;
  const unsigned step_b = mistake == K_STEP_PAST_ATOM ? 32 : STEP_K * 128;  // 32 is the step of a K-major tile
  float d[N / 2] = {};
  wgmma_fence();
#pragma unroll
  for (int step = 0; step < K / STEP_K; ++step) {
    const unsigned long long desc_a = descriptor(a + step * 32, 16, 1024, 1);
    const unsigned long long desc_b = descriptor(b + step * step_b, lbo, sbo, swizzle);
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
  Matrix a(M, K, Type::bf16, 'a'), b(K, N, Type::bf16, 'b', true);
  return run(count, arguments, example, SHARED_BYTES, 128, M * N, a, b, a.map(K, M, CU_TENSOR_MAP_SWIZZLE_128B),
             b.map(PANEL_N, K, CU_TENSOR_MAP_SWIZZLE_128B));
}
#endif
