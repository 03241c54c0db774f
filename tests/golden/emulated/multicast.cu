// A cluster of two CTAs: each has its own rows of A; each loads half of B and multicasts it to both. Whoever freed a
// stage tells both producers.
#include "hopper_async.cuh"
constexpr int STAGES = 2, A_BYTES = 64 * 128, B_BYTES = 64 * 128, STAGE = A_BYTES + B_BYTES;

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(256)
multicast(float* c, int n, int k, const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ __align__(8) uint64_t full[STAGES], empty[STAGES];
  const uint32_t tiles = shared_address(shared);
  const int group = threadIdx.x / 128, thread = threadIdx.x % 128, rank = cluster_rank();
  if (threadIdx.x == 0)
    for (int s = 0; s < STAGES; ++s) init(shared_address(&full[s]), 1), init(shared_address(&empty[s]), MISTAKE == 2 ? 3 : 2);
  fence_init();
  cluster_sync();
  const int steps = k / 64, row = blockIdx.x * 64, column = blockIdx.y * 64;
  if (group == 0) {
    if (thread == 0) {
      int stage = 0, phase = 1;
      for (int step = 0; step < steps; ++step) {
        wait(shared_address(&empty[stage]), phase);
        const uint32_t barrier = shared_address(&full[stage]), a = tiles + stage * STAGE;
        expect(barrier, STAGE);
        load(a, &map_a, barrier, step * 64, row);
        load_multicast(a + A_BYTES + rank * (B_BYTES / 2), &map_b, barrier, step * 64,
                       column + (MISTAKE == 1 ? 0 : rank * 32), 3);
        if (++stage == STAGES) stage = 0, phase ^= 1;
      }
    }
  } else {
    float d[32];
    int stage = 0, phase = 0;
    for (int step = 0; step < steps; ++step) {
      wait(shared_address(&full[stage]), phase);
      const uint32_t a = tiles + stage * STAGE, b = a + A_BYTES;
      wgmma_begin();
#pragma unroll
      for (int inner = 0; inner < 4; ++inner) multiply(d, describe(a + inner * 32), describe(b + inner * 32), step || inner);
      wgmma_commit();
      wgmma_wait<0>();
      if (thread < 2) arrive_remote(shared_address(&empty[stage]), thread);
      if (++stage == STAGES) stage = 0, phase ^= 1;
    }
    for (int i = 0; i < 32; ++i) c[(row + row_of(thread, i)) * n + column + column_of(thread, i)] = d[i];
  }
  cluster_sync();
}
