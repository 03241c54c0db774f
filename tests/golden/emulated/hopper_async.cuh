// What the kernels of this folder share: mbarriers, TMA and wgmma as inline PTX. -DMISTAKE=n plants one.
#pragma once
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#ifndef MISTAKE
#define MISTAKE 0
#endif

struct alignas(64) TensorMap { unsigned long long words[16]; };

__device__ inline uint32_t shared_address(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ inline void init(uint32_t barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
__device__ inline void expect(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ inline void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ inline void arrive_remote(uint32_t barrier, int rank) {
  asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there]; }"
               ::"r"(barrier), "r"(rank) : "memory");
}
__device__ inline void wait(uint32_t barrier, int parity) {
  asm volatile("{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1; @done bra over; bra again; over: }"
               ::"r"(barrier), "r"(parity) : "memory");
}
__device__ inline void load(uint32_t to, const TensorMap* map, uint32_t barrier, int inner, int outer) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
               ::"r"(to), "l"(map), "r"(barrier), "r"(inner), "r"(outer) : "memory");
}
__device__ inline void load_multicast(uint32_t to, const TensorMap* map, uint32_t barrier, int inner, int outer, uint16_t mask) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;"
               ::"r"(to), "l"(map), "r"(barrier), "r"(inner), "r"(outer), "h"(mask) : "memory");
}
__device__ inline void store(const TensorMap* map, uint32_t from, int inner, int outer) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
               ::"l"(map), "r"(from), "r"(inner), "r"(outer) : "memory");
}
__device__ inline void store_add(const TensorMap* map, uint32_t from, int inner, int outer) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];"
               ::"l"(map), "r"(from), "r"(inner), "r"(outer) : "memory");
}
__device__ inline void stores_done() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
__device__ inline void fence_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
__device__ inline void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
__device__ inline int cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ inline bool elect() {
  uint32_t chosen;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }" : "=r"(chosen));
  return chosen;
}

// K-major, 128-byte swizzle: 8 rows of 128 bytes an atom.
__device__ inline uint64_t describe(uint32_t start) {
  const uint32_t stride = MISTAKE == 4 ? 512 : 1024;
  return (uint64_t)((start & 0x3FFFF) >> 4) | (uint64_t)1 << 16 | (uint64_t)(stride >> 4) << 32 | (uint64_t)1 << 62;
}
__device__ inline void wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ inline void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }

#define D8(d, n) "+f"(d[n]), "+f"(d[n + 1]), "+f"(d[n + 2]), "+f"(d[n + 3]), "+f"(d[n + 4]), "+f"(d[n + 5]), "+f"(d[n + 6]), "+f"(d[n + 7])
__device__ inline void multiply(float (&d)[32], uint64_t a, uint64_t b, int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0; }"
      : D8(d, 0), D8(d, 8), D8(d, 16), D8(d, 24) : "l"(a), "l"(b), "r"(accumulate));
}
__device__ inline void multiply_e4m3(float (&d)[32], uint64_t a, uint64_t b, int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1; }"
      : D8(d, 0), D8(d, 8), D8(d, 16), D8(d, 24) : "l"(a), "l"(b), "r"(accumulate));
}
__device__ inline void multiply_from_registers(float (&d)[32], const uint32_t (&a)[4], uint64_t b, int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %37, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, p, 1, 1, 1; }"
      : D8(d, 0), D8(d, 8), D8(d, 16), D8(d, 24) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
}
// Row and column of value i of thread t of a warpgroup, in D of m64n64.
__device__ inline int row_of(int t, int i) { return t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8; }
__device__ inline int column_of(int t, int i) { return i / 4 * 8 + t % 4 * 2 + i % 2; }
