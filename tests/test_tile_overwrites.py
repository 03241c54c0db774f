"""When a tile may be overwritten: by D once every warpgroup has read it and no copy fills it again; by a TMA copy or by
the next D once threads and bulk copies have read the old contents.
"""

from __future__ import annotations

import pytest

from tests.cases import for_each
from tests.checked import locate_findings, run_blocks
from tests.transfer_kernels import HELPERS, READ_A, plant

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
    for (int i = threadIdx.x % 128 * 8; i < BM * BN; i += 128 * 8)
      *(uint4*)&C[(row + group * BM + i / BN) * N + col + i % BN] = *(uint4*)&staged[i];
{DONE}  }}
}}
void make_map(CUtensorMap* map, bf16* ptr, uint64_t rows, uint64_t cols, uint32_t box_rows, uint32_t box_cols = 64,
    CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B) {{
  uint64_t dims[2] = {{cols, rows}}, strides[1] = {{cols * sizeof(bf16)}};
  uint32_t box[2] = {{box_cols, box_rows}}, ones[2] = {{1, 1}};
  cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, ptr, dims, strides, box, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}}
void run(bf16* A, bf16* B, bf16* C, int M, int N, int K) {{
  CUtensorMap ta, tb;
  make_map(&ta, A, M, K, 2 * BM);
  make_map(&tb, B, N, K, BN);
  gemm<<<132, 384, 200 * 1024>>>(ta, tb, C, M, N, K);
}}
"""
COPY_OUT = """    asm volatile("fence.proxy.async;");
    asm volatile("bar.sync %0, 128;" ::"r"(group + 2));
    if (threadIdx.x % 128 == 0) {
      tma_store(&tc, staged, col, row + group * BM);
      asm volatile("cp.async.bulk.commit_group;");
      read<0>();
      arrive(tile_end);
    }
"""
THREADS = KERNEL[KERNEL.index('    asm volatile("bar.sync %0, 128;"') : KERNEL.index("  }\n}\nvoid make_map")]
STAGED = plant(
    (THREADS, COPY_OUT),
    ("tb, bf16* C, int M", "tb, const __grid_constant__ CUtensorMap tc, int M"),
    ("init_barrier(tile_end, 256)", "init_barrier(tile_end, 2)"),
    (
        "  CUtensorMap ta, tb;\n",
        "  CUtensorMap ta, tb, tc;\n  make_map(&tc, C, M, N, BM, BN, CU_TENSOR_MAP_SWIZZLE_NONE);\n",
    ),
    ("(ta, tb, C, M", "(ta, tb, tc, M"),
    (
        "__global__ void",
        """__device__ void tma_store(const CUtensorMap* map, const bf16* src, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];"
      ::"l"(reinterpret_cast<uint64_t>(map)), "r"(shared_address(src)), "r"(x), "r"(y) : "memory");
}
template <int N> __device__ void read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory"); }
__global__ void""",
    ),
    text=KERNEL,
)
OWN = plant(  # two buffers of their own, used in turns
    ("staged = sB + group * BN * BK;", "staged = buffers + (turn % 2 * 2 + group) * BM * BN;"),
    ("  int group = threadIdx.x", "  bf16* buffers = sB + STAGES * BN * BK + 64;\n  int group = threadIdx.x"),
    (BARRIER, '    if (threadIdx.x % 128 == 0) read<1>();\n    asm volatile("bar.sync %0, 128;" ::"r"(group + 2));\n'),
    ("      read<0>();\n      arrive(tile_end);\n", ""),
    (FREE, ""),
    ("  }\n}\nvoid make_map", "  }\n  read<0>();\n}\nvoid make_map"),
    ("132, 384, 200 * 1024", "48, 384, 227 * 1024"),
    text=STAGED,
)
READ_RIGHT = {
    "D in a stage that the copy has read": (STAGED, ()),
    "the wait before that for the tile after": (
        STAGED,
        (("      read<0>();\n", ""), (DONE, "      read<0>();\n" + DONE)),
    ),
    "D in two buffers": (OWN, ()),
}
READ_WRONG = {  # text, changes, code, line
    "an arrival before the threads have read": (
        KERNEL,
        (
            (DONE, ""),
            ("    for (int i = threadIdx.x % 128 *", f"{DONE}    for (int i = threadIdx.x % 128 *"),
        ),
        ("store_order_missing", "arrive(tile_end);"),
    ),
    "an arrival of one thread": (
        KERNEL,
        (
            ("init_barrier(tile_end, 256)", "init_barrier(tile_end, 2)"),
            (DONE, f"    if (threadIdx.x % 128 == 0) {DONE}"),
        ),
        ("store_order_missing", "if (threadIdx.x % 128 == 0)     arrive(tile_end);"),
    ),
    "no wait": (STAGED, (("      read<0>();\n", ""),), ("bulk_wait_missing", "arrive(tile_end);")),
    "a wait after the arrival": (
        STAGED,
        (("      read<0>();\n      arrive(tile_end);", "      arrive(tile_end);\n      read<0>();"),),
        ("bulk_wait_missing", "arrive(tile_end);"),
    ),
    "a wait for all groups but one": (STAGED, (("read<0>()", "read<1>()"),), ("bulk_wait_missing", "read<1>();")),
    "a wait of another thread": (
        STAGED,
        (
            (
                "      read<0>();\n      arrive",
                "    }\n    if (threadIdx.x % 128 == 64) {\n      read<0>();\n      arrive",
            ),
        ),
        ("bulk_wait_missing", "read<0>();"),
    ),
    "no barrier after the wait": (
        OWN,
        (('read<1>();\n    asm volatile("bar.sync %0, 128;" ::"r"(group + 2));\n', "read<1>();\n"),),
        ("store_order_missing", "if (threadIdx.x % 128 == 0) read<1>();"),
    ),
    "a wait that leaves the group of both buffers": (
        OWN,
        (("read<1>()", "read<2>()"),),
        ("bulk_wait_missing", "if (threadIdx.x % 128 == 0) read<2>();"),
    ),
    "no wait before the kernel ends": (OWN, (("  read<0>();\n", ""),), ("bulk_wait_missing", "}")),
}
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
    "no barrier of both warpgroups": (((BARRIER, ""),), STORE),
    "a copy that does not wait for the tile before": (((FREE, ""),), STORE),
    "a product that is not waited for": (
        (
            ("warpgroup_wait<0>();", "warpgroup_wait<1>();"),
            ("staged = sB + group", "staged = sB + (STAGES - 1 - group)"),
        ),
        "if (threadIdx.x % 128 == 0) arrive(",  # the stage is free before its product has ended
    ),
}


def list_places(changes: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    text = plant(*changes, text=KERNEL)
    return locate_findings(text, run_blocks(text).mistakes)


@pytest.mark.thorough
@for_each("changes", list(RIGHT.values()), ids=list(RIGHT), sample=1)
def test_a_tile_may_hold_d_once_it_has_been_read(changes: tuple[tuple[str, str], ...]) -> None:
    assert list_places(changes) == []


@for_each(("changes", "place"), list(WRONG.values()), ids=list(WRONG), sample=1)
def test_a_tile_that_may_still_be_read_or_filled_must_not_hold_d(
    changes: tuple[tuple[str, str], ...], place: str
) -> None:
    ((code, line),) = list_places(changes)
    assert code == "store_order_missing" and line.startswith(place)


def list_reads(text: str, changes: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    wrong = plant(*changes, text=text) if changes else text
    return locate_findings(wrong, run_blocks(wrong).mistakes)


@for_each("text, changes", list(READ_RIGHT.values()), ids=list(READ_RIGHT), sample=1)
def test_a_tile_may_be_overwritten_once_threads_and_bulk_copies_have_read_it(
    text: str, changes: tuple[tuple[str, str], ...]
) -> None:
    assert list_reads(text, changes) == []


@for_each("text, changes, found", list(READ_WRONG.values()), ids=list(READ_WRONG), sample=1)
def test_a_read_that_may_not_have_ended_is_reported_where_the_order_is_missing(
    text: str, changes: tuple[tuple[str, str], ...], found: tuple[str, str]
) -> None:
    assert list_reads(text, changes) == [found]


PAIR = plant(  # two warpgroups with their own rows of A, and one copy of B
    ("__launch_bounds__(128)", "__launch_bounds__(256)"),
    ("sB = sA + STAGES * BM", "sB = sA + STAGES * 2 * BM"),
    ("blockIdx.y * BM, col", "blockIdx.y * 2 * BM, col"),
    ("(BM * BK + BN * BK)", "(2 * BM * BK + BN * BK)"),
    ("sA + slot * BM * BK, &ta", "sA + slot * 2 * BM * BK, &ta"),
    (READ_A, "sA + (slot * 2 + threadIdx.x / 128) * BM * BK + k * 16"),
    ("A, M, K, BM, BK", "A, M, K, 2 * BM, BK"),
    ("(BM + BN) * BK * sizeof", "(2 * BM + BN) * BK * sizeof"),
    ("M / BM), 128,", "M / (2 * BM)), 256,"),
)
RELEASE = "      warpgroup_wait<0>();\n      if (threadIdx.x % 128 == 0) arrive(&empty[slot]);\n"
EARLY = "".join(reversed(RELEASE.splitlines(keepends=True)))


@pytest.mark.thorough
@for_each(
    ("text", "old", "new", "line"),
    [
        (PAIR, "    __syncthreads();\n  }\n", "  }\n", "}"),  # where the barrier was
        (KERNEL, RELEASE, EARLY, EARLY.partition("\n")[0].strip()),
    ],
    sample=1,
)
def test_a_copy_fills_a_stage_again_after_the_products_that_read_it(text: str, old: str, new: str, line: str) -> None:
    assert list_reads(text, ()) == []
    assert list_reads(text, ((old, new),)) == [("store_order_missing", line)]


COPY = COPY_OUT[COPY_OUT.index("    if (threadIdx") :]
BY_PRODUCER = plant(  # thread 0, which multiplies nothing, copies the tile of both warpgroups
    ("    if (group < 0) continue;\n", "    if (group >= 0) {\n"),
    ('    asm volatile("bar.sync %0, 128;" ::"r"(group + 2));\n' + COPY, "    }\n    __syncthreads();\n" + COPY),
    ("% 128 == 0) {\n      tma_store(&tc, staged, col, row + group * BM", "== 0) {\n      tma_store(&tc, sB, col, row"),
    ("init_barrier(tile_end, 2)", "init_barrier(tile_end, 1)"),
    ("C, M, N, BM, BN", "C, M, N, 2 * BM, BN"),
    text=STAGED,
)


def test_a_thread_that_multiplies_nothing_may_copy_d() -> None:
    assert list_reads(BY_PRODUCER, ()) == []
    ((code, line),) = list_reads(BY_PRODUCER, (("8 * h) * BN", "4 * h) * BN"),))
    assert code == "result_misplaced" and line.startswith(STORE[:6])


def test_a_fence_of_the_compiler_changes_no_register() -> None:
    fence = '      for (int i = 0; i < 64; ++i) asm volatile("" : "+f"(d[i]) :: "memory");\n'
    fenced = plant(("      warpgroup_arrive();\n", f"{fence}      warpgroup_arrive();\n"), text=KERNEL)
    assert run_blocks(fenced).open == ()
    assert list_reads(fenced, (("lane / 4 + 8 * h) * BN", "lane / 8 + 8 * h) * BN"),)) != []
