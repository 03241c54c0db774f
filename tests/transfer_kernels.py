"""A whole GEMM kernel with TMA, mbarriers and wgmma, in our own words, and the same with a mistake planted."""

from __future__ import annotations

_REGISTERS = ", ".join(f"%{n}" for n in range(64))
_OUTPUTS = ", ".join(f'"+f"(d[{n}])' for n in range(64))

HELPERS = """#include <cuda.h>
#include <cuda_bf16.h>
using bf16 = __nv_bfloat16;
constexpr int BM = 64, BN = 128, BK = 64, STAGES = 4;
__device__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ uint64_t encode(uint64_t x) { return (x & 0x3FFFF) >> 4; }
__device__ uint64_t make_smem_desc(const bf16* p) {
  uint64_t d = 0;
  d |= encode(shared_address(p));
  d |= encode(16) << 16;
  d |= encode(1024) << 32;
  d |= 1ull << 62;
  return d;
}
__device__ void warpgroup_arrive() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void warpgroup_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ void warpgroup_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
__device__ void init_barrier(uint64_t* bar, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(count));
}
__device__ void expect_bytes(uint64_t* bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;"
      ::"r"(shared_address(bar)), "r"(bytes));
}
__device__ void wait(uint64_t* bar, int phase) {
  asm volatile("{\\n.reg .pred P;\\nAGAIN:\\nmbarrier.try_wait.parity.shared::cta.b64 P, [%0], %1;\\n"
      "@!P bra AGAIN;\\n}" ::"r"(shared_address(bar)), "r"(phase));
}
__device__ void tma_load(bf16* dst, const CUtensorMap* map, uint64_t* bar, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4}], [%2];" ::"r"(shared_address(dst)), "l"(reinterpret_cast<uint64_t>(map)),
      "r"(shared_address(bar)), "r"(x), "r"(y) : "memory");
}
template <int ScaleD> __device__ void multiply(float d[64], uint64_t desc_a, uint64_t desc_b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {REGISTERS}, %64, %65, %66, 1, 1, 0, 0;"
      : OUTPUTS : "l"(desc_a), "l"(desc_b), "n"(ScaleD));
}
""".replace("REGISTERS", _REGISTERS).replace("OUTPUTS", _OUTPUTS)

EPILOGUE = """  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int j = 0; j < 16; ++j) {
    int r = row + warp * 16 + lane / 4, c = col + j * 8 + lane % 4 * 2;
    C[r * N + c] = d[j * 4];
    C[(r + 8) * N + c] = d[j * 4 + 2];
  }
}
"""

KERNEL = """__global__ void __launch_bounds__(128) gemm(const __grid_constant__ CUtensorMap ta,
    const __grid_constant__ CUtensorMap tb, bf16* C, int M, int N, int K) {
  extern __shared__ __align__(1024) uint8_t smem[];
  bf16* sA = reinterpret_cast<bf16*>(smem);
  bf16* sB = sA + STAGES * BM * BK;
  uint64_t* full = reinterpret_cast<uint64_t*>(sB + STAGES * BN * BK);
  int row = blockIdx.y * BM, col = blockIdx.x * BN;
  if (threadIdx.x == 0)
    for (int i = 0; i < STAGES; ++i) init_barrier(&full[i], 1);
  __syncthreads();
  float d[64] = {};
  for (int t = 0; t < K / BK; ++t) {
    int slot = t % STAGES;
    if (threadIdx.x == 0) {
      expect_bytes(&full[slot], (BM * BK + BN * BK) * sizeof(bf16));
      tma_load(sA + slot * BM * BK, &ta, &full[slot], t * BK, row);
      tma_load(sB + slot * BN * BK, &tb, &full[slot], t * BK, col);
    }
    wait(&full[slot], (t / STAGES) & 1);
    warpgroup_arrive();
    for (int k = 0; k < BK / 16; ++k)
      multiply<1>(d, make_smem_desc(sA + slot * BM * BK + k * 16), make_smem_desc(sB + slot * BN * BK + k * 16));
    warpgroup_commit();
    warpgroup_wait<0>();
    __syncthreads();
  }
"""

HOST = """void make_map(CUtensorMap* map, bf16* ptr, uint64_t rows, uint64_t cols, uint32_t box_rows,
    uint32_t box_cols) {
  uint64_t dims[2] = {cols, rows}, strides[1] = {cols * sizeof(bf16)};
  uint32_t box[2] = {box_cols, box_rows}, ones[2] = {1, 1};
  cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, ptr, dims, strides, box, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
void run(bf16* A, bf16* B, bf16* C, int M, int N, int K) {
  CUtensorMap map_a, map_b;
  make_map(&map_a, A, M, K, BM, BK);
  make_map(&map_b, B, N, K, BN, BK);
  constexpr int bytes = STAGES * (BM + BN) * BK * sizeof(bf16) + STAGES * 8;
  cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  gemm<<<dim3(N / BN, M / BM), 128, bytes>>>(map_a, map_b, C, M, N, K);
}
"""

TMA = HELPERS + KERNEL + EPILOGUE + HOST

# the same tiles, filled by threads
STORES = (
    HELPERS
    + """__device__ int place(int row, int col) { return row * 64 + (col ^ (row & 7) * 8); }
__global__ void __launch_bounds__(128) gemm(const bf16* A, const bf16* B, bf16* C, int N, int K) {
  __shared__ __align__(1024) bf16 sA[64 * 64];
  __shared__ __align__(1024) bf16 sB[128 * 64];
  int row = blockIdx.y * BM, col = blockIdx.x * BN;
  float d[64];
  for (int i = 0; i < 64; ++i) d[i] = 0;
  for (int t = 0; t < K / BK; ++t) {
    for (int i = threadIdx.x; i < 64 * 64; i += 128)
      sA[place(i / 64, i % 64)] = A[(row + i / 64) * K + t * 64 + i % 64];
    for (int i = threadIdx.x; i < 128 * 64; i += 128)
      sB[place(i / 64, i % 64)] = B[(col + i / 64) * K + t * 64 + i % 64];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    warpgroup_arrive();
    for (int k = 0; k < BK / 16; ++k) multiply<1>(d, make_smem_desc(sA + k * 16), make_smem_desc(sB + k * 16));
    warpgroup_commit();
    warpgroup_wait<0>();
    __syncthreads();
  }
"""
    + EPILOGUE
)


def plant(*pairs: tuple[str, str], text: str = TMA) -> str:
    """Return a kernel with each second text in place of the first."""
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


READ_A, READ_B = "sA + slot * BM * BK + k * 16", "sB + slot * BN * BK + k * 16"
WINDOW = plant(  # two taps, 8 rows apart, of a tile with a halo of 16 rows
    (READ_A, READ_A.replace("BM", "(BM + 16)") + " + tap * 8 * BK"),
    ("for (int k = 0;", "for (int tap = 0; tap < 2; ++tap) for (int k = 0;"),
    ("sA + slot * BM * BK, &ta", "sA + slot * (BM + 16) * BK, &ta"),
    ("sA + STAGES * BM", "sA + STAGES * (BM + 16)"),
    ("(BM * BK +", "((BM + 16) * BK +"),
    ("A, M, K, BM,", "A, M + 16, K, BM + 16,"),
    ("(BM + BN) * BK", "(BM + 16 + 2 * BN) * BK"),
)
LOAD_B = "tma_load(sB + slot * BN * BK, &tb, &full[slot], t * BK, col);"
TAPS = plant(  # each with its own weights
    (READ_B, READ_B.replace("slot", "(slot * 2 + tap)")),
    (
        LOAD_B,
        f"for (int p = 0; p < 2; ++p) {LOAD_B.replace('slot *', '(slot * 2 + p) *').replace('col', 'p * N + col')}",
    ),
    ("sB + STAGES", "sB + 2 * STAGES"),
    ("* BK + BN * BK)", "* BK + 2 * BN * BK)"),
    ("B, N, K, BN,", "B, 2 * N, K, BN,"),
    text=WINDOW,
)
A_TILE, HEAD_TILE = "tma_load(sA + slot * BM * BK,", "tma_load(sA + slot * BM * BK + h * 16 * BK,"
HEADS = plant(  # a tile of 4 heads with 16 queries each, by the keys in turn
    (
        f"{A_TILE} &ta, &full[slot], t * BK, row",
        f"for (int h = 0; h < 4; ++h) {HEAD_TILE} &ta, &full[slot], h * 64, row",
    ),
    ("t * BK, col", "0, t * BN"),
    ("A, M, K, BM,", "A, M, K, 16,"),
)
