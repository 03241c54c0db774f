// The ring of Ampere: cp.async into three stages with an XOR swizzle of the program's own, ldmatrix, mma.sync.
// 64 × 64 tiles, four warps of 32 × 32. A (m, k), B (k, n), f16 → f32.
#include <cstdint>
#include <cuda_fp16.h>
#ifndef MISTAKE
#define MISTAKE 0
#endif
constexpr int STAGES = 3;
__device__ inline uint32_t place(int row, int chunk) { return row * 128 + ((chunk ^ (row & 7)) * 16); }
__device__ inline void copy(uint32_t to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
extern "C" __global__ void __launch_bounds__(128)
pipeline(const half* a, const half* b, float* c, int m, int n, int k) {
  __shared__ __align__(128) unsigned char tile_a[STAGES][64 * 128], tile_b[STAGES][64 * 128];
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32, row0 = blockIdx.y * 64, column0 = blockIdx.x * 64;
  auto fetch = [&](int step) {
    const int stage = step % STAGES;
    for (int i = thread; i < 512; i += 128) {
      const int row = i / 8, chunk = i % 8, kk = step * 64 + chunk * 8;
      const bool in = row0 + row < m && kk < k;
      copy((uint32_t)__cvta_generic_to_shared(tile_a[stage]) + place(row, chunk), a + (in ? (row0 + row) * k + kk : 0), in ? 16 : 0);
      const int krow = step * 64 + row;
      const bool ib = krow < k && column0 + chunk * 8 < n;
      copy((uint32_t)__cvta_generic_to_shared(tile_b[stage]) + place(row, chunk), b + (ib ? krow * n + column0 + chunk * 8 : 0), ib ? 16 : 0);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  float d[2][4][4] = {};
  const int steps = (k + 63) / 64;
  for (int s = 0; s < STAGES - 1; ++s) fetch(s);
  for (int step = 0; step < steps; ++step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    __syncthreads();
    if (step + STAGES - 1 < steps) fetch(step + STAGES - 1); else asm volatile("cp.async.commit_group;" ::: "memory");
    const uint32_t sa = (uint32_t)__cvta_generic_to_shared(tile_a[step % STAGES]), sb = (uint32_t)__cvta_generic_to_shared(tile_b[step % STAGES]);
    for (int inner = 0; inner < 4; ++inner) {
      uint32_t fa[2][4], fb[4][2];
      for (int i = 0; i < 2; ++i) {
        const uint32_t at = sa + place(warp / 2 * 32 + i * 16 + lane % 16, inner * 2 + lane / 16);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(fa[i][0]), "=r"(fa[i][1]), "=r"(fa[i][2]), "=r"(fa[i][3]) : "r"(at));
      }
      for (int j = 0; j < 4; ++j) {
        const uint32_t at = sb + place(inner * 16 + lane % 16, warp % 2 * 4 + j);
#if MISTAKE == 1
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(fb[j][0]), "=r"(fb[j][1]) : "r"(at));
#else
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(fb[j][0]), "=r"(fb[j][1]) : "r"(at));
#endif
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                       : "+f"(d[i][j][0]), "+f"(d[i][j][1]), "+f"(d[i][j][2]), "+f"(d[i][j][3])
                       : "r"(fa[i][0]), "r"(fa[i][MISTAKE == 2 ? 2 : 1]), "r"(fa[i][MISTAKE == 2 ? 1 : 2]), "r"(fa[i][3]), "r"(fb[j][0]), "r"(fb[j][1]));
    }
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      for (int v = 0; v < 4; ++v) {
        const int row = row0 + warp / 2 * 32 + i * 16 + lane / 4 + v / 2 * 8, column = column0 + warp % 2 * 32 + j * 8 + lane % 4 * 2 + v % 2;
        if (row < m && column < n) c[row * n + column] = d[i][j][v];
      }
}
