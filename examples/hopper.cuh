// What the examples share: TMA, mbarriers, wgmma, and the switch for a planted mistake.
#pragma once
#include "lanescope.cuh"

// -DMISTAKE=1 … 5 plants one; each example says at its place what it does.
#ifndef MISTAKE
#define MISTAKE 0
#endif
enum Mistake { RIGHT, LBO_SBO_EXCHANGED, K_STEP_PAST_ATOM, SWIZZLE_CODE, TRANSPOSE_FLAG, PANEL_STRIDE };
constexpr int mistake = MISTAKE;

__device__ inline unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// The matrix descriptor of wgmma: byte amounts in, shifted right by 4; swizzle: 0 none, 1 128B, 2 64B, 3 32B.
__device__ inline unsigned long long descriptor(unsigned start, unsigned lbo, unsigned sbo, unsigned swizzle) {
  return (unsigned long long)((start & 0x3FFFF) >> 4) | (unsigned long long)(lbo >> 4) << 16
         | (unsigned long long)(sbo >> 4) << 32 | (unsigned long long)swizzle << 62;
}

__device__ inline void barrier_init(unsigned barrier) {
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}

__device__ inline void barrier_expect(unsigned barrier, unsigned bytes) {
  asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared::cta.b64 t, [%0], %1; }"
               :: "r"(barrier), "r"(bytes) : "memory");
}

__device__ inline void barrier_wait(unsigned barrier, unsigned parity) {
  unsigned done = 0;
  for (int turn = 0; turn < 1 << 20 && !done; ++turn)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
  if (!done) __trap();
}

// One box of a two-dimensional tensor map, its first element at (inner, outer).
__device__ inline void tma_load(unsigned to, const void* map, int inner, int outer, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
               :: "r"(to), "l"(map), "r"(barrier), "r"(inner), "r"(outer) : "memory");
}

__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ inline void wgmma_finish() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

#define EIGHT(d, n) \
  "+f"(d[n]), "+f"(d[n + 1]), "+f"(d[n + 2]), "+f"(d[n + 3]), "+f"(d[n + 4]), "+f"(d[n + 5]), "+f"(d[n + 6]), \
      "+f"(d[n + 7])

template <int scale_a, int scale_b, int trans_a, int trans_b>
__device__ inline void wgmma_m64n128k16_bf16(float (&d)[64], unsigned long long desc_a, unsigned long long desc_b,
    int scale_d) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %66, 0; "
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, p, %67, %68, %69, %70; }\n"
      : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24),
        EIGHT(d, 32), EIGHT(d, 40), EIGHT(d, 48), EIGHT(d, 56)
      : "l"(desc_a), "l"(desc_b), "r"(scale_d), "n"(scale_a), "n"(scale_b), "n"(trans_a), "n"(trans_b));
}

template <int scale_a, int scale_b, int trans_a, int trans_b>
__device__ inline void wgmma_m64n64k16_f16(float (&d)[32], unsigned long long desc_a, unsigned long long desc_b,
    int scale_d) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %34, 0; "
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
      "}, %32, %33, p, %35, %36, %37, %38; }\n"
      : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24)
      : "l"(desc_a), "l"(desc_b), "r"(scale_d), "n"(scale_a), "n"(scale_b), "n"(trans_a), "n"(trans_b));
}

template <int scale_a, int scale_b>
__device__ inline void wgmma_m64n64k32_e4m3(float (&d)[32], const unsigned (&a)[4], unsigned long long desc_b,
    int scale_d) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %37, 0; "
      "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
      "}, {%32, %33, %34, %35}, %36, p, %38, %39; }\n"
      : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(desc_b), "r"(scale_d), "n"(scale_a), "n"(scale_b));
}

// D of a wgmma, row by row: thread t holds rows t / 32 * 16 + t % 32 / 4 and 8 further down, two columns of each eight.
template <int N> __device__ inline void store_d(float* out, const float (&d)[N / 2]) {
  const unsigned row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < N / 2; ++i) out[(row + i / 2 % 2 * 8) * N + column + i / 4 * 8 + i % 2] = d[i];
}
