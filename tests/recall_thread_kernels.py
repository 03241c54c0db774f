"""Kernels of our own whose threads fill the tiles of shared memory, without TMA: for wgmma, mma.sync and tcgen05.mma.
tests/recall_kernels.py puts the registers in and has the mistakes.
"""

THREAD_KERNELS = {
    "core_cp_async": r"""#include <cuda_fp16.h>
#include <cstdint>
#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
class TileView {
 public:
  __device__ TileView(uint32_t base, int rows) : base_(base), rows_(rows) {}
  __device__ uint32_t chunk(int row, int k8) const { return base_ + k8 * rows_ * 16 + row * 16; }
  __device__ uint64_t descriptor(int k8) const {
    const uint64_t lbo = rows_ * 16, sbo = 128;
    return uint64_t((chunk(0, k8) & 0x3FFFF) >> 4) | (lbo >> 4) << 16 | (sbo >> 4) << 32;
  }
 private:
  uint32_t base_;
  int rows_;
};
__device__ __forceinline__ void copy16(uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
}
__global__ void __launch_bounds__(128) gemm(const half* A, const half* B, float* c, int K) {
  __shared__ __align__(128) half sA[64 * 32];
  __shared__ __align__(128) half sB[64 * 32];
  TileView a((uint32_t)__cvta_generic_to_shared(sA), 64), b((uint32_t)__cvta_generic_to_shared(sB), 64);
  float d[32] = {};
  for (int t = 0; t < K / 32; ++t) {
    for (int i = threadIdx.x; i < 64 * 4; i += 128) {
      copy16(a.chunk(i / 4, i % 4), A + (blockIdx.y * 64 + i / 4) * K + t * 32 + i % 4 * 8);
      copy16(b.chunk(i / 4, i % 4), B + (blockIdx.x * 64 + i / 4) * K + t * 32 + i % 4 * 8);
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    FENCE;
    for (int k = 0; k < 2; ++k)
      asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 REGISTERS_32, %32, %33, 1, 1, 1, 0, 0;"
          : OUTPUTS_32 : "l"(a.descriptor(2 * k)), "l"(b.descriptor(2 * k)));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
  }
  for (int i = 0; i < 32; ++i) c[threadIdx.x * 32 + i] = d[i];
}
void launch(const half* a, const half* b, float* c, int M, int N, int K) { gemm<<<dim3(N / 64, M / 64),
    128>>>(a, b, c, K); }
""",
    "mma_trans": r"""#include <cuda_fp16.h>
#include <cstdint>
constexpr int ROW_HALVES = 64;
struct Swz { static __device__ __forceinline__ int at(int row,
    int chunk) { return row * ROW_HALVES + ((chunk ^ (row % 8)) * 8); } };
__global__ void __launch_bounds__(32) gemm(const half* A, const half* B, float* c, int N, int K) {
  __shared__ __align__(128) half sA[16 * ROW_HALVES];
  __shared__ __align__(128) half sB[64 * ROW_HALVES];
  const int lane = threadIdx.x;
  float d[4] = {};
  for (int i = lane; i < 16 * 8; i += 32) *(int4*)&sA[Swz::at(i / 8,
      i % 8)] = *(const int4*)&A[i / 8 * K + i % 8 * 8];
  for (int i = lane; i < 64 * 8; i += 32) *(int4*)&sB[Swz::at(i / 8,
      i % 8)] = *(const int4*)&B[i / 8 * N + i % 8 * 8];
  __syncthreads();
  for (int k = 0; k < 64; k += 16) {
    uint32_t a[4], b[2];
    uint32_t pa = (uint32_t)__cvta_generic_to_shared(&sA[Swz::at(lane % 16, k / 8 + lane / 16)]);
    uint32_t pb = (uint32_t)__cvta_generic_to_shared(&sB[Swz::at(k + lane % 16, 3)]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a[0]), "=r"(a[1]),
        "=r"(a[2]), "=r"(a[3]) : "r"(pa));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"(pb));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
        "%9}, {%0, %1, %2, "
        "%3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  for (int i = 0; i < 4; ++i) c[lane * 4 + i] = d[i];
}
""",
    "tcgen_threads": r"""#include <cuda_bf16.h>
#include <cstdint>
__device__ __forceinline__ uint32_t addr_of(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }
__host__ __device__ constexpr int place(int r, int k,
    int K) { return (r / 8) * 8 * K + (k / 8) * 64 + (r % 8) * 8 + k % 8; }
__device__ __forceinline__ uint64_t descriptor(const void* p, int K) {
  return uint64_t(addr_of(p) >> 4) | (uint64_t(128 >> 4) << 16)
      | (uint64_t((8 * K * 2) >> 4) << 32) | (uint64_t(1) << 46);
}
template <int M, int N, int K>
__global__ void product(const uint16_t* A, const uint16_t* B, float* out) {
  __shared__ __align__(128) uint16_t sa[M * K];
  __shared__ __align__(128) uint16_t sb[N * K];
  __shared__ __align__(8) uint64_t barrier;
  __shared__ uint32_t tmem;
  int tid = threadIdx.x;
  for (int x = tid; x < M * K; x += 128) sa[x] = A[blockIdx.x * M * K + x];
  for (int x = tid; x < N * K; x += 128) sb[x] = B[blockIdx.x * N * K + x];
  __syncthreads();
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  constexpr uint32_t word = (1u << 4) | (1u << 7) | (1u << 10) | ((N / 8) << 17) | ((M / 16) << 24);
  if (tid == 0) {
#pragma unroll
    for (int k = 0; k < K; k += 16) {
      uint64_t ad = descriptor(sa + place(0, k, K), K), bd = descriptor(sb + place(0, k, K), K);
      asm volatile("{.reg .pred p; setp.ne.u32 p,%4,0; tcgen05.mma.cta_group::1.kind::f16 [%0],%1,%2,%3,p;}"
          ::"r"(tmem), "l"(ad), "l"(bd), "r"(word), "r"(k) : "memory");
    }
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%0];" ::"r"(addr_of(&barrier)) : "memory");
  }
}
extern "C" void run(const uint16_t* a, const uint16_t* b, float* o) { product<128, 64, 64><<<1, 128>>>(a, b, o); }
""",
    "tcgen_xor": r"""#include <cuda_bf16.h>
#include <cstdint>
__device__ __forceinline__ uint32_t addr_of(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }
struct Word { uint64_t bits; };
__device__ __forceinline__ Word build(uint32_t at, uint32_t lbo, uint32_t sbo) {
  Word w; w.bits = (uint64_t)((at >> 4) & 0x3FFF); w.bits |= (uint64_t)((lbo >> 4) & 0x3FFF) << 16;
      w.bits |= (uint64_t)((sbo >> 4) & 0x3FFF) << 32;
  w.bits |= 1ULL << 46; w.bits |= 2ULL << 61; return w;
}
__global__ void __launch_bounds__(128) product(const __nv_bfloat16* A, const __nv_bfloat16* B, float* out, int K) {
  __shared__ __align__(1024) __nv_bfloat16 sa[128 * 64];
  __shared__ __align__(1024) __nv_bfloat16 sb[64 * 64];
  __shared__ uint32_t tmem;
  for (int t = 0; t < K; t += 64) {
    for (int i = threadIdx.x; i < 128 * 8; i += 128) {
      int r = i / 8, c = i % 8;
      *reinterpret_cast<uint4*>(&sa[r * 64 + ((c ^ (r & 7)) << 3)])
          = *reinterpret_cast<const uint4*>(&A[(blockIdx.x * 128 + r) * K + t + c * 8]);
    }
    for (int i = threadIdx.x; i < 64 * 8; i += 128) {
      int r = i / 8, c = i % 8;
      *reinterpret_cast<uint4*>(&sb[r * 64 + ((c ^ (r & 7)) << 3)])
          = *reinterpret_cast<const uint4*>(&B[(blockIdx.y * 64 + r) * K + t + c * 8]);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
      uint32_t word = (1u << 4) | (1u << 7) | (1u << 10) | ((64 / 8) << 17) | ((128 / 16) << 24);
      for (int k = 0; k < 4; ++k) {
        Word a = build(addr_of(sa) + k * 32, 0, 1024), b = build(addr_of(sb) + k * 32, 0, 1024);
        asm volatile("{.reg .pred p; setp.ne.u32 p,%4,0; tcgen05.mma.cta_group::1.kind::f16 [%0],%1,%2,%3,p;}"
            ::"r"(tmem), "l"(a.bits), "l"(b.bits), "r"(word), "r"(k) : "memory");
      }
    }
    __syncthreads();
  }
}
""",
}
