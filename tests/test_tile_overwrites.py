"""Stores of D into a tile that TMA fills: right once every warpgroup has read it and no further copy can come."""

from __future__ import annotations

from tests.cases import for_each
from tests.checked import locate_findings, run_blocks
from tests.transfer_kernels import HELPERS, plant

BARRIER = '    asm volatile("bar.sync 1, 256;");\n'
FREE = "      wait(tile_end, turn & 1 ^ 1);\n"
DONE = "    arrive(tile_end);\n"
STORE = "staged[(threadIdx.x % 128 / 32 * 16 + lane / 4 + 8 * h) * BN"
KERNEL = f"""{HELPERS}
__device__ void arrive(uint64_t* bar) {{
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}}
__global__ void __launch_bounds__(384) gemm(const __grid_constant__ CUtensorMap ta,
    const __grid_constant__ CUtensorMap tb, bf16* C, int M, int N, int K) {{
  extern __shared__ __align__(1024) uint8_t smem[];
  bf16 *sA = reinterpret_cast<bf16*>(smem), *sB = sA + STAGES * 2 * BM * BK;
  uint64_t *full = reinterpret_cast<uint64_t*>(sB + STAGES * BN * BK), *empty = full + STAGES;
  uint64_t* tile_end = empty + STAGES;
  int group = threadIdx.x / 128 - 1, lane = threadIdx.x % 32, tiles = M / (2 * BM) * (N / BN), turn = 0, t = 0;
  if (threadIdx.x == 0) {{
    for (int i = 0; i < STAGES; ++i) {{ init_barrier(&full[i], 1); init_barrier(&empty[i], 2); }}
    init_barrier(tile_end, 256);
  }}
  __syncthreads();
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, ++turn) {{
    int row = tile / (N / BN) * 2 * BM, col = tile % (N / BN) * BN;
    if (threadIdx.x == 0) {{
{FREE}      for (int k = 0; k < K / BK; ++k, ++t) {{
        wait(&empty[t % STAGES], t / STAGES & 1 ^ 1);
        expect_bytes(&full[t % STAGES], (2 * BM + BN) * BK * sizeof(bf16));
        tma_load(sA + t % STAGES * 2 * BM * BK, &ta, &full[t % STAGES], k * BK, row);
        tma_load(sB + t % STAGES * BN * BK, &tb, &full[t % STAGES], k * BK, col);
      }}
    }}
    if (group < 0) continue;
    float d[64] = {{}};
    for (int k = 0; k < K / BK; ++k, ++t) {{
      int slot = t % STAGES;
      wait(&full[slot], t / STAGES & 1);
      warpgroup_arrive();
      for (int k = 0; k < BK / 16; ++k)
        multiply<1>(d, make_smem_desc(sA + (slot * 2 + group) * BM * BK + k * 16),
            make_smem_desc(sB + slot * BN * BK + k * 16));
      warpgroup_commit();
      warpgroup_wait<0>();
      if (threadIdx.x % 128 == 0) arrive(&empty[slot]);
    }}
{BARRIER}    bf16* staged = sB + group * BN * BK;
    for (int j = 0; j < 16; ++j)
      for (int h = 0; h < 2; ++h)
        for (int e = 0; e < 2; ++e)
          {STORE} + j * 8 + lane % 4 * 2 + e] = d[j * 4 + 2 * h + e];
    asm volatile("bar.sync %0, 128;" ::"r"(group + 2));
    for (int i = threadIdx.x % 128; i < BM * BN; i += 128)
      C[(row + group * BM + i / BN) * N + col + i % BN] = staged[i];
{DONE}  }}
}}
void make_map(CUtensorMap* map, bf16* ptr, uint64_t rows, uint64_t cols, uint32_t box_rows) {{
  uint64_t dims[2] = {{cols, rows}}, strides[1] = {{cols * sizeof(bf16)}};
  uint32_t box[2] = {{64, box_rows}}, ones[2] = {{1, 1}};
  cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, ptr, dims, strides, box, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}}
void run(bf16* A, bf16* B, bf16* C, int M, int N, int K) {{
  CUtensorMap ta, tb;
  make_map(&ta, A, M, K, 2 * BM);
  make_map(&tb, B, N, K, BN);
  gemm<<<132, 384, 200 * 1024>>>(ta, tb, C, M, N, K);
}}
"""
RIGHT = {
    "an mbarrier of both, for which one lane of each warp waits": (
        ("init_barrier(tile_end, 256);", "init_barrier(tile_end, 256); init_barrier(tile_end + 1, 8);"),
        (
            BARRIER,
            "    __syncwarp();\n    if (lane == 0) { arrive(tile_end + 1); wait(tile_end + 1, turn & 1); }\n"
            "    __syncwarp();\n",
        ),
    ),
    "the last stages released after the epilogue": (
        (FREE, ""),
        ("% 128 == 0) arrive(&empty[slot])", "% 128 == 0 && k < K / BK - STAGES) arrive(&empty[slot])"),
        (
            DONE,
            '    asm volatile("bar.sync 1, 256;");\n'
            "    if (threadIdx.x % 128 == 0) for (int i = 0; i < STAGES; ++i) arrive(&empty[i]);\n",
        ),
    ),
}
WRONG = {
    "no barrier of both warpgroups": ((BARRIER, ""),),
    "a copy that does not wait for the tile before": ((FREE, ""),),
    "a product that is not waited for": (
        ("warpgroup_wait<0>();", "warpgroup_wait<1>();"),
        ("staged = sB + group", "staged = sB + (STAGES - 1 - group)"),
    ),
}


def list_places(changes: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    text = plant(*changes, text=KERNEL)
    return locate_findings(text, run_blocks(text).mistakes)


@for_each("changes", list(RIGHT.values()), ids=list(RIGHT), sample=1)
def test_a_tile_may_hold_d_once_it_has_been_read(changes: tuple[tuple[str, str], ...]) -> None:
    assert list_places(changes) == []


@for_each("changes", list(WRONG.values()), ids=list(WRONG), sample=1)
def test_a_tile_that_may_still_be_read_or_filled_must_not_hold_d(changes: tuple[tuple[str, str], ...]) -> None:
    ((code, line),) = list_places(changes)
    assert code == "store_order_missing" and line.startswith(STORE)
