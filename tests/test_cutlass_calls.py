"""CUTLASS's barriers and TMA atoms, whose code is not in the text: bytes, stages, coordinates and groups."""

from __future__ import annotations

from tests.cases import for_each
from tests.checked import check_whole, list_findings

_REGISTERS = ", ".join(f"%{n}" for n in range(32))
_OUTPUTS = ", ".join(f'"+f"(d[{n}])' for n in range(32))
WGMMA = f"""
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{{_REGISTERS}}}, %32, %33, 1, 1, 1, 0, 0;"
    : {_OUTPUTS} : "l"(a), "l"(b));
"""
TEXT = r"""
#include <cutlass/arch/barrier.h>
#include <cute/arch/copy_sm90_tma.hpp>
#include <cuda.h>
using Barrier = cutlass::arch::ClusterTransactionBarrier;
constexpr uint64_t HINT = static_cast<uint64_t>(cute::TMA::CacheHintSm90::EVICT_NORMAL);
constexpr int BM = 128, BN = 64, BK = 64, STAGES = 4;
struct Smem {
  alignas(1024) __nv_bfloat16 a[STAGES][BM * BK];
  alignas(1024) __nv_bfloat16 b[STAGES][BN * BK];
  Barrier full[STAGES];
  cutlass::arch::ClusterBarrier empty[STAGES];
};
__device__ uint64_t make_desc(const void* p) {
  uint64_t a = __cvta_generic_to_shared(p);
  return ((a & 0x3FFFF) >> 4) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 | 1llu << 62;
}
__device__ void wgmma(float (&d)[32], uint64_t a, uint64_t b) {
@WGMMA@}
__global__ void __launch_bounds__(384) gemm(
    const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, float* C, int K) {
  extern __shared__ __align__(1024) uint8_t raw[];
  Smem& s = *reinterpret_cast<Smem*>(raw);
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; i++) { s.full[i].init(1); s.empty[i].init(2); }
    cutlass::arch::fence_barrier_init();
  }
  __syncthreads();
  auto full = [&](int i) { return reinterpret_cast<uint64_t*>(&s.full[i]); };
  int wg = threadIdx.x / 128;
  if (wg == 0) {
    cutlass::arch::warpgroup_reg_dealloc<40>();
    if (threadIdx.x == 0) {
      for (int k = 0, stage = 0, phase = 0; k < K / BK; k++) {
        s.empty[stage].wait(phase ^ 1);
        s.full[stage].arrive_and_expect_tx((BM + BN) * BK * 2);
        cute::SM90_TMA_LOAD_2D::copy(&map_a, full(stage), HINT, s.a[stage], k * BK, blockIdx.y * BM);
        cute::SM90_TMA_LOAD_2D::copy(&map_b, full(stage), HINT, s.b[stage], k * BK, blockIdx.x * BN);
        if (++stage == STAGES) { stage = 0; phase ^= 1; }
      }
    }
  } else {
    cutlass::arch::warpgroup_reg_alloc<232>();
    float d[32] = {};
    for (int k = 0, stage = 0, phase = 0; k < K / BK; k++) {
      s.full[stage].wait(phase);
      cute::warpgroup_arrive();
      for (int kk = 0; kk < BK / 16; kk++)
        wgmma(d, make_desc(&s.a[stage][(wg - 1) * 64 * BK + kk * 16]),
              make_desc(&s.b[stage][kk * 16]));
      cute::warpgroup_commit_batch();
      cute::warpgroup_wait<0>();
      if (threadIdx.x % 128 == 0) s.empty[stage].arrive();
      if (++stage == STAGES) { stage = 0; phase ^= 1; }
    }
    for (int i = 0; i < 32; i++) C[threadIdx.x * 32 + i] = d[i];
  }
}
void encode(CUtensorMap* map, void* p, uint64_t rows, uint64_t k, uint32_t box) {
  cuuint64_t size[2] = {k, rows}, stride[1] = {k * 2};
  cuuint32_t b[2] = {64, box}, e[2] = {1, 1};
  cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, p, size, stride, b, e,
    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
    CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
void run(__nv_bfloat16* A, __nv_bfloat16* B, float* C, int M, int N, int K) {
  CUtensorMap map_a, map_b;
  encode(&map_a, A, M, K, BM);
  encode(&map_b, B, N, K, BN);
  cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Smem));
  gemm<<<dim3(N / BN, M / BM), 384, sizeof(Smem)>>>(map_a, map_b, C, K);
}
""".replace("@WGMMA@", WGMMA)
# each CTA of a pair copies half of A to both
MULTICAST = (
    TEXT.replace("__launch_bounds__(384) gemm", "__cluster_dims__(2) __launch_bounds__(384) gemm")
    .replace("LOAD_2D::copy(&map_a, full(stage),", "LOAD_MULTICAST_2D::copy(&map_a, full(stage), (uint16_t)3,")
    .replace(
        "s.a[stage], k * BK, blockIdx.y * BM",
        "s.a[stage] + HALF, k * BK, blockIdx.y * BM + 64 * cute::block_rank_in_cluster()",
    )
    .replace("HALF", "cute::block_rank_in_cluster() * 64 * BK")
    .replace("encode(&map_a, A, M, K, BM)", "encode(&map_a, A, M, K, 64)")
)


@for_each("text", [TEXT, MULTICAST], ids=["one CTA", "multicast"], sample=1)
def test_right_kernels_are_clean(text: str) -> None:
    report = check_whole(text)
    assert (report.findings, report.steps) == ((), 24)


ROWS = {
    "bytes of one CTA": (MULTICAST, "(BM + BN) * BK * 2", "(64 + BN) * BK * 2", "expect_tx_bytes", "arrive_and"),
    "mask of one CTA": (MULTICAST, "(uint16_t)3", "(uint16_t)1", "expect_tx_bytes", "arrive_and_expect_tx"),
    "other barrier": (TEXT, "&map_b, full(stage)", "&map_b, full(0)", "expect_tx_bytes", "&map_b"),
    "other map": (TEXT, "copy(&map_b", "copy(&map_a", "tma_map_other", "&map_a, full(stage), HINT, s.b"),
    "fixed K": (TEXT, "s.b[stage], k * BK", "s.b[stage], 0", "k_coordinate_fixed", "s.b[stage], 0"),
    "step along K": (TEXT, "s.b[stage], k * BK", "s.b[stage], k", "k_coordinate_step", "s.b[stage], k"),
    "exchanged": (TEXT, "k * BK, blockIdx.x * BN", "blockIdx.x * BN, k * BK", "coordinates_exchanged", "s.b[stage]"),
    "commit": (TEXT, "cute::warpgroup_commit_batch();", "", "wgmma_commit_missing", "cute::warpgroup_wait<0>"),
}


@for_each(("text", "old", "new", "code", "line"), ROWS.values(), ids=ROWS, sample="code")
def test_a_planted_mistake_is_found_at_its_line(text: str, old: str, new: str, code: str, line: str) -> None:
    assert text.count(old) == 1
    ((found, place),) = list_findings(text.replace(old, new))
    assert found == code and line in place


def test_an_alias_of_a_conditional_type_is_the_atom_that_it_chooses() -> None:
    """A store through std::conditional_t does not add to the bytes that the barrier expects."""
    end = "    for (int i = 0; i < 32; i++) C["
    store = "    using T = std::conditional_t<false, cute::SM90_TMA_REDUCE_ADD_2D, cute::SM90_TMA_STORE_2D>;\n"
    store += "    T::copy(&map_a, s.a[0], 0, 0);\n"
    text = TEXT.replace(end, store + end).replace("(BM + BN) * BK * 2", "BM * BK * 2")
    assert "expect_tx_bytes" in [code for code, _ in list_findings(text)]
