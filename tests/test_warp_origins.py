"""mma.sync of tiles that TMA fills with a swizzle and ldmatrix reads: D is compared with A·B."""

from __future__ import annotations

import pytest

from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.code.maps.tensor_maps import find_evaluation_maps
from tests.cases import for_each
from tests.checked import check_whole, list_findings, locate_findings, run_blocks
from tests.transfer_kernels import plant

KERNEL = r"""
#include <cuda.h>
#include <cuda_fp16.h>
constexpr int BM = 64, BN = 16, BK = 64, STAGES = 2, TILE = BM * BK * 2, PART = BN * BK * 2;
__device__ unsigned chunk(unsigned tile, int row, int c) { return tile + row * 128 + ((c ^ (row % 8)) * 16); }
__device__ void wait(unsigned bar, int parity) {
  unsigned done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(bar), "r"(parity));
}
__device__ void copy(unsigned to, const CUtensorMap* map, int x, int y, unsigned bar) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
               :: "r"(to), "l"(map), "r"(x), "r"(y), "r"(bar) : "memory");
}
__global__ void gemm(const __grid_constant__ CUtensorMap ta, const __grid_constant__ CUtensorMap tb, float* C, int M,
                     int N, int K) {
  __shared__ alignas(1024) char tiles[STAGES][2][TILE];
  __shared__ alignas(8) unsigned long long bars[2 * STAGES];
  const unsigned bar = __cvta_generic_to_shared(bars), empty = bar + 8 * STAGES;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, m = blockIdx.y * BM, n = blockIdx.x * BN;
  if (threadIdx.x == 0)
    for (int s = 0; s < STAGES; ++s) {
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(bar + 8 * s), "r"(1));
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(empty + 8 * s), "r"(4));
    }
  __syncthreads();
  if (warp == 4) {
    if (lane == 0)
      for (int t = 0; t < K / BK; ++t) {
        const unsigned s = t % STAGES, to = __cvta_generic_to_shared(tiles[s]);
        if (t >= STAGES) wait(empty + 8 * s, (t / STAGES - 1) % 2);
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(bar + 8 * s), "r"(TILE + PART));
        copy(to, &ta, t * BK, m, bar + 8 * s);
        copy(to + TILE, &tb, t * BK, n, bar + 8 * s);
      }
    return;
  }
  float d[BN / 8][4] = {};
  for (int t = 0; t < K / BK; ++t) {
    const unsigned s = t % STAGES, tile = __cvta_generic_to_shared(tiles[s]);
    wait(bar + 8 * s, t / STAGES % 2);
    for (int k = 0; k < BK / 16; ++k) {
      unsigned a[4], b[2];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                   : "r"(chunk(tile, warp * 16 + lane % 16, k * 2 + lane / 16)));
      for (int j = 0; j < BN / 8; ++j) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(b[0]), "=r"(b[1]) : "r"(chunk(tile + TILE, j * 8 + lane % 8, k * 2 + lane / 8 % 2)));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9},"
                     " {%0, %1, %2, %3};"
                     : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
      }
    }
    if (lane == 0) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(empty + 8 * s));
  }
  for (int j = 0; j < BN / 8; ++j)
    for (int e = 0; e < 4; ++e)
      C[(m + warp * 16 + lane / 4 + e / 2 * 8) * N + n + j * 8 + lane % 4 * 2 + e % 2] = d[j][e];
}
void encode(CUtensorMap* map, half* matrix, int rows, int K, int box_rows) {
  cuuint64_t dims[2] = {(cuuint64_t)K, (cuuint64_t)rows}, strides[1] = {(cuuint64_t)K * 2};
  cuuint32_t box[2] = {BK, (cuuint32_t)box_rows}, ones[2] = {1, 1};
  cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, matrix, dims, strides, box, ones,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
void launch(half* A, half* B, float* C, int M, int N, int K) {
  CUtensorMap ta, tb;
  encode(&ta, A, M, K, BM);
  encode(&tb, B, N, K, BN);
  gemm<<<dim3(N / BN, M / BM), 160>>>(ta, tb, C, M, N, K);
}
"""


def test_a_right_kernel_is_verified() -> None:
    report = check_whole(KERNEL)
    assert not report.findings and not report.open and not report.doubts
    assert [kernel.gap for kernel in report.kernels] == [""]
    assert report.steps == 2


MISTAKES = [
    ("c ^ (row % 8)", "c ^ (row % 4)", "fragment_mismatch", "chunk(tile + TILE"),
    ("SWIZZLE_128B", "SWIZZLE_64B", "fragment_mismatch", "chunk(tile + TILE"),
    ("lane / 8 % 2", "lane / 16 % 2", "k_repeated", "k * 2"),
    ("&tb, t * BK, n,", "&tb, t * BK, m,", "row_coordinate_wrong", "copy(to + TILE"),
    ("&ta, t * BK, m,", "&ta, m, t * BK,", "coordinates_exchanged", "copy(to, &ta"),
    ('"r"(TILE + PART)', '"r"(TILE)', "expect_tx_bytes", "(TILE)"),
    ("(m + warp * 16 +", "(m + warp * 8 +", "result_misplaced", "C[("),
    ('"r"(b[0]), "r"(b[1]));', '"r"(b[1]), "r"(b[0]));', "registers_exchanged", "(b[1])"),
]


@for_each(("old", "new", "code", "line"), MISTAKES, sample=2)
def test_a_mistake_is_found(old: str, new: str, code: str, line: str) -> None:
    found = list_findings(plant((old, new), text=KERNEL), check_whole)
    assert line in dict(found).get(code, f"none of it: {found}")


@pytest.mark.thorough
def test_two_tiles_of_one_map_are_found() -> None:
    text = plant(("BN = 16", "BN = 64"), ("&tb, t * BK, n,", "&ta, t * BK, n,"), text=KERNEL)
    (found,) = locate_findings(text, run_blocks(text).mistakes)
    assert found == ("tma_map_other", "copy(to + TILE, &ta, t * BK, n, bar + 8 * s);")


def drop(text: str, first: str, past: str) -> str:
    """Return a text without the part from one text to another."""
    head, _, rest = text.partition(first)
    return head + past + rest.partition(past)[2]


ISSUE = """    if (threadIdx.x == 0) {
      const unsigned to = tile;
      asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(bar + 8 * s), "r"(TILE + PART));
      copy(to, &ta, t * BK, m, bar + 8 * s);
      copy(to + TILE, &tb, t * BK, n, bar + 8 * s);
    }
    wait(bar + 8 * s, t / STAGES % 2);
"""


def test_a_tile_that_is_filled_again_before_it_was_read_is_found() -> None:
    text = drop(drop(KERNEL, "  if (warp == 4) {", "  float d["), "    if (lane == 0) asm", "  }\n  for (int j")
    loop = "    wait(bar + 8 * s, t / STAGES % 2);\n", ISSUE
    text = plant(loop, ("STAGES = 2", "STAGES = 1"), (" 160>>>", " 128>>>"), text=text)
    right = plant(("  }\n  for (int j", "    __syncthreads();\n  }\n  for (int j"), text=text)
    assert run_blocks(right).proved == {"gemm"} and not run_blocks(right).mistakes
    assert locate_findings(text, run_blocks(text).mistakes) == [("store_order_missing", "}")]


HELPER = """__device__ unsigned word(const char* tile, int row, int k) {
  return *(const unsigned*)(tile + row * 128 + ((k / 8 ^ row % 8) * 16) + k % 8 * 2);
}
__device__ void wait("""
READ = "".join(KERNEL.partition('        asm volatile("ldmatrix.sync.aligned.m8n8.x2')[1:]).partition(
    '        asm volatile("mma'
)[0]
WORDS = """        b[0] = word(tiles[s][1], j * 8 + lane / 4, k * 16 + lane % 4 * 2);
        b[1] = word(tiles[s][1], j * 8 + lane / 4, k * 16 + lane % 4 * 2 + 8);
"""


@pytest.mark.thorough
def test_a_wrong_argument_of_a_helper_that_loads_words_is_found() -> None:
    right = plant(("__device__ void wait(", HELPER), (READ, WORDS), text=KERNEL)
    assert run_blocks(right).proved == {"gemm"} and not run_blocks(right).mistakes
    wrong = plant(("lane % 4 * 2 + 8", "lane % 4 * 2 + 4"), text=right)
    ((code, line),) = locate_findings(wrong, run_blocks(wrong).mistakes)
    assert code == "k_repeated" and line.startswith("b[1] = word(")


def test_a_full_specialization_is_chosen_beside_types_that_are_not_known() -> None:
    traits = """template <typename T> struct Traits;
template <> struct Traits<half> { static constexpr CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16; };
template <> struct Traits<bf16> { static constexpr CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16; };
template <typename T> void encode(CUtensorMap* map, T* matrix, """
    types = "CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2", "Traits<T>::type, 2"
    text = plant(("void encode(CUtensorMap* map, half* matrix, ", traits), types, text=KERNEL)
    code = evaluate_text(text)
    assert code is not None
    assert {one.element_bits for one in find_evaluation_maps(code)} == {16}


@pytest.mark.thorough
@for_each("coordinates", ["0, m + t,", "0, t * M + m,", "0, t * BK,"], sample=1)
def test_a_convolution_and_panels_move_along_rows(coordinates: str) -> None:
    """A begins at its first column in all of them."""
    text = plant(("&ta, t * BK, m,", f"&ta, {coordinates}"), text=KERNEL)
    assert "coordinates_exchanged" not in {one.code for one in check_whole(text).findings}


# A of a wgmma in registers --------------------------------------------------------------------------------------------

FRAGMENTS = r"""        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7},"
                     " {%8, %9, %10, %11}, %12, 1, 1, 1, 0;"
                     : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[1][0]), "+f"(d[1][1]),
                       "+f"(d[1][2]), "+f"(d[1][3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(describe(tile + TILE) + 2 * k));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
"""
DESCRIBE = """__device__ unsigned long long describe(unsigned tile) {
  return (1ull << 62) | (64ull << 32) | (1ull << 16) | ((tile & 0x3ffff) >> 4);
}
__device__ void wait("""
REGISTERS = plant(
    ("__device__ void wait(", DESCRIBE),
    text=drop(KERNEL, "      for (int j = 0; j < BN / 8; ++j) {\n", "    }\n    if (lane == 0) asm").replace(
        "    }\n    if (lane == 0) asm", FRAGMENTS + "    }\n    if (lane == 0) asm"
    ),
)
OF_REGISTERS = [
    ("c ^ (row % 8)", "c ^ (row % 4)", "fragment_mismatch", "chunk(tile, warp"),
    ("lane / 16)", "lane / 8)", "k_repeated", "chunk(tile, warp"),
    ("describe(tile + TILE) + 2 * k", "describe(tile + TILE)", "k_slice_repeated", "describe"),
    ("(m + warp * 16 +", "(m + warp * 8 +", "result_misplaced", "C[("),
]


def test_a_of_wgmma_is_followed_through_registers() -> None:
    report = check_whole(REGISTERS)
    assert not report.findings and not report.open
    assert [kernel.gap for kernel in report.kernels] == [""]
    assert run_blocks(REGISTERS).proved == {"gemm"}


@for_each(("old", "new", "code", "line"), OF_REGISTERS, sample=1)
def test_a_mistake_of_registers_is_found(old: str, new: str, code: str, line: str) -> None:
    found = list_findings(plant((old, new), text=REGISTERS), check_whole)
    assert line in dict(found).get(code, f"none of it: {found}")


PANELS = plant(
    ("tensor.2d.shared", "tensor.3d.shared"),
    ("[%1, {%2, %3}], [%4];", "[%1, {%2, %3, %5}], [%4];"),
    ('"l"(map), "r"(x), "r"(y), "r"(bar) :', '"l"(map), "r"(0), "r"(y), "r"(bar), "r"(x / 64) :'),
    (
        "dims[2] = {(cuuint64_t)K, (cuuint64_t)rows}, strides[1] = {(cuuint64_t)K * 2}",
        "dims[3] = {64, (cuuint64_t)rows, (cuuint64_t)K / 64}, strides[2] = {(cuuint64_t)K * 2, 128}",
    ),
    (
        "box[2] = {BK, (cuuint32_t)box_rows}, ones[2] = {1, 1}",
        "box[3] = {BK, (cuuint32_t)box_rows, 1}, ones[3] = {1, 1, 1}",
    ),
    ("_FLOAT16, 2,", "_FLOAT16, 3,"),
    text=KERNEL,
)


def test_panels_of_a_map_that_overlap_are_found() -> None:
    assert run_blocks(PANELS).proved == {"gemm"}
    text = plant(("K * 2, 128}", "K * 2, 64}"), text=PANELS)
    (found,) = run_blocks(text).mistakes
    assert (found.code, text[slice(*found.span)]) == ("panels_overlap", "(cuuint64_t)K * 2, 64")
