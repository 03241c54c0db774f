"""A persistent kernel whose producer and consumer go round a ring of stages, with its first turn peeled off."""

from __future__ import annotations

from tests.transfer_kernels import HELPERS

_KERNEL = """struct Ring {
  alignas(1024) bf16 A[ROWS * BK * STAGES];
  alignas(1024) bf16 B[BN * BK * STAGES];
};
__device__ void add(float d[64], bf16* a, bf16* b) {
  uint64_t desc_a = make_smem_desc(&a[0]);
  uint64_t desc_b = make_smem_desc(&b[0]);
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {REGISTERS}, %64, %65, 1, 1, 1, 0, 0;"
      : OUTPUTS
      : "l"(desc_a),
        "l"(desc_b));
}
__device__ void advance(int& stage, int& phase) {
  if (++stage == STAGES) {
    stage = 0;
    phase ^= 1;
  }
}
__global__ void __launch_bounds__(256) gemm(const __grid_constant__ CUtensorMap A,
    const __grid_constant__ CUtensorMap B, bf16* C, int M, int N, int K) {
  extern __shared__ __align__(1024) uint8_t memory[];
  Ring& ring = *reinterpret_cast<Ring*>(memory);
  __shared__ __align__(8) uint64_t full[STAGES];
  __shared__ __align__(8) uint64_t empty[STAGES];
  const int tiles = (M / ROWS) * (N / BN), turns = K / BK;
  int stage = 0, phase = 0;
  if (threadIdx.x / 128 == 0) {
    if (threadIdx.x == 0) {
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int row = tile / (N / BN) * ROWS, col = tile % (N / BN) * BN;
        for (int k = 0; k < turns; ++k) {
          wait(&empty[stage], phase);
          expect_bytes(&full[stage], (ROWS + BN) * BK * sizeof(bf16));
          tma_load(
              &ring.A[stage * ROWS * BK],
              &A,
              &full[stage],
              k * BK, row);
          tma_load(
              &ring.B[stage * BN * BK],
              &B,
              &full[stage],
              k * BK, col);
          advance(stage, phase);
        }
      }
    }
  } else {
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const int row = tile / (N / BN) * ROWS, col = tile % (N / BN) * BN;
      float d[ROWS / 64][64];
      memset(d, 0, sizeof(d));
      wait(&full[stage], phase);
      warpgroup_arrive();
      for (int m = 0; m < ROWS / 64; ++m) {
        for (int k = 0; k < BK; k += 16) {
          add(
              d[m],
              &ring.A[stage * ROWS * BK + m * 64 * BK +
                      k],
              &ring.B[stage * BN * BK + k]);
        }
      }
      warpgroup_commit();
      int before = stage;
      advance(stage, phase);
      for (int turn = 1; turn < turns; ++turn) {
        wait(&full[stage], phase);
        warpgroup_arrive();
        for (int m = 0; m < ROWS / 64; ++m) {
          for (int k = 0; k < BK; k += 16) {
            add(
                d[m],
                &ring.A[stage * ROWS * BK + m * 64 * BK +
                        k],
                &ring.B[stage * BN * BK + k]);
          }
        }
        warpgroup_commit();
        warpgroup_wait<1>();
        arrive(&empty[before]);
        before = stage;
        advance(stage, phase);
      }
      warpgroup_wait<0>();
      arrive(&empty[before]);
      for (int m = 0; m < ROWS / 64; ++m)
        for (int i = 0; i < 64; ++i) C[(row + m * 64) * N + col + threadIdx.x * 64 + i] = __float2bfloat16(d[m][i]);
    }
  }
}
void make_map(CUtensorMap* map, bf16* ptr, uint64_t rows, uint64_t cols, uint32_t box_rows) {
  uint64_t dims[2] = {cols, rows}, strides[1] = {cols * sizeof(bf16)};
  uint32_t box[2] = {64, box_rows}, ones[2] = {1, 1};
  cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, ptr, dims, strides, box, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
void run(bf16* A, bf16* B, bf16* C, int M, int N, int K) {
  CUtensorMap map_a, map_b;
  make_map(&map_a, A, M, K, ROWS);
  make_map(&map_b, B, N, K, BN);
  cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Ring));
  gemm<<<132, 256, sizeof(Ring)>>>(map_a, map_b, C, M, N, K);
}
"""
_ARRIVE = """constexpr int ROWS = 128;
__device__ void arrive(uint64_t* bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}
"""
_REGISTERS = ", ".join(f"%{n}" for n in range(64))
_OUTPUTS = ", ".join(f'"+f"(d[{n}])' for n in range(64))

RING = HELPERS + _ARRIVE + _KERNEL.replace("REGISTERS", _REGISTERS).replace("OUTPUTS", _OUTPUTS)


def plant_after(after: str, old: str, new: str) -> tuple[str, int]:
    """Return (the kernel with a text replaced where it first follows another one, the line of it)."""
    at = RING.index(old, RING.index(after))
    return RING[:at] + new + RING[at + len(old) :], RING.count("\n", 0, at)
