// A warp-specialised ring: one producer warpgroup issues TMA, two consumer warpgroups multiply; setmaxnreg, a ring of
// three stages, persistent over tiles. C (m, n) = A (m, k) · B (n, k)^T, bf16 → f32; tiles 128 × 64 × 64.
#include "hopper_async.cuh"
constexpr int STAGES = 3, A_BYTES = 128 * 128, B_BYTES = 64 * 128, STAGE = A_BYTES + B_BYTES;

extern "C" __global__ void __launch_bounds__(384)
ring(float* c, int m, int n, int k, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ __align__(8) uint64_t full[STAGES], empty[STAGES];
  const uint32_t tiles = shared_address(shared);
  const int group = threadIdx.x / 128, thread = threadIdx.x % 128;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) init(shared_address(&full[s]), 1), init(shared_address(&empty[s]), 2);
    fence_init();
  }
  fence_async();
  __syncthreads();
  const int steps = k / 64, columns = n / 64, count = m / 128 * columns;
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x / 32 == 0 && elect()) {
      int stage = 0, phase = 1;
      for (int tile = blockIdx.x; tile < count; tile += gridDim.x)
        for (int step = 0; step < steps; ++step) {
          wait(shared_address(&empty[stage]), MISTAKE == 1 ? phase ^ 1 : phase);
          const uint32_t barrier = shared_address(&full[stage]), a = tiles + stage * STAGE;
          expect(barrier, MISTAKE == 2 ? STAGE + 128 : STAGE);
          load(a, &map_a, barrier, step * 64, tile / columns * 128);
          load(a + A_BYTES, &map_b, barrier, MISTAKE == 5 && step == 1 ? 0 : step * 64, tile % columns * 64);
          if (++stage == STAGES) stage = 0, phase ^= 1;
        }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    int stage = 0, phase = 0;
    for (int tile = blockIdx.x; tile < count; tile += gridDim.x) {
      float d[32];
      for (int step = 0; step < steps; ++step) {
        wait(shared_address(&full[stage]), phase);
        const uint32_t a = tiles + stage * STAGE + (group - 1) * 64 * 128, b = tiles + stage * STAGE + A_BYTES;
        wgmma_begin();
#pragma unroll
        for (int inner = 0; inner < 4; ++inner)
          multiply(d, describe(a + inner * (MISTAKE == 3 ? 16 : 32)), describe(b + inner * 32), step || inner);
        wgmma_commit();
        wgmma_wait<0>();
        if (thread == 0 && MISTAKE != 6) arrive(shared_address(&empty[stage]));
        if (++stage == STAGES) stage = 0, phase ^= 1;
      }
      const int row = tile / columns * 128 + (group - 1) * 64, column = tile % columns * 64;
      for (int i = 0; i < 32; ++i) c[(row + row_of(thread, i)) * n + column + column_of(thread, i)] = d[i];
    }
  }
}
